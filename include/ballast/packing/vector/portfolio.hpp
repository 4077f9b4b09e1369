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
/// @brief `pack_portfolio`: tries several packers and returns the best plan; and `pack`, the default packer for samples of several
/// measures.

namespace ballast::inline v0_2 {

/// @brief Packs samples of several measures by several packers and returns the best plan; `packer` of the result names its packer.
///
/// No packer is best on all data. Completion is best if samples of different proportions complement each other, iterative sampling if most
/// samples are similar, and best fit if large samples leave room for small ones. Near-optimal search improves on the best of them. Samples
/// are classified once, and the lower bound is computed once.
///
/// @tparam Index  type of the sample indices
/// @param samples    measures of each sample
/// @param options    capacities and limits
/// @param portfolio  members, criteria and limits of the search
/// @return the best plan by the criteria; `complete` is false if a stop request or the wall clock skipped members
/// @post no member that was tried has a better plan by the criteria
/// @throws invalid_input for a bad option or measure, or a sample above a capacity under `oversize::reject`
/// @par Complexity
/// That of the members that the limits allow.
/// @par Determinism
/// A pure function of its arguments, unless a stop request or the wall clock ends the search.
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

/// @brief Packs samples of several measures by the default portfolio: `pack({{tiles, tokens}}, {.capacity = {9, 4096}})`.
///
/// @tparam Index  type of the sample indices
/// @param samples  measures of each sample
/// @param options  capacities and limits
/// @param limits   limits of the search; by default it ends after about a second at most, and much earlier if there are few or similar
/// samples
/// @return packs of sample indices, and the number of packs beside a proven lower bound
/// @post no pack exceeds a capacity, except under `oversize::alone`; every sample is in exactly one pack or in `set_aside`
/// @throws invalid_input for a bad option or measure, or a sample above a capacity under `oversize::reject`
/// @par Complexity
/// That of `pack_portfolio`: a bounded number of operations, far fewer for small inputs.
/// @par Determinism
/// A pure function of its arguments, unless a stop request or the wall clock ends the search (`complete` is false then). A release that
/// changes a plan says so in the CHANGELOG.
template <index_type Index = std::uint32_t>
[[nodiscard]] vector_packing<Index> pack(sample_measures const& samples, vector_packing_options const& options,
                                         search_limits const& limits = {}) {
  return pack_portfolio<Index>(samples, options, {.limits = limits});
}

BALLAST_INSTANTIATE(vector_packing<std::uint32_t> pack_portfolio(sample_measures const&, vector_packing_options const&,
                                                                 portfolio_options const&))
BALLAST_INSTANTIATE(vector_packing<std::uint64_t> pack_portfolio(sample_measures const&, vector_packing_options const&,
                                                                 portfolio_options const&))

}  // namespace ballast::inline v0_2
