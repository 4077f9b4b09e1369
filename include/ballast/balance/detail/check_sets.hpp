// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/fault.hpp>
#include <ballast/balance/options.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/core/weigh.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// The largest load of the sets, and the first fault; `seen` marks the items that need not be in a set.
template <index_type Index, length_range R, cost_model Cost, cost_model Size>
[[nodiscard]] verdict<balance_fault> check_sets(groups<Index> const& sets, R const& items, balance_options const& o, Cost const& cost,
                                                Size const& size, std::vector<bool> seen, std::uint64_t& largest) {
  using enum balance_fault;
  auto const n = static_cast<std::uint64_t>(std::ranges::size(items));
  auto const& offsets = sets.offsets;
  auto const& members = sets.members;
  std::uint64_t before = 0;
  for (std::size_t s = 0; s < offsets.size(); before = offsets[s++])
    if ((s == 0 && offsets[s] != 0) || offsets[s] < before || offsets[s] > members.size())
      return {bad_offsets, s, offsets[s], members.size()};
  if (before != members.size()) return {bad_offsets, sets.size(), before, members.size()};
  if (sets.size() != o.sets) return {wrong_set_count, 0, sets.size(), o.sets};

  auto const item_at = read_by_position(items);
  auto const weight = [&](auto const& weigh, std::uint64_t i, char const* what) {
    auto const item = item_at[static_cast<std::size_t>(i)];
    return static_cast<std::uint64_t>(checked_cost(item, weigh, what, [&] { return entry("items", i, item); }));
  };
  auto const add = [](std::uint64_t& sum, std::uint64_t value) {
    sum += (std::min)(value, (std::numeric_limits<std::uint64_t>::max)() - sum);
  };
  largest = 0;
  std::uint64_t fewest = (std::numeric_limits<std::uint64_t>::max)(), most = 0;
  for (std::size_t s = 0; s < sets.size(); ++s) {
    std::uint64_t load = 0, held = 0;
    for (auto m = offsets[s]; m < offsets[s + 1]; ++m) {
      auto const i = std::uint64_t{members[static_cast<std::size_t>(m)]};
      if (i >= n) return {member_out_of_range, m, i, n};
      if (seen[static_cast<std::size_t>(i)]) return {item_twice, i, s, 0};
      seen[static_cast<std::size_t>(i)] = true;
      add(load, weight(cost, i, "cost"));
      add(held, weight(size, i, "size"));
    }
    if (o.capacity > 0 && std::cmp_greater(held, o.capacity)) return {overfull_set, s, held, static_cast<std::uint64_t>(o.capacity)};
    auto const count = offsets[s + 1] - offsets[s];
    if (o.max_items != 0 && count > o.max_items) return {too_many_items, s, count, o.max_items};
    fewest = (std::min)(fewest, count);
    most = (std::max)(most, count);
    largest = (std::max)(largest, load);
  }
  for (std::uint64_t i = 0; i < n; ++i)
    if (!seen[static_cast<std::size_t>(i)]) return {item_missing, i, 0, 1};
  if (o.equal_counts && most - fewest > 1)
    for (std::size_t s = 0; s < sets.size(); ++s)
      if (sets[s].size() == fewest) return {uneven_counts, s, fewest, most};
  return {};
}

}  // namespace ballast::inline v0_2::detail
