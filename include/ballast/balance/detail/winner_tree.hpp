// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast::inline v0_2::detail {

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
    for (std::size_t s = 0; s < sets; ++s) set(s, room(s));
    for (auto node = leaves_ - 1; node > 0; --node) play(node, better);
  }
  /// Updates the tree after set `s` has changed.
  template <class Better>
  void update(std::size_t s, std::int64_t room, Better const& better) {
    set(s, room);
    for (auto node = (leaves_ + s) / 2; node > 0; node /= 2) play(node, better);
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
    auto const second = left.winner == none || (right.winner != none && better(right.winner, left.winner));
    nodes_[node] = {(std::max)(left.room, right.room), second ? right.winner : left.winner};
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
  std::vector<node_type> nodes_;  ///< nodes_[1] is the root, nodes_[leaves_ + s] is set s
};

}  // namespace ballast::inline v0_2::detail
