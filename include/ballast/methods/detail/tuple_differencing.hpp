// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

// The largest differencing method as verl has it, and slime from verl. Its plans differ from those of `karmarkar_karp` where items or
// spreads are equal: it compares sets by load, then by the number of their items, then item by item.

namespace ballast::inline v0_2::detail {

template <index_type Index>
class tuple_differencing {
 public:
  /// @pre with `equal_counts` the number of items is a multiple of the number of sets
  tuple_differencing(std::span<std::int64_t const> items, std::size_t sets, bool equal_counts) : items_(items), sets_(sets) {
    auto const each = equal_counts ? sets : 1;
    auto const order = order_by<Index>(items.size(), [&](Index i) { return items_[static_cast<std::size_t>(i)]; });
    for (std::size_t first = 0; first < order.size(); first += each) {
      auto& s = states_.emplace_back();
      for (auto k = first; k < first + each; ++k) s.push_back({items_[static_cast<std::size_t>(order[k])], {order[k]}});
      sort(s);
    }
  }
  /// The sets, the one of largest load first, members ascending. There are fewer than asked for if there are fewer items.
  [[nodiscard]] std::vector<std::vector<Index>> run() {
    auto const later = [&](state const& a, state const& b) {
      auto const x = spread(a), y = spread(b);
      return x != y ? x < y : before(b[0], a[0]);
    };
    std::make_heap(states_.begin(), states_.end(), later);
    while (states_.size() > 1) {
      std::pop_heap(states_.begin(), states_.end(), later);
      auto first = std::move(states_.back());
      states_.pop_back();
      std::pop_heap(states_.begin(), states_.end(), later);
      join(first, states_.back());
      states_.back() = std::move(first);
      std::push_heap(states_.begin(), states_.end(), later);
    }
    std::vector<std::vector<Index>> out;
    if (states_.empty()) return out;
    for (auto& set : states_[0]) {
      std::sort(set.items.begin(), set.items.end());
      out.push_back(std::move(set.items));
    }
    return out;
  }

 private:
  struct load_set {
    std::int64_t load;
    std::vector<Index> items;
  };
  using state = std::vector<load_set>;  // sets with items, largest first

  [[nodiscard]] static bool before(load_set const& a, load_set const& b) {  // whether `a` is larger
    if (a.load != b.load) return a.load > b.load;
    return a.items.size() != b.items.size() ? a.items.size() > b.items.size() : a.items > b.items;
  }
  static void sort(state& s) { std::sort(s.begin(), s.end(), before); }
  [[nodiscard]] std::int64_t spread(state const& s) const { return s[0].load - (s.size() < sets_ ? 0 : s.back().load); }
  /// The largest sets of one with the smallest of the other.
  void join(state& a, state& b) const {
    auto const meet = a.size() + b.size() > sets_ ? a.size() + b.size() - sets_ : 0;
    for (std::size_t j = 0; j < meet; ++j) {  // the last sets of `a`, the smallest last, with the last of `b`
      auto& onto = a[a.size() - meet + j];
      auto const& from = b[b.size() - 1 - j];
      onto.load += from.load;
      onto.items.insert(onto.items.end(), from.items.begin(), from.items.end());
    }
    a.insert(a.end(), std::make_move_iterator(b.begin()), std::make_move_iterator(b.end() - static_cast<std::ptrdiff_t>(meet)));
    sort(a);
  }

  std::span<std::int64_t const> items_;
  std::size_t sets_;
  std::vector<state> states_;
};

}  // namespace ballast::inline v0_2::detail
