// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/detail/driver.hpp>
#include <ballast/packing/detail/room_index.hpp>
#include <ballast/packing/detail/scatter.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

// An item-by-item packer is an order and a rule: the order says which item comes next, the rule into which pack it goes, and `placer`
// combines both. `place(weight)` of a rule returns the number of a pack; packs are numbered from 0.

namespace ballast::inline v0_2::detail {

/// Items in the given order.
struct given_order {
  std::size_t count;
  [[nodiscard]] std::size_t size() const noexcept { return count; }
  [[nodiscard]] std::size_t operator[](std::size_t position) const noexcept { return position; }
};

/// The items to be packed, sorted by (weight descending, index ascending).
template <index_type Index, class Weights>
[[nodiscard]] std::vector<Index> decreasing_order(packing_items<Weights> const& items) {
  std::vector<Index> order(static_cast<std::size_t>(items.classes.samples()));
  scatter_workspace<Index> ws;
  sort_canonically(items.weight, items.count, in_order{}, items.classes, order.data(), ws, serial{});
  return order;
}

/// Applies a rule to the items of an order and writes the packs, with the members of a pack in the order they were placed.
template <index_type Index>
class placer {
 public:
  /// Places the items order[first] … order[last - 1] into new packs, which are appended to `packs`.
  template <class Weights, class Order, class Rule>
  void operator()(packing_items<Weights> const& items, Order const& order, std::size_t first, std::size_t last, Rule& rule,
                  groups<Index>& packs) {
    pack_of_.resize(last - first);
    size_.clear();
    constexpr auto none = static_cast<Index>(-1);
    std::array<std::int64_t, 256> ahead;  // weights come from all memory, and a rule waits for one after the other
    for (std::size_t k = first; k < last; ++k) {
      auto const j = (k - first) % ahead.size();
      for (std::size_t m = 0; j == 0 && m < (std::min)(ahead.size(), last - k); ++m)
        ahead[m] = static_cast<std::int64_t>(items.weight[order[k + m]]);
      pack_of_[k - first] = none;
      if (ahead[j] == 0) continue;
      auto const pack = rule.place(ahead[j]);
      pack_of_[k - first] = static_cast<Index>(pack);
      if (pack == size_.size()) size_.push_back(0);
      ++size_[pack];
    }
    auto at = std::uint64_t{packs.members.size()};
    for (auto& size : size_) {
      auto const begin = at;
      at += size;
      packs.offsets.push_back(at);
      size = begin;  // from here on: position of the pack's next member
    }
    packs.members.resize(at);
    for (std::size_t k = first; k < last; ++k)
      if (pack_of_[k - first] != none) packs.members[size_[pack_of_[k - first]]++] = static_cast<Index>(order[k]);
  }

 private:
  std::vector<Index> pack_of_;  // by position
  std::vector<std::uint64_t> size_;
};

/// First fit: a tree whose inner nodes hold the largest room below them. Packs that are not open yet are leaves with full room, so opening
/// a pack is not a special case.
class first_fit_rule {
 public:
  template <class Weights>
  explicit first_fit_rule(packing_items<Weights> const& items) : capacity_(items.capacity) {
    auto const samples = items.classes.samples();
    // Any two packs below the limit of samples hold more than one capacity together; otherwise the second would not have been opened.
    auto const volume = static_cast<std::uint64_t>(items.classes.tokens()) / static_cast<std::uint64_t>(capacity_);
    auto const packs = (std::min)(samples, 2 * volume + 3 + samples / items.max_samples);
    leaves_ = std::bit_ceil(static_cast<std::size_t>(packs) + 1);
    if (items.max_samples < samples) slots_.assign(leaves_, items.max_samples);
    most_.assign(2 * leaves_, capacity_);
  }
  [[nodiscard]] std::uint64_t place(std::int64_t w) noexcept {
    std::size_t node = 1;
    while (node < leaves_) node = 2 * node + (most_[2 * node] < w ? 1 : 0);
    auto const pack = node - leaves_;
    auto room = most_[node] - w;
    if (!slots_.empty() && --slots_[pack] == 0) room = 0;
    for (most_[node] = room; node > 1; node /= 2) {
      auto const most = (std::max)(most_[node], most_[node ^ 1]);
      if (most_[node / 2] == most) break;
      most_[node / 2] = most;
    }
    return pack;
  }

