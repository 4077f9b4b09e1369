// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/near_optimal.hpp>

#include <algorithm>
#include <cstdint>
#include <ranges>
#include <utility>

/// @file
/// @brief `pack`: the default packer, for callers who want a good plan and its certificate and no choice.

namespace ballast::inline v0_2 {

/// @brief The share by which a plan of `pack` may exceed its bound before it searches for a better one.
inline constexpr double pack_gap = 0.0001;

namespace detail {

/// Whether there is nothing to search for: good enough, or proven impossible.
[[nodiscard]] inline bool is_good(status found, certificate const& count) {
  return found == status::feasible ? count.gap() <= pack_gap : found == status::infeasible;
}
/// The search of so many samples.
[[nodiscard]] inline search_limits pack_limits(std::uint64_t samples) {
  search_limits limits{.gap = pack_gap};
  if (samples < limits.work >> 16) limits.work = samples << 16;
  return limits;
}
/// Whether `b` says more than `a`: a plan where there was none, fewer packs, or a better bound.
template <class Plan>
[[nodiscard]] bool improves(Plan const& b, Plan const& a) {
  return b.status != a.status || b.count.value < a.count.value || b.count.lower_bound > a.count.lower_bound;
}

}  // namespace detail

/// @brief Packs samples into as few packs as can be had within about a second, certified by the best of all bounds.
///
/// Best-fit decreasing, which is all that happens where its plan is proven to be within `pack_gap` of the best one: most long-tailed data.
/// Else `near_optimal` searches until a plan is, for about 65 microseconds a sample and a second in all at most. A caller who plans every
/// step and has no time for that calls `best_fit_decreasing`; one who wants the last pack calls `near_optimal`.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param options  capacity and limits: `pack(lengths, {.capacity = 8192})`
/// @param cost     weighs one length; tokens by default
/// @return packs of sample indices and how near their number is to the least possible one
/// @post no pack exceeds the capacity; every sample stands in exactly one pack or in `set_aside`; never more packs than
/// `best_fit_decreasing`
/// @throws invalid_input for a bad option, a length that is not positive, or one above the capacity under `oversize::reject`
/// @par Complexity
/// That of `best_fit_decreasing`, linear in the samples, and a bounded search where its plan is not good enough.
/// @par Determinism
/// A pure function of its arguments: the search is bounded by counted work. A release that changes a plan says so in the CHANGELOG.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] packing<Index> pack(R const& lengths, packing_options const& options, Cost const& cost = {}) {
  auto plan = best_fit_decreasing<Index>(lengths, options, cost);
  if (detail::is_good(plan.status, plan.count)) return plan;
  auto better = near_optimal<Index>(lengths, options, detail::pack_limits(std::uint64_t{std::ranges::size(lengths)}), cost);
  return detail::improves(better, plan) ? better : plan;
}

/// @brief The number of packs that `pack` needs, with its certificate, without saying which sample goes where.
///
/// Equals `pack(lengths, options).count` for every set of lengths with this histogram.
///
/// @param lengths  histogram of sample lengths in tokens
/// @param options  as for `pack`, every field
/// @return the tally
/// @throws invalid_input for a bad option, an invalid histogram, or a length above the capacity under `oversize::reject`
/// @par Complexity
/// That of `count_packs`, and a bounded search where that is not good enough; the number of samples does not enter.
/// @par Determinism
/// A pure function of its arguments.
[[nodiscard]] inline pack_tally count_packs_of_pack(histogram const& lengths, packing_options const& options) {
  auto const tally = count_packs(lengths, options);
  if (detail::is_good(tally.status, tally.count)) return tally;
  auto const better = count_near_optimal(lengths, options, detail::pack_limits(lengths.samples()));
  return detail::improves(better, tally) ? better : tally;
}

}  // namespace ballast::inline v0_2
