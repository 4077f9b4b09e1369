// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/vision.hpp>
#include <ballast/footprint/kernel_setting.hpp>
#include <ballast/footprint/layer_tensors.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/trainable.hpp>
#include <ballast/footprint/vision_tensors.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

/// @file
/// @brief `workspace_bytes`: memory that libraries and frameworks hold on a device during the whole training, beside states and
/// activations.

namespace ballast::inline v0_2 {

/// @brief What a pipeline stage has, as far as its workspace depends on it.
struct stage_content {
  bool dense = true;    ///< a layer without experts
  bool experts = true;  ///< a layer with experts, if the model has any
  bool head = true;     ///< the head
  bool scored = true;   ///< a layer whose attention has scores
  bool linear = true;   ///< a layer with linear attention, if the model has any
  bool space = true;    ///< a state-space layer, if the model has any
  bool conv = true;     ///< a layer with a short convolution, if the model has any
  bool tower = false;   ///< a layer of the vision transformer, if the model has one
  friend constexpr bool operator==(stage_content const&, stage_content const&) = default;
};

namespace detail {

/// The workspace of one cuBLAS handle under Transformer Engine, 28 MiB and 1 KiB larger on Hopper.
[[nodiscard]] constexpr std::int64_t engine_workspace(bool hopper) noexcept {
  constexpr std::int64_t mib = 1 << 20;
  return hopper ? 32 * mib + 1024 : 4 * mib;
}

/// The shapes of the weights of a stage on one device, each once.
class weight_shapes {
 public:
  constexpr void add(std::int64_t rows, std::int64_t columns) noexcept {
    for (std::size_t i = 0; i < size_; ++i)
      if (all_[i] == std::array{rows, columns}) return;
    all_[size_++] = {rows, columns};
  }
  [[nodiscard]] constexpr std::int64_t values() const noexcept {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < size_; ++i) sum += all_[i][0] * all_[i][1];
    return sum;
  }

 private:
  std::array<std::array<std::int64_t, 2>, 24> all_{};
  std::size_t size_ = 0;
};

/// Adds a layer to what a stage has.
constexpr void add_layer(stage_content& to, transformer const& m, std::int64_t layer) noexcept {
  (has_experts(m, layer) ? to.experts : to.dense) = true;
  to.scored = to.scored || is_scored(m, layer);
  to.linear = to.linear || is_linear(m, layer);
  to.space = to.space || is_space(m, layer);
  to.conv = to.conv || is_conv(m, layer);
}

constexpr void add_shapes(weight_shapes& all, transformer const& m, model_setting const& by, stage_content const& has) {
  if (!has.dense && !has.experts) return;  // no layer at all
  auto const t = by.spread.tensor, h = m.hidden, v = value_width(m), in = m.gated ? std::int64_t{2} : std::int64_t{1};
  auto const queries = m.query_heads * m.head_width * (m.output_gate ? 2 : 1);
  if (has.linear && m.linear.value_heads > 0) {  // one matrix makes queries, keys, values, the gate, decay and step
    all.add(divide_up(linear_exchanged(m), t), h);
    all.add(h, divide_up(linear_values(m), t));
  }
  if (auto const& s = m.space; has.space && s.heads > 0) {
    all.add(divide_up(space_inputs(s), t), h);
    if (s.step_rank > 0) all.add(space_compressed(s), divide_up(s.inner(), t));
    if (s.step_rank > 0) all.add(divide_up(s.inner(), t), s.step_rank);
    all.add(h, divide_up(s.inner(), t));
  }
  if (has.conv && m.conv.layers != layer_set()) {
    all.add(divide_up(3 * h, t), h);
    all.add(h, divide_up(h, t));
  }
  if (has.scored && m.kv_rank > 0) {
    if (m.q_rank > 0) all.add(m.q_rank, h);
    all.add(divide_up(queries, t), m.q_rank > 0 ? m.q_rank : h);
    all.add(m.kv_rank + m.rope_width, h);
    all.add(divide_up(m.query_heads * (m.head_width - m.rope_width + v), t), m.kv_rank);
  } else if (has.scored) {
    all.add(divide_up(queries + m.kv_heads * (m.head_width + v), t), h);
  }
  if (has.scored) all.add(h, divide_up(m.query_heads * v, t));
  auto const block = [&](std::int64_t width, std::int64_t parts) {
    if (width == 0) return;
    all.add(divide_up(in * width, parts), h);
    all.add(h, divide_up(width, parts));
  };
  if (has.dense) block(m.ffn, t);
  if (has.experts) {
    block(m.expert_ffn, by.experts().expert_tensor);
    block(m.shared_ffn, t);
  }
}

}  // namespace detail

