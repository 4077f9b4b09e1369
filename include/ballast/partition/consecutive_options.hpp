// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/status.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

/// @file
/// @brief `span_cost`, the options and the result of `consecutive_micro_batches`.

namespace ballast::inline v0_2 {

/// @brief A callable `cost(begin, end)` that gives an integer for the samples `begin` … `end - 1` of an ordered batch: the time of a
/// micro-batch that holds them, or its size.
///
/// It must not decrease if the span grows at either end. It is called for spans of at least one sample.
template <class C>
concept span_cost =
    std::regular_invocable<C const&, std::uint64_t, std::uint64_t> && integer<std::invoke_result_t<C const&, std::uint64_t, std::uint64_t>>;

/// @brief What `consecutive_micro_batches` minimises: `slowest_weight` times the largest time of a micro-batch, plus `sum_weight` times the
/// sum of all times.
///
/// A pipeline of P stages with C chunks each, whose micro-batches are dealt to R replicas, takes about (P - 1) / C times the slowest
/// micro-batch plus 1 / R times the sum: `slowest_weight = (P - 1) * R` and `sum_weight = C`, and the objective is C R times that.
struct consecutive_options {
  std::int64_t capacity = (std::numeric_limits<std::int64_t>::max)();  ///< largest size of a micro-batch, at least 1
  std::uint64_t slowest_weight = 0;                                    ///< weight of the slowest micro-batch, below 2^31
  std::uint64_t sum_weight = 1;                                        ///< weight of the sum, below 2^31; one of both is positive
  /// 0: every limit on the slowest micro-batch is considered, and the result is proven optimal unless `work` ends the search. Otherwise, as
  /// published: the times of all possible micro-batches are sorted, only those more than `candidate_step` above the last are limits, and
  /// the dynamic program is solved for each of them. The first limit is the smallest time of any micro-batch.
  std::int64_t candidate_step = 0;
  /// Most times of micro-batches that are looked up, about a nanosecond each; the first pass over them and one dynamic program are always
  /// done.
  std::uint64_t work = 1'000'000'000;
  /// Whether the caller knows that the cost meets the quadrangle inequality (`consecutive_micro_batches`). Where more than 2^22 spans fit,
  /// it is then computed for those that are looked at, and not checked for all others.
  bool quadrangle = false;
};

/// @brief Samples in their order, cut into micro-batches: micro-batch m has samples `boundaries[m]` … `boundaries[m + 1] - 1`.
/// @tparam Index  type of the boundaries
template <index_type Index = std::uint32_t>
struct consecutive_cut {
  ballast::status status = ballast::status::feasible;  ///< whether `boundaries` is a plan; `unknown` only with a `candidate_step`
  std::vector<Index> boundaries{};                     ///< from 0 to the number of samples, rising; empty without a plan
  /// The objective and a lower bound on it; they are equal if the search was not cut short. If infeasible: the capacity (`value`) and the
  /// size of the first sample that exceeds it.
  certificate objective{};
  std::int64_t slowest = 0;    ///< largest time of a micro-batch
  std::int64_t sum = 0;        ///< sum of all times
  std::uint64_t programs = 0;  ///< number of dynamic programs that were solved
  bool quadrangle = false;     ///< whether the times meet the quadrangle inequality, which makes a program O(n log n)
  friend bool operator==(consecutive_cut const&, consecutive_cut const&) = default;
};

}  // namespace ballast::inline v0_2
