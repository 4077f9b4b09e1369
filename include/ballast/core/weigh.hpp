// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

/// @file
/// @brief Computes costs of items and checks that they are in range, so that planners need not check again.

namespace ballast::inline v0_2 {

/// @brief The cost of one sample by its length, of a cost model that may tell samples apart.
/// @tparam Cost  a `cost_model`, perhaps an `indexed_cost_model`
template <cost_model Cost>
struct cost_of_sample {
  Cost const& cost;        ///< the cost model
  std::size_t sample = 0;  ///< index of the sample

  /// @brief The cost of the sample. @param length  its tokens
  [[nodiscard]] constexpr auto operator()(std::int64_t length) const {
    if constexpr (indexed_cost_model<Cost>)
      return cost(sample, length);
    else
      return cost(length);
  }
  /// @brief Whether the cost fits 63 bits. @param length  tokens of the sample
  [[nodiscard]] constexpr bool fits(std::int64_t length) const
    requires bounded_cost_model<Cost>
  {
    if constexpr (indexed_cost_model<Cost>)
      return static_cast<bool>(cost.fits(sample, length));
    else
      return static_cast<bool>(cost.fits(length));
  }
};
/// @brief The cost model names the type: `cost_of_sample{cost, i}`.
template <cost_model Cost>
cost_of_sample(Cost const&, std::size_t) -> cost_of_sample<Cost>;

/// @brief Computes the cost of one item and checks that it is in range.
///
/// @tparam Item  an integer
/// @tparam Cost  a `cost_model`
/// @tparam Name  a callable without parameters that returns a string
/// @param item  the item
/// @param cost  the cost model; called once
/// @param what  what the result is called in the message: "cost", "size"
/// @param name  names the item in the message: "items[3] = 17"
/// @return the cost, in [0, 2^63)
/// @throws invalid_input if the item is 2^63 or more, or its cost is outside [0, 2^63)
template <integer Item, cost_model Cost, std::invocable Name>
[[nodiscard]] constexpr std::int64_t checked_cost(Item item, Cost const& cost, char const* what, Name const& name) {
  require(std::in_range<std::int64_t>(item), [&] { return name() + " must be below 2^63"; });
  auto const weighed = static_cast<std::int64_t>(item);
  if constexpr (bounded_cost_model<Cost>)
    require(cost.fits(weighed), [&] { return name() + " has a " + what + " that is negative, not a number or too large for 63 bits"; });
  auto const value = cost(weighed);
  require(std::in_range<std::int64_t>(value) && std::cmp_greater_equal(value, 0),
          [&] { return sentence(name(), " has ", what, " ", value, ", outside [0, 2^63)"); });
  return static_cast<std::int64_t>(value);
}

/// @brief Computes the cost of every item of a range, once for each.
///
/// @tparam R     range of integers
/// @tparam Cost  a `cost_model`
/// @param items  the items; may be empty
/// @param cost   the cost model
/// @param name   the argument that holds the items, for the message: "layers"
/// @param what   what the result is called in the message: "cost", "size"
/// @param out    overwritten with the cost of each item, in [0, 2^63)
/// @return the sum of the costs, below 2^63
/// @throws invalid_input naming the first item whose cost is outside [0, 2^63) or brings the sum to 2^63 or more
/// @par Complexity
/// O(n) calls of the cost model.
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
