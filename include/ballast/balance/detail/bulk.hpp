// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/dealing.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/balance/workspace.hpp>
#include <ballast/core/classes.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/weigh.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <utility>
#include <vector>

// Longest processing time first on classes of equal items.

namespace ballast::inline v0_2::detail {

/// A load up to which all sets can be filled at once. Consider the loads at which items of `cost` are added one by one to each set: all
/// loads below the result are among the `count` smallest. If the items were poured like water, the loads would rise to W; every load below
/// W - cost qualifies, since its set then takes less than its share of water.
[[nodiscard]] inline std::int64_t safe_load(std::vector<std::int64_t> const& loads, std::int64_t cost, std::int64_t count) {
  auto water = (std::numeric_limits<std::int64_t>::max)();
  for (std::size_t active = 0, before = loads.size() + 1; active != before;) {
    before = active != 0 ? active : before;
    active = 0;
    std::int64_t sum = cost * count;
    for (auto const l : loads)
      if (l < water) {
        sum += l;
        ++active;
      }
    water = sum / static_cast<std::int64_t>(active);
  }
  return water - cost;
}

/// Weighs the classes and sorts them, most expensive first; returns the number of items. Throws if the sum of costs reaches 2^63.
template <cost_model Cost>
std::uint64_t sort_classes(histogram const& classes, Cost const& cost, bulk_balance_memory& ws) {
  auto const kinds = classes.lengths.size();
  static_cast<void>(weigh(classes.lengths, cost, "items", "cost", ws.costs));
  ws.order.resize(kinds);
  for (std::size_t c = 0; c < kinds; ++c) ws.order[c] = c;
  std::sort(ws.order.begin(), ws.order.end(),
            [&](auto a, auto b) { return ws.costs[a] != ws.costs[b] ? ws.costs[a] > ws.costs[b] : a > b; });
  ws.ends.resize(kinds);
  ws.prefix.resize(kinds);
  auto left = unlimited;
  std::uint64_t items = 0;
  for (std::size_t o = 0; o < kinds; ++o) {
    auto const c = ws.order[o];
    auto const count = classes.counts[c];
    auto const each = ws.costs[c];
    require(each == 0 || std::cmp_less_equal(count, left / each),
            [&] { return entry("histogram.counts", c, count) + " brings the sum of costs to 2^63 or more"; });
    left -= each * static_cast<std::int64_t>(count);
    ws.ends[o] = items += count;
    ws.prefix[o] = unlimited - left;
  }
  return items;
}

/// Deals the sorted classes to the sets.
template <class = when_called>
inline void deal_classes(histogram const& classes, std::uint64_t sets, bulk_balance_memory& ws, balance_runs& out) {
  auto const k = static_cast<std::size_t>(sets);
  auto& load = out.loads;
  load.assign(k, 0);
  out.runs.clear();
  ws.given.assign(k, 0);
  auto const lighter = [&](auto a, auto b) { return load[a] < load[b]; };
  auto const room = [](std::size_t) { return std::int64_t{0}; };
  ws.tree.build(k, room, lighter);
  for (auto const c : ws.order) {
    auto const each = ws.costs[c];
    auto count = classes.counts[c];
    auto const give = [&](std::size_t s, std::uint64_t many) {
      if (ws.given[s] == 0) ws.touched.push_back(static_cast<std::uint32_t>(s));
      ws.given[s] += many;
      load[s] += each * static_cast<std::int64_t>(many);
    };
    ws.touched.clear();
    if (each == 0) {
      give(ws.tree.winner(), count);  // the least loaded set stays the least loaded
      count = 0;
    } else if (count > 2 * sets) {
      auto const safe = safe_load(load, each, static_cast<std::int64_t>(count));
      for (std::size_t s = 0; s < k; ++s) {
        if (load[s] >= safe) continue;
        auto const many = static_cast<std::uint64_t>((safe - load[s] - 1) / each + 1);
        give(s, many);
        count -= many;
      }
      ws.tree.build(k, room, lighter);
    }
    for (; count > 0; --count) {
      auto const s = ws.tree.winner();
      give(s, 1);
      ws.tree.update(s, 0, lighter);
    }
    std::sort(ws.touched.begin(), ws.touched.end());
    for (auto const s : ws.touched) {
      out.runs.push_back({c, s, ws.given[s]});
      ws.given[s] = 0;
    }
  }
}

/// Writes the samples of runs, whose classes are in the workspace, into their sets; of equal samples, lower indices go to lower sets.
template <index_type Index, length_range R>
void expand_sets(R const& lengths, balance_runs const& runs, bulk_balance_memory& ws, groups<Index>& out) {
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  auto const k = runs.loads.size();
  auto const& classes = ws.classes;
  auto& offsets = out.offsets;
  offsets.assign(k + 1, 0);
  for (auto const& r : runs.runs) offsets[r.set + 1] += r.count;
  for (std::size_t s = 0; s < k; ++s) offsets[s + 1] += offsets[s];
  auto& next = ws.next;
  auto& last = ws.last;
  auto& used = ws.used;
  next.resize(runs.runs.size());
  used.assign(offsets.begin(), offsets.end() - 1);
  auto& first = ws.first_run;
  first.resize(classes.lengths.size());
  last.resize(runs.runs.size());
  for (std::size_t r = runs.runs.size(); r-- > 0;) first[static_cast<std::size_t>(runs.runs[r].item_class)] = r;
  for (std::size_t r = 0; r < runs.runs.size(); ++r) {
    next[r] = used[runs.runs[r].set];
    used[runs.runs[r].set] += runs.runs[r].count;
    last[r] = used[runs.runs[r].set];
  }

  auto const at = read_by_position(lengths);
  auto const longest = classes.lengths.empty() ? 0 : classes.lengths.back();
  auto const by_table = longest <= longest_for_a_table(n);
  if (by_table) {
    ws.class_of.resize(static_cast<std::size_t>(longest) + 1);
    for (std::size_t c = 0; c < classes.lengths.size(); ++c)
      ws.class_of[static_cast<std::size_t>(classes.lengths[c])] = static_cast<std::uint32_t>(c);
  }
  out.members.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    auto const length = static_cast<std::int64_t>(at[i]);
    auto const c =
        by_table
            ? std::size_t{ws.class_of[static_cast<std::size_t>(length)]}
            : static_cast<std::size_t>(std::lower_bound(classes.lengths.begin(), classes.lengths.end(), length) - classes.lengths.begin());
    auto& r = first[c];
    if (next[static_cast<std::size_t>(r)] == last[static_cast<std::size_t>(r)]) ++r;
    out.members[static_cast<std::size_t>(next[static_cast<std::size_t>(r)]++)] = static_cast<Index>(i);
  }
}

}  // namespace ballast::inline v0_2::detail
