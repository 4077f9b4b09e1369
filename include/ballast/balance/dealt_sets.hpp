// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/winner_tree.hpp>
#include <ballast/core/concepts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

/// @file
/// @brief Items that are dealt to sets one by one: what every balancer works on, for planners that balance as a part of something else.

namespace ballast::inline v0_2 {

/// @brief An item under its sorting key; in order, the largest key comes first and of equal ones the lower item.
/// @tparam Index  type of the item numbers
template <index_type Index = std::uint32_t>
struct keyed_item {
  std::int64_t key;  ///< what it is sorted by
  Index item;        ///< its number
  friend constexpr bool operator<(keyed_item const& a, keyed_item const& b) noexcept {
    return a.key != b.key ? a.key > b.key : a.item < b.item;
  }
};

/// @brief Items, and the sets that they are dealt to: `balance` without its choice of a method, for callers who have their own order,
/// their own rule or their own limits on what is in a set already.
///
/// Fill `sets`, `capacity`, `cost` and `size`, put the items in an order by `sort_by` (or fill `order`), `start`, and deal; then `refine`
/// and `exchange_pairs` lower the largest load. Nothing is validated: sums must stay below 2^63. Kept between problems, it allocates
/// nothing once it is warm.
///
/// @tparam Index  type of the item numbers
template <index_type Index = std::uint32_t>
struct dealt_sets {
  static constexpr std::uint32_t none = detail::winner_tree::none;                       ///< in `set_of`: the item is in no set
  static constexpr std::int64_t unlimited = (std::numeric_limits<std::int64_t>::max)();  ///< for `capacity`

  std::uint64_t sets = 0;                ///< number of sets, at least 1
  std::int64_t capacity = unlimited;     ///< largest total size of a set
  std::uint64_t max_items = 0;           ///< most items of a set; 0 = no limit
  bool equal = false;                    ///< whether the numbers of items of two sets may differ by one at most
  std::vector<std::int64_t> cost;        ///< by item
  std::vector<std::int64_t> size;        ///< by item
  std::vector<keyed_item<Index>> order;  ///< the items, sorted by cost wherever `refine` or `exchange_pairs` follows

  std::vector<std::uint32_t> set_of;                        ///< by item: its set, or `none`
  std::vector<std::int64_t> load;                           ///< by set: sum of costs
  std::vector<std::int64_t> room;                           ///< by set: size that it can still take
  std::vector<std::uint64_t> count;                         ///< by set: items
  std::vector<std::vector<keyed_item<Index>>> sorted_sets;  ///< by set: its items in their order; set by `refine`

  detail::winner_tree tree;             ///< private
  std::vector<std::uint32_t> cheapest;  ///< private
  std::uint64_t base = 0;               ///< private: items that each set gets at least
  std::uint64_t extra = 0;              ///< private: how many sets get one more

  /// @brief Number of items. @return that of `cost`
  [[nodiscard]] std::size_t items() const noexcept { return cost.size(); }
  /// @brief Empties the sets.
  void start() {
    set_of.assign(items(), none);
    auto const k = static_cast<std::size_t>(sets);
    load.assign(k, 0);
    room.assign(k, capacity);
    count.assign(k, 0);
    base = items() / sets;
    extra = items() % sets;
  }
  /// @brief Whether the counts let one more item join a set. @param s the set
  [[nodiscard]] bool open(std::size_t s) const {
    return (max_items == 0 || count[s] < max_items) && (!equal || count[s] < base || (count[s] == base && extra > 0));
  }
  /// @brief The size that a set can take. @param s the set @return -1 where it is not open
  [[nodiscard]] std::int64_t room_of(std::size_t s) const { return open(s) ? room[s] : -1; }
  /// @brief Puts an item into a set, whether it fits or not. @param i an item that is in no set @param s the set
  void put(std::size_t i, std::size_t s) {
    set_of[i] = static_cast<std::uint32_t>(s);
    load[s] += cost[i];
    room[s] -= size[i];  // without a limit the sum of all sizes fits as well
    if (++count[s] > base && equal) --extra;
  }
  /// @brief Deals items in their order, each to the best set with room, if there is one.
  /// @param in_order  the items
  /// @param better    whether set a is to be preferred to set b; the lower number wins where neither is
  /// @param on_put    called with item and set before the set is compared again
  /// @par Complexity
  /// O(items log sets); where few sets have room O(items * sets).
  template <class Better, class OnPut>
  void deal_in_order(std::span<keyed_item<Index> const> in_order, Better const& better, OnPut const& on_put) {
    auto const rebuild = [&] { tree.build(load.size(), [&](std::size_t s) { return room_of(s); }, better); };
    rebuild();
    for (auto const& [key, i] : in_order) {
      auto const s = tree.find(size[i], better);
      if (s == none) continue;
      auto const had_extra = extra > 0;
      put(i, s);
      on_put(i, s);
      if (equal && had_extra && extra == 0)
        rebuild();  // every set with the smaller count is closed now
      else
        tree.update(s, room_of(s), better);
    }
  }
  /// @brief As above, each to the set of least load. @param in_order the items
  void deal_to_least_loaded(std::span<keyed_item<Index> const> in_order) {
    deal_in_order(in_order, [&](auto a, auto b) { return load[a] < load[b]; }, [](auto, auto) {});
  }
  /// @brief Puts all items into `order`, the largest key first. @param key by item
  void sort_by(std::vector<std::int64_t> const& key) {
    order.resize(items());
    for (std::size_t i = 0; i < items(); ++i) order[i] = {key[i], static_cast<Index>(i)};
    std::sort(order.begin(), order.end());
  }
};

}  // namespace ballast::inline v0_2
