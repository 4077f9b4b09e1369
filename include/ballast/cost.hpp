// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The face of cost/: what a sample costs.

#include <ballast/cost/polynomial.hpp>
#include <ballast/cost/scaled.hpp>
