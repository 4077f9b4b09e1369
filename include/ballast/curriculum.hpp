// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of curriculum/: the order in which the steps of several sources (data sets, levels) are trained,
/// and runs in two phases.
///
/// `plan_curriculum` orders one epoch, `curriculum_stream` gives step after step over several epochs and can be resumed, and
/// `steps_of_passes` turns passes over each source into numbers of steps. `plan_phase_switch` plans a run that goes on with copies of
/// shared parameters.
/// @code
/// std::vector<ballast::curriculum_source> const sources{{.setting = {.capacity = 16384}, .steps = 2900},
///                                                       {.setting = {.capacity = 131072, .sp = 8}, .steps = 760}};
/// ballast::curriculum_stream stream(sources, {.warm_up = 500, .seed = 1}, 2); // two epochs
/// while (!stream.done()) train(stream.next());                     // source, index, setting, epoch
/// @endcode

#include <ballast/curriculum/apportion.hpp>
#include <ballast/curriculum/check.hpp>
#include <ballast/curriculum/check_phase_switch.hpp>
#include <ballast/curriculum/fault.hpp>
#include <ballast/curriculum/options.hpp>
#include <ballast/curriculum/phase_switch.hpp>
#include <ballast/curriculum/plan_curriculum.hpp>
#include <ballast/curriculum/result.hpp>
#include <ballast/curriculum/stream.hpp>
