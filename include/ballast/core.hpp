// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of core/: the types and functions that every room uses.
///
/// `groups` holds results (a range of spans of indices), `certificate` says how good a result is, `status` whether there is one, and
/// `verdict` what a validator found. `fold` makes the histogram of sample lengths, `serial` and `threads` are the executors, and
/// core/metrics/ measures plans: `balance_of_steps`, `padding_ratio`.
/// @code
/// auto const lengths_and_counts = ballast::fold(lengths);          // distinct lengths and how many samples have each
/// lengths_and_counts.samples(), lengths_and_counts.tokens();
/// auto const b = ballast::balance_of_steps(loads, 16);             // loads of 16 ranks, step after step
/// std::cout << 100 * b.idle() << " % of the time of all ranks is spent waiting\n";
/// ballast::hash(plan.packs);                                       // 64 bits, the same on every platform
/// @endcode

#include <ballast/core/certificate.hpp>
#include <ballast/core/chain_runs.hpp>
#include <ballast/core/check.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/classes.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/executor.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/hash.hpp>
#include <ballast/core/kept_memory.hpp>
#include <ballast/core/least_of.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/level.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/metrics/step_balance.hpp>
#include <ballast/core/pairing_heaps.hpp>
#include <ballast/core/pooled_memory.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/range_maximum.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/core/version.hpp>
#include <ballast/core/weigh.hpp>
#include <ballast/core/wide.hpp>
