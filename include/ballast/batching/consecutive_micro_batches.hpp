// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/consecutive_options.hpp>
#include <ballast/batching/detail/consecutive_search.hpp>
#include <ballast/batching/detail/consecutive_spans.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>

#include <cstdint>
#include <string>

/// @file
/// @brief `consecutive_micro_batches`: cuts an ordered global batch into micro-batches such that a pipeline takes least time.

namespace ballast::inline v0_2 {

/// @brief Cuts ordered samples into consecutive micro-batches of least weighted sum of the slowest one and of all.
///
/// Samples of one length are usually sorted by it, longest first, so that micro-batches that are padded to their longest sample hold
/// samples of similar lengths. The number of micro-batches is free: large ones cost less in total if a micro-batch has a fixed cost, small
/// ones make the pipeline fill and drain faster. The result is the exact optimum over all cuts of the given order.
///
/// For a limit on the time of each micro-batch, a dynamic program over the ends gives the least sum. Limits are not tried one by one:
/// bounds from programs that were solved rule out all but a few, usually ten to forty of the many thousand. A program takes O(n log n)
/// where the times meet the quadrangle inequality, t(i, j) + t(i', j') <= t(i, j') + t(i', j) for i < i' < j < j', and looks at every span
/// otherwise. Sums of costs of samples meet it, and so does any time that is linear in the count with a rate that rises with the longest
/// sample. The first pass finds out.
///
/// @tparam Index  type of the boundaries
/// @tparam Cost   a `span_cost`
/// @tparam Size   a `span_cost`
/// @param samples  number of samples, in their order; may be 0
/// @param options  capacity, weights, the published variant, and the limit of work
/// @param cost     time of a micro-batch that holds samples begin … end - 1, in [0, 2^62)
/// @param size     size of such a micro-batch, such as bytes of its activations, in [0, 2^62)
/// @return the cut; infeasible if one sample alone exceeds the capacity
/// @post unless `work` was spent or there is a `candidate_step`, `objective.optimal()`
/// @throws invalid_input for a bad option; a cost or size that is out of range, or smaller for a longer span (the cost of every span that
///         fits is checked, sizes where they reach the capacity); an objective that could reach 2^62
/// @par Complexity
/// With s spans that fit: s calls of the cost (none of them if it is known to meet the inequality and s is above 2^22), and O(n log n) or
/// O(s) for each of the programs that bounds do not rule out, of which there are at most as many as spans. A table of the times, if s is at
/// most 2^22, takes 8 s bytes. With a `candidate_step`, one program for each candidate.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Jiang et al., "DynaPipe: Optimizing Multi-task Training through Dynamic Pipelines", EuroSys 2024, arXiv 2311.10418, section 4: the
/// objective and the program. The queue: Galil, Park, "Dynamic programming with convexity, concavity and sparsity", Theoretical Computer
/// Science 92 (1992). The bounds: this library.
template <index_type Index = std::uint32_t, span_cost Cost, span_cost Size>
[[nodiscard]] consecutive_cut<Index> consecutive_micro_batches(std::uint64_t samples, consecutive_options const& options, Cost const& cost,
                                                               Size const& size) {
  constexpr auto most_weight = std::uint64_t{1} << 31;
  require_index<Index>(samples, "samples");
  require(options.capacity > 0, [&] { return "capacity = " + std::to_string(options.capacity) + " must be positive"; });
  require(options.slowest_weight < most_weight && options.sum_weight < most_weight && options.slowest_weight + options.sum_weight > 0, [&] {
    return "slowest_weight = " + std::to_string(options.slowest_weight) + " and sum_weight = " + std::to_string(options.sum_weight) +
           " must be below 2^31, and not both 0";
  });
  require(options.candidate_step >= 0,
          [&] { return "candidate_step = " + std::to_string(options.candidate_step) + " must not be negative"; });
  consecutive_cut<Index> out;
  if (samples == 0) {
    out.boundaries.push_back(0);
    return out;
  }
  detail::consecutive_spans<Cost> const spans(samples, options.capacity, cost, size, options.quadrangle);
  if (auto const i = spans.oversized(); i < samples) {
    out.status = status::infeasible;
    out.objective = {options.capacity, static_cast<std::int64_t>(size(i, i + 1))};
    return out;
  }
  auto const slowest = checked(spans.slowest());
  auto const most = checked(static_cast<std::int64_t>(options.slowest_weight)) * slowest +
                    checked(static_cast<std::int64_t>(options.sum_weight)) * (checked(static_cast<std::int64_t>(samples)) * slowest);
  auto const sums = checked(static_cast<std::int64_t>(samples)) * slowest;
  require(most.fits() && most.value < std::int64_t{1} << 62 && sums.fits() && sums.value < std::int64_t{1} << 62,
          [&] { return "the slowest micro-batch that fits takes " + std::to_string(slowest.value) + ": the objective could reach 2^62"; });
  detail::consecutive_search(spans, options).run(out);
  return out;
}

}  // namespace ballast::inline v0_2
