// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The face of loss/: labels into the weights with which packed training equals unpacked training.

#include <ballast/loss/fixed_point_sum.hpp>
#include <ballast/loss/gradient_path.hpp>
#include <ballast/loss/label_counts.hpp>
#include <ballast/loss/normaliser.hpp>
#include <ballast/loss/presets.hpp>
#include <ballast/loss/token_weights.hpp>
#include <ballast/loss/totals.hpp>
#include <ballast/loss/weights.hpp>
