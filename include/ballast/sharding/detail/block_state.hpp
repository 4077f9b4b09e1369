// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/core/version.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/sharding/detail/degree_times.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

// What the planner of independent passes knows while it plans: samples that are not placed yet, passes on blocks, loads of blocks.
//
// A block of level l is 2^l neighbouring ranks from a multiple of 2^l on. If each rank runs its widest passes first, no rank waits: all
// ranks of a block have the same passes before it. So a pass adds its time to all ranks of its block, whenever it is planned, and the
// makespan is the largest load of a rank. No other order of the same passes is faster.

namespace ballast::inline v0_2::detail {

/// Samples by position (longest first) that are not placed yet, with their totals.
class waiting_samples {
 public:
  explicit waiting_samples(degree_times const& t) : t_(&t) {}

  void reset() {
    auto const n = t_->length.size();
    next_.resize(n + 1);
    for (std::size_t i = 0; i <= n; ++i) next_[i] = static_cast<std::uint32_t>(i);
    tokens = t_->tokens;
    time = t_->whole_time;
  }
  /// The first waiting sample at or behind a position, or the number of samples.
  [[nodiscard]] std::size_t from(std::size_t i) {
    while (next_[i] != i) i = next_[i] = next_[next_[i]];
    return i;
  }
  void take(std::size_t i) {
    next_[i] = static_cast<std::uint32_t>(i + 1);
    tokens -= t_->length[i];
    time -= t_->at(i, 0);
  }
  /// The first position, from `i` on, of a sample of at most `tokens`.
  [[nodiscard]] std::size_t shorter(std::size_t i, std::int64_t most) const {
    auto const& length = t_->length;
    return static_cast<std::size_t>(
        std::partition_point(length.begin() + static_cast<std::ptrdiff_t>(i), length.end(), [&](auto l) { return l > most; }) -
        length.begin());
  }
  /// The first position, from `i` on, of a sample that takes at most `most` on a block of the level.
  [[nodiscard]] std::size_t quicker(std::size_t i, std::size_t level, std::int64_t most) const {
    if (!t_->by_length) {
      while (i < t_->length.size() && t_->at(i, level) > most) ++i;
      return i;
    }
    return first_where(i, t_->length.size(), [&](std::size_t at) { return t_->at(at, level) <= most; });
  }
  /// Time on one rank of that many waiting tokens of mean density, rounded up.
  [[nodiscard]] std::int64_t mean_time(std::int64_t of) const {
    if (tokens == 0) return 0;
    return static_cast<std::int64_t>(
        multiply_divide_up(static_cast<std::uint64_t>(time), static_cast<std::uint64_t>(of), static_cast<std::uint64_t>(tokens)));
  }

  std::int64_t tokens = 0;  ///< of all waiting samples
  std::int64_t time = 0;    ///< of all waiting samples, each on one rank

 private:
  degree_times const* t_;
  std::vector<std::uint32_t> next_;  // itself while the sample waits, else a later position
};

/// A pass on a block.
struct block_pass {
  std::uint32_t block = 0;
  std::uint32_t level = 0;
  std::int64_t room = 0;  ///< tokens left, of all ranks together
  friend constexpr bool operator==(block_pass const&, block_pass const&) = default;
};

/// A sample in a pass; `rank` is `everywhere` if all ranks of the block share it.
struct block_placement {
  static constexpr std::uint32_t everywhere = (std::numeric_limits<std::uint32_t>::max)();
  std::uint32_t position = 0, pass = 0, rank = everywhere;
};

/// Passes on blocks, and what is in them.
struct block_plan {
  static constexpr std::int64_t none = (std::numeric_limits<std::int64_t>::max)();
  std::vector<block_pass> passes;
  std::vector<block_placement> placements;
  std::int64_t value = none;  ///< the largest load of a rank

  void clear() {
    passes.clear();
    placements.clear();
    value = none;
  }
};

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
