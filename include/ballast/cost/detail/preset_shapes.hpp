// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/layer_set.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/cost/vision.hpp>

#include <cstdint>

// What models of presets.hpp have in common, by family: each function returns a shape in one line of sizes.

namespace ballast::inline v0_2 {

namespace detail {

/// A layer of Llama: grouped queries, RMSNorm, a gate, no biases.
[[nodiscard]] constexpr transformer llama_shape(std::int64_t layers, std::int64_t hidden, std::int64_t query_heads, std::int64_t kv_heads,
                                                std::int64_t head_width, std::int64_t ffn, std::int64_t vocabulary, bool tied = false) {
  return {.layers = layers,
          .hidden = hidden,
          .query_heads = query_heads,
          .kv_heads = kv_heads,
          .head_width = head_width,
          .ffn = ffn,
          .vocabulary = vocabulary,
          .tied = tied};
}
/// The same with biases of queries, keys and values.
[[nodiscard]] constexpr transformer qwen2_shape(transformer model) {
  model.qkv_bias = true;
  return model;
}
/// The same with norms of queries and keys.
[[nodiscard]] constexpr transformer qwen3_shape(transformer model) {
  model.qk_norm = 2 * model.head_width;
  return model;
}
/// Four norms in a layer, and a window in all layers but every `period`-th.
[[nodiscard]] constexpr transformer gemma_shape(transformer model, std::int64_t window, std::int64_t period) {
  model.tied = true;
  model.norms = 4;
  model.window = window;
  model.windowed = ~layer_set::every(period);
  return model;
}
[[nodiscard]] constexpr transformer windowed_shape(transformer model, std::int64_t window) {
  model.window = window;
  return model;
}
/// GPT-2: learned positions, LayerNorm, biases everywhere, no gate.
[[nodiscard]] constexpr transformer gpt2_shape(std::int64_t layers, std::int64_t hidden) {
  return {.layers = layers,
          .hidden = hidden,
          .query_heads = hidden / 64,
          .kv_heads = hidden / 64,
          .head_width = 64,
          .ffn = 4 * hidden,
          .gated = false,
          .vocabulary = 50257,
          .tied = true,
          .positions = 1024,
          .qkv_bias = true,
          .output_bias = true,
          .ffn_bias = true,
          .norm_bias = true};
}
/// Experts in the layers from `first` on; those before it keep their feed-forward block.
[[nodiscard]] constexpr transformer with_experts(transformer model, std::int64_t experts, std::int64_t active, std::int64_t ffn,
                                                 std::int64_t shared = 0, std::int64_t first = 0) {
  if (first == 0) model.ffn = 0;
  model.experts = experts;
  model.active_experts = active;
  model.expert_ffn = ffn;
  model.shared_ffn = shared;
  if (first > 0) model.expert_layers = layer_set::from(first);
  return model;
}
/// Latent attention with keys and values of 512 values, and heads of 128 values beside 64 with the position.
[[nodiscard]] constexpr transformer latent_shape(transformer model, std::int64_t q_rank, bool router_bias) {
  model.head_width = 192;
  model.kv_rank = 512;
  model.q_rank = q_rank;
  model.rope_width = 64;
  model.v_width = 128;
  model.router_bias = router_bias;
  return model;
}
/// GLM-4.5: biases of queries, keys and values, norms of queries and keys if `norms`, and experts chosen with biases.
[[nodiscard]] constexpr transformer glm_shape(transformer model, bool norms) {
  model.qkv_bias = model.router_bias = true;
  return norms ? qwen3_shape(model) : model;
}
/// Experts with biases, a window in every other layer, and a learned score beside those of the keys.
[[nodiscard]] constexpr transformer gpt_oss_shape(std::int64_t layers, std::int64_t experts) {
  auto model = with_experts(llama_shape(layers, 2880, 64, 8, 64, 2880, 201088), experts, 4, 2880);
  model.window = 128;
  model.windowed = ~layer_set::every(2);
  model.sinks = model.router_bias = model.qkv_bias = model.output_bias = model.ffn_bias = true;
  return model;
}

/// A bidirectional transformer with biases and LayerNorms and without a gate, as most vision transformers are.
[[nodiscard]] constexpr transformer encoder_shape(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t ffn,
                                                  std::int64_t positions) {
  return {.layers = layers,
          .hidden = hidden,
          .query_heads = heads,
          .kv_heads = heads,
          .head_width = hidden / heads,
          .ffn = ffn,
          .gated = false,
          .positions = positions,
          .causal = false,
          .qkv_bias = true,
          .output_bias = true,
          .ffn_bias = true,
          .norm_bias = true};
}
/// InternViT for tiles of 448 x 448 pixels: the plain one has LayerNorms and biases, the large one RMSNorms, also of queries and keys.
[[nodiscard]] constexpr vision_transformer internvit_tower(std::int64_t layers, std::int64_t hidden, std::int64_t heads, bool plain) {
  auto body = encoder_shape(layers, hidden, heads, 4 * hidden, 1025);
  body.qkv_bias = body.norm_bias = plain;
  body.final_norm = false;
  body.qk_norm = plain ? 0 : 2 * hidden;
  body.layer_scale = true;
  return {.body = body};
}
/// Tiles of 32 x 32 patches; an image is two equal frames. Qwen3-VL has learned positions and a bias of patches.
[[nodiscard]] constexpr vision_transformer qwen_vl_tower(transformer body, std::int64_t patch) {
  body.final_norm = false;
  return {.body = body, .patch = patch, .channels = 6, .extra_tokens = 0, .patch_bias = body.positions > 0, .tile_tokens = 1024};
}
[[nodiscard]] constexpr vision_transformer qwen2_5_vl_tower() {
  auto body = encoder_shape(32, 1280, 16, 3420, 0);
  body.gated = true;
  body.norm_bias = false;
  body.window = 64;
  body.windowed = ~layer_set{7, 15, 23, 31};
  return qwen_vl_tower(body, 14);
}

}  // namespace detail

}  // namespace ballast::inline v0_2
