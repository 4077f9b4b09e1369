// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The face of levels/: packs of several capacities, each with a setting of its own.
///
/// `choose_levels` says which capacities and settings. `plan_levels` plans an epoch: it packs (`pack_levels`, `greedy_fill`), makes steps
/// (`steps_by_level`) and brings them into an order; `figures_of` measures them, `compare_levels` plans the same samples in one level, and
/// `table_of` writes what each device does. `online_levels` plans from a stream.

#include <ballast/levels/choose.hpp>
#include <ballast/levels/compare.hpp>
#include <ballast/levels/device_table.hpp>
#include <ballast/levels/figures.hpp>
#include <ballast/levels/fill.hpp>
#include <ballast/levels/online.hpp>
#include <ballast/levels/options.hpp>
#include <ballast/levels/pack.hpp>
#include <ballast/levels/plan.hpp>
#include <ballast/levels/result.hpp>
#include <ballast/levels/steps.hpp>
