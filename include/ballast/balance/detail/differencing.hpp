// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/dealing.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ballast::inline v0_2::detail {

/// The largest differencing method on sorted items. A tuple has up to k sets, which are joined with those of another tuple, most expensive
/// with cheapest. Sums are not reduced by a common amount: only differences matter, and the last tuple holds the loads. A tuple with fewer
/// than k sets always has the largest spread, so at most n / k + 1 tuples of several sets exist at a time. Single items are read from the
/// sorted order. Without limits an item always joins the cheapest set of a tuple, so a tuple that gets items is kept as a heap.
template <index_type Index>
class differencing {
 public:
  explicit differencing(deal<Index>& d)
      : d_(d), k_(static_cast<std::size_t>(d.sets)), limited_(d.capacity != unlimited || d.max_items != 0), places_(k_) {
    d_.pool.clear();
    d_.free_blocks.clear();
    d_.tuples.clear();
    d_.left.clear();
    d_.next.resize(d_.items());
  }

  void run() {
    if (d_.equal) chunk();
    skip_oversize();
    if (!exhausted()) {
      for (;;) {
        auto a = take();
        while (!exhausted() && !beaten(a)) absorb(a);
        if (exhausted()) {
          assign(a);
          break;
        }
        push(a);
      }
    }
    if (d_.left.empty()) return;
    std::sort(d_.left.begin(), d_.left.end());
    d_.deal_to_least_loaded(d_.left);
  }

 private:
  using part = differencing_part<Index>;
  using tuple = differencing_tuple;

  static bool later(tuple const& a, tuple const& b) { return a.spread != b.spread ? a.spread < b.spread : a.id > b.id; }
  [[nodiscard]] part* parts(tuple const& t) { return d_.pool.data() + t.block * k_; }
  [[nodiscard]] bool exhausted() const { return single_ == d_.order.size() && d_.tuples.empty(); }
  [[nodiscard]] tuple founder() const { return {k_ == 1 ? 0 : d_.order[single_].key, single_, 0, 1, false, 0}; }
  /// Whether the next of largest spread is a single item rather than a tuple.
  [[nodiscard]] bool item_next() const { return single_ < d_.order.size() && (d_.tuples.empty() || later(d_.tuples.front(), founder())); }
  [[nodiscard]] bool beaten(tuple const& a) const { return later(a, item_next() ? founder() : d_.tuples.front()); }
  [[nodiscard]] bool fit(std::int64_t size, std::uint64_t count) const {
    return size <= d_.capacity && (d_.max_items == 0 || count <= d_.max_items);
  }

  [[nodiscard]] std::size_t new_block() {
    if (d_.free_blocks.empty()) {
      d_.pool.resize(d_.pool.size() + k_);
      return d_.pool.size() / k_ - 1;
    }
    auto const block = d_.free_blocks.back();
    d_.free_blocks.pop_back();
    return block;
  }
  [[nodiscard]] part part_of(keyed_item<Index> const& item) const { return {item.key, d_.size[item.item], 1, 0, item.item, item.item}; }
  void skip_oversize() {
    while (single_ < d_.order.size() && d_.size[d_.order[single_].item] > d_.capacity) d_.left.push_back(d_.order[single_++]);
  }
  void push(tuple const& t) {
    d_.tuples.push_back(t);
    std::push_heap(d_.tuples.begin(), d_.tuples.end(), later);
  }
  [[nodiscard]] tuple pop() {
    std::pop_heap(d_.tuples.begin(), d_.tuples.end(), later);
    auto const t = d_.tuples.back();
    d_.tuples.pop_back();
    return t;
  }
  [[nodiscard]] tuple take() {
    if (!item_next()) return pop();
    auto t = founder();
    t.block = new_block();
    *parts(t) = part_of(d_.order[single_++]);
    skip_oversize();
    return t;
  }
  void set_spread(tuple& t) {
    auto const* const p = parts(t);
    t.spread = t.heap ? t.largest - p[0].sum : p[0].sum - (t.parts == k_ ? p[k_ - 1].sum : 0);
  }
  /// The order of sets, in which the last one is the first of a heap.
  static bool before(part const& a, part const& b) { return a.sum != b.sum ? a.sum > b.sum : a.place < b.place; }
  void make_heap(tuple& t) {
    if (std::exchange(t.heap, true)) return;
    auto* const p = parts(t);
    for (std::size_t i = 0; i < k_; ++i) p[i].place = i;
    t.largest = p[0].sum;
    std::reverse(p, p + k_);
  }
  [[nodiscard]] part* sorted_parts(tuple const& t) {
    auto* const p = parts(t);
    if (t.heap) std::sort(p, p + t.parts, before);
    return p;
  }

