// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/memory/detail/layout_problem.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Pieces as points, their first section and their last, in a tree that halves them by one and the other in turn (Bentley 1975) until eight
/// or fewer are left. A node has the box of those below that are not placed. A search looks at the boxes on the border of its range:
/// O(sqrt n), usually far fewer.
template <class = when_called>
class piece_boxes {
 public:
  static constexpr auto none = (std::numeric_limits<std::uint32_t>::max)();

  /// No piece is placed. `rank` is the place of each in an order.
  void start(std::vector<layout_piece> const& pieces, std::vector<std::uint32_t> const& rank) {
    if (slot_.size() != pieces.size()) build(pieces);
    for (std::uint32_t i = 0; i < pieces.size(); ++i) leaves_[slot_[i]] = {{pieces[i].first, pieces[i].last}, rank[i]};
    for (auto at = 2 * size_; at-- > 1;) pull(at);
  }
  void place(std::uint32_t i) {
    leaves_[slot_[i]] = {};
    for (std::size_t at = size_ + slot_[i] / most; at >= 1 && pull(at);) at /= 2;
  }
  /// The least rank of the pieces within the sections first … last - 1 that cover section `s`, or `none`.
  [[nodiscard]] std::uint32_t first_covering(std::uint32_t first, std::uint32_t s, std::uint32_t last) const {
    return least({first, s + 1}, {s, last}, none, [](point, point, std::uint32_t rank) { return rank; });
  }
  /// The last end of a piece within the sections first … s - 1, or `first`.
  [[nodiscard]] std::uint32_t end_before(std::uint32_t first, std::uint32_t s) const {
    return ~least({first, first}, {s, s}, ~first, [](point, point high, std::uint32_t) { return ~high.last; });
  }
  /// The first begin of a piece within the sections s … last - 1, or `last`.
  [[nodiscard]] std::uint32_t begin_after(std::uint32_t s, std::uint32_t last) const {
    return least({s, s}, {last, last}, last, [](point low, point, std::uint32_t) { return low.first; });
  }

 private:
  static constexpr std::size_t most = 8;  ///< leaves of a node: fewer take more of the cache

  struct point {
    std::uint32_t first, last;
    friend bool operator==(point const&, point const&) = default;
  };
  struct node {
    point low{none, none}, high{0, 0};
    std::uint32_t rank = none;  ///< the least
    friend bool operator==(node const&, node const&) = default;
  };
  struct leaf {
    point at{none, none};  ///< in no range if it is placed
    std::uint32_t rank = none;
  };

  void build(std::vector<layout_piece> const& pieces) {
    size_ = std::bit_ceil((std::max)((pieces.size() + most - 1) / most, std::size_t{1}));
    nodes_.assign(2 * size_, node{});
    leaves_.assign(size_ * most, leaf{});
    std::vector<std::uint32_t> order(pieces.size());
    std::iota(order.begin(), order.end(), 0U);
    bool by_first = true;
    for (auto part = leaves_.size(); part > most; part /= 2, by_first = !by_first)
      for (std::size_t from = 0; from + part / 2 < order.size(); from += part) {
        auto const at = [&](std::size_t k) { return order.begin() + static_cast<std::ptrdiff_t>((std::min)(k, order.size())); };
        std::nth_element(at(from), at(from + part / 2), at(from + part), [&](auto a, auto b) {
          auto const x = by_first ? pieces[a].first : pieces[a].last, y = by_first ? pieces[b].first : pieces[b].last;
          return x != y ? x < y : a < b;
        });
      }
    slot_.resize(pieces.size());
    for (std::uint32_t k = 0; k < order.size(); ++k) slot_[order[k]] = k;
  }
  /// Sums up what is below a node. Whether that changed it.
  bool pull(std::size_t at) {
    node t;
    auto const add = [&](point low, point high, std::uint32_t rank) {
      t = {{(std::min)(t.low.first, low.first), (std::min)(t.low.last, low.last)},
           {(std::max)(t.high.first, high.first), (std::max)(t.high.last, high.last)},
           (std::min)(t.rank, rank)};
    };
    if (at < size_) {
      for (auto const& b : {nodes_[2 * at], nodes_[2 * at + 1]}) add(b.low, b.high, b.rank);
    } else {
      for (auto k = (at - size_) * most; k < (at - size_ + 1) * most; ++k)
        if (leaves_[k].rank != none) add(leaves_[k].at, leaves_[k].at, leaves_[k].rank);
    }
    return std::exchange(nodes_[at], t) != t;
  }
  /// The least key of the pieces between two points, if it is below `best`.
  template <class Key>
  [[nodiscard]] std::uint32_t least(point low, point high, std::uint32_t best, Key const& key, std::size_t at = 1) const {
    auto const& t = nodes_[at];
    auto const own = key(t.low, t.high, t.rank);
    if (own >= best || t.low.first > high.first || t.low.last > high.last || t.high.first < low.first || t.high.last < low.last)
      return best;
    if (t.low.first >= low.first && t.low.last >= low.last && t.high.first <= high.first && t.high.last <= high.last) return own;
    if (at < size_) {
      auto const of = [&](node const& b) { return key(b.low, b.high, b.rank); };
      std::size_t const right = of(nodes_[2 * at + 1]) < of(nodes_[2 * at]) ? 1 : 0;  // the half with the least key goes first
      best = least(low, high, best, key, 2 * at + right);
      return least(low, high, best, key, 2 * at + 1 - right);
    }
    for (auto k = (at - size_) * most; k < (at - size_ + 1) * most; ++k) {
      auto const& [p, rank] = leaves_[k];
      if (p.first >= low.first && p.last >= low.last && p.first <= high.first && p.last <= high.last)
        best = (std::min)(best, key(p, p, rank));
    }
    return best;
  }

  std::size_t size_ = 1;
  std::vector<node> nodes_;
  std::vector<leaf> leaves_;         ///< `most` for each of the last `size_` nodes
  std::vector<std::uint32_t> slot_;  ///< of a piece: its leaf
};

}  // namespace ballast::inline v0_2::detail
