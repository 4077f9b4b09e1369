// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of batching/: samples or packs into training steps, each with micro-batches for every rank.
///
/// `plan_steps` makes packs and steps in one plan, `deal_steps` makes steps of packs that exist already, `samples_left` lists what an
/// interrupted plan has not trained, and `check_batching` validates any plan. If some samples are too long for one rank, `shards_of` says
/// which tokens of a step each rank trains on, and `shard_weights` weighs the loss.
/// @code
/// auto const cost = ballast::sample_cost(ballast::transformer_preset("llama-3.1-8b"));
/// auto const plan = ballast::plan_steps(lengths, {.capacity = 131072, .ranks = 64, .micro_batches = 4}, cost);
/// for (std::size_t step = 0; step < plan.steps(); ++step)
///   for (auto const pack : plan.packs_of(step, my_rank)) train_on(pack); // a span of sample indices
/// @endcode

#include <ballast/batching/balanced_measures.hpp>
#include <ballast/batching/bounds.hpp>
#include <ballast/batching/check.hpp>
#include <ballast/batching/check_micro_batches.hpp>
#include <ballast/batching/check_unequal_batch.hpp>
#include <ballast/batching/coarse_cost.hpp>
#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/fault.hpp>
#include <ballast/batching/micro_batches.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/phase_steps.hpp>
#include <ballast/batching/plan_steps.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/batching/resume.hpp>
#include <ballast/batching/shard_weights.hpp>
#include <ballast/batching/step_randomness.hpp>
#include <ballast/batching/step_shards.hpp>
#include <ballast/batching/stream_steps.hpp>
#include <ballast/batching/unequal_batch.hpp>
#include <ballast/batching/vector_options.hpp>
#include <ballast/batching/vector_steps.hpp>
#include <ballast/batching/weighed_samples.hpp>