  /// With equal counts the method starts from tuples of k neighbours: every join then adds one item, or none, to every set.
  void chunk() {
    for (; single_ < d_.order.size();) {
      tuple t{0, single_, new_block(), 0, false, 0};
      for (std::size_t i = 0; i < k_ && single_ < d_.order.size(); ++i, ++single_) {
        if (fit(d_.size[d_.order[single_].item], 1))
          parts(t)[t.parts++] = part_of(d_.order[single_]);
        else
          d_.left.push_back(d_.order[single_]);
      }
      if (t.parts == 0) {
        d_.free_blocks.push_back(t.block);
        continue;
      }
      set_spread(t);
      push(t);
    }
  }

  /// Joins the next item or tuple with `a`.
  void absorb(tuple& a) {
    if (item_next()) {
      add(a, d_.order[single_++]);
      skip_oversize();
    } else {
      join(a, pop());
    }
    set_spread(a);
  }
  void append(part& to, part const& what) {
    d_.next[to.tail] = what.head;
    to.tail = what.tail;
    to.sum += what.sum;
    to.size += what.size;
    to.count += what.count;
  }
  void add(tuple& a, keyed_item<Index> const& item) {
    auto* const p = parts(a);
    if (a.parts == k_ && !limited_) {
      make_heap(a);
      std::pop_heap(p, p + k_, before);
      auto& cheapest = p[k_ - 1];
      append(cheapest, part_of(item));
      cheapest.place = places_++;
      a.largest = (std::max)(a.largest, cheapest.sum);
      std::push_heap(p, p + k_, before);
      return;
    }
    auto at = a.parts;
    if (a.parts < k_) {
      p[a.parts++] = part_of(item);
    } else {
      while (at > 0 && !fit(p[at - 1].size + d_.size[item.item], p[at - 1].count + 1)) --at;
      if (at-- == 0) return d_.left.push_back(item);
      append(p[at], part_of(item));
    }
    auto const moved = p[at];
    for (; at > 0 && p[at - 1].sum < moved.sum; --at) p[at] = p[at - 1];
    p[at] = moved;
  }
  /// Joins the most expensive set of one tuple with the cheapest set of the other that the limits allow, and so on; if they allow none, the
  /// items of `b` are dealt at the end.
  void join(tuple& a, tuple const& b) {
    auto& merged = d_.merged;
    auto const* const mine_sorted = sorted_parts(a);
    merged.assign(mine_sorted, mine_sorted + a.parts);
    auto* const other = sorted_parts(b);  // a part with count 0 was used
    auto cheapest = b.parts;              // parts from here on were used
    auto const empty = k_ - b.parts;
    for (auto i = empty; i < a.parts; ++i) {
      auto& mine = merged[i];
      while (cheapest > 0 && other[cheapest - 1].count == 0) --cheapest;
      auto j = cheapest;
      while (j > 0 && (other[j - 1].count == 0 || !fit(mine.size + other[j - 1].size, mine.count + other[j - 1].count))) --j;
      if (j == 0) {
        leave(b);
        return;
      }
      append(mine, other[j - 1]);
      other[j - 1].count = 0;
    }
    for (std::size_t j = 0; j < b.parts; ++j)
      if (other[j].count != 0) merged.push_back(other[j]);
    std::sort(merged.begin(), merged.end(), [](part const& x, part const& y) { return x.sum != y.sum ? x.sum > y.sum : x.head < y.head; });
    std::copy(merged.begin(), merged.end(), parts(a));
    a.parts = merged.size();
    a.heap = false;
    d_.free_blocks.push_back(b.block);
  }
  template <class Visit>
  void each(part const& p, Visit const& visit) {
    for (auto i = p.head;; i = d_.next[i]) {
      visit(i);
      if (i == p.tail) return;
    }
  }
  void leave(tuple const& t) {
    for (std::size_t j = 0; j < t.parts; ++j) each(parts(t)[j], [&](Index i) { d_.left.push_back({d_.cost[i], i}); });
    d_.free_blocks.push_back(t.block);
  }
  void assign(tuple const& t) {
    auto const* const p = sorted_parts(t);
    for (std::size_t s = 0; s < t.parts; ++s) each(p[s], [&](Index i) { d_.put(i, s); });
  }

  deal<Index>& d_;
  std::size_t k_;
  bool limited_;
  std::uint64_t places_;    ///< of sets that got an item: behind all others
  std::size_t single_ = 0;  ///< number of items that are in tuples
};

}  // namespace ballast::inline v0_2::detail
