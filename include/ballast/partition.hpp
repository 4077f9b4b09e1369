// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of partition/: a chain of layers into contiguous pipeline stages, such that the most expensive stage costs least;
/// and samples in an order into the micro-batches of one pipeline.
///
/// `min_max_partition` finds an optimal partition of layers and under any cost of a stage, `virtual_stages` does so for
/// interleaved schedules, and `check_partition` validates any plan. `consecutive_micro_batches` cuts an ordered global batch.
/// @code
/// auto const plan = ballast::min_max_partition(layer_costs, {.stages = 8});
/// plan.boundaries;                                                 // stage s has layers boundaries[s] … boundaries[s + 1] - 1
/// plan.bottleneck.value;                                           // cost of the most expensive stage
/// plan.bottleneck.lower_bound;                                     // no partition has less
/// @endcode

#include <ballast/partition/bounds.hpp>
#include <ballast/partition/check.hpp>
#include <ballast/partition/check_consecutive.hpp>
#include <ballast/partition/consecutive_micro_batches.hpp>
#include <ballast/partition/consecutive_options.hpp>
#include <ballast/partition/min_max.hpp>
#include <ballast/partition/options.hpp>
#include <ballast/partition/result.hpp>
#include <ballast/partition/second_objective.hpp>
#include <ballast/partition/stage_cost.hpp>
#include <ballast/partition/virtual_stages.hpp>
#include <ballast/partition/workspace.hpp>
