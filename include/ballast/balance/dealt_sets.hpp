// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/kept_memory.hpp>
#include <ballast/core/least_of.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/version.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `dealt_sets`: items dealt to sets one by one, for planners in which balancing is one part.

namespace ballast::inline v0_2 {

namespace detail {
/// A tournament tree of sets that finds the best set with room for an item, for few changes of sets between searches.
///
/// A set with negative room does not take part. `better(a, b)` returns whether set a beats set b; of equal sets, the lower number wins.
template <class = when_called>
class winner_tree {
 public:
  static constexpr std::uint32_t none = 0xffffffffU;

  template <class Room, class Better>
  void build(std::size_t sets, Room const& room, Better const& better) {
    leaves_ = std::bit_ceil(sets);
    nodes_.assign(2 * leaves_, {});
    waiting_.clear();
    for (std::size_t s = 0; s < sets; ++s) set(s, room(s));
    for (auto node = leaves_ - 1; node > 0; --node) play(node, better);
  }
  /// Updates the tree after set `s` has changed.
  template <class Better>
  void update(std::size_t s, std::int64_t room, Better const& better) {
    set(s, room);
    auto at = leaves_ + s;
    for (auto here = nodes_[at]; at > 1; nodes_[at /= 2] = here) {  // reads only what it meets
      auto const& other = nodes_[at ^ 1];
      auto const right = -static_cast<std::uint32_t>(at & 1), both = here.winner ^ other.winner;
      auto const absent = here.winner == none || other.winner == none;
      // As in `play`; it is the same comparison from either side.
      auto const lost = absent ? -static_cast<std::uint32_t>(here.winner == none)
                               : right ^ -static_cast<std::uint32_t>(better(other.winner ^ (both & right), here.winner ^ (both & right)));
      here = {(std::max)(here.room, other.room), here.winner ^ (both & lost)};
    }
  }
  /// The best set with at least `size` of room, or `none`.
  template <class Better>
  [[nodiscard]] std::uint32_t find(std::int64_t size, Better const& better) const {
    auto const winner = nodes_[1].winner;
    if (winner == none || nodes_[leaves_ + winner].room >= size) return winner;
    auto best = none;
    visit(1, size, better, best);
    return best;
  }
  /// As `find`, for sizes that never rise between two calls of `build`. A set without room for an item waits for a smaller one outside the
  /// tree, so that a search takes O(log sets) however many sets are nearly full.
  template <class Better>
  [[nodiscard]] std::uint32_t find_falling(std::int64_t size, Better const& better) {
    while (!waiting_.empty() && waiting_.front().first >= size) {
      std::pop_heap(waiting_.begin(), waiting_.end());
      update(waiting_.back().second, waiting_.back().first, better);
      waiting_.pop_back();
    }
    for (;;) {
      auto const best = nodes_[1].winner;
      if (best == none || nodes_[leaves_ + best].room >= size) return best;
      waiting_.emplace_back(nodes_[leaves_ + best].room, best);
      std::push_heap(waiting_.begin(), waiting_.end());
      update(best, -1, better);
    }
  }
  /// The best set of all, or `none`.
  [[nodiscard]] std::uint32_t winner() const { return nodes_[1].winner; }

 private:
  struct node_type {
    std::int64_t room = -1;  ///< largest room of a set below
    std::uint32_t winner = none;
  };
  void set(std::size_t s, std::int64_t room) { nodes_[leaves_ + s] = {room, room < 0 ? none : static_cast<std::uint32_t>(s)}; }
  template <class Better>
  void play(std::size_t node, Better const& better) {
    auto const &left = nodes_[2 * node], &right = nodes_[2 * node + 1];
    auto const absent = left.winner == none || right.winner == none;
    // Without a jump for the winner, which would be predicted wrongly half of the time.
    auto const second = -static_cast<std::uint32_t>(absent ? left.winner == none : better(right.winner, left.winner));
    nodes_[node] = {(std::max)(left.room, right.room), left.winner ^ ((left.winner ^ right.winner) & second)};
  }
  template <class Better>
  void visit(std::size_t node, std::int64_t size, Better const& better, std::uint32_t& best) const {
    auto const& here = nodes_[node];
    if (here.room < size || (best != none && !better(here.winner, best) && (better(best, here.winner) || best < here.winner))) return;
    if (nodes_[leaves_ + here.winner].room >= size) {
      best = here.winner;
      return;
    }
    auto const winner_is_right = nodes_[2 * node + 1].winner == here.winner;
    visit(2 * node + (winner_is_right ? 1 : 0), size, better, best);
    visit(2 * node + (winner_is_right ? 0 : 1), size, better, best);
  }

