// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief Options of every balancer: the number of sets, and limits on a set.

namespace ballast::inline v0_2 {

/// @brief What happens to an item that no set has room for.
enum class misfit : std::uint8_t {
  refuse,     ///< the result has no plan; its status is `infeasible` if a bound proves that there is none, else `unknown`
  set_aside,  ///< the item is left out of every set and listed in the result
};

/// @brief The size that a set should reach, for the rates of `rate_matching`.
enum class rate_target : std::uint8_t {
  mean,      ///< the mean size of a set; suits items that are not far above the mean
  capacity,  ///< the capacity; suits nearly full sets with large items
};

/// @brief Options of a balancer. Only `sets` has no default.
struct balance_options {
  std::uint64_t sets = 0;                            ///< number of sets, from 1 to 2^31; the result has all of them, even empty ones
  std::int64_t capacity = 0;                         ///< largest total size (tokens) of one set; 0 = no limit
  std::uint64_t max_items = 0;                       ///< most items in one set; 0 = no limit
  bool equal_counts = false;                         ///< whether the numbers of items in any two sets may differ by at most one
  ballast::misfit misfit = ballast::misfit::refuse;  ///< what happens to an item that no set has room for
  ballast::rate_target target = ballast::rate_target::mean;  ///< target of the rates; read by `rate_matching`
};

/// @brief Limits of `refine`.
struct refinement {
  std::uint64_t rounds = 0;    ///< largest number of exchanges; 0 = three times the number of sets
  std::uint64_t partners = 8;  ///< number of cheapest sets that are tried in a round; 0 = all sets
};

}  // namespace ballast::inline v0_2
