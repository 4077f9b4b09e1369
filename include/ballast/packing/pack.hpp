// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/near_optimal.hpp>

#include <algorithm>
#include <cstdint>
#include <ranges>

/// @file
/// @brief `pack`: the default packer.

namespace ballast::inline v0_2 {

/// @brief Largest gap of best-fit decreasing to its lower bound, as a share of the bound, at which `pack` with limits does not search
/// further.
inline constexpr double pack_gap = 0.0001;

namespace detail {
/// The limits of the caller, with the work capped by the number of samples and the gap raised to `pack_gap`.
[[nodiscard]] inline search_rule pack_rule(std::uint64_t samples, search_limits limits) {
  if (samples < limits.work >> 16) limits.work = samples << 16;
  limits.gap = (std::max)(limits.gap, pack_gap);
  return {limits, false};
}
}  // namespace detail

/// @brief Packs samples by best-fit decreasing, and certifies the number of packs by `packing_lower_bound`.
///
/// This is the packer to begin with; it is fast enough to plan every step. With `search_limits` as the last argument, `pack` also searches
/// for a better plan where best-fit decreasing is not close to its lower bound.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param options  capacity, limits and policies: `pack(lengths, {.capacity = 8192})`
/// @param cost     weighs one length
/// @return packs of sample indices, and the number of packs beside a proven lower bound
/// @post no pack exceeds the capacity, except under `oversize::alone`; every sample is in exactly one pack or in `set_aside`
/// @throws invalid_input for a bad option, a length that is not positive, or one above the capacity under `oversize::reject`
/// @par Complexity
/// That of `best_fit_decreasing`: linear in the number of samples.
/// @par Determinism
/// A pure function of its arguments. A release that changes a plan says so in the CHANGELOG.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] packing<Index> pack(R const& lengths, packing_options const& options, Cost const& cost) {
  return best_fit_decreasing<Index>(lengths, options, cost);
}
/// @brief The same for tokens.
/// @param lengths sample lengths in tokens, each at least 1
/// @param options capacity, limits and policies
/// @return packs of sample indices, and the number of packs beside a proven lower bound
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] packing<Index> pack(R const& lengths, packing_options const& options) {
  return best_fit_decreasing<Index>(lengths, options);
}

/// @brief Packs with a search, into caller-owned memory. The next overload says what is computed.
///
/// @param lengths    sample lengths in tokens, each at least 1; may be empty
/// @param options    capacity and limits
/// @param cost       weighs one length
/// @param limits     upper limits of the search
/// @param workspace  scratch memory, kept between calls: a search of no more samples than before then allocates almost nothing
/// @param out        overwritten with the plan; its memory is used again
/// @throws invalid_input as the next overload, and what `limits.progress` throws; `out` is then unchanged
template <index_type Index, length_range R, cost_model Cost>
void pack(R const& lengths, packing_options const& options, Cost const& cost, search_limits const& limits,
          packing_workspace<Index>& workspace, packing<Index>& out) {
  auto const rule = detail::pack_rule(std::uint64_t{std::ranges::size(lengths)}, limits);
  auto& memory = detail::memory_of(workspace);
  detail::drive<Index>(lengths, options, cost, detail::search_solver<Index>{options, rule, memory}, memory.driver, out);
}

/// @brief Packs samples by best-fit decreasing and, if that is not proven good enough, by a search of about a second at most.
///
/// No search takes place if best-fit decreasing is proven to be within `pack_gap` of the optimum, which is so for most long-tailed data.
/// Otherwise `near_optimal` searches until a plan is within `pack_gap`, for at most about 65 microseconds a sample and a second in all, and
/// the better of both plans is returned.
///
/// The lengths are read twice: to count them, and to expand the chosen plan. They are read once more if a length exceeds about eight times
/// the number of samples, or if an over-size policy applies.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param options  capacity and limits
/// @param cost     weighs one length
/// @param limits   upper limits of the search: `work` is lowered to 2^16 a sample if it is larger, and `gap` is raised to `pack_gap` if it
/// is smaller
/// @return packs of sample indices, and the number of packs beside a proven lower bound
/// @post no pack exceeds the capacity, except under `oversize::alone`; every sample is in exactly one pack or in `set_aside`; never more
/// packs than `best_fit_decreasing`
/// @throws invalid_input for a bad option, a length that is not positive, or one above the capacity under `oversize::reject`
/// @par Complexity
/// That of `best_fit_decreasing`, plus a bounded search where its plan is not good enough.
/// @par Determinism
/// A pure function of its arguments, unless a stop request or the wall clock ends the search (`complete` is false then): the search is
/// bounded by counted work.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] packing<Index> pack(R const& lengths, packing_options const& options, Cost const& cost, search_limits const& limits) {
  packing_workspace<Index> workspace;
  packing<Index> out;
  pack(lengths, options, cost, limits, workspace, out);
  return out;
}
/// @brief The same for tokens: `pack(lengths, {.capacity = 8192}, search_limits{})`.
/// @param lengths sample lengths in tokens, each at least 1
/// @param options capacity and limits
/// @param limits upper limits of the search
/// @return packs of sample indices, and the number of packs beside a proven lower bound
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] packing<Index> pack(R const& lengths, packing_options const& options, search_limits const& limits) {
  return pack<Index>(lengths, options, token_cost{}, limits);
}

/// @brief Counts the packs that `pack` with a search needs, and certifies the count, without placing any sample.
///
/// Equals `pack(lengths, options, limits).count` for every set of lengths with this histogram. The overload without limits counts the packs
/// of `pack` without limits.
///
/// @param lengths  histogram of sample lengths in tokens
/// @param options  as for `pack`, every field
/// @param limits   upper limits of the search, as for `pack`
/// @return number of packs with its certificate, tokens, and samples set aside
/// @throws invalid_input for a bad option, an invalid histogram, or a length above the capacity under `oversize::reject`
/// @par Complexity
/// That of `count_packs` without limits, plus a bounded search where best-fit decreasing is not good enough; independent of the number of
/// samples, except for the search's limit of 2^16 units of work a sample.
/// @par Determinism
/// A pure function of its arguments, unless a stop request or the wall clock ends the search.
template <class = when_called>
[[nodiscard]] inline pack_tally count_packs(histogram const& lengths, packing_options const& options, search_limits const& limits) {
  return detail::tally(apply_oversize(lengths, options), options, detail::pack_rule(lengths.samples(), limits));
}

}  // namespace ballast::inline v0_2