  std::size_t leaves_ = 0;
  std::vector<node_type> nodes_;                                 ///< nodes_[1] is the root, nodes_[leaves_ + s] is set s
  std::vector<std::pair<std::int64_t, std::uint32_t>> waiting_;  ///< room and number of sets outside the tree, a heap
};

template <index_type Index>
struct dealing_memory {
  std::vector<keyed_item<Index>> sorted;
  winner_tree<> tree;
  least_of<> least;
  least_word<> least_load;
  std::vector<std::pair<std::int64_t, std::uint32_t>> waiting;  ///< room and number of sets that are not in `least`, a heap
  std::vector<std::uint32_t> by_load;                           ///< sets, least loaded first
  std::uint64_t base = 0;                                       ///< fewest items of a set under `equal`
  std::uint64_t extra = 0;                                      ///< how many sets may still get one item more
};
}  // namespace detail

/// @brief Items, and the sets that they are dealt to. For callers with their own order of items, their own rule, or sets that hold
/// something already.
///
/// Fill `sets`, `capacity`, `cost` and `size`, order the items by `sort_by` (or fill `order`), call `start`, and deal the items; then
/// `refine` and `exchange_pairs` lower the largest load. Nothing is validated; sums must stay below 2^63. An object that is used again
/// allocates nothing as long as the input does not grow.
///
/// @tparam Index  type of the item numbers
template <index_type Index = std::uint32_t>
struct dealt_sets {
  static constexpr std::uint32_t none = detail::winner_tree<>::none;                     ///< entry of `set_of` for an item in no set
  static constexpr std::int64_t unlimited = (std::numeric_limits<std::int64_t>::max)();  ///< value of `capacity` without a limit

  std::uint64_t sets = 0;                ///< number of sets, at least 1
  std::int64_t capacity = unlimited;     ///< largest total size of a set
  std::uint64_t max_items = 0;           ///< most items in a set; 0 = no limit
  bool equal = false;                    ///< whether the numbers of items in any two sets may differ by at most one
  std::vector<std::int64_t> cost;        ///< cost of each item
  std::vector<std::int64_t> size;        ///< size of each item
  std::vector<keyed_item<Index>> order;  ///< the items in order; sorted by cost if `refine` or `exchange_pairs` follows

  std::vector<std::uint32_t> set_of;                        ///< by item: number of its set, or `none`
  std::vector<std::int64_t> load;                           ///< by set: sum of costs
  std::vector<std::int64_t> room;                           ///< by set: size that it has room for
  std::vector<std::uint64_t> count;                         ///< by set: number of items
  std::vector<std::vector<keyed_item<Index>>> sorted_sets;  ///< by set: its items in order; written by `refine`

  kept_memory<detail::dealing_memory<Index>> scratch;  ///< what dealing keeps

