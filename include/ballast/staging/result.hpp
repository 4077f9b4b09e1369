// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/partition/result.hpp>
#include <ballast/partition/stage_cost.hpp>

#include <cstdint>
#include <vector>

/// @file
/// @brief Results of planners of stages and memory.

namespace ballast::inline v0_2 {

/// @brief Time and memory of one stage.
struct staged_figures {
  std::int64_t time = 0;       ///< forward and backward of its layers for one micro-batch, without recomputation
  std::int64_t added = 0;      ///< time that recomputation, and transfers that are not hidden, add
  std::int64_t transfer = 0;   ///< link time of one micro-batch, hidden or not
  std::int64_t state = 0;      ///< bytes of parameters, gradients and optimiser states
  std::int64_t working = 0;    ///< largest working set of its layers in bytes
  std::int64_t activations{};  ///< bytes that its layers hold for one micro-batch
  std::int64_t memory = 0;     ///< total bytes: states, the largest working set, and activations of all micro-batches in flight
  friend constexpr bool operator==(staged_figures const&, staged_figures const&) = default;
};

/// @brief Computes the bytes of a stage that holds activations of several micro-batches.
/// @param state        bytes of states, at most 2^58
/// @param working      largest working set of its layers in bytes, at most 2^58
/// @param activations  bytes that its layers hold for one micro-batch, at most 2^58
/// @param in_flight    number of micro-batches held, at least 1
/// @return the bytes, capped below `unaffordable`
[[nodiscard]] constexpr std::int64_t stage_bytes(std::int64_t state, std::int64_t working, std::int64_t activations,
                                                 std::uint64_t in_flight) noexcept {
  auto const copies = static_cast<std::int64_t>(in_flight);
  auto const rest = state + working;
  return activations > (unaffordable - 1 - rest) / copies ? unaffordable - 1 : rest + copies * activations;
}

/// @brief A chain cut into pipeline stages, with the option that each layer takes.
///
/// @tparam Index  type of the boundaries
template <index_type Index = std::uint32_t>
struct joint_stages {
  /// Status and boundaries; the bottleneck is the largest `time + added` of a stage, with a lower bound for every plan. If infeasible, as
  /// `min_max_partition` by stage cost; for `plan_stages_in_sequence`, the bound is `capacity`, with the capacity of the first stage that
  /// does not fit and the least bytes that it needs.
  staged<Index> partition;
  std::vector<staged_figures> figures;  ///< figures of each stage; empty if infeasible
  std::vector<std::uint32_t> option;    ///< for each layer, the index of the option that it takes; empty if infeasible
  std::uint64_t work = 0;               ///< work spent, in the unit of `search_limits::work`
  bool complete = true;                 ///< false if a requested stop or the clock ended the search
};

}  // namespace ballast::inline v0_2
