// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of weights/: the weights of a model on a group of devices.
///
/// A `layout_model` lists operators and the layouts that each may have; `plan_layouts` chooses one for each, so that computation and
/// exchanges take least time within the memory of a device, and `check_layouts` validates the choice. Layouts of models are made by
/// methods/tap.hpp.

#include <ballast/weights/check.hpp>
#include <ballast/weights/layout_model.hpp>
#include <ballast/weights/layouts.hpp>
#include <ballast/weights/plan_layouts.hpp>
