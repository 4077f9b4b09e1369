// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The face of curriculum/: steps into the order in which they are trained.

#include <ballast/curriculum/apportion.hpp>
#include <ballast/curriculum/check.hpp>
#include <ballast/curriculum/fault.hpp>
#include <ballast/curriculum/options.hpp>
#include <ballast/curriculum/plan_curriculum.hpp>
#include <ballast/curriculum/result.hpp>
#include <ballast/curriculum/stream.hpp>
