// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

// "Which is the smallest room that still takes w?", for the best-fit family. A room is what is left of a pack's capacity; every room that
// is not empty has a head, the root of whatever the caller keeps there.

namespace ballast::inline v0_1::detail {

/// Rooms 0 … capacity in a 64-ary tree of bits: every operation touches one word a level, of which there are ceil(log64(capacity + 2)).
class dense_rooms {
 public:
  /// Up to here the table (4 bytes a room) is small enough to be worth it.
  static constexpr std::int64_t largest_capacity = std::int64_t{1} << 21;

  /// Forgets all rooms. Costs capacity / 8 bytes of clearing, and an allocation where the capacity has grown.
  void reset(std::int64_t capacity) {
    auto width = static_cast<std::size_t>(capacity) + 1;
    if (width > heads_) {
      head_ = std::make_unique_for_overwrite<std::uint32_t[]>(width);
      heads_ = width;
    }
    std::size_t words = 0;
    depth_ = 0;
    do {
      start_[depth_++] = words;
      width = width / 64 + 1;  // a search may ask for the bit behind the last, so there is a word for it
      words += width;
    } while (width > 1);
    bits_.assign(words, 0);
  }
  /// Smallest room that is not empty and at least `w`, in 0 … capacity; -1 if there is none.
  [[nodiscard]] std::int64_t at_least(std::int64_t w) const noexcept {
    auto i = static_cast<std::size_t>(w);
    for (std::size_t level = 0; level < depth_; ++level) {
      if (auto const rest = bits_[start_[level] + i / 64] >> (i % 64); rest != 0) {
        i += static_cast<std::size_t>(std::countr_zero(rest));
        while (level-- > 0) i = i * 64 + static_cast<std::size_t>(std::countr_zero(bits_[start_[level] + i]));
        return static_cast<std::int64_t>(i);
      }
      i = i / 64 + 1;
    }
    return -1;
  }
  /// Makes a room not empty; true if it was empty, and its head then holds no value yet.
  bool insert(std::int64_t room) noexcept {
    auto i = static_cast<std::size_t>(room);
    for (std::size_t level = 0; level < depth_; ++level, i /= 64) {
      auto& word = bits_[start_[level] + i / 64];
      auto const bit = std::uint64_t{1} << (i % 64);
      if (word & bit) return level != 0;
      word |= bit;
    }
    return true;
  }
  /// Makes a room empty that is not.
  void erase(std::int64_t room) noexcept {
    auto i = static_cast<std::size_t>(room);
    for (std::size_t level = 0; level < depth_; ++level, i /= 64) {
      auto& word = bits_[start_[level] + i / 64];
      word &= ~(std::uint64_t{1} << (i % 64));
      if (word != 0) return;
    }
  }
  /// The head of a room that is not empty.
  [[nodiscard]] std::uint32_t& head(std::int64_t room) noexcept { return head_[static_cast<std::size_t>(room)]; }

 private:
  std::vector<std::uint64_t> bits_;
  std::unique_ptr<std::uint32_t[]> head_;
  std::size_t heads_ = 0;
  std::size_t depth_ = 0;
  std::size_t start_[11] = {};  // first word of each level; 64^11 > 2^63
};

/// The same for any capacity, in a balanced tree.
class ordered_rooms {
 public:
  void reset(std::int64_t) noexcept { head_.clear(); }
  [[nodiscard]] std::int64_t at_least(std::int64_t w) const {
    auto const it = head_.lower_bound(w);
    return it == head_.end() ? -1 : it->first;
  }
  bool insert(std::int64_t room) { return head_.try_emplace(room).second; }
  void erase(std::int64_t room) { head_.erase(room); }
  [[nodiscard]] std::uint32_t& head(std::int64_t room) { return head_.find(room)->second; }

 private:
  std::map<std::int64_t, std::uint32_t> head_;
};

}  // namespace ballast::inline v0_1::detail
