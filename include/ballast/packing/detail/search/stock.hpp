// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/random.hpp>
#include <ballast/packing/detail/pooled_memory.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ballast::inline v0_2::detail {

/// The samples still to be packed, by class of length: finds how many remain, the longest that fits, and a random one.
class stock {
 public:
  static constexpr std::size_t none = ~std::size_t{0};

  stock(histogram const& all, std::int64_t capacity) { restart(all, capacity); }

  /// Starts again with other samples.
  void restart(histogram const& all, std::int64_t capacity) {
    lengths_.assign(all.lengths.begin(), all.lengths.end());
    tree_.resize(lengths_.size() + 1);
    available_.resize(lengths_.size() / 64 + 1);
    longest_.clear();
    if (!lengths_.empty() && capacity <= longest_table && capacity / 64 <= static_cast<std::int64_t>(lengths_.size())) {
      longest_.resize(static_cast<std::size_t>(capacity) + 1);
      std::size_t k = 0;
      for (std::size_t room = 0; room < longest_.size(); ++room) {
        while (k < lengths_.size() && lengths_[k] <= static_cast<std::int64_t>(room)) ++k;
        longest_[room] = static_cast<std::uint32_t>(k);
      }
    }
    reset(all.counts);
  }

  /// Starts again with these counts.
  void reset(std::span<std::uint64_t const> counts) {
    left_.assign(counts.begin(), counts.end());
    samples_ = 0;
    tokens_ = 0;
    std::fill(available_.begin(), available_.end(), 0);
    std::copy(left_.begin(), left_.end(), tree_.begin() + 1);
    tree_[0] = 0;
    for (std::size_t k = 1; k < tree_.size(); ++k)
      if (auto const up = k + (k & (~k + 1)); up < tree_.size()) tree_[up] += tree_[k];
    for (std::size_t k = 0; k < left_.size(); ++k) {
      samples_ += left_[k];
      tokens_ += static_cast<std::int64_t>(left_[k]) * lengths_[k];
      if (left_[k] != 0) available_[k / 64] |= std::uint64_t{1} << k % 64;
    }
  }

  [[nodiscard]] std::size_t classes() const noexcept { return left_.size(); }
  [[nodiscard]] std::int64_t length(std::size_t k) const { return lengths_[k]; }
  [[nodiscard]] std::uint64_t left(std::size_t k) const { return left_[k]; }
  [[nodiscard]] pooled_vector<std::uint64_t> const& counts() const noexcept { return left_; }
  [[nodiscard]] std::uint64_t samples() const noexcept { return samples_; }
  [[nodiscard]] std::int64_t tokens() const noexcept { return tokens_; }

  void take(std::size_t k, std::uint64_t copies) {
    left_[k] -= copies;
    samples_ -= copies;
    tokens_ -= static_cast<std::int64_t>(copies) * lengths_[k];
    if (left_[k] == 0) available_[k / 64] &= ~(std::uint64_t{1} << k % 64);
    for (auto at = k + 1; at < tree_.size(); at += at & (~at + 1)) tree_[at] -= copies;
  }
  void put_back(std::size_t k, std::uint64_t copies) {
    left_[k] += copies;
    samples_ += copies;
    tokens_ += static_cast<std::int64_t>(copies) * lengths_[k];
    available_[k / 64] |= std::uint64_t{1} << k % 64;
    for (auto at = k + 1; at < tree_.size(); at += at & (~at + 1)) tree_[at] += copies;
  }

  /// The number of classes whose length is at most `room`.
  [[nodiscard]] std::size_t classes_within(std::int64_t room) const {
    if (room <= 0) return 0;
    if (static_cast<std::uint64_t>(room) < longest_.size()) return longest_[static_cast<std::size_t>(room)];
    return static_cast<std::size_t>(std::upper_bound(lengths_.begin(), lengths_.end(), room) - lengths_.begin());
  }
  /// The highest class in [begin, end) with a remaining sample, or `none`.
  [[nodiscard]] std::size_t last_available(std::size_t begin, std::size_t end) const {
    if (begin >= end) return none;
    auto word = (end - 1) / 64;
    auto bits = available_[word] & (~std::uint64_t{0} >> (63 - (end - 1) % 64));
    while (bits == 0) {
      if (word == begin / 64) return none;
      bits = available_[--word];
    }
    auto const k = word * 64 + 63 - static_cast<std::size_t>(std::countl_zero(bits));
    return k >= begin ? k : none;
  }
  /// The lowest class in [begin, end) with a remaining sample, or `none`.
  [[nodiscard]] std::size_t first_available(std::size_t begin, std::size_t end) const {
    if (begin >= end) return none;
    auto word = begin / 64;
    auto bits = available_[word] & (~std::uint64_t{0} << begin % 64);
    while (bits == 0) {
      if (++word > (end - 1) / 64) return none;
      bits = available_[word];
    }
    auto const k = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
    return k < end ? k : none;
  }
  /// The number of remaining samples in the classes below `end`.
  [[nodiscard]] std::uint64_t samples_below(std::size_t end) const {
    std::uint64_t sum = 0;
    for (auto at = end; at != 0; at -= at & (~at + 1)) sum += tree_[at];
    return sum;
  }
  /// Draws a remaining sample of the classes [begin, end) uniformly; returns its class, or `none`.
  [[nodiscard]] std::size_t draw(std::size_t begin, std::size_t end, splitmix64& generator) const {
    auto const before = samples_below(begin), all = samples_below(end) - before;
    if (all == 0) return none;
    auto rank = before + uniform_below(all, generator);
    std::size_t k = 0;
    for (auto step = std::bit_floor(left_.size()); step != 0; step /= 2)
      if (k + step <= left_.size() && tree_[k + step] <= rank) {
        k += step;
        rank -= tree_[k];
      }
    return k;
  }
  /// The remaining samples as a histogram, without classes that are used up; `of[i]` becomes the class of entry i.
  void remaining(histogram& out, pooled_vector<std::uint32_t>& of) const {
    out.clear();
    of.clear();
    out.lengths.reserve(classes());
    out.counts.reserve(classes());
    for (auto k = first_available(0, classes()); k != none; k = first_available(k + 1, classes())) {
      out.lengths.push_back(lengths_[k]);
      out.counts.push_back(left_[k]);
      of.push_back(static_cast<std::uint32_t>(k));
    }
  }

 private:
  static constexpr std::int64_t longest_table = std::int64_t{1} << 20;
  pooled_vector<std::int64_t> lengths_;
  pooled_vector<std::uint64_t> left_;
  pooled_vector<std::uint64_t> tree_;       // sums of counts, a Fenwick tree
  pooled_vector<std::uint64_t> available_;  // one bit for each class
  pooled_vector<std::uint32_t> longest_;    // for each room: number of classes that fit
  std::uint64_t samples_ = 0;
  std::int64_t tokens_ = 0;
};

}  // namespace ballast::inline v0_2::detail
