// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <utility>

/// @file
/// @brief Reads a range of lengths by position, and computes its shortest and longest length and their sum.

namespace ballast::inline v0_2 {

/// @brief Reads a length range of any iterator type by position. @tparam R a length range
template <length_range R>
struct by_position {
  std::ranges::iterator_t<R const> first;  ///< where the range begins
  /// @brief The length at a position. @param i below the size of the range @return the length
  [[nodiscard]] auto operator[](std::size_t i) const { return first[static_cast<std::ranges::range_difference_t<R const>>(i)]; }
};

/// @brief Returns an object that reads a range by `operator[]`: a pointer if the range is contiguous.
/// @tparam R a length range
/// @param lengths  the range; it must outlive the returned object
/// @return a pointer or a `by_position`
template <length_range R>
[[nodiscard]] auto read_by_position(R const& lengths) {
  if constexpr (std::ranges::contiguous_range<R const>)
    return std::ranges::data(lengths);
  else
    return by_position<R>{std::ranges::begin(lengths)};
}

/// @brief The shortest length, the longest and the sum of all lengths; all 0 for an empty range.
struct length_extent {
  std::int64_t shortest = 0;  ///< in tokens
  std::int64_t longest = 0;   ///< in tokens
  std::int64_t tokens = 0;    ///< sum of all lengths
  friend constexpr bool operator==(length_extent const&, length_extent const&) = default;
};

/// @brief Validates sample lengths and measures them in one pass.
///
/// @tparam R  range of integers
/// @param lengths  sample lengths in tokens; may be empty
/// @return the shortest, the longest and the sum
/// @throws invalid_input naming the first length that is not positive, that is 2^63 or more, or that brings the sum to 2^63 or more
/// @par Complexity
/// O(n).
template <length_range R>
[[nodiscard]] length_extent extent_of(R const& lengths) {
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  if (n == 0) return {};
  auto const at = read_by_position(lengths);
  auto low = at[0], high = at[0];
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    auto const v = at[i];
    low = v < low ? v : low;
    high = v > high ? v : high;
    sum += static_cast<std::uint64_t>(v);
  }
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  auto const first = [&](auto is_bad) {
    std::size_t i = 0;
    while (!is_bad(at[i])) ++i;
    return entry("lengths", i, at[i]);
  };
  require(std::cmp_greater(low, 0), [&] { return first([](auto v) { return std::cmp_less_equal(v, 0); }) + " must be positive"; });
  require(std::in_range<std::int64_t>(high),
          [&] { return first([](auto v) { return !std::in_range<std::int64_t>(v); }) + " must be below 2^63"; });
  if (std::cmp_greater(high, most / static_cast<std::int64_t>(n))) {
    auto left = most;
    for (std::size_t i = 0; i < n; ++i) {
      auto const v = static_cast<std::int64_t>(at[i]);
      require(v <= left, [&] { return entry("lengths", i, v) + " brings the sum of lengths to 2^63 or more"; });
      left -= v;
    }
  }
  return {static_cast<std::int64_t>(low), static_cast<std::int64_t>(high), static_cast<std::int64_t>(sum)};
}

}  // namespace ballast::inline v0_2
