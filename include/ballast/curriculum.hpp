// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of curriculum/: the order in which the steps of several sources (data sets, levels) are trained,
/// and runs in two phases.
///
/// `plan_curriculum` orders one epoch, and `steps_of_passes` turns passes over each source into numbers of steps. `plan_phase_switch` plans
/// a run that goes on with copies of shared parameters.
/// @code
/// std::vector<ballast::curriculum_source> const sources{{.setting = {.capacity = 16384}, .steps = 2900},
///                                                       {.setting = {.capacity = 131072, .sp = 8}, .steps = 760}};
/// auto const plan = ballast::plan_curriculum(sources, {.warm_up = 500, .seed = 1});
/// for (std::size_t i = 0; i < plan.size(); ++i) train(plan.at(i));   // source, index, setting, epoch
/// @endcode

#include <ballast/curriculum/apportion.hpp>
#include <ballast/curriculum/check.hpp>
#include <ballast/curriculum/check_phase_switch.hpp>
#include <ballast/curriculum/options.hpp>
#include <ballast/curriculum/phase_switch.hpp>
#include <ballast/curriculum/plan_curriculum.hpp>
