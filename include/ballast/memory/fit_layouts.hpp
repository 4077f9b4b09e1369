// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/memory/bounds.hpp>
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

/// @file
/// @brief First fit and best fit of buffers: what most frameworks do, to compare with.

namespace ballast::inline v0_2 {

/// @brief The order in which buffers are placed. Equal ones are placed in the given order.
enum class fit_order : std::uint8_t {
  size,      ///< the largest first
  lifetime,  ///< the one that is in use for longest first
  area,      ///< the largest product of size and lifetime first
  given,     ///< as they are given
};

namespace detail {

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

template <class = when_called>
[[nodiscard]] std::vector<std::uint32_t> order_for_fit(std::span<buffer const> buffers, fit_order order) {
  std::vector<wide> keys(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    auto const& b = buffers[i];
    auto const time = static_cast<std::uint64_t>(b.upper) - static_cast<std::uint64_t>(b.lower), size = static_cast<std::uint64_t>(b.size);
    keys[i] = order == fit_order::size ? wide{0, size} : order == fit_order::lifetime ? wide{0, time} : multiply(size, time);
    if (order == fit_order::given) keys[i] = {};
  }
  std::vector<std::uint32_t> out(buffers.size());
  std::iota(out.begin(), out.end(), 0U);
  std::sort(out.begin(), out.end(), [&](auto a, auto b) {
    auto const a_fixed = buffers[a].fixed >= 0, b_fixed = buffers[b].fixed >= 0;
    if (a_fixed != b_fixed) return a_fixed;
    return keys[a] == keys[b] ? a < b : keys[b] < keys[a];
  });
  return out;
}

template <class = when_called>
[[nodiscard]] memory_layout fit(std::span<buffer const> buffers, fit_order order, bool smallest) {
  auto const bound = layout_lower_bound(buffers);
  memory_layout out{.status = status::infeasible, .height = {0, bound.height}, .bound = bound.bound, .offsets = {}};
  if (bound.bound == layout_bound::fixed_addresses) return out;
  out.status = status::feasible;
  fit_space<> space(buffers);
  for (auto const i : order_for_fit(buffers, order)) {
    auto const& b = buffers[i];
    auto const at = b.fixed >= 0 ? b.fixed : b.size == 0 ? 0 : space.find(i, smallest);
    space.place(i, at);
    out.height.value = (std::max)(out.height.value, at + b.size);
  }
  out.offsets = std::move(space.offsets());
  return out;
}

}  // namespace detail

/// @brief Places buffers one after the other, each at the lowest address where it fits. Those with fixed addresses come first.
/// @param buffers  the buffers; may be empty
/// @param order    the order in which they are placed
/// @return the layout, with `layout_lower_bound`; infeasible if fixed addresses overlap
/// @throws invalid_input as `max_load`
/// @par Complexity
/// O(n log n + min(p log n, n^2)), where p counts the pairs of buffers that are in use at the same time.
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] memory_layout first_fit_layout(std::span<buffer const> buffers, fit_order order = fit_order::size) {
  return detail::fit(buffers, order, false);
}

/// @brief Places buffers one after the other, each in the smallest gap between placed ones where it fits, or else above all of them.
/// @param buffers  the buffers; may be empty
/// @param order    the order in which they are placed
/// @return the layout, with `layout_lower_bound`; infeasible if fixed addresses overlap
/// @throws invalid_input as `max_load`
/// @par Complexity
/// As `first_fit_layout`.
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] memory_layout best_fit_layout(std::span<buffer const> buffers, fit_order order = fit_order::size) {
  return detail::fit(buffers, order, true);
}

}  // namespace ballast::inline v0_2
