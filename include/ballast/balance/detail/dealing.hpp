// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/bounds.hpp>
#include <ballast/balance/detail/winner_tree.hpp>
#include <ballast/balance/options.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/weigh.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

// What all balancers share around their algorithm: validation, the sets under construction with their limits, and the certificate.

namespace ballast::inline v0_2::detail {

inline constexpr std::int64_t unlimited = (std::numeric_limits<std::int64_t>::max)();

/// An item under its sorting key.
template <index_type Index>
struct keyed {
  std::int64_t key;
  Index item;
  friend constexpr bool operator<(keyed const& a, keyed const& b) noexcept { return a.key != b.key ? a.key > b.key : a.item < b.item; }
};

/// One set of a tuple of the differencing method: its items are a chain.
template <index_type Index>
struct differencing_part {
  std::int64_t sum, size;
  std::uint64_t count;
  Index head, tail;
};
/// `parts` sets that are decided together, in one block of the pool, largest sum first.
struct differencing_tuple {
  std::int64_t spread;  ///< largest sum minus smallest
  std::uint64_t id;     ///< place of its founder among the sorted items
  std::size_t block, parts;
};

/// An exchange of the refinement: `give` items of the dearest set for `take` of another.
template <index_type Index>
struct exchange {
  std::int64_t load;  ///< the larger of the two after it
  std::uint32_t to;
  std::size_t give, take;
  bool swaps;
};

/// Items, sets and scratch memory of one problem.
template <index_type Index>
struct deal {
  std::vector<std::int64_t> cost, size;  ///< by item
  std::vector<std::int64_t> part;        ///< by item: the first measure of rate matching
  std::vector<keyed<Index>> order;       ///< in the order of dealing
  std::vector<std::uint32_t> set_of;     ///< by item; `winner_tree::none` where it stands in no set
  std::vector<std::int64_t> load, room;  ///< by set
  std::vector<std::uint64_t> count;      ///< by set
  std::vector<std::int64_t> measure;     ///< by set: of rate matching
  std::vector<std::int64_t> bound_costs, bound_sizes;
  winner_tree tree;

  std::vector<differencing_part<Index>> pool, merged;
  std::vector<std::size_t> free_blocks;
  std::vector<differencing_tuple> tuples;
  std::vector<Index> next;
  std::vector<keyed<Index>> left;  ///< items that the algorithm itself could not place

  std::vector<std::vector<keyed<Index>>> sorted_sets;
  std::vector<std::uint32_t> cheapest;

  std::uint64_t sets = 0, base = 0, extra = 0, max_items = 0;
  std::int64_t capacity = unlimited, total_cost = 0, total_size = 0;
  bool equal = false;

  [[nodiscard]] std::size_t items() const { return cost.size(); }

