// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/partition/result.hpp>
#include <ballast/partition/stage_cost.hpp>

#include <cstdint>
#include <vector>

/// @file
/// @brief What a planner of stages and memory returns.

namespace ballast::inline v0_2 {

/// @brief One stage in numbers.
struct staged_figures {
  std::int64_t time = 0;       ///< forward and backward of its layers, for one micro-batch
  std::int64_t added = 0;      ///< what recomputation and transfers that do not hide add to it
  std::int64_t transfer = 0;   ///< link time of one micro-batch, hidden or not
  std::int64_t state = 0;      ///< bytes of states
  std::int64_t activations{};  ///< bytes that its layers hold for one micro-batch
  std::int64_t memory = 0;     ///< bytes in all: states, and activations of all micro-batches in flight
  friend constexpr bool operator==(staged_figures const&, staged_figures const&) = default;
};

/// @brief Bytes of a stage, however many micro-batches it holds.
/// @param state        bytes of states, at most 2^58
/// @param activations  bytes that its layers hold for one micro-batch, at most 2^58
/// @param in_flight    micro-batches held, at least 1
/// @return the bytes; capped below `unaffordable`
[[nodiscard]] constexpr std::int64_t stage_bytes(std::int64_t state, std::int64_t activations, std::uint64_t in_flight) noexcept {
  auto const copies = static_cast<std::int64_t>(in_flight);
  return activations > (unaffordable - 1 - state) / copies ? unaffordable - 1 : state + copies * activations;
}

/// @brief A pipeline cut, and what each layer does with its memory.
///
/// @tparam Index  type of the boundaries
template <index_type Index = std::uint32_t>
struct joint_stages {
  /// Status, boundaries, and the largest `time + added` of a stage beside what no plan goes below. Infeasible as `min_max_partition` by a
  /// stage cost; of a sequential plan, for `capacity`, the bytes of the first stage that does not fit and the least that it needs.
  staged<Index> partition;
  std::vector<staged_figures> figures;  ///< by stage; none without a plan
  std::vector<std::uint32_t> option;    ///< by layer: which of its options it takes; none without a plan
  std::uint64_t work = 0;               ///< spent, in the unit of `staging_options::work`
};

}  // namespace ballast::inline v0_2
