// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/packing/check.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/vector/detail/check_groups.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/options.hpp>
#include <ballast/packing/vector/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// @file
/// @brief The validator of packings of several measures, of this library or any other. It shares no code with the packers.

namespace ballast::inline v0_2 {

/// @brief Checks a packing of samples with several measures, given as groups of sample indices, against the definition of a valid packing.
///
/// Every sample must occur exactly once, no pack may be empty, exceed `max_samples` or exceed the capacity of any measure, and the number
/// of packs must be a multiple of `pack_count_multiple`. A sample above a capacity occurs nowhere under `set_aside`, and is the only member
/// of its pack under `alone`.
///
/// @tparam Index  index type of the groups
/// @param packs    the packing; its offsets and members may have any values
/// @param samples  measures of each sample, not negative
/// @param options  the options that the packing must meet
/// @return the first broken rule, in this order: offsets, pack after pack (measure after measure), missing samples, number of packs
/// @throws invalid_input unless there is one capacity for each measure, and no measure is negative
/// @par Complexity
/// O((samples + members) measures).
template <index_type Index>
[[nodiscard]] verdict<packing_fault> check_packing(groups<Index> const& packs, sample_measures const& samples,
                                                   vector_packing_options const& options) {
  return detail::check_groups(packs, samples, options, detail::above_capacity(samples, options));
}

/// @brief Checks the result of a packer: its packs, and the figures it gives about them.
///
/// A result whose status is not `feasible` must have no packs. For a wrong total, the index of the verdict is the measure.
///
/// @tparam Index  index type of the result
/// @param plan     the result; it may have any values
/// @param samples  measures of each sample, not negative
/// @param options  the options that the packing must meet
/// @return the first broken rule, in this order: `set_aside`, the packs (as in the other overload), totals, certificate
/// @throws invalid_input unless there is one capacity for each measure, and no measure is negative
/// @par Complexity
/// O((samples + members) measures).
template <index_type Index>
[[nodiscard]] verdict<packing_fault> check_packing(vector_packing<Index> const& plan, sample_measures const& samples,
                                                   vector_packing_options const& options) {
  using enum packing_fault;
  auto const above = detail::above_capacity(samples, options);
  std::vector<std::uint64_t> aside;
  for (std::size_t i = 0; i < above.size(); ++i)
    if (above[i] && options.oversize == oversize::set_aside) aside.push_back(i);
  for (std::size_t j = 0; j < (std::max)(aside.size(), plan.set_aside.size()); ++j)
    if (j >= aside.size() || j >= plan.set_aside.size() || std::cmp_not_equal(plan.set_aside[j], aside[j]))
      return {wrong_set_aside, j, plan.set_aside.size(), aside.size()};
  if (plan.status != status::feasible) {
    if (!plan.packs.empty()) return {packs_without_plan, 0, plan.packs.size(), 0};
    return {};
  }
  if (auto const v = detail::check_groups(plan.packs, samples, options, above); !v.valid()) return v;
  for (std::size_t m = 0; m < samples.measures(); ++m) {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < samples.size(); ++i)
      if (!above[i] || options.oversize != oversize::set_aside) total += static_cast<std::uint64_t>(samples.column(m)[i]);
    auto const stated = m < plan.totals.size() ? static_cast<std::uint64_t>(plan.totals[m]) : 0;
    if (stated != total || m >= plan.totals.size()) return {wrong_tokens, m, stated, total};
  }
  auto const packs = std::uint64_t{plan.packs.size()};
  if (std::cmp_not_equal(plan.count.value, packs)) return {wrong_value, 0, static_cast<std::uint64_t>(plan.count.value), packs};
  if (plan.count.lower_bound > plan.count.value) return {wrong_bound, 0, static_cast<std::uint64_t>(plan.count.lower_bound), packs};
  return {};
}

}  // namespace ballast::inline v0_2
