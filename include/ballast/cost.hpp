// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The face of cost/: what a sample costs. `cost/calibrate.hpp`, which needs Eigen, is included by name.

#include <ballast/cost/attention.hpp>
#include <ballast/cost/calibration.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/evaluate.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/level_time.hpp>
#include <ballast/cost/makespan.hpp>
#include <ballast/cost/memory.hpp>
#include <ballast/cost/model_layers.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/scaled.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/cost/sequence_parallel.hpp>
#include <ballast/cost/symbolic.hpp>
#include <ballast/cost/table.hpp>
#include <ballast/cost/tiles.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/transformer_cost.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/cost/vision.hpp>
