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
#include <vector>

namespace ballast::inline v0_2::detail {

/// Pieces as points, their first section and their last, in a tree that halves them by one and the other in turn (Bentley 1975). A node has
/// the box of those below that are not placed. A search looks at the boxes on the border of its range: O(sqrt n), usually far fewer.
template <class = when_called>
class piece_boxes {
 public:
  static constexpr auto none = (std::numeric_limits<std::uint32_t>::max)();

  /// No piece is placed. `rank` is the place of each in an order.
  void start(std::vector<layout_piece> const& pieces, std::vector<std::uint32_t> const& rank) {
    if (leaf_.size() != pieces.size()) build(pieces);
    for (std::uint32_t i = 0; i < pieces.size(); ++i)
      nodes_[leaf_[i]] = {{pieces[i].first, pieces[i].last}, {pieces[i].first, pieces[i].last}, rank[i]};
    for (auto at = size_; at-- > 1;) pull(at);
  }
  void place(std::uint32_t i) {
    std::size_t at = leaf_[i];
    nodes_[at] = {};
    while (at /= 2) pull(at);
  }
  /// The least rank of the pieces within the sections first … last - 1 that cover section `s`, or `none`.
  [[nodiscard]] std::uint32_t first_covering(std::uint32_t first, std::uint32_t s, std::uint32_t last) const {
    return least({first, s + 1}, {s, last}, none, [](node const& t) { return t.rank; });
  }
  /// The last end of a piece within the sections first … s - 1, or `first`.
  [[nodiscard]] std::uint32_t end_before(std::uint32_t first, std::uint32_t s) const {
    return ~least({first, first}, {s, s}, ~first, [](node const& t) { return ~t.high.last; });
  }
  /// The first begin of a piece within the sections s … last - 1, or `last`.
  [[nodiscard]] std::uint32_t begin_after(std::uint32_t s, std::uint32_t last) const {
    return least({s, s}, {last, last}, last, [](node const& t) { return t.low.first; });
  }

 private:
  struct point {
    std::uint32_t first, last;
  };
  struct node {
    point low{none, none}, high{0, 0};
    std::uint32_t rank = none;  ///< the least
  };

  void build(std::vector<layout_piece> const& pieces) {
    size_ = std::bit_ceil((std::max)(pieces.size(), std::size_t{1}));
    nodes_.assign(2 * size_, node{});
    std::vector<std::uint32_t> order(pieces.size());
    std::iota(order.begin(), order.end(), 0U);
    bool by_first = true;
    for (auto part = size_; part > 1; part /= 2, by_first = !by_first)
      for (std::size_t from = 0; from + part / 2 < order.size(); from += part) {
        auto const at = [&](std::size_t k) { return order.begin() + static_cast<std::ptrdiff_t>((std::min)(k, order.size())); };
        std::nth_element(at(from), at(from + part / 2), at(from + part), [&](auto a, auto b) {
          auto const x = by_first ? pieces[a].first : pieces[a].last, y = by_first ? pieces[b].first : pieces[b].last;
          return x != y ? x < y : a < b;
        });
      }
    leaf_.resize(pieces.size());
    for (std::size_t k = 0; k < order.size(); ++k) leaf_[order[k]] = static_cast<std::uint32_t>(size_ + k);
  }
  void pull(std::size_t at) {
    auto const &a = nodes_[2 * at], &b = nodes_[2 * at + 1];
    nodes_[at] = {{(std::min)(a.low.first, b.low.first), (std::min)(a.low.last, b.low.last)},
                  {(std::max)(a.high.first, b.high.first), (std::max)(a.high.last, b.high.last)},
                  (std::min)(a.rank, b.rank)};
  }
  /// The least key of the pieces between two points, if it is below `best`.
  template <class Key>
  [[nodiscard]] std::uint32_t least(point low, point high, std::uint32_t best, Key const& key, std::size_t at = 1) const {
    auto const& t = nodes_[at];
    if (key(t) >= best || t.low.first > high.first || t.low.last > high.last || t.high.first < low.first || t.high.last < low.last)
      return best;
    if (t.low.first >= low.first && t.low.last >= low.last && t.high.first <= high.first && t.high.last <= high.last) return key(t);
    std::size_t const right = key(nodes_[2 * at + 1]) < key(nodes_[2 * at]) ? 1 : 0;  // the half with the least key goes first
    best = least(low, high, best, key, 2 * at + right);
    return least(low, high, best, key, 2 * at + 1 - right);
  }

  std::size_t size_ = 1;
  std::vector<node> nodes_;
  std::vector<std::uint32_t> leaf_;  ///< of a piece: its node
};

}  // namespace ballast::inline v0_2::detail