 private:
  std::int64_t capacity_;
  std::size_t leaves_;
  std::vector<std::int64_t> most_;    // most_[1] is the root, the leaves start at leaves_
  std::vector<std::uint64_t> slots_;  // empty if there is no limit of samples
};

/// Best fit; of equally full packs, the lowest number. `Rooms` is dense_rooms or ordered_rooms.
template <class Rooms>
class best_fit_rule {
 public:
  template <class Weights>
  explicit best_fit_rule(packing_items<Weights> const& items)
      : capacity_(items.capacity),
        max_samples_(items.max_samples < items.classes.samples() ? items.max_samples : 0),
        shortest_(items.classes.lengths.empty() ? 1 : items.classes.lengths.front()) {
    reset();
  }
  void reset() {
    rooms_.reset(capacity_);
    packs_.clear();
    slots_.clear();
    opened_ = 0;
  }
  [[nodiscard]] std::uint64_t place(std::int64_t w) {
    auto room = rooms_.at_least(w);
    auto pack = opened_;
    if (room < 0) {
      if (++opened_ == packs_.empty) throw std::length_error("ballast: more than 2^32 - 1 packs");
      room = capacity_;
      if (max_samples_ != 0) slots_.push_back(max_samples_);
    } else {
      auto& head = rooms_.head(room);
      pack = head;
      head = packs_.pop(head);
      if (head == packs_.empty) rooms_.erase(room);
    }
    room -= w;
    if (room >= shortest_ && (max_samples_ == 0 || --slots_[pack] != 0)) {
      auto const first = rooms_.insert(room);
      auto& head = rooms_.head(room);
      head = packs_.push(first ? packs_.empty : head, pack);
    }
    return pack;
  }

 private:
  struct no_value {};
  std::int64_t capacity_;
  std::uint64_t max_samples_;  // 0 if there is no limit of samples
  std::int64_t shortest_;      // packs with less room take no more items
  std::uint32_t opened_ = 0;
  Rooms rooms_;
  pairing_heaps<no_value> packs_;
  std::vector<std::uint64_t> slots_;
};

/// Calls `pack` with the best-fit rule for the capacity.
template <class Weights, class Pack>
void with_best_fit(packing_items<Weights> const& items, Pack const& pack) {
  if (items.capacity <= dense_rooms::largest_capacity) {
    best_fit_rule<dense_rooms> rule(items);
    pack(rule);
  } else {
    best_fit_rule<ordered_rooms> rule(items);
    pack(rule);
  }
}

/// Worst fit; of equally empty packs, the lowest number.
class worst_fit_rule {
 public:
  template <class Weights>
  explicit worst_fit_rule(packing_items<Weights> const& items) : capacity_(items.capacity), max_samples_(items.max_samples) {}
  [[nodiscard]] std::uint64_t place(std::int64_t w) {
    if (open_.empty() || open_.front().room < w) {
      open_.push_back({capacity_, opened_++, max_samples_});
      std::push_heap(open_.begin(), open_.end(), fuller{});  // it has more room than any other, so it moves to the front
    }
    std::pop_heap(open_.begin(), open_.end(), fuller{});
    auto& pack = open_.back();
    auto const number = pack.number;
    pack.room -= w;
    if (--pack.slots == 0 || pack.room == 0)
      open_.pop_back();
    else
      std::push_heap(open_.begin(), open_.end(), fuller{});
    return number;
  }

 private:
  struct open_pack {
    std::int64_t room;
    std::uint64_t number;
    std::uint64_t slots;
  };
  struct fuller {
    [[nodiscard]] bool operator()(open_pack const& a, open_pack const& b) const noexcept {
      return a.room != b.room ? a.room < b.room : a.number > b.number;
    }
  };
  std::int64_t capacity_;
  std::uint64_t max_samples_;
  std::uint64_t opened_ = 0;
  std::vector<open_pack> open_;  // a heap with the emptiest pack in front
};

/// Packs the items of an order by a rule.
template <class Rule, class Weights, class Order, index_type Index>
void place_by(packing_items<Weights> const& items, Order const& order, groups<Index>& packs) {
  Rule rule(items);
  placer<Index>{}(items, order, 0, order.size(), rule, packs);
}
template <class Weights, class Order, index_type Index>
void place_by_best_fit(packing_items<Weights> const& items, Order const& order, groups<Index>& packs) {
  with_best_fit(items, [&](auto& rule) { placer<Index>{}(items, order, 0, order.size(), rule, packs); });
}

}  // namespace ballast::inline v0_2::detail
