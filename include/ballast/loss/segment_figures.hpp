// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/loss/detail/segment_part.hpp>
#include <ballast/loss/fixed_point_sum.hpp>
#include <ballast/loss/label_counts.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief The least, the largest, the sum and the mean of the values of each sequence in a packed row: rewards, losses, lengths.

namespace ballast::inline v0_2 {

/// @brief A value of a token that segments are measured by: a floating-point number, or an integer that a signed 64-bit one can hold.
template <class T>
concept segment_value = (std::floating_point<T> && sizeof(T) <= sizeof(double)) ||
                        (std::integral<T> && (std::signed_integral<T> || sizeof(T) < sizeof(std::int64_t)));

/// @brief The sum of values: integers are exact, numbers are rounded once to a multiple of 2^-24.
/// @tparam Value  a `segment_value`
template <segment_value Value>
using segment_sum = fixed_point_sum<std::floating_point<Value> ? 24 : 0>;

/// @brief Figures of the values of a sequence; all are 0 for a sequence without values.
/// @tparam Value  a `segment_value`
template <segment_value Value>
struct segment_figure {
  Value least{};             ///< the least value, -0 below 0; NaN if there is one among the values
  Value largest{};           ///< the largest value; NaN if there is one among the values
  segment_sum<Value> sum{};  ///< the same words for any split and order
  double mean = 0;           ///< `sum.value()` divided by the number of values; NaN unless `sum.clean()`
};

/// @brief Computes figures of each sequence of a row.
///
/// @tparam V  vector or span of values
/// @tparam C  vector or span of integers
/// @param values      one value for each token of the row; those after the last sequence are ignored
/// @param cu_seqlens  cumulative lengths: sequence i is [cu_seqlens[i], cu_seqlens[i + 1]) of the row
/// @return figures of each sequence
/// @throws invalid_input if `cu_seqlens` does not start at 0, decreases or ends above the number of values
/// @par Complexity
/// O(values + sequences).
/// @par Determinism
/// No figure depends on an order of additions.
template <std::ranges::contiguous_range V, label_range C>
  requires segment_value<std::ranges::range_value_t<V>>
[[nodiscard]] auto segment_figures(V const& values, C const& cu_seqlens) {
  using value = std::ranges::range_value_t<V>;
  auto const cu = std::span<std::ranges::range_value_t<C const> const>(cu_seqlens);
  auto const row = std::ranges::size(values);
  require(!cu.empty() && cu[0] == 0, [] { return std::string("cu_seqlens must start with 0"); });
  for (std::size_t i = 1; i < cu.size(); ++i)
    require(cu[i - 1] <= cu[i], [&] { return sentence(entry("cu_seqlens", i, cu[i]), " is below its predecessor ", cu[i - 1]); });
  require(std::cmp_less_equal(cu.back(), row),
          [&] { return sentence("cu_seqlens ends at ", cu.back(), ", but there are ", row, " values"); });
  std::vector<segment_figure<value>> out(cu.size() - 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    detail::segment_part part;
    for (auto t = static_cast<std::size_t>(cu[i]); t < static_cast<std::size_t>(cu[i + 1]); ++t)
      part.add(detail::part_of(std::ranges::data(values)[t]));
    out[i] = {detail::segment_least<value>(part), detail::segment_largest<value>(part), {}, detail::segment_mean<value>(part)};
    out[i].sum.words = {part.high, part.low, part.saturated, part.not_finite};
  }
  return out;
}

}  // namespace ballast::inline v0_2
