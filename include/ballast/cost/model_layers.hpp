// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/detail/layer_maker.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/memory.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/vision.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `layers_of`: the chain of layers of a language or vision-language model, from its shape.

namespace ballast::inline v0_2 {

/// @brief The chain of a language model: embedding, layers and head; only layers if the model has no vocabulary.
///
/// FLOPs and bytes are those of one device of a tensor- and context-parallel group, shares rounded up. Layers with a window count `window`
/// pairs per token, which is an upper bound. Boundaries are counted in full, in a 16-bit format, as they are sent without sequence
/// parallelism. The options of a layer are no, selective and full recomputation; an option that keeps no less than the one before is left
/// out.
///
/// @param model   the shape
/// @param spread  degrees
/// @param state   bytes per parameter for each kind of state
/// @return layers from first to last
/// @throws invalid_input as `require_valid` of the model and of the degrees, or as `state_bytes`
template <class = when_called>
[[nodiscard]] inline std::vector<layer> layers_of(transformer const& model, parallelism const& spread = {},
                                                  training_state const& state = {}) {
  require_valid(model);
  detail::layer_maker maker(spread, state);
  maker.add_language_model(model, "layer");
  return std::move(maker.made);
}

/// @brief The chain of a vision-language model: patch embedding, vision layers, projector, and then the chain of the language model.
///
/// Vision layers have costs per tile, language layers per token. Boundaries of vision layers carry vision tokens, the boundary of the
/// projector carries the merged tokens.
///
/// @param model   the shape
/// @param spread  degrees, the same for both parts
/// @param state   bytes per parameter for each kind of state
/// @return layers from first to last
/// @throws invalid_input as the other overload
template <class = when_called>
[[nodiscard]] inline std::vector<layer> layers_of(vision_language_model const& model, parallelism const& spread = {},
                                                  training_state const& state = {}) {
  require_valid(model.vision);
  require_valid(model.language);
  detail::layer_maker maker(spread, state);
  auto const& vision = model.vision;
  auto const n = vision.tokens(), h = vision.body.hidden, patches = n - vision.extra_tokens;
  auto const pixels = vision.patch * vision.patch * vision.channels;
  std::int64_t of_layers = 0;
  for (std::int64_t l = 0; l < vision.body.layers; ++l) of_layers += layer_parameters(vision.body, l);
  maker.add_by_tile("patches", 2 * patches * pixels * h, parameters(vision) - of_layers, 2 * patches * pixels, 2 * patches * pixels,
                    2 * n * h);
  for (std::int64_t l = 0; l < vision.body.layers; ++l) maker.add_transformer_layer(vision.body, l, "vision " + std::to_string(l), n);
  auto const& p = model.projector;
  auto const read = 2 * p.tokens * p.input;
  maker.add_by_tile("projector", tile_flops(p), parameters(p), (p.norm ? 2 : 1) * read + 2 * 2 * p.tokens * p.output, read,
                    2 * p.tokens * p.output);
  maker.add_language_model(model.language, "language");
  return std::move(maker.made);
}

}  // namespace ballast::inline v0_2
