// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace ballast::inline v0_2::detail {

/// The samples `first` to `last - 1` of a list.
struct outlier_run {
  std::size_t first = 0, last = 0;
};

/// What a run of outliers is judged by.
struct outlier_terms {
  std::int64_t micro_batches = 1;
  std::int64_t others = 0;    // work that the step has in any case
  std::int64_t smoothed = 0;  // usual work of a step
  std::int64_t price = 0;     // thousandths, at most 2^20
};

/// Chooses the consecutive outliers that leave with a step.
class outlier_chooser {
 public:
  /// @param work descending @param terms micro-batches times all work is below 2^62
  outlier_chooser(std::span<std::int64_t const> work, outlier_terms const& terms) : work_(work), terms_(terms), sums_(work.size() + 1, 0) {
    for (std::size_t i = 0; i < work.size(); ++i) sums_[i + 1] = sums_[i] + work[i];
    if (!work.empty()) needed_ = (std::max)(sums_.back(), terms.micro_batches * work[0] - terms.others);
  }

  /// @param due  the samples from the first to the last that must leave; empty if there are none
  [[nodiscard]] outlier_run choose(outlier_run due) {
    auto const n = work_.size();
    auto const any_due = due.first < due.last;
    if (!any_due) consider(0, 0, 0);
    auto moves = std::size_t{1} << 15;
    for (std::size_t a = 0; a < (any_due ? due.first + 1 : n); ++a) {
      if (found_ && best_key_ <= least_key(a, work_[a])) continue;
      // Up to one sample for each micro-batch, more samples are never worse, unless no samples are best: the largest stays the same, and
      // the worth, which is convex in the work, rises once it is positive.
      auto const alone = (std::min)(n, a + static_cast<std::size_t>(terms_.micro_batches));
      auto most = work_[a];
      loads_.assign(work_.rend() - static_cast<std::ptrdiff_t>(alone), work_.rend() - static_cast<std::ptrdiff_t>(a));  // ascending: a heap
      if (due.last > a && due.last < alone) consider(a, due.last, most);  // their worth may fall with more
      auto b = alone;
      auto hopeless = false;
      for (; b < n && (!found_ || moves > 0); ++b) {
        moves -= moves > 0 ? 1 : 0;
        std::pop_heap(loads_.begin(), loads_.end(), std::greater<>());
        auto& least = loads_.back();
        least += work_[b];
        if (least > most) {  // the run that ends here is the best with this largest load
          if (b >= due.last) consider(a, b, most);
          most = least;
          hopeless = found_ && best_key_ <= least_key(a, most);
          if (hopeless) break;
        }
        std::push_heap(loads_.begin(), loads_.end(), std::greater<>());
      }
      if (!hopeless && b >= due.last) consider(a, b, most);
    }
    return best_;
  }

 private:
  static constexpr std::int64_t unit = std::int64_t{1000} << 20;

  /// The largest load over the mean load, at least 1, in units; rounded up.
  [[nodiscard]] std::int64_t level(std::int64_t most, std::int64_t outliers) const {
    auto const total = outliers + terms_.others;
    if (terms_.micro_batches * most <= total) return unit;
    return static_cast<std::int64_t>(
        multiply_divide_up(static_cast<std::uint64_t>(terms_.micro_batches * most), unit, static_cast<std::uint64_t>(total)));
  }
  /// The worth of the outliers' leaving, in units: the price times their work w over the usual work of a step, less 9/10 of that times
  /// (all + the rest) / needed. Rounded up in size.
  [[nodiscard]] std::int64_t worth(std::int64_t outliers) const {
    if (terms_.smoothed == 0 || outliers == 0) return 0;
    auto const s = static_cast<std::uint64_t>(terms_.smoothed), w = static_cast<std::uint64_t>(outliers);
    auto const limited = s >> 42 != 0 ? w : (std::min)(w, s << 20);  // the quotient stays below 2^61
    auto const price = multiply_divide_up(limited, static_cast<std::uint64_t>(terms_.price) << 20, s);
    auto const waits = static_cast<std::uint64_t>(2 * sums_.back() - outliers);
    auto const kept = (1 << 20) - static_cast<std::int64_t>(multiply_divide_up(waits, 943'718, static_cast<std::uint64_t>(needed_)));
    auto const size = static_cast<std::int64_t>(multiply_divide_up(price, static_cast<std::uint64_t>(kept < 0 ? -kept : kept), 1 << 20));
    return kept < 0 ? -size : size;
  }
  /// A lower bound of the keys of all runs that begin at `a` and have a load of `most`.
  [[nodiscard]] std::int64_t least_key(std::size_t a, std::int64_t most) const {
    auto const all = sums_.back() - sums_[a];
    return level(most, all) - (std::max)(worth(all), std::int64_t{0});
  }
  void consider(std::size_t a, std::size_t b, std::int64_t most) {
    auto const sum = sums_[b] - sums_[a], key = level(most, sum) - worth(sum);
    if (found_ && key >= best_key_) return;
    best_ = {a, b};
    best_key_ = key;
    found_ = true;
  }

  std::span<std::int64_t const> work_;
  outlier_terms terms_;
  std::vector<std::int64_t> sums_, loads_;
  std::int64_t needed_ = 0;  // outliers that balance a step with the heaviest, at least all that wait
  outlier_run best_;
  std::int64_t best_key_ = 0;
  bool found_ = false;
};

}  // namespace ballast::inline v0_2::detail
