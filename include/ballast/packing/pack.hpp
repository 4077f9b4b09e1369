// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/near_optimal.hpp>

#include <algorithm>
#include <cstdint>
#include <ranges>

/// @file
/// @brief `pack`: the default packer, for callers who want a good plan and its certificate and no choice.

namespace ballast::inline v0_2 {

/// @brief The share by which a plan of best-fit decreasing may exceed its bound before `pack` with limits searches for a better one.
inline constexpr double pack_gap = 0.0001;

namespace detail {
/// The search of that many samples within the caller's limits.
[[nodiscard]] inline search_rule pack_rule(std::uint64_t samples, search_limits limits) {
  if (samples < limits.work >> 16) limits.work = samples << 16;
  limits.gap = (std::max)(limits.gap, pack_gap);
  return {limits, false};
}
}  // namespace detail

/// @brief Packs samples into few packs, certified by the best of the bounds by formula: what `best_fit_decreasing` returns.
///
/// For callers who plan every step, or have no choice to make. With `search_limits` behind the other arguments, `pack` searches for a
/// better plan where this one leaves much.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param options  capacity and limits: `pack(lengths, {.capacity = 8192})`
/// @param cost     weighs one length
/// @return packs of sample indices and how near their number is to the least possible one
/// @post no pack exceeds the capacity; every sample stands in exactly one pack or in `set_aside`
/// @throws invalid_input for a bad option, a length that is not positive, or one above the capacity under `oversize::reject`
/// @par Complexity
/// That of `best_fit_decreasing`, linear in the samples.
/// @par Determinism
/// A pure function of its arguments. A release that changes a plan says so in the CHANGELOG.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] packing<Index> pack(R const& lengths, packing_options const& options, Cost const& cost) {
  return best_fit_decreasing<Index>(lengths, options, cost);
}
/// @brief The same for tokens. @param lengths as above @param options as above @return as above
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] packing<Index> pack(R const& lengths, packing_options const& options) {
  return best_fit_decreasing<Index>(lengths, options);
}

/// @brief Packs with a search into caller-owned memory; see the next overload for what it computes.
///
/// @param lengths    sample lengths in tokens, each at least 1; may be empty
/// @param options    capacity and limits
/// @param cost       weighs one length
/// @param limits     how long to search at most
/// @param workspace  scratch memory, kept between calls; a search of as many samples then allocates next to nothing
/// @param out        overwritten with the plan; its memory is used again
/// @throws invalid_input as the next overload; `out` is as it was then
template <index_type Index, length_range R, cost_model Cost>
void pack(R const& lengths, packing_options const& options, Cost const& cost, search_limits const& limits,
          packing_workspace<Index>& workspace, packing<Index>& out) {
  auto const rule = detail::pack_rule(std::uint64_t{std::ranges::size(lengths)}, limits);
  detail::drive<Index>(lengths, options, cost, detail::search_solver<Index>{options, rule, workspace}, workspace.driver, out);
}

/// @brief Packs samples into as few packs as can be had within about a second, certified by the best of all bounds.
///
/// Best-fit decreasing, which is all that happens where its plan is proven to be within `pack_gap` of the best one: most long-tailed data.
/// Else `near_optimal` searches until a plan is, for about 65 microseconds a sample and a second in all at most, and its plan is taken
/// where it improves on the other. The lengths are read twice: once to count them, and once to expand the plan that was decided on; once
/// more where one is longer than about eight times their number, or an over-size policy applies.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param options  capacity and limits
/// @param cost     weighs one length
/// @param limits   how long to search at most: `work` is a cap on 2^16 a sample, and a `gap` below `pack_gap` asks for no more than this
/// @return packs of sample indices and how near their number is to the least possible one
/// @post no pack exceeds the capacity; every sample stands in exactly one pack or in `set_aside`; never more packs than
/// `best_fit_decreasing`
/// @throws invalid_input for a bad option, a length that is not positive, or one above the capacity under `oversize::reject`
/// @par Complexity
/// That of `best_fit_decreasing`, and a bounded search where its plan is not good enough.
/// @par Determinism
/// A pure function of its arguments unless a stop or the wall clock strikes (`complete`): the search is bounded by counted work.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] packing<Index> pack(R const& lengths, packing_options const& options, Cost const& cost, search_limits const& limits) {
  packing_workspace<Index> workspace;
  packing<Index> out;
  pack(lengths, options, cost, limits, workspace, out);
  return out;
}
/// @brief The same for tokens: `pack(lengths, {.capacity = 8192}, search_limits{})`.
/// @param lengths as above @param options as above @param limits as above @return as above
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] packing<Index> pack(R const& lengths, packing_options const& options, search_limits const& limits) {
  return pack<Index>(lengths, options, token_cost{}, limits);
}

/// @brief The number of packs that `pack` needs with a search, with its certificate, without saying which sample goes where.
///
/// Equals `pack(lengths, options, limits).count` for every set of lengths with this histogram; without limits, `count_packs` counts what
/// `pack` needs without them.
///
/// @param lengths  histogram of sample lengths in tokens
/// @param options  as for `pack`, every field
/// @param limits   how long to search at most, as for `pack`
/// @return the tally
/// @throws invalid_input for a bad option, an invalid histogram, or a length above the capacity under `oversize::reject`
/// @par Complexity
/// That of `count_packs` on the histogram, and a bounded search where that is not good enough; the number of samples does not enter.
/// @par Determinism
/// A pure function of its arguments unless a stop or the wall clock strikes.
[[nodiscard]] inline pack_tally count_packs(histogram const& lengths, packing_options const& options, search_limits const& limits) {
  return detail::tally(apply_oversize(lengths, options), options, detail::pack_rule(lengths.samples(), limits));
}

}  // namespace ballast::inline v0_2
