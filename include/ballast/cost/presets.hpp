// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/vision.hpp>

#include <array>
#include <string>
#include <string_view>

/// @file
/// @brief Published architectures by name. Tests check that the computed parameter count of each equals the published one.

namespace ballast::inline v0_2 {

/// @brief An architecture with its name.
/// @tparam Model  `transformer`, `vision_transformer` or `vision_language_model`
template <class Model>
struct preset {
  std::string_view name;  ///< name in lower case, as in "llama-3.1-8b"
  Model model;            ///< the shape
};

/// @brief Language models.
inline constexpr std::array transformer_presets{
    preset<transformer>{
        "llama-3.1-8b",
        {.layers = 32, .hidden = 4096, .query_heads = 32, .kv_heads = 8, .head_width = 128, .ffn = 14336, .vocabulary = 128256}},
    preset<transformer>{
        "llama-3.1-70b",
        {.layers = 80, .hidden = 8192, .query_heads = 64, .kv_heads = 8, .head_width = 128, .ffn = 28672, .vocabulary = 128256}},
    preset<transformer>{
        "llama-3.1-405b",
        {.layers = 126, .hidden = 16384, .query_heads = 128, .kv_heads = 8, .head_width = 128, .ffn = 53248, .vocabulary = 128256}},
    preset<transformer>{"qwen2.5-0.5b",
                        {.layers = 24,
                         .hidden = 896,
                         .query_heads = 14,
                         .kv_heads = 2,
                         .head_width = 64,
                         .ffn = 4864,
                         .vocabulary = 151936,
                         .tied = true,
                         .qkv_bias = true}},
    preset<transformer>{"qwen2.5-7b",
                        {.layers = 28,
                         .hidden = 3584,
                         .query_heads = 28,
                         .kv_heads = 4,
                         .head_width = 128,
                         .ffn = 18944,
                         .vocabulary = 152064,
                         .qkv_bias = true}},
    preset<transformer>{"qwen2.5-14b",
                        {.layers = 48,
                         .hidden = 5120,
                         .query_heads = 40,
                         .kv_heads = 8,
                         .head_width = 128,
                         .ffn = 13824,
                         .vocabulary = 152064,
                         .qkv_bias = true}},
    preset<transformer>{"qwen2.5-32b",
                        {.layers = 64,
                         .hidden = 5120,
                         .query_heads = 40,
                         .kv_heads = 8,
                         .head_width = 128,
                         .ffn = 27648,
                         .vocabulary = 152064,
                         .qkv_bias = true}},
    preset<transformer>{"qwen2.5-72b",
                        {.layers = 80,
                         .hidden = 8192,
                         .query_heads = 64,
                         .kv_heads = 8,
                         .head_width = 128,
                         .ffn = 29568,
                         .vocabulary = 152064,
                         .qkv_bias = true}},
    preset<transformer>{"mixtral-8x7b",
                        {.layers = 32,
                         .hidden = 4096,
                         .query_heads = 32,
                         .kv_heads = 8,
                         .head_width = 128,
                         .vocabulary = 32000,
                         .experts = 8,
                         .active_experts = 2,
                         .expert_ffn = 14336}},
    preset<transformer>{"mixtral-8x22b",
                        {.layers = 56,
                         .hidden = 6144,
                         .query_heads = 48,
                         .kv_heads = 8,
                         .head_width = 128,
                         .vocabulary = 32000,
                         .experts = 8,
                         .active_experts = 2,
                         .expert_ffn = 16384}},
    preset<transformer>{"qwen3-30b-a3b",
                        {.layers = 48,
                         .hidden = 2048,
                         .query_heads = 32,
                         .kv_heads = 4,
                         .head_width = 128,
                         .vocabulary = 151936,
                         .experts = 128,
                         .active_experts = 8,
                         .expert_ffn = 768,
                         .qk_norm = 256}},
    preset<transformer>{"qwen3-235b-a22b",
                        {.layers = 94,
                         .hidden = 4096,
                         .query_heads = 64,
                         .kv_heads = 4,
                         .head_width = 128,
                         .vocabulary = 151936,
                         .experts = 128,
                         .active_experts = 8,
                         .expert_ffn = 1536,
                         .qk_norm = 256}},
    preset<transformer>{"qwen-7b-chat",
                        {.layers = 32,
                         .hidden = 4096,
                         .query_heads = 32,
                         .kv_heads = 32,
                         .head_width = 128,
                         .ffn = 11008,
                         .vocabulary = 151936,
                         .qkv_bias = true}},
    preset<transformer>{
        "internlm2-20b",
        {.layers = 48, .hidden = 6144, .query_heads = 48, .kv_heads = 8, .head_width = 128, .ffn = 16384, .vocabulary = 92544}},
    preset<transformer>{
        "vicuna-7b",
        {.layers = 32, .hidden = 4096, .query_heads = 32, .kv_heads = 32, .head_width = 128, .ffn = 11008, .vocabulary = 32000}},
    preset<transformer>{"gpt2-xl",
                        {.layers = 48,
                         .hidden = 1600,
                         .query_heads = 25,
                         .kv_heads = 25,
                         .head_width = 64,
                         .ffn = 6400,
                         .gated = false,
                         .vocabulary = 50257,
                         .tied = true,
                         .positions = 1024,
                         .qkv_bias = true,
                         .output_bias = true,
                         .ffn_bias = true,
                         .norm_bias = true}},
    preset<transformer>{"deepseek-v2",
                        {.layers = 60,
                         .hidden = 5120,
                         .query_heads = 128,
                         .kv_heads = 128,
                         .head_width = 192,
                         .ffn = 12288,
                         .vocabulary = 102400,
                         .kv_rank = 512,
                         .q_rank = 1536,
                         .rope_width = 64,
                         .v_width = 128,
                         .experts = 160,
                         .active_experts = 6,
                         .expert_ffn = 1536,
                         .shared_ffn = 3072,
                         .expert_layers = layer_set::from(1)}},
    preset<transformer>{"deepseek-v3",
                        {.layers = 61,
                         .hidden = 7168,
                         .query_heads = 128,
                         .kv_heads = 128,
                         .head_width = 192,
                         .ffn = 18432,
                         .vocabulary = 129280,
                         .kv_rank = 512,
                         .q_rank = 1536,
                         .rope_width = 64,
                         .v_width = 128,
                         .experts = 256,
                         .active_experts = 8,
                         .expert_ffn = 2048,
                         .shared_ffn = 2048,
                         .expert_layers = layer_set::from(3),
                         .router_bias = true}},
};

/// @brief Vision transformers.
inline constexpr std::array vision_presets{
    preset<vision_transformer>{"clip-l-14-336",
                               {.body = {.layers = 24,
                                         .hidden = 1024,
                                         .query_heads = 16,
                                         .kv_heads = 16,
                                         .head_width = 64,
                                         .ffn = 4096,
                                         .gated = false,
                                         .positions = 577,
                                         .causal = false,
                                         .qkv_bias = true,
                                         .output_bias = true,
                                         .ffn_bias = true,
                                         .norm_bias = true},
                                .patch_bias = false,
                                .pre_norm = true}},
    preset<vision_transformer>{"internvit-6b-448",
                               {.body = {.layers = 45,
                                         .hidden = 3200,
                                         .query_heads = 25,
                                         .kv_heads = 25,
                                         .head_width = 128,
                                         .ffn = 12800,
                                         .gated = false,
                                         .positions = 1025,
                                         .causal = false,
                                         .output_bias = true,
                                         .ffn_bias = true,
                                         .final_norm = false,
                                         .qk_norm = 6400,
                                         .layer_scale = true}}},
    // for an image of 448 x 448 pixels, in windows of 112 x 112; an image is two equal frames
    preset<vision_transformer>{"qwen2.5-vl-vit",
                               {.body = {.layers = 32,
                                         .hidden = 1280,
                                         .query_heads = 16,
                                         .kv_heads = 16,
                                         .head_width = 80,
                                         .ffn = 3420,
                                         .causal = false,
                                         .window = 64,
                                         .windowed = ~layer_set{7, 15, 23, 31},
                                         .qkv_bias = true,
                                         .output_bias = true,
                                         .ffn_bias = true,
                                         .final_norm = false},
                                .channels = 6,
                                .extra_tokens = 0,
                                .patch_bias = false,
                                .tile_tokens = 1024}},
};

/// @brief Finds a language model by name.
/// @param name  one of `transformer_presets`, as in "llama-3.1-8b"
/// @return its shape
/// @throws invalid_input, with a list of the names, if there is no such preset
[[nodiscard]] constexpr transformer const& transformer_preset(std::string_view name) {
  return find_named(transformer_presets, name, "transformer preset").model;
}

/// @brief Finds a vision transformer by name.
/// @param name  one of `vision_presets`, as in "internvit-6b-448"
/// @return its shape
/// @throws invalid_input, with a list of the names, if there is no such preset
[[nodiscard]] constexpr vision_transformer const& vision_preset(std::string_view name) {
  return find_named(vision_presets, name, "vision preset").model;
}

/// @brief Vision-language models: a vision transformer, a projector and a language model.
inline constexpr std::array vision_language_presets{
    preset<vision_language_model>{"llava-1.5-7b",
                                  {.vision =
                                       [] {
                                         auto tower = vision_preset("clip-l-14-336");
                                         tower.unused_layers = 1;  // the features are those of the last layer but one
                                         return tower;
                                       }(),
                                   .projector = {.input = 1024, .output = 4096, .tokens = 576},
                                   .language = transformer_preset("vicuna-7b")}},
    preset<vision_language_model>{"internvl-chat-1.5",
                                  {.vision = vision_preset("internvit-6b-448"),
                                   .projector = {.input = 12800, .output = 6144, .tokens = 256, .norm = true},
                                   .language = transformer_preset("internlm2-20b")}},
    preset<vision_language_model>{
        "qwen2.5-vl-7b",
        {.vision = vision_preset("qwen2.5-vl-vit"),
         .projector = {.input = 5120, .output = 3584, .tokens = 256, .norm = true, .inner = 5120, .norm_weights = 1280},
         .language = transformer_preset("qwen2.5-7b")}},
};

/// @brief Finds a vision-language model by name.
/// @param name  one of `vision_language_presets`, as in "internvl-chat-1.5"
/// @return its shape
/// @throws invalid_input, with a list of the names, if there is no such preset
[[nodiscard]] constexpr vision_language_model const& vision_language_preset(std::string_view name) {
  return find_named(vision_language_presets, name, "vision-language preset").model;
}

}  // namespace ballast::inline v0_2
