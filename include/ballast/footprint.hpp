// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of footprint/: what a device holds, models as layers with work, bytes and exchanges, and the time of a layer.
///
/// `state_bytes` and `activation_bytes_per_token` count the bytes of a layer, `states_of` those of an optimiser, and `layers_of` turns a
/// model into a chain of layers, which planners of stages take. `sample_cost` of a vision-language model and `degree_cost_of` are made from
/// these.
/// @code
/// auto const model = ballast::transformer_preset("llama-3.1-8b");
/// auto const layers = ballast::layers_of(model, {.spread = {.tensor = 8}}); // work and bytes of each layer on one device
/// @endcode

#include <ballast/footprint/activations.hpp>
#include <ballast/footprint/cluster.hpp>
#include <ballast/footprint/kernel_setting.hpp>
#include <ballast/footprint/layer_tensors.hpp>
#include <ballast/footprint/layer_time.hpp>
#include <ballast/footprint/memory.hpp>
#include <ballast/footprint/model_degree_cost.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/footprint/parameter_sharing.hpp>
#include <ballast/footprint/sample_time.hpp>
#include <ballast/footprint/sequence_parallel.hpp>
#include <ballast/footprint/timed_layers.hpp>
#include <ballast/footprint/trainable.hpp>
#include <ballast/footprint/trainers.hpp>
#include <ballast/footprint/training_graph.hpp>
#include <ballast/footprint/vision_language_cost.hpp>
#include <ballast/footprint/vision_tensors.hpp>
#include <ballast/footprint/workspace.hpp>
