// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/check.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/packing/check.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/options.hpp>
#include <ballast/packing/vector/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief The validator of packings of several measures, of this library or any other. It shares no code with the packers.

namespace ballast::inline v0_2 {

namespace detail {

/// Which samples exceed a capacity.
template <class = when_called>
[[nodiscard]] inline std::vector<bool> above_capacity(sample_measures const& samples, vector_packing_options const& o) {
  require(o.capacity.size() == samples.measures(),
          [&] { return sentence(samples.measures(), " measures need as many capacities, not ", o.capacity.size()); });
  require(std::all_of(o.capacity.begin(), o.capacity.end(), [](auto c) { return c > 0; }) && o.pack_count_multiple > 0,
          [] { return std::string("every capacity and pack_count_multiple must be positive"); });
  std::vector<bool> above(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i)
    for (std::size_t m = 0; m < samples.measures(); ++m) {
      auto const value = samples.column(m)[i];
      require(value >= 0, [&] { return sentence("measures[", m, "][", i, "] = ", value, " must not be negative"); });
      if (value > o.capacity[m]) above[i] = true;
    }
  return above;
}

template <index_type Index>
[[nodiscard]] verdict check_groups(groups<Index> const& packs, sample_measures const& samples, vector_packing_options const& o) {
  std::vector<std::uint64_t> const capacity(o.capacity.begin(), o.capacity.end());
  auto const v = check_members(packs, samples.size(), std::span(capacity), o.max_samples, o.oversize,
                               [&](std::size_t i, std::size_t m) { return static_cast<std::uint64_t>(samples.column(m)[i]); });
  if (!v.valid() || packs.size() % o.pack_count_multiple == 0) return v;
  return {packing_fault::no_multiple, 0, packs.size(), o.pack_count_multiple};
}
}  // namespace detail

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
[[nodiscard]] verdict check_packing(groups<Index> const& packs, sample_measures const& samples, vector_packing_options const& options) {
  (void)detail::above_capacity(samples, options);  // throws for measures that are not valid
  return detail::check_groups(packs, samples, options);
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
[[nodiscard]] verdict check_packing(vector_packing<Index> const& plan, sample_measures const& samples,
                                    vector_packing_options const& options) {
  using broken = packing_fault;
  auto const above = detail::above_capacity(samples, options);
  std::vector<std::uint64_t> aside;
  for (std::size_t i = 0; i < above.size(); ++i)
    if (above[i] && options.oversize == oversize::set_aside) aside.push_back(i);
  for (std::size_t j = 0; j < (std::max)(aside.size(), plan.set_aside.size()); ++j)
    if (j >= aside.size() || j >= plan.set_aside.size() || std::cmp_not_equal(plan.set_aside[j], aside[j]))
      return {broken::wrong_set_aside, j, plan.set_aside.size(), aside.size()};
  if (plan.status != status::feasible) {
    if (!plan.packs.empty()) return {broken::packs_without_plan, 0, plan.packs.size(), 0};
    return {};
  }
  if (auto const v = detail::check_groups(plan.packs, samples, options); !v.valid()) return v;
  for (std::size_t m = 0; m < samples.measures(); ++m) {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < samples.size(); ++i)
      if (!above[i] || options.oversize != oversize::set_aside) total += static_cast<std::uint64_t>(samples.column(m)[i]);
    auto const stated = m < plan.totals.size() ? static_cast<std::uint64_t>(plan.totals[m]) : 0;
    if (stated != total || m >= plan.totals.size()) return {broken::wrong_tokens, m, stated, total};
  }
  return check_certificate(plan.count, plan.packs.size());
}

}  // namespace ballast::inline v0_2
