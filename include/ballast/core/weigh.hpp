// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief From items to costs that no planner has to check again.

namespace ballast::inline v0_2 {

/// @brief What one item costs.
///
/// @tparam Item  an integer
/// @tparam Cost  a `cost_model`
/// @tparam Name  a callable without parameters that returns a string
/// @param item  what is weighed
/// @param cost  weighs it; called once
/// @param what  what the result is called in a sentence: "cost", "size"
/// @param name  names the item in a sentence: "items[3] = 17"
/// @return the cost, in [0, 2^63)
/// @throws invalid_input if the item or its cost is no integer in range
template <integer Item, cost_model Cost, std::invocable Name>
[[nodiscard]] constexpr std::int64_t checked_cost(Item item, Cost const& cost, char const* what, Name const& name) {
  require(std::in_range<std::int64_t>(item), [&] { return name() + " must be below 2^63"; });
  auto const weighed = static_cast<std::int64_t>(item);
  if constexpr (bounded_cost_model<Cost>)
    require(cost.fits(weighed), [&] { return name() + " has a " + what + " that is negative, not a number or too large for 63 bits"; });
  auto const value = cost(weighed);
  require(std::in_range<std::int64_t>(value) && std::cmp_greater_equal(value, 0),
          [&] { return name() + " has " + what + " " + std::to_string(value) + ", outside [0, 2^63)"; });
  return static_cast<std::int64_t>(value);
}

/// @brief Weighs every item of a range, once each.
///
/// @tparam R     range of integers
/// @tparam Cost  a `cost_model`
/// @param items  what is weighed; may be empty
/// @param cost   weighs one
/// @param name   the argument that holds the items, for sentences: "layers"
/// @param what   what the result is called in a sentence: "cost", "size"
/// @param out    overwritten with the cost of each item, in [0, 2^63)
/// @return their sum, below 2^63
/// @throws invalid_input naming the first item whose cost is outside [0, 2^63) or brings the sum there
/// @par Complexity
/// O(n) calls of the cost.
template <length_range R, cost_model Cost>
std::int64_t weigh(R const& items, Cost const& cost, char const* name, char const* what, std::vector<std::int64_t>& out) {
  auto const n = static_cast<std::size_t>(std::ranges::size(items));
  auto const at = read_by_position(items);
  out.resize(n);
  auto left = (std::numeric_limits<std::int64_t>::max)();
  for (std::size_t i = 0; i < n; ++i) {
    auto const here = [&] { return entry(name, i, at[i]); };
    out[i] = checked_cost(at[i], cost, what, here);
    require(out[i] <= left, [&] { return here() + " brings the sum of " + what + "s to 2^63 or more"; });
    left -= out[i];
  }
  return (std::numeric_limits<std::int64_t>::max)() - left;
}

}  // namespace ballast::inline v0_2
