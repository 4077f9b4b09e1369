// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of sharding/: long samples, and short ones beside them, onto the ranks of one global batch.
///
/// `plan_shards` is the default planner. What every planner returns, `shards`, says which tokens of which samples each rank trains on in
/// each pass; `check_shards` validates it and `time_shards` computes its modelled time. `make_shards` makes it from the passes of your own
/// planner, `shard_layout.hpp` builds what kernels and loaders take from it, and `price_bound` proves how fast any plan can be.
/// @code
/// ballast::degree_cost const cost{.linear = 55'000'000, .square = 3'000, .exchange = {0, 3'300'000}};  // picoseconds
/// auto const plan = ballast::plan_shards(lengths, {.capacity = 16384, .ranks = 64, .cost_per_pass = 30'000'000}, cost);
/// for (std::size_t pass = 0; pass < plan.passes(rank); ++pass)
///   for (auto const& [sample, begin, end, group] : plan(rank, pass)) load(sample, begin, end);
/// plan.time.gap();  // relative distance to a lower bound
/// @endcode

#include <ballast/sharding/any_degree.hpp>
#include <ballast/sharding/bounds.hpp>
#include <ballast/sharding/check.hpp>
#include <ballast/sharding/check_prices.hpp>
#include <ballast/sharding/fault.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/makespan_bound.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/phase_shards.hpp>
#include <ballast/sharding/plan_shards.hpp>
#include <ballast/sharding/power_of_two_groups.hpp>
#include <ballast/sharding/price_bound.hpp>
#include <ballast/sharding/result.hpp>
#include <ballast/sharding/shard_layout.hpp>
#include <ballast/sharding/simple_shards.hpp>
#include <ballast/sharding/time_shards.hpp>
