// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/version.hpp>

#include <cstdint>
#include <vector>

/// @file
/// @brief What is asked of a selection of memory options, and what comes back.

namespace ballast::inline v0_2 {

/// @brief The request to a selection. Only `budget` has no default.
struct selection_options {
  std::int64_t budget = 0;           ///< most memory of all items together, not negative
  std::int64_t hidden_transfer = 0;  ///< link time that hides under compute; what is above it counts as time, not negative
  std::uint64_t work = 1U << 22;     ///< states that the exact search may hold over all its steps; a greedy selection ignores it
};

/// @brief Which option each item takes.
struct selection {
  ballast::status status = ballast::status::infeasible;  ///< whether `copies` is a plan
  certificate time;           ///< extra time, with what is not hidden of the transfers, and what no selection goes below; 0 if infeasible
  std::int64_t memory = 0;    ///< memory of all items; where infeasible the least that any selection needs, which is above the budget
  std::int64_t transfer = 0;  ///< time on the link, hidden or not
  std::vector<std::uint64_t> copies;  ///< for each entry of `options`, how many items of its class take it; empty if infeasible
  std::uint64_t operations = 0;  ///< spent on it: prices tried on an option and, a hundred times as expensive, partial selections tried
};

}  // namespace ballast::inline v0_2
