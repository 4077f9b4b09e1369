// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/patterns/patterns.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

// Open packs of several measures, by score of their room, ascending; equal packs are one entry. The search for the first entry with room
// for a sample skips blocks of entries that all have too little room in some measure.

namespace ballast::inline v0_2::detail {

template <class = when_called>
class open_packs {
 public:
  explicit open_packs(std::size_t measures) : measures_(measures) {}

  /// An entry: equal packs.
  struct entry {
    std::uint64_t score;  // score of the room; of equal scores, the oldest entry comes first
    std::uint64_t count;
    std::uint32_t chain;  // what the packs hold: an index into `links`
    std::uint32_t rooms;  // begin of their room in `room`
  };
  struct link {
    pattern_item item;
    std::uint32_t before;  // index of the previous link
  };
  static constexpr std::uint32_t nothing = 0xffffffffU;

  /// The place of an entry.
  struct place {
    std::size_t block, at;
  };
  [[nodiscard]] bool is_end(place p) const { return p.block == blocks_.size(); }
  [[nodiscard]] entry& operator[](place p) { return blocks_[p.block].entries[p.at]; }
  [[nodiscard]] std::span<std::int64_t const> room(entry const& e) const { return {rooms_.data() + e.rooms * measures_, measures_}; }

  /// The first entry with room for `sample`.
  [[nodiscard]] place find(std::span<std::int64_t const> sample) const {
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (!fits(sample, blocks_[b].most.data())) continue;
      auto const& entries = blocks_[b].entries;
      for (std::size_t i = 0; i < entries.size(); ++i)
        if (fits(sample, rooms_.data() + entries[i].rooms * measures_)) return {b, i};
    }
    return {blocks_.size(), 0};
  }

  /// Adds `count` packs that hold `item` in addition to the chain `before` and have the room `room` left.
  void insert(std::uint64_t score, std::uint64_t count, pattern_item item, std::uint32_t before, std::span<std::int64_t const> room) {
    links_.push_back({item, before});
    entry e{score, count, static_cast<std::uint32_t>(links_.size() - 1), nothing};
    if (free_.empty()) {
      e.rooms = static_cast<std::uint32_t>(rooms_.size() / measures_);
      rooms_.insert(rooms_.end(), room.begin(), room.end());
    } else {
      e.rooms = free_.back();
      free_.pop_back();
      std::copy(room.begin(), room.end(), rooms_.begin() + static_cast<std::ptrdiff_t>(e.rooms * measures_));
    }
    // The newest entry of equal scores comes last, before the first larger score.
    if (blocks_.empty()) blocks_.emplace_back().most.assign(measures_, 0);
    auto const behind =
        std::upper_bound(blocks_.begin() + 1, blocks_.end(), score, [](auto s, block const& b) { return s < b.entries[0].score; });
    auto& into = *(behind - 1);
    into.entries.insert(
        std::upper_bound(into.entries.begin(), into.entries.end(), score, [](auto s, entry const& x) { return s < x.score; }), e);
    for (std::size_t m = 0; m < measures_; ++m) into.most[m] = (std::max)(into.most[m], room[m]);
    if (into.entries.size() > 2 * block_size) split(static_cast<std::size_t>(behind - blocks_.begin()) - 1);
  }

  void erase(place p) {
    auto& b = blocks_[p.block];
    free_.push_back(b.entries[p.at].rooms);
    b.entries.erase(b.entries.begin() + static_cast<std::ptrdiff_t>(p.at));
    if (b.entries.empty())
      blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(p.block));
    else
      bound(b);
  }

  /// Appends packs that hold `item` in addition to the chain `before`.
  void emit(pattern_item item, std::uint32_t before, std::uint64_t count, pack_patterns& out) {
    pattern_.assign(1, item);
    for (auto l = before; l != nothing; l = links_[l].before) pattern_.push_back(links_[l].item);
    std::reverse(pattern_.begin(), pattern_.end());  // in the order in which items were placed
    out.push_back(pattern_, count);
  }
  /// Appends all open packs.
  void emit_all(pack_patterns& out) {
    for (auto const& b : blocks_)
      for (auto const& e : b.entries) emit(links_[e.chain].item, links_[e.chain].before, e.count, out);
  }

 private:
  static constexpr std::size_t block_size = 32;
  struct block {
    std::vector<entry> entries;
    std::vector<std::int64_t> most;  // the largest room of the block's entries in each measure
  };
  [[nodiscard]] bool fits(std::span<std::int64_t const> sample, std::int64_t const* room) const {
    for (std::size_t m = 0; m < measures_; ++m)
      if (sample[m] > room[m]) return false;
    return true;
  }
  void bound(block& b) const {
    b.most.assign(measures_, 0);
    for (auto const& e : b.entries)
      for (std::size_t m = 0; m < measures_; ++m) b.most[m] = (std::max)(b.most[m], room(e)[m]);
  }
  void split(std::size_t at) {
    block second;
    auto& first = blocks_[at].entries;
    second.entries.assign(first.begin() + block_size, first.end());
    first.resize(block_size);
    bound(blocks_[at]);
    bound(second);
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(at + 1), std::move(second));
  }
  std::size_t measures_;
  std::vector<block> blocks_;
  std::vector<link> links_;
  std::vector<std::int64_t> rooms_;
  std::vector<std::uint32_t> free_;
  std::vector<pattern_item> pattern_;
};

}  // namespace ballast::inline v0_2::detail
