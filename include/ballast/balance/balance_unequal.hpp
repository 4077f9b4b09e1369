// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/dealt_sets.hpp>
#include <ballast/balance/detail/exchange_search.hpp>
#include <ballast/balance/detail/unequal_sets_bound.hpp>
#include <ballast/balance/unequal_options.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/weigh.hpp>
#include <ballast/cost/polynomial.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `balance_unequal`: items of unequal cost to devices of unequal speed and memory.

namespace ballast::inline v0_2 {

namespace detail {
/// Sets that are filled by longest processing time first, or by size, and then improved.
template <class = when_called>
class unequal_dealer {
 public:
  unequal_dealer(std::span<std::int64_t const> cost, std::span<std::int64_t const> size, unequal_options const& options)
      : cost_(cost), size_(size), options_(options) {
    std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> kinds;  // sets that differ in their loads alone share a tree
    for (std::size_t s = 0; s < options.unit_time.size(); ++s) {
      auto const [at, is_new] = kinds.emplace(std::pair(options.unit_time[s], largest_of(s)), kinds_.size());
      if (is_new) kinds_.emplace_back();
      kinds_[at->second].sets.push_back(s);
    }
  }
  /// Puts each item, largest key first, where it ends first. Returns whether each found room.
  [[nodiscard]] bool deal(std::span<std::int64_t const> key) {
    start();
    std::vector<keyed_item<>> order(cost_.size()), scratch;
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = {key[i], static_cast<std::uint32_t>(i)};
    sort_largest_first(order, scratch);
    return std::all_of(order.begin(), order.end(), [&](auto const& x) { return place(x.item); });
  }
  /// Moves and exchanges items of the slowest set with others, as long as the slower of the two sets gets faster.
  void improve() {
    for (auto& m : members_) std::sort(m.begin(), m.end(), before());
    std::vector<std::uint32_t> others;
    exchange best{};
    search_exchanges(
        members_.size(), options_.refine, 0, others, [&](std::size_t s) { return time_of(s, load_[s]); },
        [&](std::size_t, std::size_t other) { return time_of(other, load_[other]); },  // it gets slower
        [&](std::size_t slowest, std::size_t other, std::int64_t& time) { find(slowest, other, time, best); },
        [&](std::size_t slowest) {
          apply(slowest, best);
          return true;
        });
  }
  [[nodiscard]] std::int64_t time() const {
    std::int64_t out = 0;
    for (std::size_t s = 0; s < members_.size(); ++s) out = (std::max)(out, time_of(s, load_[s]));
    return out;
  }
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> const& members() const { return members_; }

 private:
  static constexpr auto unlimited = (std::numeric_limits<std::int64_t>::max)();
  static constexpr auto none = winner_tree<>::none;
  struct kind {
    std::vector<std::size_t> sets{};
    winner_tree<> tree{};
  };
  struct exchange {
    std::size_t with = 0;                      ///< the other set
    std::uint32_t gives = none, takes = none;  ///< items of the slowest set and of the other
  };

  [[nodiscard]] std::int64_t largest_of(std::size_t s) const { return options_.largest.empty() ? unlimited : options_.largest[s]; }
  [[nodiscard]] std::int64_t time_of(std::size_t s, std::int64_t load) const { return load * options_.unit_time[s]; }
  [[nodiscard]] auto faster(kind const& k) const {
    return [this, &k](std::uint32_t a, std::uint32_t b) { return load_[k.sets[a]] < load_[k.sets[b]]; };
  }
  [[nodiscard]] auto before() const {
    return [this](std::uint32_t a, std::uint32_t b) { return cost_[a] != cost_[b] ? cost_[a] > cost_[b] : a < b; };
  }
  void start() {
    auto const sets = options_.unit_time.size();
    load_.assign(sets, 0);
    room_.assign(sets, unlimited);
    if (!options_.capacity.empty()) room_ = options_.capacity;
    members_.assign(sets, {});
    for (auto& k : kinds_) k.tree.build(k.sets.size(), [&](std::size_t s) { return room_[k.sets[s]]; }, faster(k));
  }
  bool place(std::uint32_t i) {
    kind* best = nullptr;
    std::uint32_t where = none;
    auto ends = unlimited;
    for (auto& k : kinds_) {
      if (size_[i] > largest_of(k.sets[0])) continue;
      auto const found = k.tree.find(size_[i], faster(k));
      if (found == none) continue;
      auto const end = time_of(k.sets[found], load_[k.sets[found]] + cost_[i]);
      if (end < ends || (end == ends && k.sets[found] < best->sets[where])) best = &k, where = found, ends = end;
    }
    if (best == nullptr) return false;
    auto const s = best->sets[where];
    load_[s] += cost_[i];
    room_[s] -= options_.capacity.empty() ? 0 : size_[i];
    members_[s].push_back(i);
    best->tree.update(where, room_[s], faster(*best));
    return true;
  }
  [[nodiscard]] bool fits(std::size_t s, std::uint32_t in, std::uint32_t out) const {
    if (in == none) return true;
    return size_[in] <= largest_of(s) && (options_.capacity.empty() || size_[in] <= room_[s] + (out == none ? 0 : size_[out]));
  }
  /// Finds the best exchange of an item of the slowest set for one, or none, of another. Both lists are by descending cost.
  void find(std::size_t slowest, std::size_t other, std::int64_t& least, exchange& best) const {
    auto const &from = members_[slowest], &to = members_[other];
    auto const attempt = [&](std::uint32_t gives, std::uint32_t takes) {
      auto const less = cost_[gives] - (takes == none ? 0 : cost_[takes]);
      if (less <= 0 || !fits(other, gives, takes) || !fits(slowest, takes, gives)) return;
      auto const time = (std::max)(time_of(slowest, load_[slowest] - less), time_of(other, load_[other] + less));
      if (time >= least) return;
      least = time;
      best = {other, gives, takes};
    };
    // The best difference makes both times equal. The one just below and the one just above it are tried for each item that is given.
    auto const wanted =
        (time_of(slowest, load_[slowest]) - time_of(other, load_[other])) / (options_.unit_time[slowest] + options_.unit_time[other]);
    std::size_t at = 0;
    for (auto const gives : from) {
      attempt(gives, none);
      while (at < to.size() && cost_[to[at]] > cost_[gives] - wanted) ++at;
      if (at > 0) attempt(gives, to[at - 1]);
      if (at < to.size()) attempt(gives, to[at]);
    }
  }
  void apply(std::size_t slowest, exchange const& x) {
    auto const transfer = [&](std::uint32_t i, std::size_t from, std::size_t to) {
      if (i == none) return;
      std::erase(members_[from], i);
      members_[to].insert(std::upper_bound(members_[to].begin(), members_[to].end(), i, before()), i);
      load_[from] -= cost_[i];
      load_[to] += cost_[i];
      if (options_.capacity.empty()) return;
      room_[from] += size_[i];
      room_[to] -= size_[i];
    };
    transfer(x.gives, slowest, x.with);
    transfer(x.takes, x.with, slowest);
  }

