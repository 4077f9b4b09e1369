// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/math.hpp>

#include <cstdint>

/// @file
/// @brief `divided_cost`: any cost of a sample, divided evenly among the ranks that share it.

namespace ballast::inline v0_2 {

/// @brief The cost of a sample divided by the number of ranks that share it, rounded up. It has no exchanges.
///
/// It makes a `degree_cost_model` of any `cost_model`, for methods that count the FLOPs of a share and the communication apart.
/// @tparam Cost  a `cost_model`
template <cost_model Cost>
struct divided_cost {
  Cost whole{};  ///< cost of the sample on one rank

  /// @brief The cost on each rank. @param length tokens of the sample @param ranks number of ranks that share it, at least 1
  [[nodiscard]] constexpr std::int64_t operator()(std::int64_t length, std::int64_t ranks) const {
    auto const all = static_cast<std::int64_t>(whole(length));
    return ranks == 1 ? all : divide_up(all, ranks);
  }
  /// @brief Whether the cost can be computed. @param length tokens @param ranks number of ranks
  [[nodiscard]] constexpr bool fits(std::int64_t length, std::int64_t ranks) const {
    if constexpr (bounded_cost_model<Cost>)
      return ranks > 0 && whole.fits(length);
    else
      return ranks > 0 && length >= 0;
  }
};

/// @brief A cost of whole samples, divided evenly.
template <cost_model Cost>
divided_cost(Cost) -> divided_cost<Cost>;

}  // namespace ballast::inline v0_2
