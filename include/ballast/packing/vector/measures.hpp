// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief Samples of several measures (image tiles and text tokens, say), and their classes: samples that agree in every measure.

namespace ballast::inline v0_2 {

/// @brief A view of samples: one column of integers per measure, all of one size. Sample i has the measures column(0)[i], column(1)[i] …
///
/// Nothing is copied; the columns must outlive the view. No measure may be negative, and each sample has one that is positive.
class sample_measures {
 public:
  /// @brief Views the columns. @param columns `{tiles, tokens}`; at least one, of equal size @throws invalid_input if they are not
  sample_measures(std::initializer_list<std::span<std::int64_t const>> columns) : sample_measures(std::vector(columns)) {}
  /// @brief Views the columns. @param columns at least one, of equal size @throws invalid_input if they are not
  explicit sample_measures(std::vector<std::span<std::int64_t const>> columns) : columns_(std::move(columns)) {
    require(!columns_.empty(), [] { return std::string("samples need at least one measure"); });
    for (std::size_t m = 1; m < columns_.size(); ++m)
      require(columns_[m].size() == size(), [&] {
        return "measure " + std::to_string(m) + " has " + std::to_string(columns_[m].size()) + " values, measure 0 has " +
               std::to_string(size());
      });
  }
  /// @brief Number of samples.
  [[nodiscard]] std::size_t size() const noexcept { return columns_[0].size(); }
  /// @brief Number of measures.
  [[nodiscard]] std::size_t measures() const noexcept { return columns_.size(); }
  /// @brief All values of one measure. @param m below `measures()` @return `size()` integers
  [[nodiscard]] std::span<std::int64_t const> column(std::size_t m) const noexcept { return columns_[m]; }

 private:
  std::vector<std::span<std::int64_t const>> columns_;
};

/// @brief Distinct rows of measures, ascending (measure 0 decides first), and how many samples have each.
struct measure_classes {
  std::size_t measures = 0;           ///< measures of a row
  std::vector<std::int64_t> values;   ///< `measures` integers a class, class after class
  std::vector<std::uint64_t> counts;  ///< samples of each class, positive

  /// @brief Number of classes.
  [[nodiscard]] std::size_t size() const noexcept { return counts.size(); }
  /// @brief The measures of one class. @param c class, below `size()` @return `measures` integers
  [[nodiscard]] std::span<std::int64_t const> operator[](std::size_t c) const noexcept { return {values.data() + c * measures, measures}; }
  /// @brief Number of samples.
  [[nodiscard]] std::uint64_t samples() const noexcept { return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}); }
  /// @brief Sum of one measure over all samples. @param m measure @pre the sum is below 2^63
  [[nodiscard]] std::int64_t total(std::size_t m) const noexcept {
    std::int64_t sum = 0;
    for (std::size_t c = 0; c < size(); ++c) sum += (*this)[c][m] * static_cast<std::int64_t>(counts[c]);
    return sum;
  }
  friend bool operator==(measure_classes const&, measure_classes const&) = default;
};

/// @brief Samples sorted into their classes.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct classified_samples {
  measure_classes classes;           ///< distinct rows and their counts
  std::vector<Index> order;          ///< samples, class after class, ascending in each
  std::vector<std::uint64_t> begin;  ///< classes + 1 entries: where in `order` each class begins
};

