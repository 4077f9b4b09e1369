// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/parameter_groups.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/vision.hpp>
#include <ballast/footprint/detail/layer_maker.hpp>
#include <ballast/footprint/layer_tensors.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/trainable.hpp>
#include <ballast/footprint/vision_tensors.hpp>

#include <cstddef>
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
/// parallelism. The options of a layer are those of `recompute_options`: nothing, growing sets of the allowed modules, and the whole layer;
/// an option that keeps no less than the one before is left out. A layer for multi-token prediction runs the head once more, and uses the
/// matrices of embedding and head: it belongs to the last stage, which holds a copy of the embedding if there are several. The head has one
/// option, because its logits exist in its backward pass whatever is recomputed. A layer that no backward pass reaches keeps nothing.
///
/// While its backward pass runs, a layer has as many bytes in addition as it keeps without recomputation: recomputed activations, or the
/// gradients of those that were kept. Where tensors are counted one by one, it has the gradients of one block, what any option computes
/// again, three times what is moved to the host, and with `expert_overlap` what another micro-batch keeps. The head has its logits
/// (`logits_of`), in some frameworks beside the working set of the last layer.
/// Under ZeRO-3 the parameters of two layers are gathered, and the gradients of one wait to be scattered.
///
/// @param model  the shape
/// @param by     how the model is trained
/// @return layers from first to last
/// @throws invalid_input as `require_valid` of the model and of the setting, or as `layer_exchanges`
template <class = when_called>
[[nodiscard]] std::vector<layer> layers_of(transformer const& model, model_setting const& by = {}) {
  require_valid(model);
  detail::layer_maker maker(by);
  maker.add_language_model(model, "layer");
  return std::move(maker.made);
}

/// @brief The chain of a vision-language model: patch embedding, vision layers, projector, and then the chain of the language model.
///
/// Vision layers have costs per tile, language layers per token. Boundaries of vision layers carry vision tokens, the boundary of the
/// projector carries the merged tokens. The outputs of `deep` layers go with them: to the projector, and from it to the layers of the
/// language model that add them. Vision layers that are never computed are frozen weights of the patch embedding's device. The tower is
/// computed as `vision_setting` says. With `vision_tensor`, a device has the mean share of a tile: tiles may be fewer than devices, and the
/// device with most has more. Behind the projector, the devices of a group gather the tokens of all.
///
/// @param model  the shape
/// @param by     how the model is trained; the degrees are the same for both parts, unless the tower has one of its own
/// @return layers from first to last
/// @throws invalid_input as the other overload
template <class = when_called>
[[nodiscard]] std::vector<layer> layers_of(vision_language_model const& model, model_setting const& by = {}) {
  require_valid(model);
  require_valid(by);
  auto const setting = vision_setting(by);
  detail::layer_maker tower(setting);
  auto& made = tower.made;
  auto const& vision = model.vision;
  auto const& p = model.projector;
  auto const n = vision.tokens(), h = vision.body.hidden, patches = n - vision.extra_tokens, computed = vision.computed_layers();
  auto const pixels = vision.patch * vision.patch * vision.channels;
  auto const by_tile = [&](std::int64_t bytes) { return batch_cost{.per_tile = divide_up(bytes, setting.spread.context)}; };
  auto const kept_of = [&](layer_tensors const& tensors) { return tensors.kept({}).on(setting.spread).per_token; };
  std::int64_t of_layers = 0, unused = 0;
  for (std::int64_t l = 0; l < vision.body.layers; ++l) (l < computed ? of_layers : unused) += layer_parameters(vision.body, l);
  trainable const outside{.what = by.vision.what == trained::all ? trained::all : trained::none};  // patch embedding, norms
  tower.add_by_tile("patches", 2 * patches * pixels * h, {.replicated = parameters(vision) - of_layers - unused}, outside,
                    kept_of(patch_tensors_of(vision, setting.activations())), 2 * patches * pixels, 2 * n * h);
  if (unused > 0) tower.add_frozen({.sharded = unused});
  std::int64_t taken = 0;  // outputs that go on to projectors of their own
  for (std::int64_t l = 0; l < computed; ++l) {
    tower.add_transformer_layer(vision.body, l, "vision " + std::to_string(l), by.vision, n);
    taken += p.deep.contains(l) ? 1 : 0;
    if (taken > 0) made.back().boundary = made.back().boundary + by_tile(2 * taken * n * h);
  }
  auto const read = 2 * p.tokens * p.input * p.count(), handed = 2 * p.tokens * p.output;
  auto const is = setting.activations(by.projector);
  auto kept = p.tokens * (kept_of(projector_tensors_of(model, is)) + taken * kept_of(projector_tensors_of(model, is, true)));
  if (by.framework.count != tensor_count::table && tower.trained_before && unused == 0)
    kept += n * final_norm_inputs(vision.body, by, by.vision).on(setting.spread).per_token;
  tower.add_by_tile("projector", tile_flops(p), {.sharded = parameters(p)}, by.projector, kept, read, handed * p.count());
  tower.share_tiles(by.tile_shares(), handed * p.count());
  auto const last = made.size();
  detail::layer_maker maker(by);
  maker.made = std::move(made);
  maker.trained_before = tower.trained_before;
  maker.add_language_model(model.language, "language");
  // in front of the language model's layers, if there is an embedding
  for (auto left = model.language.vocabulary > 0 ? taken : taken - 1, i = std::int64_t{0}; left > 0; --left, ++i) {
    auto& layer = maker.made[last + static_cast<std::size_t>(i)];
    layer.boundary = layer.boundary + by_tile(left * handed);
  }
  return std::move(maker.made);
}

BALLAST_INSTANTIATE(std::vector<layer> layers_of(transformer const&, model_setting const&))
BALLAST_INSTANTIATE(std::vector<layer> layers_of(vision_language_model const&, model_setting const&))

}  // namespace ballast::inline v0_2
