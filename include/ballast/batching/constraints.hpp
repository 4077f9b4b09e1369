// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>
#include <span>

/// @file
/// @brief What a planner of steps is told about single samples.

namespace ballast::inline v0_2 {

/// @brief What binds samples to each other, and whether ranks may share one.
struct step_constraints {
  std::span<std::uint64_t const> together{};  ///< a key per sample: those of one key share a micro-batch; empty = none belong together
  std::span<std::uint64_t const> apart{};     ///< a key per sample: those of two keys never share a micro-batch; empty = all may
  std::uint64_t most_ranks_shared =
      1;                             ///< most ranks that may split a sample among them (context parallelism), a power of two; 1 = none do
  std::uint32_t share_overhead = 0;  ///< what splitting adds to a sample's cost, in thousandths
};

}  // namespace ballast::inline v0_2
