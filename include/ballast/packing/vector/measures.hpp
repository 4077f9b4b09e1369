// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief Samples of several measures (image tiles and text tokens, for example), and their classes: samples that agree in every measure.

namespace ballast::inline v0_2 {

/// @brief A view of samples: one column of integers for each measure. Sample i has the measures column(0)[i], column(1)[i], …
///
/// Nothing is copied; the columns must outlive the view. Planners throw if a measure is negative, or if all measures of a sample are 0.
class sample_measures {
 public:
  /// @brief Views the columns. @param columns `{tiles, tokens}`; at least one, of equal size @throws invalid_input unless there is a column
  /// and all sizes are equal
  sample_measures(std::initializer_list<std::span<std::int64_t const>> columns) : sample_measures(std::vector(columns)) {}
  /// @brief Views the columns. @param columns at least one, of equal size @throws invalid_input unless there is a column and all sizes are
  /// equal
  explicit sample_measures(std::vector<std::span<std::int64_t const>> columns) : columns_(std::move(columns)) {
    require(!columns_.empty(), [] { return std::string("samples need at least one measure"); });
    for (std::size_t m = 1; m < columns_.size(); ++m)
      require(columns_[m].size() == size(),
              [&] { return sentence("measure ", m, " has ", columns_[m].size(), " values, measure 0 has ", size()); });
  }
  /// @brief Number of samples.
  [[nodiscard]] std::size_t size() const noexcept { return columns_[0].size(); }
  /// @brief Number of measures.
  [[nodiscard]] std::size_t measures() const noexcept { return columns_.size(); }
  /// @brief All values of one measure. @param m number of the measure, below `measures()` @return `size()` integers
  [[nodiscard]] std::span<std::int64_t const> column(std::size_t m) const noexcept { return columns_[m]; }

 private:
  std::vector<std::span<std::int64_t const>> columns_;
};

/// @brief Throws unless all samples can be packed.
/// @param samples  any number of samples
/// @throws invalid_input for a negative measure, a sample whose measures are all 0, or a sum of 2^63 or more
/// @par Complexity
/// O(samples * measures).
inline void require_valid(sample_measures const& samples) {
  auto const n = samples.size();
  std::vector<bool> positive(n, false);
  for (std::size_t m = 0; m < samples.measures(); ++m) {
    auto const name = sentence("measures[", m, "]");
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      auto const value = samples.column(m)[i];
      add_checked(sum, value, name.c_str(), i);
      if (value != 0) positive[i] = true;
    }
  }
  auto const nothing = std::find(positive.begin(), positive.end(), false);
  require(nothing == positive.end(), [&] { return sentence("every measure of sample ", nothing - positive.begin(), " is 0"); });
}

/// @brief Classes of samples with equal measures, ascending (measure 0 decides first), with the number of samples in each.
struct measure_classes {
  std::size_t measures = 0;           ///< number of measures
  std::vector<std::int64_t> values;   ///< `measures` integers for each class, class after class
  std::vector<std::uint64_t> counts;  ///< number of samples in each class, positive

  /// @brief Number of classes.
  [[nodiscard]] std::size_t size() const noexcept { return counts.size(); }
  /// @brief The measures of one class. @param c number of the class, below `size()` @return `measures` integers
  [[nodiscard]] std::span<std::int64_t const> operator[](std::size_t c) const& noexcept { return {values.data() + c * measures, measures}; }
  std::span<std::int64_t const> operator[](std::size_t) const&& = delete;  ///< a view of a temporary would dangle
  /// @brief Number of samples.
  [[nodiscard]] std::uint64_t samples() const noexcept { return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}); }
  /// @brief Sum of one measure over all samples. @param m number of the measure @pre the sum is below 2^63
  [[nodiscard]] std::int64_t total(std::size_t m) const noexcept {
    std::int64_t sum = 0;
    for (std::size_t c = 0; c < size(); ++c) sum += (*this)[c][m] * static_cast<std::int64_t>(counts[c]);
    return sum;
  }
  friend bool operator==(measure_classes const&, measure_classes const&) = default;
};

/// @brief Throws unless the classes are valid for a planner.
/// @param classes   the classes
/// @param capacity  capacity of one pack in each measure
/// @throws invalid_input unless classes ascend, no measure exceeds its capacity, no class has only measures of 0, counts are positive and
/// sums are below 2^63
inline void require_valid(measure_classes const& classes, std::span<std::int64_t const> capacity) {
  auto const k = classes.measures;
  require(k > 0 && capacity.size() == k && classes.values.size() == k * classes.size(), [&] {
    return sentence("classes: ", classes.size(), " of ", k, " measures do not go with ", classes.values.size(), " values and ",
                    capacity.size(), " capacities");
  });
  constexpr auto largest = (std::numeric_limits<std::int64_t>::max)();
  std::vector<std::int64_t> left(k, largest);
  auto samples_left = static_cast<std::uint64_t>(largest);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    auto const count = classes.counts[c];
    auto const row = classes[c];
    auto const name = [&](char const* what) { return sentence(std::string("classes."), what, "[", c, "]"); };
    require(count > 0 && count <= samples_left, [&] { return sentence(name("counts"), " = ", count, " is 0 or too large"); });
    samples_left -= count;
    require(std::any_of(row.begin(), row.end(), [](auto v) { return v > 0; }), [&] { return name("values") + " has no measure above 0"; });
    require(c == 0 || std::lexicographical_compare(classes[c - 1].begin(), classes[c - 1].end(), row.begin(), row.end()),
            [&] { return name("values") + " must be above its predecessor"; });
    for (std::size_t m = 0; m < k; ++m) {
      require(row[m] >= 0 && row[m] <= capacity[m],
              [&] { return sentence(name("values"), "[", m, "] = ", row[m], " must be in 0 ... capacity ", capacity[m]); });
      require(row[m] == 0 || count <= static_cast<std::uint64_t>(left[m] / row[m]),
              [&] { return sentence(name("counts"), " = ", count, " brings a sum to 2^63 or more"); });
      left[m] -= row[m] * static_cast<std::int64_t>(count);
    }
  }
}

/// @brief Samples sorted into their classes.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct classified_samples {
  measure_classes classes;           ///< the classes and their counts
  std::vector<Index> order;          ///< sample indices, class after class, ascending within a class
  std::vector<std::uint64_t> begin;  ///< position in `order` at which each class begins; classes.size() + 1 entries
};

namespace detail {

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

}  // namespace detail

/// @brief Sorts samples into classes of samples that agree in every measure.
///
/// @tparam Index  type of the sample indices
/// @param samples  any number of samples
/// @return the classes, ascending, and the samples of each class
/// @throws invalid_input for a negative measure, a sample whose measures are all 0, or a sum of 2^63 or more
/// @par Complexity
/// O(n) if the product of the measures' ranges is at most 8 n, otherwise O(n log n).
template <index_type Index = std::uint32_t>
[[nodiscard]] classified_samples<Index> classify(sample_measures const& samples) {
  require_valid(samples);
  return detail::classify<Index>(samples, false, [](std::size_t) { return true; });
}

}  // namespace ballast::inline v0_2
