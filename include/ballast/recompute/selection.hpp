// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/version.hpp>

#include <cstdint>
#include <vector>

/// @file
/// @brief Options and results of selections of memory options.

namespace ballast::inline v0_2 {

/// @brief Options of a selection. Only `budget` has no default.
struct selection_options {
  std::int64_t budget = 0;           ///< largest memory of all items together, not negative
  std::int64_t hidden_transfer = 0;  ///< link time that computation hides, not negative; only link time above it counts as time
  std::uint64_t work = 1U << 22;     ///< number of states that the exact search may hold over all its steps; not used by greedy selections
};

/// @brief Which option each item takes.
struct selection {
  ballast::status status = ballast::status::infeasible;  ///< whether `copies` is a plan
  certificate time;           ///< time that the options add, with the transfers that are not hidden, and its lower bound; 0 if infeasible
  std::int64_t memory = 0;    ///< memory of all items; if infeasible, the least of any selection, which exceeds the budget
  std::int64_t transfer = 0;  ///< link time of all items, hidden or not
  std::vector<std::uint64_t> copies;  ///< for each entry of `options`, how many items of its class take it; empty if infeasible
  std::uint64_t operations = 0;       ///< work of the search: 1 for each price tried on an option, 100 for each partial selection tried
};

}  // namespace ballast::inline v0_2
