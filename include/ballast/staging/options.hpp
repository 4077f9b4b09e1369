// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/cost/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

/// @file
/// @brief What the joint plan is asked: stages, their memory, and the micro-batches that each holds.

namespace ballast::inline v0_2 {

/// @brief The request to a planner of stages and memory. `stages`, `capacity` and `in_flight` have no default.
///
/// A stage fits if the states of its layers and `in_flight` times the bytes its layers hold for one micro-batch are within its capacity.
struct staging_options {
  std::uint64_t stages = 0;                    ///< stages of the pipeline, 1 … 2^31
  std::span<std::int64_t const> capacity{};    ///< by stage: bytes, less what the caller wants in reserve; not negative
  std::span<std::uint64_t const> in_flight{};  ///< by stage: micro-batches held at most, at least 1; `held_by_stage` of a schedule
  std::uint64_t min_layers = 1;                ///< fewest layers of a stage; 0 allows empty ones
  std::int64_t hidden_percent = 0;             ///< 0 … 100: share of a stage's forward and backward under which transfers hide
  std::uint64_t work = 100'000'000;            ///< of the whole call, in the unit of `selection::operations`: about a nanosecond each
};

/// @brief Throws for a request that makes no sense.
/// @param options  the request
/// @throws invalid_input naming the field
inline void require_valid(staging_options const& options) {
  require(options.stages >= 1 && options.stages <= std::uint64_t{1} << 31,
          [&] { return "stages = " + std::to_string(options.stages) + " must be in 1 ... 2^31"; });
  auto const sized = [&](char const* field, std::size_t size) {
    require(size == options.stages, [&] {
      return std::string(field) + " has " + std::to_string(size) + " entries for " + std::to_string(options.stages) + " stages";
    });
  };
  sized("capacity", options.capacity.size());
  sized("in_flight", options.in_flight.size());
  for (std::size_t s = 0; s < options.capacity.size(); ++s) {
    require(options.capacity[s] >= 0, [&] { return entry("capacity", s, options.capacity[s]) + " must not be negative"; });
    require(options.in_flight[s] >= 1 && options.in_flight[s] <= std::uint64_t{1} << 32,
            [&] { return entry("in_flight", s, options.in_flight[s]) + " must be in 1 ... 2^32"; });
  }
  require(options.hidden_percent >= 0 && options.hidden_percent <= 100,
          [&] { return "hidden_percent = " + std::to_string(options.hidden_percent) + " must be in [0, 100]"; });
}

/// @brief Micro-batches that each stage holds at most under a schedule.
///
/// Where the backward is split, those count of which only the weight part is left: their activations are still there.
///
/// @param schedule       with one chunk a stage: a stage of several is no part of a chain
/// @param stages         of the pipeline, at least 1
/// @param micro_batches  of a step, at least 1
/// @return one number a stage
/// @throws invalid_input for a schedule of several chunks, or a count of 0
[[nodiscard]] inline std::vector<std::uint64_t> held_by_stage(any_schedule const& schedule, std::uint64_t stages,
                                                              std::uint64_t micro_batches) {
  require(stages >= 1 && micro_batches >= 1, [&] {
    return "stages = " + std::to_string(stages) + " and micro_batches = " + std::to_string(micro_batches) + " must be positive";
  });
  std::visit(
      [](auto const& s) {
        require(s.chunks_per_stage() == 1, [&] {
          return "schedule " + std::string(s.name) + " has " + std::to_string(s.chunks_per_stage()) + " chunks a stage, not 1";
        });
      },
      schedule);
  std::vector<std::uint64_t> out;
  for (std::uint64_t s = 0; s < stages; ++s) out.push_back(in_flight(schedule, s, stages, micro_batches).held);
  return out;
}

}  // namespace ballast::inline v0_2
