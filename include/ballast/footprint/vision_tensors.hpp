// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/parallelism.hpp>
#include <ballast/cost/vision.hpp>
#include <ballast/footprint/kernel_setting.hpp>
#include <ballast/footprint/layer_tensors.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/trainable.hpp>

#include <cstdint>

/// @file
/// @brief What the parts of a vision-language model outside its transformer layers keep: patch embedding and projectors.

namespace ballast::inline v0_2 {

/// @brief How the vision transformer and the projector are computed: as the language model, but under Megatron-Core without dropout, and
/// with neither sequence nor context parallelism.
///
/// With a degree of its own (`vision_tensor`), the other devices of a tensor-parallel group are data-parallel ranks of the tower: they hold
/// the same shards of its parameters, exchange their gradients, and share its states under ZeRO.
/// @param by  how the model is trained; valid
/// @return the setting of the tower, for the tiles of one of `tile_shares`
/// @par Source
/// NVIDIA/Megatron-LM, `examples/multimodal/model.py` and `config.py`.
[[nodiscard]] constexpr model_setting vision_setting(model_setting by) noexcept {
  if (by.vision_tensor > 0) {
    by.spread.data *= by.tile_shares();
    by.spread.tensor = by.vision_tensor;
    by.spread.sequence_parallel = by.spread.sequence_parallel && by.vision_tensor > 1;
    by.vision_tensor = 0;
  }
  if (by.framework.count != tensor_count::megatron) return by;
  by.kernels.hidden_dropout = by.kernels.attention_dropout = false;
  by.spread.sequence_parallel = false;
  by.spread.context = 1;
  return by;
}

/// @brief Values of the pixels of a tile, in all its patches. @param model the shape @return their number
[[nodiscard]] constexpr std::int64_t pixels_of(vision_transformer const& model) noexcept {
  return (model.tokens() - model.extra_tokens) * model.patch * model.patch * model.channels;
}

/// @brief What the patch embedding keeps, and the norm in front of the first layer.
///
/// The pixels themselves are inputs. If the embedding is trained, it keeps them once more in the model's type. The output of the norm is
/// the input of the first layer, which counts it.
///
/// @param model  the shape
/// @param by     which tensors, and what is trained: adapters leave the embedding frozen, and nothing else is in front of it
/// @return the tensors, with bytes per tile
/// @par Complexity
/// O(1).
[[nodiscard]] constexpr layer_tensors patch_tensors_of(vision_transformer const& model, activation_setting const& by) noexcept {
  layer_tensors out;
  if (by.is.what != trained::all) return out;
  auto const counted = by.count == tensor_count::eager || by.count == tensor_count::compiled;
  std::int64_t const e = counted ? by.kernels.value : 2;
  auto const n = model.tokens(), values = n * model.body.hidden;
  auto const pixels = e * pixels_of(model);
  auto const table = by.count == tensor_count::table;  // which divides by context parallelism alone
  tensor_bytes copied;
  (table ? copied.gathered : copied.whole) = pixels;
  if (e < 4) out.add({.name = "pixels in the model's type", .bytes = copied});
  if (!model.pre_norm || table) return out;
  if (counted) {
    detail::eager_counter count{.m = model.body, .by = by};
    count.norm("input of the first norm", "normalised values of the first norm", "statistics of the first norm", values, n,
               model.body.norm_bias, 0);
    for (auto const& t : count.out) out.add(t);
  } else {
    out.add({.name = "input of the first norm", .bytes = {.whole = 2 * values}});
    out.add({.name = "statistics of the first norm", .bytes = {.whole = (model.body.norm_bias ? 8 : 4) * n}});
  }
  return out;
}

/// @brief What a projector keeps: its norm, the input of its first matrix, the values before and behind each activation function, and the
/// inputs of matrices behind a merger and in a gated block.
///
/// A matrix that is trained keeps its input, as in `layer_tensors_of`. A projector without a norm keeps the output of the vision
/// transformer.
///
/// @param model  the shape
/// @param by     which tensors, and whether the projector is trained
/// @param deep   whether it is a projector of a layer of `projector::deep`, which begins with a norm
/// @return the tensors, with bytes per token that is passed to the language model
/// @par Complexity
/// O(number of matrices).
[[nodiscard]] constexpr layer_tensors projector_tensors_of(vision_language_model const& model, activation_setting const& by,
                                                           bool deep = false) noexcept {
  auto const& p = model.projector;
  auto const normed = deep || p.norm;
  auto const weights = deep || p.norm_weights == 0 ? 2 * p.input : p.norm_weights;
  // LayerNorm if all values of the input have two weights, else a norm of the kind and width of the vision transformer
  auto const bias = weights == 2 * p.input || model.vision.body.norm_bias;
  auto const rows = normed && weights < 2 * p.input ? p.input / (bias ? weights / 2 : weights) : 1;
  auto const all = by.is.what == trained::all;
  auto const counted = by.count == tensor_count::eager || by.count == tensor_count::compiled;
  std::int64_t const e = counted ? by.kernels.value : 2;
  auto const table = by.count == tensor_count::table;  // which divides by context parallelism alone
  auto const whole = [&](std::int64_t bytes) { return table ? tensor_bytes{.gathered = bytes} : tensor_bytes{.whole = bytes}; };
  auto const split = [&](std::int64_t bytes) { return table ? tensor_bytes{.gathered = bytes} : tensor_bytes{.split = bytes}; };
  layer_tensors out;
  if (counted && normed) {
    detail::eager_counter count{.m = model.vision.body, .by = by};
    count.norm("input of the norm", "output of the norm", "statistics of the norm", p.input, rows, bias, e * p.input);
    out = count.out;
  } else if (counted) {
    if (all) out.add({.name = "input of the first matrix", .bytes = {.whole = e * p.input}});
  } else {
    out.add({.name = "input", .bytes = whole(2 * p.input)});
    if (normed) out.add({.name = "output of the norm", .bytes = whole(2 * p.input)});
    if (normed && by.count == tensor_count::megatron)
      out.add({.name = "statistics of the norm", .bytes = {.whole = (bias ? 8 : 4) * rows}});
  }
  auto const inner = (p.matrices - 1) * p.inner_width() + 2 * p.gated;
  out.add({.name = "products", .bytes = split(e * inner), .block = gradient_block::feed_forward});
  auto const activated = inner - p.gated;  // the product of gate and values
  if (all || !counted) out.add({.name = "activations", .bytes = split(e * activated), .block = gradient_block::feed_forward});
  auto const between = p.merged + (p.gated > 0 ? p.output : 0);  // inputs of matrices that follow one without an activation function
  if (between > 0 && (all || !counted)) out.add({.name = "merged tokens", .bytes = whole(e * between)});
  return out;
}

}  // namespace ballast::inline v0_2
