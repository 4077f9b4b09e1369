// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/result.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/status.hpp>

#include <cstdint>
#include <span>

/// @file
/// @brief What else `micro_batches` is asked about one global batch, and what it returns.

namespace ballast::inline v0_2 {

/// @brief What binds the samples of a global batch to each other, and how many micro-batches there shall be.
struct micro_batch_constraints {
  std::span<std::uint64_t const> together{};  ///< a key per sample: those of one key share a micro-batch; empty = none belong together
  std::span<std::uint64_t const> apart{};     ///< a key per sample: those of two keys never share a micro-batch; empty = all may
  std::uint64_t at_least = 1;                 ///< fewest micro-batches of a rank, 1 … 2^20 - 1
  std::uint64_t exactly = 0;                  ///< micro-batches of a rank: this many, below 2^20; 0 = as few as can be had
  bool equal_counts = false;                  ///< the numbers of samples of any two micro-batches differ by at most one
  bool small_ends = false;  ///< of a rank, the cheapest micro-batches come first and last, the most expensive in the middle
};

/// @brief One global batch as a plan of one step. Where there is no plan it has no steps.
///
/// @tparam Index  type of the sample indices and pack numbers
template <index_type Index = std::uint32_t>
struct micro_batching : batching<Index> {
  ballast::status status = ballast::status::feasible;  ///< not feasible only where `exactly` demanded a number
  certificate count;     ///< micro-batches of a rank (where there is no plan the number demanded), and what no plan goes below
  bool complete = true;  ///< false where a stop or the wall clock cut the search for fewer short
};

}  // namespace ballast::inline v0_2
