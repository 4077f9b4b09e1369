// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of cost/: cost models of samples, layers, pipeline stages, collectives and devices. Only `cost/calibrate.hpp`, which
/// needs Eigen, is not included.
///
/// `sample_cost` turns the shape of a model into the cost of one sample, and `calibrate` fits a cost to measured times. Every planner takes
/// any callable from a length to an integer; `degree_cost` is the cost of samples that several ranks share, which planners of shards take.
/// footprint/ turns models into chains of layers.
/// @code
/// auto const model = ballast::transformer_preset("llama-3.1-8b");
/// auto const cost = ballast::sample_cost(model);                   // exact, in integer units
/// auto const flops = static_cast<double>(ballast::training_factor * cost.flops_per_unit) * static_cast<double>(cost(8192));
/// ballast::modelled_ms(flops, ballast::device_named("h100"), 0.4); // milliseconds at 40 % of the peak
/// @endcode

#include <ballast/cost/attention.hpp>
#include <ballast/cost/calibrated_rates.hpp>
#include <ballast/cost/calibration.hpp>
#include <ballast/cost/chain_cost.hpp>
#include <ballast/cost/collective.hpp>
#include <ballast/cost/communication.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/divided_cost.hpp>
#include <ballast/cost/evaluate.hpp>
#include <ballast/cost/exchange.hpp>
#include <ballast/cost/expected_loads.hpp>
#include <ballast/cost/inclusion_chances.hpp>
#include <ballast/cost/kernel_rates.hpp>
#include <ballast/cost/kernel_time.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/layer_matrices.hpp>
#include <ballast/cost/layer_set.hpp>
#include <ballast/cost/level_time.hpp>
#include <ballast/cost/link_time.hpp>
#include <ballast/cost/makespan.hpp>
#include <ballast/cost/moe.hpp>
#include <ballast/cost/parallelism.hpp>
#include <ballast/cost/parameter_groups.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/rate_fields.hpp>
#include <ballast/cost/recompute_modules.hpp>
#include <ballast/cost/routed_rows.hpp>
#include <ballast/cost/routed_work.hpp>
#include <ballast/cost/sample_degree_cost.hpp>
#include <ballast/cost/scaled.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/cost/table.hpp>
#include <ballast/cost/tiles.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/transformer_cost.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/cost/utilisation.hpp>
#include <ballast/cost/vision.hpp>
