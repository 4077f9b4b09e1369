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
#include <limits>
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
  require(o.capacity.size() == samples.measures(), [&] {
    return std::to_string(samples.measures()) + " measures need as many capacities, not " + std::to_string(o.capacity.size());
  });
  require(std::all_of(o.capacity.begin(), o.capacity.end(), [](auto c) { return c > 0; }) && o.pack_count_multiple > 0,
          [] { return std::string("every capacity and pack_count_multiple must be positive"); });
  std::vector<bool> above(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i)
    for (std::size_t m = 0; m < samples.measures(); ++m) {
      auto const value = samples.column(m)[i];
      require(value >= 0, [&] { return entry(("measures[" + std::to_string(m) + "]").c_str(), i, value) + " must not be negative"; });
      if (value > o.capacity[m]) above[i] = true;
    }
  return above;
}

/// The first rule that the packs break.
template <index_type Index>
[[nodiscard]] verdict check_groups(groups<Index> const& packs, sample_measures const& samples, vector_packing_options const& o,
                                   std::vector<bool> const& above) {
  using broken = packing_fault;
  auto const& offsets = packs.offsets;
  auto const& members = packs.members;
  if (auto const v = check_offsets(offsets, members.size()); !v.valid()) return v;

  auto const aside = o.oversize == oversize::set_aside;
  std::vector<bool> seen(samples.size());
  std::vector<std::uint64_t> load(samples.measures());
  for (std::size_t g = 0; g < packs.size(); ++g) {
    std::fill(load.begin(), load.end(), 0);
    auto const size = offsets[g + 1] - offsets[g];
    bool alone = false;  // whether the pack is one sample above a capacity, which the policy allows
    for (auto j = offsets[g]; j < offsets[g + 1]; ++j) {
      auto const member = std::uint64_t{members[static_cast<std::size_t>(j)]};
      if (member >= seen.size()) return {broken::member_out_of_range, j, member, seen.size()};
      auto const i = static_cast<std::size_t>(member);
      if (seen[i]) return {broken::sample_twice, member, g, 0};
      seen[i] = true;
      for (std::size_t m = 0; m < load.size(); ++m) {
        auto const value = static_cast<std::uint64_t>(samples.column(m)[i]);
        auto const most = static_cast<std::uint64_t>(o.capacity[m]);
        if (aside && value > most) return {broken::sample_unwanted, member, value, most};
        load[m] += (std::min)(value, (std::numeric_limits<std::uint64_t>::max)() - load[m]);
      }
      alone = o.oversize == oversize::alone && above[i] && size == 1;
    }
    if (size == 0) return {broken::empty_pack, g, 0, 1};
    if (o.max_samples != 0 && size > o.max_samples) return {broken::too_many_samples, g, size, o.max_samples};
    for (std::size_t m = 0; m < load.size(); ++m)
      if (std::cmp_greater(load[m], o.capacity[m]) && !alone) return {broken::overfull_pack, g, load[m], o.capacity[m]};
  }
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (!seen[i] && !(aside && above[i])) return {broken::sample_missing, i, 0, 1};
  if (packs.size() % o.pack_count_multiple != 0) return {broken::no_multiple, 0, packs.size(), o.pack_count_multiple};
  return {};
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
  if (auto const v = detail::check_groups(plan.packs, samples, options, above); !v.valid()) return v;
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