namespace detail {

/// Sorts the samples that `wanted(i)` into classes; `extra_ones` adds a last measure that is 1 for every sample.
template <index_type Index, class Wanted>
[[nodiscard]] classified_samples<Index> classify(sample_measures const& samples, bool extra_ones, Wanted const& wanted) {
  auto const n = samples.size(), k = samples.measures();
  classified_samples<Index> out;
  auto& classes = out.classes;
  classes.measures = k + (extra_ones ? 1 : 0);
  // A row as one number: measure m counts in units of the product of the ranges behind it, where that product is small enough for a table.
  std::vector<std::uint64_t> lowest(k), unit(k);
  std::uint64_t width = 1;
  auto const widest = (std::max)(std::uint64_t{1} << 16, std::uint64_t{8} * n);
  for (auto m = k; m-- > 0;) {
    auto const column = samples.column(m);
    auto const [low, high] = std::minmax_element(column.begin(), column.end());
    lowest[m] = n == 0 ? 0 : static_cast<std::uint64_t>(*low);
    auto const range = n == 0 ? 1 : static_cast<std::uint64_t>(*high) - lowest[m] + 1;
    unit[m] = width;
    width = width > widest || range > widest ? widest + 1 : width * range;
  }
  auto const open_class = [&](std::size_t sample, std::uint64_t count) {
    out.begin.push_back(out.begin.empty() ? 0 : out.begin.back() + classes.counts.back());
    for (std::size_t m = 0; m < k; ++m) classes.values.push_back(samples.column(m)[sample]);
    if (extra_ones) classes.values.push_back(1);
    classes.counts.push_back(count);
  };
  if (width <= widest) {
    std::vector<std::uint64_t> key(n);
    for (std::size_t m = 0; m < k; ++m) {
      auto const column = samples.column(m);
      for (std::size_t i = 0; i < n; ++i) key[i] += (static_cast<std::uint64_t>(column[i]) - lowest[m]) * unit[m];
    }
    std::vector<Index> next(static_cast<std::size_t>(width), 0), first(static_cast<std::size_t>(width));
    for (std::size_t i = n; i-- > 0;)
      if (wanted(i)) {
        ++next[static_cast<std::size_t>(key[i])];
        first[static_cast<std::size_t>(key[i])] = static_cast<Index>(i);
      }
    for (std::size_t w = 0; w < next.size(); ++w)
      if (next[w] != 0) {
        open_class(static_cast<std::size_t>(first[w]), next[w]);
        next[w] = static_cast<Index>(out.begin.back());
      }
    out.begin.push_back(classes.counts.empty() ? 0 : out.begin.back() + classes.counts.back());
    out.order.resize(static_cast<std::size_t>(out.begin.back()));
    for (std::size_t i = 0; i < n; ++i)
      if (wanted(i)) out.order[next[static_cast<std::size_t>(key[i])]++] = static_cast<Index>(i);
    return out;
  }
  for (std::size_t i = 0; i < n; ++i)
    if (wanted(i)) out.order.push_back(static_cast<Index>(i));
  auto const compare = [&](Index a, Index b) {
    for (std::size_t m = 0; m < k; ++m)
      if (auto const column = samples.column(m); column[a] != column[b]) return column[a] < column[b] ? -1 : 1;
    return 0;
  };
  std::sort(out.order.begin(), out.order.end(), [&](Index a, Index b) {
    auto const c = compare(a, b);
    return c != 0 ? c < 0 : a < b;
  });
  for (std::size_t p = 0; p < out.order.size();) {
    auto end = p + 1;
    while (end < out.order.size() && compare(out.order[p], out.order[end]) == 0) ++end;
    open_class(static_cast<std::size_t>(out.order[p]), end - p);
    p = end;
  }
  out.begin.push_back(out.order.size());
  return out;
}

/// Throws for a negative measure, a sample of which every measure is 0, and a sum of 2^63 or more.
inline void require_valid(sample_measures const& samples) {
  auto const n = samples.size();
  auto const entry = [&](std::size_t m, std::size_t i) {
    return "measures[" + std::to_string(m) + "][" + std::to_string(i) + "] = " + std::to_string(samples.column(m)[i]);
  };
  std::vector<bool> positive(n, false);
  for (std::size_t m = 0; m < samples.measures(); ++m) {
    auto left = (std::numeric_limits<std::int64_t>::max)();
    for (std::size_t i = 0; i < n; ++i) {
      auto const v = samples.column(m)[i];
      require(v >= 0, [&] { return entry(m, i) + " must not be negative"; });
      require(v <= left, [&] { return entry(m, i) + " brings the sum of its measure to 2^63 or more"; });
      left -= v;
      if (v != 0) positive[i] = true;
    }
  }
  auto const nothing = std::find(positive.begin(), positive.end(), false);
  require(nothing == positive.end(), [&] { return "every measure of sample " + std::to_string(nothing - positive.begin()) + " is 0"; });
}

/// Throws unless the classes are some that a planner can take: sorted, none above a capacity, and their sums below 2^63.
inline void require_valid(measure_classes const& classes, std::span<std::int64_t const> capacity) {
  auto const k = classes.measures;
  require(k > 0 && capacity.size() == k && classes.values.size() == k * classes.size(), [&] {
    return "classes: " + std::to_string(classes.size()) + " of " + std::to_string(k) + " measures do not go with " +
           std::to_string(classes.values.size()) + " values and " + std::to_string(capacity.size()) + " capacities";
  });
  constexpr auto largest = (std::numeric_limits<std::int64_t>::max)();
  std::vector<std::int64_t> left(k, largest);
  auto samples_left = static_cast<std::uint64_t>(largest);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    auto const count = classes.counts[c];
    auto const row = classes[c];
    auto const name = [&](char const* what) { return std::string("classes.") + what + "[" + std::to_string(c) + "]"; };
    require(count > 0 && count <= samples_left, [&] { return name("counts") + " = " + std::to_string(count) + " is 0 or too large"; });
    samples_left -= count;
    require(std::any_of(row.begin(), row.end(), [](auto v) { return v > 0; }), [&] { return name("values") + " has nothing above 0"; });
    require(c == 0 || std::lexicographical_compare(classes[c - 1].begin(), classes[c - 1].end(), row.begin(), row.end()),
            [&] { return name("values") + " must be above its predecessor"; });
    for (std::size_t m = 0; m < k; ++m) {
      require(row[m] >= 0 && row[m] <= capacity[m], [&] {
        return name("values") + "[" + std::to_string(m) + "] = " + std::to_string(row[m]) + " must be in 0 ... capacity " +
               std::to_string(capacity[m]);
      });
      require(row[m] == 0 || count <= static_cast<std::uint64_t>(left[m] / row[m]),
              [&] { return name("counts") + " = " + std::to_string(count) + " brings a sum to 2^63 or more"; });
      left[m] -= row[m] * static_cast<std::int64_t>(count);
    }
  }
}

}  // namespace detail

/// @brief Sorts samples into classes of equal measures.
///
/// @tparam Index  type of the sample indices
/// @param samples  any number of samples
/// @return the classes, ascending, and the samples of each
/// @throws invalid_input for a negative measure, a sample whose measures are all 0, and a sum of 2^63 or more
/// @par Complexity
/// O(n) where the product of the measures' ranges is at most 8 n, else O(n log n).
template <index_type Index = std::uint32_t>
[[nodiscard]] classified_samples<Index> classify(sample_measures const& samples) {
  detail::require_valid(samples);
  return detail::classify<Index>(samples, false, [](std::size_t) { return true; });
}

}  // namespace ballast::inline v0_2
