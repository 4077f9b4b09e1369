// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/pooled_memory.hpp>
#include <ballast/core/version.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>

/// @file
/// @brief Many small heaps in one vector: for packers, a heap holds the packs of one room, with the lowest number first.

namespace ballast::inline v0_2::detail {

/// Pairing heaps over a shared pool of nodes; a heap is given by the number of its root. Push takes O(1), pop O(log) amortised; nodes are
/// used again, so memory is only allocated while the pool grows. Source: Fredman, Sedgewick, Sleator, Tarjan, "The pairing heap",
/// Algorithmica 1 (1986).
///
/// Value: trivially copyable, with a member `std::uint64_t key` below 2^64 - 1; keys in one heap differ, so the order of pops does not
/// depend on its shape. An empty Value makes heaps of numbers, each in one heap at most: they are their own nodes, so that comparing two
/// reads no memory.
template <class Value>
class pairing_heaps {
  static constexpr bool numbers = std::is_empty_v<Value>;

 public:
  static constexpr std::uint32_t empty = (std::numeric_limits<std::uint32_t>::max)();  ///< the heap without nodes

  /// Forgets all heaps and keeps the memory.
  void clear() noexcept {
    nodes_.clear();
    free_ = empty;
  }
  /// The value with the lowest key. It may be changed in place as long as its key stays the lowest.
  [[nodiscard]] Value& top(std::uint32_t root) noexcept { return nodes_[root]; }
  [[nodiscard]] Value const& top(std::uint32_t root) const noexcept { return nodes_[root]; }

  /// Calls `visit(value)` for all values of all heaps, in no particular order.
  template <class Visit>
  void for_each(Visit const& visit) const {
    for (auto const& n : nodes_)
      if (n.key != unused) visit(static_cast<Value const&>(n));
  }

  /// Adds a value to a heap, which may be `empty`; returns the new root.
  [[nodiscard]] std::uint32_t push(std::uint32_t root, Value const& value) {
    auto const fresh = free_;
    if (fresh != empty) {
      free_ = nodes_[fresh].sibling;
      nodes_[fresh] = {value, empty, empty};
      return root == empty ? fresh : link(root, fresh);
    }
    if (nodes_.size() >= empty) throw std::length_error("ballast: more than 2^32 - 1 open packs");
    nodes_.push_back({value, empty, empty});
    auto const last = static_cast<std::uint32_t>(nodes_.size() - 1);
    return root == empty ? last : link(root, last);
  }
  /// Adds a number to a heap, which may be `empty`; returns the new root.
  [[nodiscard]] std::uint32_t push(std::uint32_t root, std::uint32_t number)
    requires numbers
  {
    if (number >= nodes_.size()) nodes_.resize(std::size_t{number} + 1);
    nodes_[number] = {{}, empty, empty};
    return root == empty ? number : link(root, number);
  }
  /// Removes the lowest key of a heap that is not empty; returns the new root.
  [[nodiscard]] std::uint32_t pop(std::uint32_t root) noexcept {
    auto list = std::exchange(nodes_[root].child, empty);
    if constexpr (!numbers) {
      nodes_[root].sibling = std::exchange(free_, root);
      nodes_[root].key = unused;
    }
    std::uint32_t pairs = empty;
    while (list != empty) {  // left to right: link neighbours
      auto const next = nodes_[list].sibling;
      auto const rest = next == empty ? empty : nodes_[next].sibling;
      auto const pair = next == empty ? list : link(list, next);
      nodes_[pair].sibling = std::exchange(pairs, pair);
      list = rest;
    }
    auto left = empty;
    while (pairs != empty) {  // from right to left: link all into one
      auto const next = nodes_[pairs].sibling;
      left = left == empty ? pairs : link(left, pairs);
      pairs = next;
    }
    return left;
  }

 private:
  static constexpr std::uint64_t unused = (std::numeric_limits<std::uint64_t>::max)();  // key of a free node
  struct node : Value {
    std::uint32_t child;    // first child
    std::uint32_t sibling;  // next child of the same parent; next free node in the free list
  };
  /// Makes the root with the higher key the first child of the other.
  std::uint32_t link(std::uint32_t a, std::uint32_t b) noexcept {
    auto const lower = [&] {
      if constexpr (numbers)
        return b < a;
      else
        return nodes_[b].key < nodes_[a].key;
    };
    if (lower()) std::swap(a, b);
    nodes_[b].sibling = std::exchange(nodes_[a].child, b);
    return a;
  }
  pooled_vector<node> nodes_;
  std::uint32_t free_ = empty;
};

}  // namespace ballast::inline v0_2::detail
