// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The face of levels/: packs of several capacities, each with a setting of its own: chosen, packed, filled, made into steps.

#include <ballast/levels/choose.hpp>
#include <ballast/levels/fill.hpp>
#include <ballast/levels/online.hpp>
#include <ballast/levels/pack.hpp>
#include <ballast/levels/plan.hpp>
#include <ballast/levels/steps.hpp>
