// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/dealing.hpp>
#include <ballast/core/classes.hpp>
#include <ballast/cost/polynomial.hpp>

#include <limits>
#include <ranges>

/// @file
/// @brief Longest processing time first on a histogram: the loads of the item-by-item algorithm, in time that hardly depends on the items.

namespace ballast::inline v0_2 {

/// @brief `count` equal items in one set.
struct balance_run {
  std::uint64_t item_class = 0;  ///< entry of the histogram
  std::uint32_t set = 0;         ///< number of the set
  std::uint64_t count = 0;       ///< items, at least 1
  friend constexpr bool operator==(balance_run const&, balance_run const&) = default;
};

/// @brief A balance that was decided on classes of equal items.
struct balance_runs {
  std::vector<balance_run> runs;              ///< dearest class first; of a class, lower set first
  std::vector<std::int64_t> loads;            ///< sum of costs of each set
  certificate load;                           ///< the largest of the loads, and what no plan can go below
  balance_bound bound = balance_bound::none;  ///< what proves `load.lower_bound`
};

/// @brief Scratch memory of `bulk_longest_processing_time`, kept between calls.
struct bulk_balance_workspace {
  histogram classes;                     ///< private
  fold_workspace folds;                  ///< private
  std::vector<std::int64_t> costs;       ///< private: by class
  std::vector<std::uint64_t> order;      ///< private: classes, dearest first
  std::vector<std::uint64_t> ends;       ///< private: items up to and with each class of the order
  std::vector<std::int64_t> prefix;      ///< private: and their cost
  std::vector<std::uint64_t> given;      ///< private: by set, items of the class in hand
  std::vector<std::uint32_t> touched;    ///< private: sets that got some
  detail::winner_tree tree;              ///< private
  std::vector<std::uint32_t> class_of;   ///< private: by length
  std::vector<std::uint64_t> first_run;  ///< private: by class, the run that takes its next sample
  std::vector<std::uint64_t> next;       ///< private: by run, where its next member goes
  std::vector<std::uint64_t> last;       ///< private: by run, where its members end
  std::vector<std::uint64_t> used;       ///< private: by set, members that its runs so far take
};

namespace detail {

/// A level below which every set may be filled at once: among the `count` smallest of the loads that adding items of `cost` one by one
/// to every set would start from, are all those below it. Water poured on the loads rises to W; below W - cost that holds, since a set
/// then takes less than its share of water.
[[nodiscard]] inline std::int64_t level_below(std::vector<std::int64_t> const& loads, std::int64_t cost, std::int64_t count) {
  auto level = unlimited;
  for (std::size_t active = 0, before = loads.size() + 1; active != before;) {
    before = active != 0 ? active : before;
    active = 0;
    std::int64_t sum = cost * count;
    for (auto const l : loads)
      if (l < level) {
        sum += l;
        ++active;
      }
    level = sum / static_cast<std::int64_t>(active);
  }
  return level - cost;
}

}  // namespace detail

/// @brief Deals a histogram of items, dearest first, each to the least loaded set: all items of a class at once.
///
/// Sets with equal loads are taken in their order. No capacity, no limit of items.
///
/// @tparam Cost  a `cost_model` of the lengths
/// @param classes    a valid histogram
/// @param sets       number of sets, 1 … 2^31
/// @param cost       weighs one length; not negative
/// @param workspace  scratch memory, kept between calls
/// @param out        overwritten with the plan
/// @post every set gets as many items of each cost as from `longest_processing_time`
/// @throws invalid_input for a bad histogram or number of sets, or a cost, or the sum of all, outside [0, 2^63)
/// @par Complexity
/// O(D log D + sum over the classes of min(c log k, k log k)) for D distinct lengths and c items in a class.
/// @par Determinism
/// A pure function of histogram, sets and costs.
/// @par Source
/// This library: an item of cost s goes to the smallest of the keys (load + i s, set), so c items take the c smallest, and all keys below
/// a level can be counted by one division a set.
template <cost_model Cost>
void bulk_longest_processing_time(histogram const& classes, std::uint64_t sets, Cost const& cost, bulk_balance_workspace& workspace,
                                  balance_runs& out) {
  require_valid(classes);
  detail::require_valid(balance_options{.sets = sets});
  auto& ws = workspace;
  auto const kinds = classes.lengths.size();
  static_cast<void>(weigh(classes.lengths, cost, "items", "cost", ws.costs));
  ws.order.resize(kinds);
  for (std::size_t c = 0; c < kinds; ++c) ws.order[c] = c;
  std::sort(ws.order.begin(), ws.order.end(),
            [&](auto a, auto b) { return ws.costs[a] != ws.costs[b] ? ws.costs[a] > ws.costs[b] : a > b; });
  ws.ends.resize(kinds);
  ws.prefix.resize(kinds);
  auto left = detail::unlimited;
  std::uint64_t items = 0;
  for (std::size_t o = 0; o < kinds; ++o) {
    auto const c = ws.order[o];
    auto const count = classes.counts[c];
    auto const each = ws.costs[c];
    require(each == 0 || std::cmp_less_equal(count, left / each), [&] {
      return "histogram.counts[" + std::to_string(c) + "] = " + std::to_string(count) + " brings the sum of costs to 2^63 or more";
    });
    left -= each * static_cast<std::int64_t>(count);
    ws.ends[o] = items += count;
    ws.prefix[o] = detail::unlimited - left;
  }

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
      auto const level = detail::level_below(load, each, static_cast<std::int64_t>(count));
      for (std::size_t s = 0; s < k; ++s) {
        if (load[s] >= level) continue;
        auto const many = static_cast<std::uint64_t>((level - load[s] - 1) / each + 1);
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

  auto const top = [&](std::uint64_t i) {
    auto const o = static_cast<std::size_t>(std::lower_bound(ws.ends.begin(), ws.ends.end(), i) - ws.ends.begin());
    return i == 0 ? 0 : ws.prefix[o] - ws.costs[ws.order[o]] * static_cast<std::int64_t>(ws.ends[o] - i);
  };
  auto const bound = detail::bound_of_costs(top, items, sets, 0);
  out.load = {*std::max_element(load.begin(), load.end()), bound.load};
  out.bound = bound.bound;
}

/// @brief The same by value. @tparam Cost a `cost_model` of the lengths
/// @param classes a valid histogram @param sets number of sets @param cost weighs one length; tokens by default @return the plan
/// @throws invalid_input as above
template <cost_model Cost = token_cost>
[[nodiscard]] balance_runs bulk_longest_processing_time(histogram const& classes, std::uint64_t sets, Cost const& cost = {}) {
  bulk_balance_workspace workspace;
  balance_runs out;
  bulk_longest_processing_time(classes, sets, cost, workspace, out);
  return out;
}

/// @brief Deals samples, dearest first, each to the least loaded set, decided on the histogram of their lengths.
///
/// Loads are those of `longest_processing_time` without limits. Of equal samples, the lower indices go to the lower sets.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model` of the lengths
/// @param lengths    sample lengths, each at least 1; may be empty
/// @param sets       number of sets, 1 … 2^31
/// @param cost       weighs one length; not negative
/// @param workspace  scratch memory, kept between calls
/// @param runs       overwritten with the plan on classes
/// @param out        overwritten with the plan; its memory is used again
/// @throws invalid_input for a length that is not positive, a bad number of sets, or a cost, or the sum of all, outside [0, 2^63)
/// @par Complexity
/// O(n), O(n log D) where the longest length is far above n, and what the plan on classes takes.
template <index_type Index, length_range R, cost_model Cost>
void bulk_longest_processing_time(R const& lengths, std::uint64_t sets, Cost const& cost, bulk_balance_workspace& workspace,
                                  balance_runs& runs, balanced_sets<Index>& out) {
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  require(n <= (std::numeric_limits<Index>::max)(),
          [&] { return std::to_string(n) + " samples need a 64-bit index: call with <std::uint64_t>"; });
  auto& ws = workspace;
  auto& classes = ws.classes;
  fold(lengths, classes, ws.folds);
  bulk_longest_processing_time(classes, sets, cost, ws, runs);

  auto const k = static_cast<std::size_t>(sets);
  auto& offsets = out.sets.offsets;
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
  out.sets.members.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    auto const length = static_cast<std::int64_t>(at[i]);
    auto const c =
        by_table
            ? std::size_t{ws.class_of[static_cast<std::size_t>(length)]}
            : static_cast<std::size_t>(std::lower_bound(classes.lengths.begin(), classes.lengths.end(), length) - classes.lengths.begin());
    auto& r = first[c];
    if (next[static_cast<std::size_t>(r)] == last[static_cast<std::size_t>(r)]) ++r;
    out.sets.members[static_cast<std::size_t>(next[static_cast<std::size_t>(r)]++)] = static_cast<Index>(i);
  }
  out.status = status::feasible;
  out.set_aside.clear();
  out.load = runs.load;
  out.bound = runs.bound;
}

/// @brief The samples' plan by value; see the form above.
/// @tparam Index type of the sample indices @tparam R range of integers @tparam Cost a `cost_model` of the lengths
/// @param lengths sample lengths, each at least 1 @param sets number of sets @param cost weighs one length; tokens by default
/// @return the sets, each dearest sample first @throws invalid_input as above
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] balanced_sets<Index> bulk_longest_processing_time(R const& lengths, std::uint64_t sets, Cost const& cost = {}) {
  bulk_balance_workspace workspace;
  balance_runs runs;
  balanced_sets<Index> out;
  bulk_longest_processing_time(lengths, sets, cost, workspace, runs, out);
  return out;
}

}  // namespace ballast::inline v0_2
