// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of levels/: packs of several capacities, each with its own trainer settings (multi-level packing, HBP).
///
/// `choose_levels` selects capacities and settings. `plan_levels` plans an epoch: it packs (`pack_levels`, `greedy_fill`), makes steps
/// (`steps_by_level`) and orders them. `figures_of` measures a plan, `compare_levels` plans the same samples with one level, and
/// `table_of` lists what each device does.
/// @code
/// ballast::sequence_parallel_setup const on{.model = ballast::transformer_preset("llama-3.1-8b"), .devices = 32};
/// auto const candidates = ballast::modelled_levels(on, capacities, degrees); // such as 8192 … 131072 tokens on 1 … 8 devices
/// auto const choice = ballast::choose_levels(ballast::fold(lengths), candidates, 3); // at most three levels
/// auto const plan = ballast::plan_levels(lengths, choice.levels, {.devices = 32});
/// for (std::size_t i = 0; i < plan.order.size(); ++i) train(plan.order.at(i)); // level, index of its step, setting
/// @endcode

#include <ballast/levels/choose.hpp>
#include <ballast/levels/figures.hpp>
#include <ballast/levels/fill.hpp>
#include <ballast/levels/options.hpp>
#include <ballast/levels/pack.hpp>
#include <ballast/levels/plan.hpp>
#include <ballast/levels/steps.hpp>
