// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/pairing_heaps.hpp>
#include <ballast/core/pooled_memory.hpp>
#include <ballast/core/version.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

// Finds the smallest room of at least w, for best fit. A room is the remaining capacity of a pack. Each room that some pack has keeps a
// head, the root of what the caller stores for the room; a room without packs is empty.

namespace ballast::inline v0_2::detail {

/// Rooms 0 … capacity in a 64-ary tree of bits: an operation reads or writes one word in each of the ceil(log64(capacity + 2)) tiers.
class dense_rooms {
 public:
  /// Largest capacity for which the table (4 bytes for each room) is small enough to pay.
  static constexpr std::int64_t largest_capacity = std::int64_t{1} << 21;

  /// Makes all rooms empty. Clears capacity / 8 bytes, and allocates if the capacity has grown.
  void reset(std::int64_t capacity) {
    auto width = static_cast<std::size_t>(capacity) + 1;
    (void)head_.get(width);
    std::size_t words = 0;
    depth_ = 0;
    do {
      start_[depth_++] = words;
      width = width / 64 + 1;  // a search may read the bit after the last, so there is a word for it
      words += width;
    } while (width > 1);
    bits_.assign(words, 0);
  }
  /// Smallest room that is not empty and at least `w`, in 0 … capacity; -1 if there is none.
  [[nodiscard]] std::int64_t at_least(std::int64_t w) const noexcept {
    auto i = static_cast<std::size_t>(w);
    for (std::size_t tier = 0; tier < depth_; ++tier) {
      if (auto const rest = bits_[start_[tier] + i / 64] >> (i % 64); rest != 0) {
        i += static_cast<std::size_t>(std::countr_zero(rest));
        while (tier-- > 0) i = i * 64 + static_cast<std::size_t>(std::countr_zero(bits_[start_[tier] + i]));
        return static_cast<std::int64_t>(i);
      }
      i = i / 64 + 1;
    }
    return -1;
  }
  /// Marks a room as not empty. Returns true if it was empty; its head then has no value yet.
  bool insert(std::int64_t room) noexcept {
    auto i = static_cast<std::size_t>(room);
    for (std::size_t tier = 0; tier < depth_; ++tier, i /= 64) {
      auto& word = bits_[start_[tier] + i / 64];
      auto const bit = std::uint64_t{1} << (i % 64);
      if (word & bit) return tier != 0;
      word |= bit;
    }
    return true;
  }
  /// Marks a room as empty that is not.
  void erase(std::int64_t room) noexcept {
    auto i = static_cast<std::size_t>(room);
    for (std::size_t tier = 0; tier < depth_; ++tier, i /= 64) {
      auto& word = bits_[start_[tier] + i / 64];
      word &= ~(std::uint64_t{1} << (i % 64));
      if (word != 0) return;
    }
  }
  /// The head of a room that is not empty.
  [[nodiscard]] std::uint32_t& head(std::int64_t room) noexcept { return head_[static_cast<std::size_t>(room)]; }

 private:
  pooled_vector<std::uint64_t> bits_;
  raw_buffer<std::uint32_t> head_;
  std::size_t depth_ = 0;
  std::size_t start_[11] = {};  // first word of each tier; 64^11 > 2^63
};

/// As above for any capacity, in sorted blocks: an operation reads or writes a few cache lines.
class ordered_rooms {
 public:
  void reset(std::int64_t) noexcept { blocks_.clear(); }
  [[nodiscard]] std::int64_t at_least(std::int64_t w) {
    if (blocks_.empty()) return -1;
    seek(w);
    if (at_ == block_->second.size()) {
      if (++block_ == blocks_.end()) return -1;
      at_ = 0;
    }
    return block_->second[at_].room;
  }
  bool insert(std::int64_t room) {
    if (blocks_.empty()) block_ = blocks_.try_emplace(0).first;
    seek(room);
    auto& block = block_->second;
    if (at_ < block.size() && block[at_].room == room) return false;
    block.insert(block.begin() + static_cast<std::ptrdiff_t>(at_), {room, 0});
    if (block.size() < most_rooms) return true;
    auto const middle = block.begin() + most_rooms / 2;
    blocks_.try_emplace(std::next(block_), middle->room, middle, block.end());
    block.erase(middle, block.end());
    return true;
  }
  void erase(std::int64_t room) {
    seek(room);
    auto& block = block_->second;
    block.erase(block.begin() + static_cast<std::ptrdiff_t>(at_));
    if (block.empty()) blocks_.erase(block_);
  }
  [[nodiscard]] std::uint32_t& head(std::int64_t room) {
    seek(room);
    return block_->second[at_].head;
  }

 private:
  static constexpr std::ptrdiff_t most_rooms = 128;
  struct entry {
    std::int64_t room;
    std::uint32_t head;
  };
  using blocks =
      std::map<std::int64_t, pooled_vector<entry>, std::less<>, pool_allocator<std::pair<std::int64_t const, pooled_vector<entry>>>>;

  // The first room of at least `w` in the block that may hold `w`, or the end of that block.
  void seek(std::int64_t w) {
    block_ = blocks_.upper_bound(w);
    if (block_ != blocks_.begin()) --block_;
    auto const& block = block_->second;
    at_ = static_cast<std::size_t>(
        std::lower_bound(block.begin(), block.end(), w, [](entry const& e, std::int64_t value) { return e.room < value; }) - block.begin());
  }

  blocks blocks_;  // none is empty; a key is at most the first room of its block and above the last room of the block before
  blocks::iterator block_;
  std::size_t at_ = 0;
};

}  // namespace ballast::inline v0_2::detail
