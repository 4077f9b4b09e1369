// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/version.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

// A lower bound on two phases together: a set that holds an item of much work in one phase has little room for work in the other.

namespace ballast::inline v0_2::detail {

/// What sets can hold in phase `b` if none holds more than x in phase `a`.
///
/// Of the items with most work in `a`, take k of which any two exceed x. They are in k sets, which have room for k x less their sum. Beside
/// them is at most the work in `b` that the items of most `b` per `a` have in so much `a`, the last one in part. The other sets share the
/// rest of `b`.
class pair_bound {
 public:
  pair_bound(std::vector<std::int64_t> const& a, std::vector<std::int64_t> const& b, std::size_t sets) : sets_(sets) {
    auto const n = a.size();
    for (auto const i : order_by<std::uint32_t>(n, [&](std::uint32_t k) { return -a[k]; })) {
      largest_.push_back(a[i]);
      sum_a_.push_back(sum_a_.back() + a[i]);
      sum_b_.push_back(sum_b_.back() + b[i]);
    }
    std::vector<std::size_t> dense;
    for (std::size_t i = 0; i < n; ++i)
      if (a[i] > 0 || b[i] > 0) dense.push_back(i);
    std::sort(dense.begin(), dense.end(), [&](std::size_t i, std::size_t j) {
      auto const sign = compare_products(b[i], a[j], b[j], a[i]);
      return sign != 0 ? sign > 0 : i < j;
    });
    for (auto const i : dense) {
      dense_a_.push_back(dense_a_.back() + a[i]);
      dense_b_.push_back(dense_b_.back() + b[i]);
    }
  }

  /// A lower bound on the sum of the largest loads in both phases. @param low_a,low_b  those of each phase
  [[nodiscard]] std::int64_t lower(std::int64_t low_a, std::int64_t low_b) const {
    if (sum_a_.back() >= std::int64_t{1} << 60) return low_a + low_b;  // k x stays below 3 sums
    auto const of_b = [&](std::int64_t x) { return (std::max)(low_b, least_b(x)); };
    auto best = low_a + of_b(low_a);
    auto const step = (std::max)((best - low_a - low_b) / steps, std::int64_t{1});
    best = sum_a_.back() + low_b;
    for (auto x = low_a; x + low_b < best; x += step) best = (std::min)(best, x + of_b(x + step - 1));  // loads from x to x + step - 1
    return best;
  }

 private:
  static constexpr std::int64_t steps = 512;
  /// The least largest load in `b` where no load in `a` exceeds `x`; it does not grow with `x`.
  [[nodiscard]] std::int64_t least_b(std::int64_t x) const {
    std::int64_t least = 0;
    for (std::size_t k = 1; k <= (std::min)(sets_, largest_.size()); ++k) {
      if (k > 1 && largest_[k - 2] + largest_[k - 1] <= x) break;
      auto const rest = sum_b_.back() - sum_b_[k] - most_b(static_cast<std::int64_t>(k) * x - sum_a_[k]);
      if (rest <= 0) continue;
      if (k == sets_) return sum_b_.back();  // no sets are left
      least = (std::max)(least, divide_up(rest, static_cast<std::int64_t>(sets_ - k)));
    }
    return least;
  }
  /// The most work in `b` of items, the last one in part, that have `room` in `a`.
  [[nodiscard]] std::int64_t most_b(std::int64_t room) const {
    auto const next = static_cast<std::size_t>(std::upper_bound(dense_a_.begin(), dense_a_.end(), room) - dense_a_.begin());
    if (next == dense_a_.size()) return dense_b_.back();
    auto const left = static_cast<std::uint64_t>(room - dense_a_[next - 1]);
    auto const more = static_cast<std::uint64_t>(dense_b_[next] - dense_b_[next - 1]);
    return dense_b_[next - 1] +
           static_cast<std::int64_t>(multiply_divide_up(left, more, static_cast<std::uint64_t>(dense_a_[next] - dense_a_[next - 1])));
  }

  std::size_t sets_;
  std::vector<std::int64_t> largest_;                  // work in `a`, descending
  std::vector<std::int64_t> sum_a_{0}, sum_b_{0};      // of the items so far in that order
  std::vector<std::int64_t> dense_a_{0}, dense_b_{0};  // and in the order of `b` per `a`
};

}  // namespace ballast::inline v0_2::detail
