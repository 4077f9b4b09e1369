// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of pipeline/: the timeline of stages and micro-batches under a pipeline schedule, and that of offloaded layers.
///
/// `simulate_pipeline` computes the timeline of a schedule, and `check_timeline` validates it.
/// @code
/// auto const work = [&](std::uint64_t, std::uint64_t micro_batch) {
///   return ballast::stage_work{.forward = tokens[micro_batch], .backward = 2 * tokens[micro_batch]};
/// };
/// auto const t = ballast::simulate_pipeline(ballast::one_f_one_b_schedule{}, {.stages = 8, .micro_batches = 64}, work);
/// t.makespan.value, t.bubble();                                    // time of the step, and the share of it that stages wait
/// @endcode

#include <ballast/pipeline/bounds.hpp>
#include <ballast/pipeline/check.hpp>
#include <ballast/pipeline/check_prefetch.hpp>
#include <ballast/pipeline/chunked_order.hpp>
#include <ballast/pipeline/list_schedule.hpp>
#include <ballast/pipeline/order.hpp>
#include <ballast/pipeline/prefetch.hpp>
#include <ballast/pipeline/prefetch_layer.hpp>
#include <ballast/pipeline/result.hpp>
#include <ballast/pipeline/search_order.hpp>
#include <ballast/pipeline/simulate.hpp>
#include <ballast/pipeline/tasks.hpp>
