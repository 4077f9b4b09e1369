// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/cost/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

/// @file
/// @brief Options for planners of stages and memory: stages, their memory, and the micro-batches that each holds.

namespace ballast::inline v0_2 {

/// @brief Work of `plan_stages` where no other is given.
inline constexpr std::uint64_t staging_work = 100'000'000;

/// @brief Options of a planner of stages and memory. `stages`, `capacity` and `in_flight` have no default.
///
/// A stage fits if the bytes of its states, plus `in_flight` times the bytes that its layers hold for one micro-batch, plus the largest
/// working set of its layers, are within its capacity.
struct staging_options {
  std::uint64_t stages = 0;                    ///< number of pipeline stages, 1 … 2^31
  std::span<std::int64_t const> capacity{};    ///< for each stage, the bytes that the plan may use, not negative
  std::span<std::uint64_t const> in_flight{};  ///< for each stage, the most micro-batches that it holds, at least 1: see `held_by_stage`
  std::uint64_t min_layers = 1;                ///< smallest number of layers of a stage; 0 allows empty stages
  std::int64_t hidden_percent = 0;             ///< 0 … 100: share of a stage's forward and backward time that hides transfers
};

/// @brief Throws unless options are valid.
/// @param options  the options
/// @throws invalid_input naming the field
inline void require_valid(staging_options const& options) {
  require(options.stages >= 1 && options.stages <= std::uint64_t{1} << 31,
          [&] { return sentence("stages = ", options.stages, " must be in 1 ... 2^31"); });
  auto const sized = [&](char const* field, std::size_t size) {
    require(size == options.stages, [&] { return sentence(field, " has ", size, " entries for ", options.stages, " stages"); });
  };
  sized("capacity", options.capacity.size());
  sized("in_flight", options.in_flight.size());
  for (std::size_t s = 0; s < options.capacity.size(); ++s) {
    require(options.capacity[s] >= 0, [&] { return entry("capacity", s, options.capacity[s]) + " must not be negative"; });
    require(options.in_flight[s] >= 1 && options.in_flight[s] <= std::uint64_t{1} << 32,
            [&] { return entry("in_flight", s, options.in_flight[s]) + " must be in 1 ... 2^32"; });
  }
  require(options.hidden_percent >= 0 && options.hidden_percent <= 100,
          [&] { return sentence("hidden_percent = ", options.hidden_percent, " must be in [0, 100]"); });
}

/// @brief Returns the most micro-batches that each stage holds under a schedule.
///
/// If the backward is split, micro-batches of which only the weight part is left count too, because their activations are still held.
///
/// @param schedule       a schedule with one chunk per stage; `held_by_chunk` takes the others
/// @param stages         number of stages of the pipeline, at least 1
/// @param micro_batches  number of micro-batches in a step, at least 1
/// @return one number per stage
/// @throws invalid_input if the schedule has several chunks per stage, or a count is 0
template <class = when_called>
[[nodiscard]] inline std::vector<std::uint64_t> held_by_stage(any_schedule const& schedule, std::uint64_t stages,
                                                              std::uint64_t micro_batches) {
  require(stages >= 1 && micro_batches >= 1,
          [&] { return sentence("stages = ", stages, " and micro_batches = ", micro_batches, " must be positive"); });
  std::visit(
      [](auto const& s) {
        require(s.chunks_per_stage() == 1,
                [&] { return sentence("schedule ", s.name, " has ", s.chunks_per_stage(), " chunks a stage, not 1"); });
      },
      schedule);
  std::vector<std::uint64_t> out;
  out.reserve(stages);
  for (std::uint64_t s = 0; s < stages; ++s) out.push_back(in_flight(schedule, s, stages, micro_batches).held);
  return out;
}

}  // namespace ballast::inline v0_2
