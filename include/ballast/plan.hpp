// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The face of plan/: a whole run, from data, model and devices to its steps, their modelled time and the figures of its report.

#include <ballast/plan/bounds.hpp>
#include <ballast/plan/cluster.hpp>
#include <ballast/plan/exports.hpp>
#include <ballast/plan/figures.hpp>
#include <ballast/plan/limits.hpp>
#include <ballast/plan/plan_data.hpp>
#include <ballast/plan/plan_training.hpp>
#include <ballast/plan/shapes.hpp>
#include <ballast/plan/shortage.hpp>
#include <ballast/plan/training_plan.hpp>
