// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/result.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/status.hpp>

#include <cstdint>
#include <span>

/// @file
/// @brief Constraints on the micro-batches of one global batch, and the result of `micro_batches`.

namespace ballast::inline v0_2 {

/// @brief Which samples of a global batch must or must not share a micro-batch, and the number of micro-batches.
struct micro_batch_constraints {
  /// A key for each sample: samples with the same key share a micro-batch; empty = no such constraint.
  std::span<std::uint64_t const> together{};
  /// A key for each sample: samples with different keys never share a micro-batch; empty = no such constraint.
  std::span<std::uint64_t const> apart{};
  std::uint64_t at_least = 1;  ///< fewest micro-batches of a rank, from 1 to 2^20 - 1
  std::uint64_t exactly = 0;   ///< demanded number of micro-batches of a rank, below 2^20; 0 = as few as the planner finds
  bool equal_counts = false;   ///< whether the numbers of samples in any two micro-batches may differ by at most one
  bool small_ends = false;     ///< whether the cheapest micro-batches of a rank come first and last, and the most expensive in the middle
};

/// @brief One global batch as a plan of one step; without a plan it has no steps.
///
/// @tparam Index  type of the sample indices and pack numbers
template <index_type Index = std::uint32_t>
struct micro_batching : batching<Index> {
  ballast::status status = ballast::status::feasible;  ///< can only fail if `exactly` demanded a number
  certificate count;  ///< number of micro-batches of a rank (the demanded number if there is no plan), and its lower bound
};

}  // namespace ballast::inline v0_2
