// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of plan/, and the functions of other rooms that a trainer needs: `pack`, `plan_steps`, `deal_steps`, `cu_seqlens`,
/// and presets of models and devices.
///
/// `plan_data` makes packs and steps, `compare_with_usual` compares them with what trainers usually do, `report_balance` says what no plan
/// can improve, and `plan_training` adds pipeline stages, recomputation and modelled times, also to shards of long samples.
/// `search_degrees` chooses how to distribute a training over a number of devices. `training_run` walks through the steps of several epochs
/// and resumes at any of them. `plan_rest` plans the steps to come anew; `plan/observe.hpp`, which needs Eigen and is not included, finds
/// their cost from measured times.
/// @code
/// ballast::data_plan_options const options{.steps = {.capacity = 32768, .ranks = 16}};
/// auto const model = ballast::transformer_preset("llama-3.1-8b");
/// auto const plan = ballast::plan_data(lengths, options, model);
/// for (std::size_t step = 0; step < plan.steps.steps(); ++step)
///   for (auto const pack : plan.steps.packs_of(step, my_rank)) train_on(pack, ballast::cu_seqlens(pack, lengths));
/// @endcode

#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/plan_steps.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/layout/cu_seqlens.hpp>
#include <ballast/packing/pack.hpp>
#include <ballast/plan/balance_report.hpp>
#include <ballast/plan/batch_shapes.hpp>
#include <ballast/plan/compare.hpp>
#include <ballast/plan/export/deepspeed.hpp>
#include <ballast/plan/export/describe.hpp>
#include <ballast/plan/export/flags.hpp>
#include <ballast/plan/export/setting.hpp>
#include <ballast/plan/figures.hpp>
#include <ballast/plan/judge_setting.hpp>
#include <ballast/plan/longest_sequence.hpp>
#include <ballast/plan/memory_of.hpp>
#include <ballast/plan/plan_data.hpp>
#include <ballast/plan/plan_rest.hpp>
#include <ballast/plan/plan_training.hpp>
#include <ballast/plan/recalibration.hpp>
#include <ballast/plan/run_options.hpp>
#include <ballast/plan/run_state.hpp>
#include <ballast/plan/search_degrees.hpp>
#include <ballast/plan/searched_settings.hpp>
#include <ballast/plan/step_order.hpp>
#include <ballast/plan/time_of.hpp>
#include <ballast/plan/time_stages.hpp>
#include <ballast/plan/timed_data.hpp>
#include <ballast/plan/train_shards.hpp>
#include <ballast/plan/training_options.hpp>
#include <ballast/plan/training_plan.hpp>
#include <ballast/plan/training_run.hpp>
#include <ballast/plan/training_setting.hpp>
#include <ballast/plan/vector_data.hpp>
