// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of staging/: pipeline stages and what each stage recomputes, in one plan that fits in memory.
///
/// `plan_stages` finds the plan with the fastest slowest stage, `stage_layers_of` makes its input from a model, and `check_stages`
/// validates any plan. `plan_chunks` is for schedules with several chunks per stage. `plan_offload` chooses which states of which layers
/// are in host memory.
/// @code
/// auto const layers = ballast::stage_layers_of(ballast::layers_of(model, spread), mean, largest, rates);
/// auto const held = ballast::held_by_stage(ballast::one_f_one_b_schedule{}, stages, micro_batches);
/// auto const plan = ballast::plan_stages(layers, {.stages = stages, .capacity = capacity, .in_flight = held});
/// plan.partition.boundaries;                                            // stage s has layers boundaries[s] … boundaries[s + 1] - 1
/// plan.option[i];                                                  // index of the option that layer i takes
/// @endcode

#include <ballast/staging/check.hpp>
#include <ballast/staging/check_offload.hpp>
#include <ballast/staging/chunk_options.hpp>
#include <ballast/staging/chunks.hpp>
#include <ballast/staging/joint.hpp>
#include <ballast/staging/layer.hpp>
#include <ballast/staging/offload.hpp>
#include <ballast/staging/offload_layer.hpp>
#include <ballast/staging/offload_model.hpp>
#include <ballast/staging/offload_rules.hpp>
#include <ballast/staging/options.hpp>
#include <ballast/staging/result.hpp>
#include <ballast/staging/shortage.hpp>
