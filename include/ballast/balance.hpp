// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of balance/: weighted items into a fixed number of sets with balanced loads (ranks, micro-batches).
///
/// `balance` is the default algorithm; `longest_processing_time`, `karmarkar_karp` and `snake` are single ones, `refine` improves any
/// plan, and `check_balance` validates it. `balance_phases` balances items that have a cost in each of several phases, and
/// `balance_replicated` items that may have several equal copies, such as experts.
/// @code
/// auto const ranks = ballast::balance(lengths, {.sets = 64, .capacity = 131072}, ballast::dense_4096_cost);
/// for (auto const rank : ranks.sets) send(rank);                   // a span of sample indices
/// ranks.load.value;                                                // cost of the most expensive set
/// ranks.load.lower_bound;                                          // no plan has less
/// @endcode

#include <ballast/balance/balance.hpp>
#include <ballast/balance/balance_unequal.hpp>
#include <ballast/balance/bounds.hpp>
#include <ballast/balance/bulk.hpp>
#include <ballast/balance/check.hpp>
#include <ballast/balance/check_replicated.hpp>
#include <ballast/balance/check_unequal.hpp>
#include <ballast/balance/dealt_sets.hpp>
#include <ballast/balance/defer_phases.hpp>
#include <ballast/balance/karmarkar_karp.hpp>
#include <ballast/balance/longest_processing_time.hpp>
#include <ballast/balance/measure_exchange.hpp>
#include <ballast/balance/options.hpp>
#include <ballast/balance/pair_exchange.hpp>
#include <ballast/balance/phases.hpp>
#include <ballast/balance/rate_matching.hpp>
#include <ballast/balance/refine.hpp>
#include <ballast/balance/replicated.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/balance/share_units.hpp>
#include <ballast/balance/snake.hpp>
#include <ballast/balance/token_means.hpp>
#include <ballast/balance/unequal_options.hpp>
#include <ballast/balance/workspace.hpp>