  /// @brief Number of items. @return the size of `cost`
  [[nodiscard]] std::size_t items() const noexcept { return cost.size(); }
  /// @brief Empties all sets.
  void start() {
    set_of.assign(items(), none);
    auto const k = static_cast<std::size_t>(sets);
    load.assign(k, 0);
    room.assign(k, capacity);
    count.assign(k, 0);
    auto& memory = detail::memory_of(scratch);
    memory.base = items() / sets;
    memory.extra = items() % sets;
  }
  /// @brief Whether `max_items` and `equal` allow one more item in a set. @param s number of the set
  [[nodiscard]] bool open(std::size_t s) const {
    auto const& memory = detail::memory_of(scratch);
    return (max_items == 0 || count[s] < max_items) && (!equal || count[s] < memory.base || (count[s] == memory.base && memory.extra > 0));
  }
  /// @brief The size that a set has room for. @param s number of the set @return the size, or -1 if the set is not open
  [[nodiscard]] std::int64_t room_of(std::size_t s) const { return open(s) ? room[s] : -1; }
  /// @brief Puts an item into a set, even if it does not fit. @param i an item that is in no set @param s number of the set
  void put(std::size_t i, std::size_t s) {
    set_of[i] = static_cast<std::uint32_t>(s);
    load[s] += cost[i];
    room[s] -= size[i];  // this cannot overflow: sums of sizes stay below 2^63
    auto& memory = detail::memory_of(scratch);
    if (++count[s] > memory.base && equal) --memory.extra;
  }
  /// @brief Deals items in order, each to the best set with room for it; an item without one stays in no set.
  /// @param in_order  the items, in the order in which they are dealt
  /// @param better    returns whether set a is preferred to set b; if neither is preferred, the lower number is taken
  /// @param on_put    called with item and set after each item, before sets are compared again
  /// @par Complexity
  /// O(items log sets) if sizes fall in this order; otherwise O(items * sets) if few sets have room.
  template <class Better, class OnPut>
  void deal_in_order(std::span<keyed_item<Index> const> in_order, Better const& better, OnPut const& on_put) {
    auto& memory = detail::memory_of(scratch);
    auto& tree = memory.tree;
    auto const rebuild = [&] { tree.build(load.size(), [&](std::size_t s) { return room_of(s); }, better); };
    rebuild();
    auto const falling = falls(in_order);
    for (auto const& [key, i] : in_order) {
      auto const s = falling ? tree.find_falling(size[i], better) : tree.find(size[i], better);
      if (s == none) continue;
      auto const had_extra = memory.extra > 0;
      put(i, s);
      on_put(i, s);
      if (equal && had_extra && memory.extra == 0)
        rebuild();  // every set with the smaller count is closed now
      else
        tree.update(s, room_of(s), better);
    }
  }
  /// @brief Deals items in order, each to the least loaded set with room for it. @param in_order the items
  void deal_to_least_loaded(std::span<keyed_item<Index> const> in_order) {
    auto all = std::accumulate(load.begin(), load.end(), std::int64_t{0});
    bool falling = true;
    auto last = unlimited;
    for (auto const& [key, i] : in_order) {
      all += cost[i];
      falling = falling && size[i] <= last;
      last = size[i];
    }
    auto const nothing = [](auto, auto) {};
    if (equal || max_items != 0 || all >= least_of<>::none || !falling)
      return deal_in_order(in_order, [&](auto a, auto b) { return load[a] < load[b]; }, nothing);
    auto const number = [&](std::size_t s) { return load[s]; };
    auto& memory = detail::memory_of(scratch);
    if (all < memory.least_load.limit(load.size())) return deal_by(memory.least_load, in_order, number, nothing);
    deal_by(memory.least, in_order, number, nothing);
  }
  /// @brief Deals items in order, each to the set with room for it whose number is the smallest, of equal ones to the first.
  /// @param in_order  the items; their sizes never rise
  /// @param number    the number of a set, below 2^62; only an item put into the set may change it
  /// @param on_put    called with item and set after each item
  /// @param sooner    nothing, or whether the first of two sets with equal numbers is preferred
  /// @pre `max_items` is 0 and `equal` is false
  /// @par Complexity
  /// O(items log sets).
  template <class Number, class OnPut, class... Sooner>
  void deal_to_least(std::span<keyed_item<Index> const> in_order, Number const& number, OnPut const& on_put, Sooner const&... sooner) {
    deal_by(detail::memory_of(scratch).least, in_order, number, on_put, sooner...);
  }
  /// @brief Whether sizes never rise in an order. @param in_order the items
  [[nodiscard]] bool falls(std::span<keyed_item<Index> const> in_order) const {
    return std::ranges::is_sorted(in_order, [&](auto const& a, auto const& b) { return size[a.item] > size[b.item]; });
  }
  /// @brief Puts all items into `order`, largest key first. @param key key of each item
  void sort_by(std::vector<std::int64_t> const& key) {
    order.resize(items());
    for (std::size_t i = 0; i < items(); ++i) order[i] = {key[i], static_cast<Index>(i)};
    sort_largest_first(order, detail::memory_of(scratch).sorted);
  }

 private:
  template <class Least, class Number, class OnPut, class... Sooner>
  void deal_by(Least& least, std::span<keyed_item<Index> const> in_order, Number const& number, OnPut const& on_put,
               Sooner const&... sooner) {
    auto& waiting = detail::memory_of(scratch).waiting;
    least.start(load.size());
    for (std::size_t s = 0; s < load.size(); ++s)
      if (auto const first = number(s); first != 0 || sizeof...(sooner) != 0) least.set(s, first, sooner...);
    waiting.clear();  // a set without room for an item waits for a smaller one, as in `find_falling`
    for (auto const& [key, i] : in_order) {
      for (; !waiting.empty() && waiting.front().first >= size[i]; waiting.pop_back()) {
        std::pop_heap(waiting.begin(), waiting.end());
        least.set(waiting.back().second, number(waiting.back().second), sooner...);
      }
      for (; !least.empty() && room[least.first()] < size[i]; least.set(least.first(), least.none, sooner...)) {
        waiting.emplace_back(room[least.first()], least.first());
        std::push_heap(waiting.begin(), waiting.end());
      }
      if (least.empty()) continue;
      auto const s = least.first();
      put(i, s);
      on_put(i, s);
      least.set(s, number(s), sooner...);
    }
  }
};

}  // namespace ballast::inline v0_2
