// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The face of staging/: layers and memory into stages with what each recomputes, in one plan.

#include <ballast/staging/check.hpp>
#include <ballast/staging/joint.hpp>
#include <ballast/staging/layer.hpp>
#include <ballast/staging/options.hpp>
#include <ballast/staging/result.hpp>
#include <ballast/staging/sequential.hpp>
