// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of patterns/: packs as counts of samples of each length, and the cutting-stock problem of packing into few of them.
///
/// `solve_cutting_stock` says whether samples fit into a number of packs; `near_optimal` of packing/ ends with it.
/// @code
/// auto const found = ballast::solve_cutting_stock(ballast::fold(lengths), {.capacity = 8192, .packs = 40});
/// if (found.status == ballast::status::feasible) use(found.patterns);  // at most 40 packs
/// @endcode

#include <ballast/patterns/cutting_stock.hpp>
#include <ballast/patterns/patterns.hpp>
#include <ballast/patterns/unfused.hpp>
