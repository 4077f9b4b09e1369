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
/// @brief Samples of several measures (image tiles and text tokens, say), and their classes: samples that agree in every measure.

namespace ballast::inline v0_2 {

/// @brief A view of samples: one column of integers per measure, all of one size. Sample i has the measures column(0)[i], column(1)[i] …
///
/// Nothing is copied; the columns must outlive the view. Planners throw for a negative measure and for a sample that has nothing of any.
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

/// @brief Throws unless all samples can be packed.
/// @param samples  any number of samples
/// @throws invalid_input for a negative measure, a sample whose measures are all 0, and a sum of 2^63 or more
/// @par Complexity
/// O(samples * measures).
inline void require_valid(sample_measures const& samples) {
  auto const n = samples.size();
  std::vector<bool> positive(n, false);
  for (std::size_t m = 0; m < samples.measures(); ++m) {
    auto const name = "measures[" + std::to_string(m) + "]";
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      auto const value = samples.column(m)[i];
      add_checked(sum, value, name.c_str(), i);
      if (value != 0) positive[i] = true;
    }
  }
  auto const nothing = std::find(positive.begin(), positive.end(), false);
  require(nothing == positive.end(), [&] { return "every measure of sample " + std::to_string(nothing - positive.begin()) + " is 0"; });
}

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

}  // namespace ballast::inline v0_2