  // ---- the sets under construction ----
  void start() {
    set_of.assign(items(), winner_tree::none);
    auto const k = static_cast<std::size_t>(sets);
    load.assign(k, 0);
    room.assign(k, capacity);
    count.assign(k, 0);
    base = items() / sets;
    extra = items() % sets;
  }
  /// Whether one more item may join the set.
  [[nodiscard]] bool open(std::size_t s) const {
    return (max_items == 0 || count[s] < max_items) && (!equal || count[s] < base || (count[s] == base && extra > 0));
  }
  [[nodiscard]] std::int64_t room_of(std::size_t s) const { return open(s) ? room[s] : -1; }
  void put(std::size_t i, std::size_t s) {
    set_of[i] = static_cast<std::uint32_t>(s);
    load[s] += cost[i];
    room[s] -= size[i];  // without a limit the sum of all sizes fits as well
    if (++count[s] > base && equal) --extra;
  }
  /// Deals the items in order, each to the best set with room. `on_put(item, set)` comes before the set plays again.
  template <class Better, class OnPut>
  void deal_in_order(std::span<keyed<Index> const> items, Better const& better, OnPut const& on_put) {
    auto const rebuild = [&] { tree.build(load.size(), [&](std::size_t s) { return room_of(s); }, better); };
    rebuild();
    for (auto const& [key, i] : items) {
      auto const s = tree.find(size[i], better);
      if (s == winner_tree::none) continue;
      auto const had_extra = extra > 0;
      put(i, s);
      on_put(i, s);
      if (equal && had_extra && extra == 0)
        rebuild();  // every set with the smaller count is closed now
      else
        tree.update(s, room_of(s), better);
    }
  }
  void deal_to_least_loaded(std::span<keyed<Index> const> items) {
    deal_in_order(items, [&](auto a, auto b) { return load[a] < load[b]; }, [](auto, auto) {});
  }
  void sort_by(std::vector<std::int64_t> const& key) {
    order.resize(items());
    for (std::size_t i = 0; i < items(); ++i) order[i] = {key[i], static_cast<Index>(i)};
    std::sort(order.begin(), order.end());
  }
};

inline void require_valid(balance_options const& o) {
  require(o.sets >= 1 && o.sets <= std::uint64_t{1} << 31, [&] { return "sets = " + std::to_string(o.sets) + " must be in 1 ... 2^31"; });
  require(o.capacity >= 0, [&] { return "capacity = " + std::to_string(o.capacity) + " must not be negative (0 = no limit)"; });
  require(!(o.equal_counts && o.misfit == misfit::set_aside),
          [] { return std::string("equal_counts needs misfit::refuse: items set aside would make the counts uneven"); });
}

template <index_type Index, length_range R, cost_model Cost, cost_model Size>
void prepare(R const& items, balance_options const& o, Cost const& cost, Size const& size, deal<Index>& d) {
  require_valid(o);
  auto const n = static_cast<std::size_t>(std::ranges::size(items));
  require_index<Index>(n, "items");
  d.total_cost = weigh(items, cost, "items", "cost", d.cost);
  d.total_size = weigh(items, size, "items", "size", d.size);
  d.sets = o.sets;
  d.capacity = o.capacity != 0 ? o.capacity : unlimited;
  d.max_items = o.max_items;
  d.equal = o.equal_counts;
}

/// Why no plan can exist, as a bound and its two numbers; `none` where that is not proven.
template <index_type Index>
[[nodiscard]] std::pair<balance_bound, certificate> impossible(deal<Index>& d) {
  auto const n = d.items();
  auto const k = static_cast<std::int64_t>(d.sets);
  if (d.max_items != 0 && d.max_items < n && divide_up(n, d.max_items) > d.sets)
    return {balance_bound::item_counts, {static_cast<std::int64_t>(d.max_items * d.sets), static_cast<std::int64_t>(n)}};
  if (d.capacity == unlimited || n == 0) return {};
  auto& sizes = d.bound_sizes;
  sizes = d.size;
  std::sort(sizes.begin(), sizes.end(), std::greater<>{});
  if (sizes[0] > d.capacity) return {balance_bound::item_size, {d.capacity, sizes[0]}};
  if (d.capacity < divide_up(d.total_size, k)) return {balance_bound::capacity, {d.capacity * k, d.total_size}};
  auto const bound = balance_lower_bound(sizes, d.sets, least_items(n, d.sets, d.max_items, d.equal));
  if (bound.load > d.capacity) return {bound.bound, {d.capacity, bound.load}};
  return {};
}

/// Writes the sets, each in the order of `d.order`, and certifies them.
template <index_type Index>
void finish(deal<Index>& d, misfit policy, balanced_sets<Index>& out) {
  auto const k = static_cast<std::size_t>(d.sets);
  auto const n = d.items();
  out.sets.clear();
  out.set_aside.clear();
  for (std::size_t i = 0; i < n; ++i)
    if (d.set_of[i] == winner_tree::none) out.set_aside.push_back(static_cast<Index>(i));
  auto const placed = n - out.set_aside.size();
  if (placed < n && policy == misfit::refuse) {
    auto const [bound, numbers] = impossible(d);
    out.status = bound == balance_bound::none ? status::unknown : status::infeasible;
    out.bound = bound;
    out.load = numbers;
    out.set_aside.clear();
    return;
  }
  out.status = status::feasible;
  out.sets.offsets.resize(k + 1);
  for (std::size_t s = 0; s < k; ++s) out.sets.offsets[s + 1] = out.sets.offsets[s] + d.count[s];
  out.sets.members.resize(placed);
  auto& costs = d.bound_costs;  // of the items in sets; the bound is on those alone
  auto& sizes = d.bound_sizes;
  costs.resize(placed);
  sizes.resize(placed);
  std::size_t seen = 0;
  for (std::size_t s = 0; s < k; ++s) d.count[s] = out.sets.offsets[s];  // where the set's next member goes
  bool sorted = true;
  for (auto const& [key, i] : d.order) {
    if (d.set_of[i] == winner_tree::none) continue;
    out.sets.members[static_cast<std::size_t>(d.count[d.set_of[i]]++)] = i;
    sorted = sorted && (seen == 0 || costs[seen - 1] >= d.cost[i]);
    costs[seen] = d.cost[i];
    sizes[seen++] = d.size[i];
  }
  out.load.value = *std::max_element(d.load.begin(), d.load.end());
  auto best = d.capacity == unlimited ? load_bound{} : capacity_bound(costs, sizes, d.sets, d.capacity);
  if (!sorted) std::sort(costs.begin(), costs.end(), std::greater<>{});
  std::int64_t sum = 0;
  for (auto& c : costs) c = sum += c;
  auto const of_costs = bound_of_costs([&](std::uint64_t i) { return i == 0 ? 0 : costs[static_cast<std::size_t>(i) - 1]; }, placed, d.sets,
                                       least_items(placed, d.sets, d.max_items, d.equal));
  if (of_costs.load >= best.load) best = of_costs;
  out.load.lower_bound = best.load;
  out.bound = best.bound;
}

}  // namespace ballast::inline v0_2::detail

namespace ballast::inline v0_2 {

/// @brief Scratch memory of the balancers; a caller who plans every step keeps one, and nothing is allocated once it is warm.
/// @tparam Index  index type of the plans it is used for
template <index_type Index = std::uint32_t>
struct balance_workspace {
  detail::deal<Index> deal;        ///< private
  balanced_sets<Index> candidate;  ///< private: of `balance`
};

}  // namespace ballast::inline v0_2
