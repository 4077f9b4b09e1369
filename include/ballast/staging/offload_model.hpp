// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/evaluate.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/footprint/cluster.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/staging/offload_layer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// @file
/// @brief The layers of a model as plans of offloading take them.

namespace ballast::inline v0_2 {

/// @brief A model's layers, and the memory that a step needs beside their states.
struct offload_model {
  std::vector<offload_layer> layers;  ///< first to last: times in nanoseconds, states in bytes on one device
  std::vector<std::string> names;     ///< of each layer, as in "layer 12"
  std::int64_t activations = 0;       ///< bytes that all layers keep from the forward to the backward pass
  std::int64_t working = 0;           ///< largest number of bytes in addition while one layer's backward pass runs

  friend bool operator==(offload_model const&, offload_model const&) = default;
};

/// @brief Evaluates the layers of a language model for a step of one micro-batch.
///
/// Passes include the waits for exchanges within them; the exchange of gradients at the end of the step is not counted. A layer without
/// the asked recomputation keeps everything, as the head does.
///
/// @param model       the shape
/// @param by          how the model is trained, with `offload::none`
/// @param batch       the micro-batch
/// @param on          the devices
/// @param recomputed  what layers compute again: nothing, the first set of modules (`selective`), or all
/// @return the layers
/// @throws invalid_input if states are already moved to the host, or as `chain_of` and `layer_evaluator`
/// @par Complexity
/// O(layers).
/// @par Determinism
/// A pure function of its arguments; all arithmetic is in integers.
template <class = when_called>
[[nodiscard]] inline offload_model offload_model_of(transformer const& model, model_setting const& by, batch_shape const& batch,
                                                    cluster const& on, recomputation recomputed = recomputation::none) {
  require(by.moved == offload::none, [] { return std::string("moved: states must not be in host memory already"); });
  auto const [all, rates] = chain_of(model, by, on, batch);
  auto const without = [&](offload moved) {  // what remains on the device
    auto setting = by;
    setting.moved = moved;
    return layers_of(model, setting);
  };
  auto const no_optimizer = without(offload::optimizer), no_gradients = without(offload::gradients);
  layer_evaluator const evaluate(rates);
  evaluate.require_fits(all, batch);
  offload_model out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const& l = all[i];
    auto const found = std::find_if(l.options.begin(), l.options.end(), [&](auto const& o) { return o.recomputed == recomputed; });
    auto const& option = found == l.options.end() ? l.options.front() : *found;
    auto const figures = evaluate(l, option, batch);
    auto const waits = evaluate.waits(l, batch);
    auto const again = option.recomputed == recomputation::full ? waits.again : 0;
    out.layers.push_back({.forward = figures.forward + waits.forward,
                          .backward = figures.backward + waits.backward + figures.recompute + again,
                          .device_update = evaluate.end_of_step(l).optimizer,
                          .states = {.parameter = no_gradients[i].state,
                                     .gradient = no_optimizer[i].state - no_gradients[i].state,
                                     .optimizer = l.state - no_optimizer[i].state}});
    out.names.push_back(l.name);
    out.activations += figures.bytes;
    out.working = (std::max)(out.working, figures.working);
  }
  return out;
}

}  // namespace ballast::inline v0_2