/// @brief Bytes that are held on a device of Megatron-Core during the whole training, beside states and activations.
///
/// | bytes | for |
/// |---|---|
/// | 2 x 32 MiB | cuBLAS: the handles of the forward and the backward thread; 2 x 8,519,680 before Hopper without `large_cublas` |
/// | 32 MiB + 1 KiB, or 4 MiB before Hopper | Transformer Engine's handle; four more with `grouped_gemm` |
/// | 3 x 32 MiB | `tensor_overlap`: the streams of user buffers |
/// | 2 x 32 MiB | `expert_overlap`: cuBLAS on two more streams |
/// | 2 a tokens^2 / (t c) | kernels that are not Transformer Engine's: the input of the product of queries and keys |
/// | 2 h tokens / c | sequence parallelism: the gathered input of the head |
/// | 2 bytes a value | `dummy_gradients`: one tensor for each shape of weights |
///
/// In float32 (`kernels.value`), 4 bytes take the place of 2 in the last three rows.
///
/// @param model   the shape
/// @param by      how the model is trained
/// @param batch   a micro-batch on the devices of a context-parallel group
/// @param hopper  whether the device is a Hopper or later
/// @param has     what the stage has
/// @param vision  the vision transformer of which the stage may have layers; may be null
/// @return bytes; 0 unless the framework counts as Megatron-Core does
/// @throws invalid_input if the bytes reach 2^63
/// @par Complexity
/// O(1).
/// @par Source
/// PyTorch `getChosenWorkspaceSize`; Transformer Engine `get_cublas_workspace_size_bytes`, `get_multi_stream_cublas_workspace`,
/// `get_dummy_wgrad`; NVIDIA/Megatron-LM `DotProductAttention.forward`, `tensor_parallel/layers.py`.
[[nodiscard]] constexpr std::int64_t workspace_bytes(transformer const& model, model_setting const& by, batch_shape const& batch,
                                                     bool hopper = true, stage_content const& has = {},
                                                     vision_transformer const* vision = nullptr) {
  if (by.framework.count != tensor_count::megatron) return 0;
  constexpr std::int64_t mib = 1 << 20;
  auto const& k = by.kernels;
  auto const t = by.spread.tensor, c = by.spread.context;
  auto const experts = has.experts && model.experts > 0;
  auto const tower = has.tower ? vision : nullptr;
  auto fixed = 2 * (hopper || k.large_cublas ? 32 * mib : 8'519'680);
  if (k.engine) fixed += detail::engine_workspace(hopper) * (experts && k.grouped_gemm ? 5 : 1);
  if (k.tensor_overlap) fixed += 3 * 32 * mib;
  if (k.expert_overlap) fixed += 2 * 32 * mib;
  auto bytes = checked(fixed);
  auto const add = [&](checked const& whole, std::int64_t parts) {
    bytes = bytes + (whole.fits() ? checked(divide_up(whole.value, parts)) : whole);
  };
  auto const e = k.value;
  auto scores = checked(e * model.query_heads) * checked(batch.squares);
  if (!k.engine && tower) {  // whichever is larger: one buffer serves both; the tower is not divided by context parallelism
    auto const n = checked(tower->tokens());
    auto const of_tiles = checked(e * tower->body.query_heads * c) * n * n * checked(batch.tiles);
    if (!of_tiles.fits() || (scores.fits() && of_tiles.value > scores.value)) scores = of_tiles;
  }
  if (!k.engine) add(scores, t * c);
  if (by.spread.sequence_parallel && t > 1 && (has.head || !k.engine)) add(checked(e * model.hidden) * checked(batch.tokens), c);
  if (k.engine && k.dummy_gradients) {
    detail::weight_shapes all;
    detail::add_shapes(all, model, by, {.dense = has.dense, .experts = experts, .scored = has.scored, .linear = has.linear});
    if (tower && by.vision.what == trained::all) detail::add_shapes(all, tower->body, by, {.experts = false});
    add(checked(e * all.values()), 1);
  }
  require(bytes.fits(), [] { return std::string("the workspace reaches 2^63 bytes"); });
  return bytes.value;
}

