// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/packing/vector/measures.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Sorts the samples for which `wanted(i)` is true into classes; `extra_ones` adds a last measure that is 1 for every sample.
template <index_type Index, class Wanted>
class class_builder {
 public:
  class_builder(sample_measures const& samples, bool extra_ones, Wanted const& wanted)
      : samples_(samples), extra_ones_(extra_ones), wanted_(wanted), lowest_(samples.measures()), unit_(samples.measures()) {
    out_.classes.measures = samples.measures() + (extra_ones ? 1 : 0);
  }
  [[nodiscard]] classified_samples<Index> build() {
    if (auto const width = widen(); width != 0)
      by_table(width);
    else
      by_sorting();
    return std::move(out_);
  }

 private:
  /// Encodes a sample as one number, its key: measure m counts in units of the product of the ranges of all later measures. Returns one
  /// above the largest key, or 0 if a table of that size would be too large.
  [[nodiscard]] std::size_t widen() {
    auto const n = samples_.size();
    auto const widest = (std::max)(std::uint64_t{1} << 16, std::uint64_t{8} * n);
    std::uint64_t width = 1;
    for (auto m = samples_.measures(); m-- > 0 && n != 0;) {
      auto const column = samples_.column(m);
      auto const [low, high] = std::minmax_element(column.begin(), column.end());
      lowest_[m] = static_cast<std::uint64_t>(*low);
      unit_[m] = width;
      auto const range = static_cast<std::uint64_t>(*high) - lowest_[m] + 1;
      if (range > widest || width * range > widest) return 0;
      width *= range;
    }
    return static_cast<std::size_t>(width);
  }
  void by_table(std::size_t width) {
    auto const n = samples_.size();
    std::vector<std::size_t> key(n);
    for (std::size_t m = 0; m < unit_.size(); ++m) {
      auto const column = samples_.column(m);
      for (std::size_t i = 0; i < n; ++i)
        key[i] += static_cast<std::size_t>((static_cast<std::uint64_t>(column[i]) - lowest_[m]) * unit_[m]);
    }
    std::vector<Index> next(width, 0), first(width);
    for (std::size_t i = n; i-- > 0;)
      if (wanted_(i)) {
        ++next[key[i]];
        first[key[i]] = static_cast<Index>(i);
      }
    std::uint64_t end = 0;
    for (std::size_t w = 0; w < next.size(); ++w)
      if (next[w] != 0) {
        open(static_cast<std::size_t>(first[w]), end, next[w]);
        end += std::exchange(next[w], static_cast<Index>(end));
      }
    out_.begin.push_back(end);
    out_.order.resize(static_cast<std::size_t>(end));
    for (std::size_t i = 0; i < n; ++i)
      if (wanted_(i)) out_.order[static_cast<std::size_t>(next[key[i]]++)] = static_cast<Index>(i);
  }

  void by_sorting() {
    auto& order = out_.order;
    for (std::size_t i = 0; i < samples_.size(); ++i)
      if (wanted_(i)) order.push_back(static_cast<Index>(i));
    std::sort(order.begin(), order.end(), [&](Index a, Index b) {
      auto const c = compare(a, b);
      return c != 0 ? c < 0 : a < b;
    });
    for (std::size_t p = 0; p < order.size();) {
      auto end = p + 1;
      while (end < order.size() && compare(order[p], order[end]) == 0) ++end;
      open(static_cast<std::size_t>(order[p]), p, end - p);
      p = end;
    }
    out_.begin.push_back(order.size());
  }

  [[nodiscard]] int compare(Index a, Index b) const {
    for (std::size_t m = 0; m < samples_.measures(); ++m) {
      auto const column = samples_.column(m);
      auto const x = column[static_cast<std::size_t>(a)], y = column[static_cast<std::size_t>(b)];
      if (x != y) return x < y ? -1 : 1;
    }
    return 0;
  }
  /// Begins the class of a sample at a position of the order.
  void open(std::size_t sample, std::uint64_t begin, std::uint64_t count) {
    for (std::size_t m = 0; m < samples_.measures(); ++m) out_.classes.values.push_back(samples_.column(m)[sample]);
    if (extra_ones_) out_.classes.values.push_back(1);
    out_.classes.counts.push_back(count);
    out_.begin.push_back(begin);
  }

  sample_measures const& samples_;
  bool extra_ones_;
  Wanted const& wanted_;
  std::vector<std::uint64_t> lowest_, unit_;
  classified_samples<Index> out_;
};

template <index_type Index, class Wanted>
[[nodiscard]] classified_samples<Index> classify(sample_measures const& samples, bool extra_ones, Wanted const& wanted) {
  return class_builder<Index, Wanted>(samples, extra_ones, wanted).build();
}

}  // namespace ballast::inline v0_2::detail
