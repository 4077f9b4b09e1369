// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief What every balancer is asked: how many sets, and what a set may hold.

namespace ballast::inline v0_2 {

/// @brief What happens when an item finds no set with room.
enum class misfit : std::uint8_t {
  refuse,     ///< the result has no plan: `infeasible` where a bound proves that none exists, else `unknown`
  set_aside,  ///< the item is left out of every set and listed in the result
};

/// @brief What the rate of a set is measured against by `rate_matching`.
enum class rate_target : std::uint8_t {
  mean,      ///< the mean size of a set: where no item is far above the mean
  capacity,  ///< the capacity: for nearly full sets with heavy items
};

/// @brief The request to a balancer. Only `sets` has no default.
struct balance_options {
  std::uint64_t sets = 0;                                    ///< number of sets, 1 … 2^31; all are in the result, empty ones too
  std::int64_t capacity = 0;                                 ///< largest total size (tokens) of one set; 0 = no limit
  std::uint64_t max_items = 0;                               ///< most items in one set; 0 = no limit
  bool equal_counts = false;                                 ///< the numbers of items of any two sets differ by at most one
  ballast::misfit misfit = ballast::misfit::refuse;          ///< what happens to an item without room
  ballast::rate_target target = ballast::rate_target::mean;  ///< of `rate_matching`
};

/// @brief How much a refinement may do.
struct refinement {
  std::uint64_t rounds = 0;    ///< most exchanges; 0 = three for each set
  std::uint64_t partners = 8;  ///< how many of the cheapest sets are tried in a round; 0 = all
};

}  // namespace ballast::inline v0_2