/// @brief Bytes of the inputs of a micro-batch on a device: ids and labels; under Megatron-LM positions and weights of the loss, and the
/// data loader's mask.
/// @param by     how the model is trained
/// @param batch  a micro-batch on the devices of a context-parallel group
/// @return bytes, or `checked::none` from 2^63 on; 0 for `tensor_count::table`
/// @par Complexity
/// O(1).
/// @par Source
/// NVIDIA/Megatron-LM, `get_batch`; trainers on PyTorch pass ids and labels (docs/memory-model.md).
[[nodiscard]] constexpr checked input_bytes(model_setting const& by, batch_shape const& batch) {
  if (by.framework.count == tensor_count::table) return checked(0);
  auto const megatron = by.framework.count == tensor_count::megatron;
  auto const share = [&](checked const& whole) { return whole.fits() ? checked(divide_up(whole.value, by.spread.context)) : whole; };
  auto const tokens = share(checked(megatron ? 28 : 16) * checked(batch.tokens));  // 8 bytes each, and 4 for the weights
  return megatron && by.kernels.loader_mask ? tokens + share(checked(batch.squares)) : tokens;
}

/// @brief Bytes of the pixels of a micro-batch on a device, in float32.
/// @param model  the shape
/// @param by     how the model is trained
/// @param batch  a micro-batch on the devices of a context-parallel group, with `tiles`
/// @return bytes, or `checked::none` from 2^63 on; 0 for `tensor_count::table`
/// @par Complexity
/// O(1).
[[nodiscard]] constexpr checked pixel_bytes(vision_transformer const& model, model_setting const& by, batch_shape const& batch) {
  if (by.framework.count == tensor_count::table) return checked(0);
  auto const whole = checked(4 * pixels_of(model)) * checked(batch.tiles);
  return whole.fits() ? checked(divide_up(whole.value, vision_setting(by).spread.context)) : whole;
}

/// @brief What is left of a device's memory for the states and activations of a stage: without workspace and inputs.
/// @param memory  bytes of the device
/// @param model   the shape
/// @param by      how the model is trained
/// @param batch   the largest micro-batch
/// @param hopper  as for `workspace_bytes`
/// @return bytes, at least 0
/// @throws invalid_input as `workspace_bytes`
/// @par Complexity
/// O(1).
[[nodiscard]] constexpr std::int64_t memory_for_stages(std::int64_t memory, transformer const& model, model_setting const& by,
                                                       batch_shape const& batch, bool hopper = true) {
  auto const aside = checked(workspace_bytes(model, by, batch, hopper)) + input_bytes(by, batch);
  return aside.fits() && aside.value < memory ? memory - aside.value : 0;
}

/// @brief What is left of a device's memory for the states and activations of a stage of a vision-language model: without pixels too.
/// @param memory  bytes of the device
/// @param model   the shape
/// @param by      how the model is trained
/// @param batch   the largest micro-batch
/// @param hopper  as for `workspace_bytes`
/// @return bytes, at least 0
/// @throws invalid_input as `workspace_bytes`
/// @par Complexity
/// O(1).
[[nodiscard]] constexpr std::int64_t memory_for_stages(std::int64_t memory, vision_language_model const& model, model_setting const& by,
                                                       batch_shape const& batch, bool hopper = true) {
  auto const pixels = pixel_bytes(model.vision, by, batch);
  auto const left = memory_for_stages(memory, model.language, by, batch, hopper);
  return pixels.fits() && pixels.value < left ? left - pixels.value : 0;
}

}  // namespace ballast::inline v0_2
