// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/packing/check.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

// The rules of packings of several measures; no solver includes this.

namespace ballast::inline v0_2::detail {

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
[[nodiscard]] verdict<packing_fault> check_groups(groups<Index> const& packs, sample_measures const& samples,
                                                  vector_packing_options const& o, std::vector<bool> const& above) {
  using enum packing_fault;
  auto const& offsets = packs.offsets;
  auto const& members = packs.members;
  for (std::size_t g = 0; g < offsets.size(); ++g)
    if (offsets[g] > members.size() || (g == 0 ? offsets[g] != 0 : offsets[g] < offsets[g - 1]))
      return {bad_offsets, g, offsets[g], members.size()};
  if (auto const end = offsets.empty() ? 0 : offsets.back(); end != members.size()) return {bad_offsets, packs.size(), end, members.size()};

  auto const aside = o.oversize == oversize::set_aside;
  std::vector<bool> seen(samples.size());
  std::vector<std::uint64_t> load(samples.measures());
  for (std::size_t g = 0; g < packs.size(); ++g) {
    std::fill(load.begin(), load.end(), 0);
    auto const size = offsets[g + 1] - offsets[g];
    bool alone = false;  // whether the pack is one sample above a capacity, which the policy allows
    for (auto j = offsets[g]; j < offsets[g + 1]; ++j) {
      auto const member = std::uint64_t{members[static_cast<std::size_t>(j)]};
      if (member >= seen.size()) return {member_out_of_range, j, member, seen.size()};
      auto const i = static_cast<std::size_t>(member);
      if (seen[i]) return {sample_twice, member, g, 0};
      seen[i] = true;
      for (std::size_t m = 0; m < load.size(); ++m) {
        auto const value = static_cast<std::uint64_t>(samples.column(m)[i]);
        auto const most = static_cast<std::uint64_t>(o.capacity[m]);
        if (aside && value > most) return {sample_unwanted, member, value, most};
        load[m] += (std::min)(value, (std::numeric_limits<std::uint64_t>::max)() - load[m]);
      }
      alone = o.oversize == oversize::alone && above[i] && size == 1;
    }
    if (size == 0) return {empty_pack, g, 0, 1};
    if (o.max_samples != 0 && size > o.max_samples) return {too_many_samples, g, size, o.max_samples};
    for (std::size_t m = 0; m < load.size(); ++m)
      if (std::cmp_greater(load[m], o.capacity[m]) && !alone) return {overfull_pack, g, load[m], static_cast<std::uint64_t>(o.capacity[m])};
  }
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (!seen[i] && !(aside && above[i])) return {sample_missing, i, 0, 1};
  if (packs.size() % o.pack_count_multiple != 0) return {no_multiple, 0, packs.size(), o.pack_count_multiple};
  return {};
}

}  // namespace ballast::inline v0_2::detail
