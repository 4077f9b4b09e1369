// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of sharding/: long samples, and short ones beside them, onto the ranks of one global batch.

#include <ballast/sharding/check.hpp>
#include <ballast/sharding/check_prices.hpp>
#include <ballast/sharding/fault.hpp>
#include <ballast/sharding/homogeneous.hpp>
#include <ballast/sharding/least_time.hpp>
#include <ballast/sharding/local_or_distributed.hpp>
#include <ballast/sharding/local_or_distributed_options.hpp>
#include <ballast/sharding/lockstep.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/power_of_two_groups.hpp>
#include <ballast/sharding/price_bound.hpp>
#include <ballast/sharding/result.hpp>
#include <ballast/sharding/time_shards.hpp>
