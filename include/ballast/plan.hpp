// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The face of plan/: from data, model and devices to packs, steps, their modelled time and the figures of a report, with what a
/// trainer calls on that way: `pack`, `plan_steps`, `deal_steps`, `cu_seqlens`, and presets of models and devices.

#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/plan_steps.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/layout/cu_seqlens.hpp>
#include <ballast/packing/pack.hpp>
#include <ballast/plan/bounds.hpp>
#include <ballast/plan/cluster.hpp>
#include <ballast/plan/compare.hpp>
#include <ballast/plan/exports.hpp>
#include <ballast/plan/figures.hpp>
#include <ballast/plan/limits.hpp>
#include <ballast/plan/plan_data.hpp>
#include <ballast/plan/plan_training.hpp>
#include <ballast/plan/samples.hpp>
#include <ballast/plan/shapes.hpp>
#include <ballast/plan/shortage.hpp>
#include <ballast/plan/training_plan.hpp>
