// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast::inline v0_2::detail {

/// A heap of places (ranks, blocks) by an integer key, the least first; of equal keys the place with the lowest number.
class load_heap {
 public:
  struct entry {
    std::int64_t key;
    std::uint32_t place;
    friend constexpr bool operator<(entry a, entry b) noexcept { return a.key != b.key ? a.key > b.key : a.place > b.place; }
  };

  /// Places 0 ... `places - 1`, each with its key.
  template <class Key>
  void fill(std::size_t places, Key const& key) {
    entries_.clear();
    for (std::uint32_t p = 0; p < places; ++p) entries_.push_back({key(p), p});
    std::make_heap(entries_.begin(), entries_.end());
  }
  void clear() { entries_.clear(); }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] entry const& top() const { return entries_[0]; }
  void push(std::int64_t key, std::uint32_t place) {
    entries_.push_back({key, place});
    std::push_heap(entries_.begin(), entries_.end());
  }
  void pop() {
    std::pop_heap(entries_.begin(), entries_.end());
    entries_.pop_back();
  }
  /// Gives the first place another key, not below the one it had.
  void raise(std::int64_t key) {
    auto const moved = entry{key, entries_[0].place};
    std::size_t at = 0;
    for (std::size_t child; (child = 2 * at + 1) < entries_.size(); at = child) {
      if (child + 1 < entries_.size() && entries_[child] < entries_[child + 1]) ++child;
      if (!(moved < entries_[child])) break;
      entries_[at] = entries_[child];
    }
    entries_[at] = moved;
  }
  /// The place with the least key, where keys are `keys[place]` and may have risen since they were pushed.
  [[nodiscard]] std::uint32_t least(std::vector<std::int64_t> const& keys) {
    while (top().key != keys[top().place]) raise(keys[top().place]);
    return top().place;
  }

 private:
  std::vector<entry> entries_;
};

}  // namespace ballast::inline v0_2::detail