  std::span<std::int64_t const> cost_, size_;
  unequal_options const& options_;
  std::vector<kind> kinds_;
  std::vector<std::int64_t> load_, room_;
  std::vector<std::vector<std::uint32_t>> members_;
};

/// Whether no sets can hold the items: there is one that no set takes, or more size than all capacities.
template <class = when_called>
[[nodiscard]] bool never_fits(std::span<std::int64_t const> size, std::int64_t total, unequal_options const& o) {
  auto const sets = o.unit_time.size();
  if (!o.capacity.empty()) {
    for (auto const c : o.capacity) total -= (std::min)(c, total);
    if (total > 0) return true;
  }
  auto const takes = [&](std::size_t s, std::int64_t one) {
    return (o.capacity.empty() || one <= o.capacity[s]) && (o.largest.empty() || one <= o.largest[s]);
  };
  auto const most = size.empty() ? 0 : *std::max_element(size.begin(), size.end());
  for (std::size_t s = 0; s < sets; ++s)
    if (takes(s, most)) return false;
  return true;
}

}  // namespace detail

/// @brief Deals items to sets of unequal speed so that the slowest set ends as early as it can be made to.
///
/// Each item, most expensive first, goes where it ends first: longest processing time first for machines of unequal speed. If an item
/// finds no room, the items are dealt by size instead. Then items of the slowest set are moved to others or exchanged for cheaper ones of
/// theirs.
///
/// @tparam Index  type of the item indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @tparam Size   a `cost_model`
/// @param items    the items, one integer each: sample lengths, or numbers of packs if the callables look packs up; may be empty
/// @param options  speed, capacity and largest item of each set, and how many exchanges are tried
/// @param cost     cost of an item; a set takes `unit_time` for a unit of it; the item itself by default
/// @param size     size of an item, which counts towards `capacity` and `largest`; the item itself by default
/// @return the sets, and their time beside a lower bound: by the cost that fits into speeds and capacities, by the most expensive items on
/// the fastest sets, by how many of them fit, and by the items that only some sets take
/// @post without limits, the time is at most 2 sets / (sets + 1) times the smallest possible one
/// @throws invalid_input naming the argument that is out of range, or if all items on the slowest set would take 2^62 or more
/// @par Complexity
/// O(n log n + n k log(sets)) for k kinds of sets, and O(n partners / sets + sets) for each exchange; with capacities, O(n sets) in the
/// worst case.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Gonzalez, Ibarra, Sahni, "Bounds for LPT schedules on uniform processors", SIAM J. Computing 6 (1977).
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost, cost_model Size = token_cost>
[[nodiscard]] unequal_sets<Index> balance_unequal(R const& items, unequal_options const& options, Cost const& cost = {},
                                                  Size const& size = {}) {
  detail::require_valid<>(options);
  require_index<Index>(static_cast<std::size_t>(std::ranges::size(items)), "items");
  std::vector<std::int64_t> costs, sizes;
  detail::require_countable<>(options, weigh(items, cost, "items", "cost", costs), "costs");
  auto const total_size = weigh(items, size, "items", "size", sizes);
  if (detail::never_fits<>(sizes, total_size, options)) return {.status = status::infeasible};
  unequal_sets<Index> out;
  out.time.lower_bound = detail::unequal_sets_bound<>(costs, sizes, options).least();
  detail::unequal_dealer<> dealer(costs, sizes, options);
  if (!dealer.deal(costs) && !dealer.deal(sizes)) return {.status = status::unknown};
  dealer.improve();
  out.time.value = dealer.time();
  for (auto const& set : dealer.members()) {
    for (auto const i : set) out.sets.members.push_back(static_cast<Index>(i));
    out.sets.offsets.push_back(out.sets.members.size());
  }
  return out;
}

}  // namespace ballast::inline v0_2
