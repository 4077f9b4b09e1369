// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `range_maximum`: the largest value of any range of a sequence, in constant time.

namespace ballast::inline v0_2 {

/// @brief The largest value of any range of a sequence that does not change (a sparse table).
///
/// The table has the largest of each 1, 2, 4, ... neighbours. Two of its entries cover any range.
///
/// @tparam T  type of the values
/// @par Source
/// Bender and Farach-Colton, "The LCA Problem Revisited", LATIN 2000.
template <integer T>
class range_maximum {
 public:
  /// @brief The empty sequence.
  range_maximum() = default;
  /// @brief Reads a sequence.
  /// @param values  the sequence, which is copied; may be empty
  /// @par Complexity
  /// O(n log n) time and memory.
  explicit range_maximum(std::span<T const> values) : rows_(1, std::vector<T>(values.begin(), values.end())) {
    for (std::size_t half = 1; 2 * half <= values.size(); half *= 2) {
      auto const& below = rows_.back();
      std::vector<T> row(below.size() - half);
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = (std::max)(below[i], below[i + half]);
      rows_.push_back(std::move(row));
    }
  }
  /// @brief Returns the largest value of a range.
  /// @param begin  first position of the range
  /// @param end    one past the last position
  /// @return the largest value; 0 if the range is empty
  /// @pre `begin <= end`, and `end` is at most the length of the sequence
  /// @par Complexity
  /// O(1).
  [[nodiscard]] T operator()(std::size_t begin, std::size_t end) const {
    if (begin == end) return T{};
    auto const width = std::bit_floor(end - begin);
    auto const& row = rows_[static_cast<std::size_t>(std::bit_width(width)) - 1];
    return (std::max)(row[begin], row[end - width]);
  }

 private:
  std::vector<std::vector<T>> rows_;  // row k: the largest of each 2^k neighbours
};

}  // namespace ballast::inline v0_2
