// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/packing/vector/detail/driver.hpp>
#include <ballast/packing/vector/detail/portfolio_search.hpp>
#include <ballast/packing/vector/detail/sampled_packs.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/options.hpp>
#include <ballast/packing/vector/result.hpp>

#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief Several packers on the same samples, the best plan kept; and `pack`, the default for samples of several measures.

namespace ballast::inline v0_2 {

/// @brief Packs samples of several measures by several packers and keeps the best plan; `packer` of the result says whose it is.
///
/// No packer is best on all data: completion wins where samples of different proportions complement each other, iterative sampling where
/// most samples are alike, best fit where large samples leave holes; near-optimal search improves on the best of them. Samples are sorted
/// into classes once, and bounded once.
///
/// @tparam Index  type of the sample indices
/// @param samples    measures of each sample
/// @param options    capacities and limits
/// @param portfolio  members, criteria and limits of the search
/// @return the plan that is best by the criteria; incomplete where a stop or the clock passed over members
/// @post not worse by the criteria than the plan of any member that was tried
/// @throws invalid_input for a bad option or measure, or a sample above a capacity under `oversize::reject`
/// @par Complexity
/// That of the members that the limits admit.
/// @par Determinism
/// A pure function of its arguments where neither `stop` nor `wall_clock` strikes.
/// @par Source
/// This library (docs/omnibal.md).
template <index_type Index = std::uint32_t>
[[nodiscard]] vector_packing<Index> pack_portfolio(sample_measures const& samples, vector_packing_options const& options,
                                                   portfolio_options const& portfolio = {}) {
  require_valid(portfolio);
  return detail::drive<Index>(
      samples, options, portfolio.members[0], [&](detail::vector_items<Index> const& items, vector_packing<Index>& out) {
        auto const best = detail::portfolio_search<Index>(items, samples.measures(), options, portfolio).try_members(out);
        auto const mixed = out.packer == vector_packer::iterative_sampling ? detail::mixed_order(items) : std::vector<Index>{};
        detail::expand_all<Index>(
            best, {items.classes, mixed.empty() ? items.order : std::span<Index const>(mixed), items.begin, items.capacity, items.seed},
            out.packs);
      });
}

/// @brief Packs samples of several measures into as few packs as the default portfolio finds: `pack({{tiles, tokens}}, {.capacity = {9,
/// 4096}})`.
///
/// @tparam Index  type of the sample indices
/// @param samples  measures of each sample
/// @param options  capacities and limits
/// @param limits   how long to search; about a second at most where nothing is given, and far less where samples are few or alike
/// @return packs of sample indices and how near their number is to the least possible one
/// @post no pack exceeds a capacity; every sample is in exactly one pack or in `set_aside`
/// @throws invalid_input for a bad option or measure, or a sample above a capacity under `oversize::reject`
/// @par Complexity
/// That of `pack_portfolio`: a bounded number of operations, of which small sets use few.
/// @par Determinism
/// A pure function of its arguments unless a stop or the wall clock strikes (`complete`). A release that changes a plan says so in the
/// CHANGELOG.
template <index_type Index = std::uint32_t>
[[nodiscard]] vector_packing<Index> pack(sample_measures const& samples, vector_packing_options const& options,
                                         search_limits const& limits = {}) {
  return pack_portfolio<Index>(samples, options, {.limits = limits});
}

}  // namespace ballast::inline v0_2
