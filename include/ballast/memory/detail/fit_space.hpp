// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/memory/buffer.hpp>

#include <algorithm>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Buffers placed one after the other; finds the gaps between those that are in use together with the next one.
template <class = when_called>
class fit_space {
 public:
  explicit fit_space(std::span<buffer const> buffers) : buffers_(buffers), offsets_(buffers.size(), 0), rank_(buffers.size()) {
    order_.resize(buffers.size());
    std::iota(order_.begin(), order_.end(), 0U);
    std::sort(order_.begin(), order_.end(),
              [&](auto a, auto b) { return buffers[a].lower != buffers[b].lower ? buffers[a].lower < buffers[b].lower : a < b; });
    for (std::uint32_t i = 0; i < order_.size(); ++i) rank_[order_[i]] = i;
    for (auto const& b : buffers) ends_.push_back(b.upper);
    std::sort(ends_.begin(), ends_.end());
    size_ = std::bit_ceil((std::max)(buffers.size(), std::size_t{1}));
    latest_.assign(2 * size_, (std::numeric_limits<std::int64_t>::min)());
  }

  void place(std::uint32_t i, std::int64_t at) {
    offsets_[i] = at;
    if (buffers_[i].size == 0) return;
    placed_.push_back({at, at + buffers_[i].size, buffers_[i].lower, buffers_[i].upper});
    for (auto k = size_ + rank_[i]; k >= 1; k /= 2) latest_[k] = (std::max)(latest_[k], buffers_[i].upper);
  }

  /// An address for buffer i: the lowest that fits, or the lowest in the smallest gap that fits.
  [[nodiscard]] std::int64_t find(std::uint32_t i, bool smallest) {
    auto const& b = buffers_[i];
    std::int64_t at = 0, best = -1, least = (std::numeric_limits<std::int64_t>::max)();
    auto const pass = [&](std::int64_t begin, std::int64_t end) {  // whether the gap below is taken at once
      auto const start = begin - at < b.size ? begin : round_up(at, b.alignment);
      if (begin - start >= b.size && begin - at < least) best = start, least = begin - at;
      at = (std::max)(at, end);
      return best >= 0 && !smallest;
    };
    if (in_use_with(b) * 16 > placed_.size()) {  // less work than to sort those that are in use with it
      sort_placed();
      for (auto const& p : placed_)
        if (p.lower < b.upper && b.lower < p.upper && pass(p.begin, p.end)) return best;
    } else {
      taken_.clear();
      collect(1, 0, size_, b);
      std::sort(taken_.begin(), taken_.end());
      for (auto const& [begin, end] : taken_)
        if (pass(begin, end)) return best;
    }
    return best >= 0 ? best : round_up(at, b.alignment);
  }
  [[nodiscard]] std::vector<std::int64_t>& offsets() { return offsets_; }

 private:
  struct placed {
    std::int64_t begin, end, lower, upper;
    auto operator<=>(placed const&) const = default;
  };

  /// How many of all buffers are in use together with one: those that begin before it ends, but for those that end before it begins.
  [[nodiscard]] std::size_t in_use_with(buffer const& b) const {
    auto const begun = std::partition_point(order_.begin(), order_.end(), [&](auto j) { return buffers_[j].lower < b.upper; });
    return static_cast<std::size_t>((begun - order_.begin()) - (std::upper_bound(ends_.begin(), ends_.end(), b.lower) - ends_.begin()));
  }
  void sort_placed() {
    auto const middle = placed_.begin() + static_cast<std::ptrdiff_t>(sorted_);
    std::sort(middle, placed_.end());
    if (placed_.size() - sorted_ == 1) {
      std::rotate(std::upper_bound(placed_.begin(), middle, *middle), middle, placed_.end());
    } else {
      merged_.resize(placed_.size());
      std::merge(placed_.begin(), middle, middle, placed_.end(), merged_.begin());
      placed_.swap(merged_);
    }
    sorted_ = placed_.size();
  }
  void collect(std::size_t at, std::size_t from, std::size_t to, buffer const& b) {
    if (from >= order_.size() || latest_[at] <= b.lower || buffers_[order_[from]].lower >= b.upper) return;
    if (to - from == 1) {
      auto const j = order_[from];
      taken_.emplace_back(offsets_[j], offsets_[j] + buffers_[j].size);
      return;
    }
    auto const middle = (from + to) / 2;
    collect(2 * at, from, middle, b);
    collect(2 * at + 1, middle, to, b);
  }

  std::span<buffer const> buffers_;
  std::vector<std::int64_t> offsets_;
  std::vector<std::uint32_t> order_, rank_;  ///< buffers by their begin
  std::size_t size_ = 1;
  std::vector<std::int64_t> latest_;  ///< of a range of them: the latest end of a placed one
  std::vector<std::pair<std::int64_t, std::int64_t>> taken_;
  std::vector<std::int64_t> ends_;  ///< of all buffers, ascending
  std::vector<placed> placed_;      ///< the first `sorted_` by address
  std::vector<placed> merged_;
  std::size_t sorted_ = 0;
};

}  // namespace ballast::inline v0_2::detail
