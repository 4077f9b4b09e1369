// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/presets.hpp>

#include <array>

namespace ballast_test {

/// Models whose layers differ, and with what only some families have. The counts of weights are published.
inline constexpr std::array hybrid_shapes{
    // three layers of linear attention to one with a gated output; a gate on the shared expert: 79,674,391,296
    ballast::preset<ballast::transformer>{
        "qwen3-next-80b-a3b",
        {.layers = 48,
         .hidden = 2048,
         .query_heads = 16,
         .kv_heads = 2,
         .head_width = 256,
         .vocabulary = 151936,
         .linear = {.layers = ~ballast::layer_set::every(4), .key_heads = 16, .key_width = 128, .value_heads = 32, .value_width = 128},
         .experts = 512,
         .active_experts = 10,
         .expert_ffn = 512,
         .shared_ffn = 512,
         .output_gate = true,
         .shared_gate = true,
         .qk_norm = 512}},
    // even layers slide, sinks, biases everywhere: 20,914,757,184
    ballast::preset<ballast::transformer>{"gpt-oss-20b",
                                          {.layers = 24,
                                           .hidden = 2880,
                                           .query_heads = 64,
                                           .kv_heads = 8,
                                           .head_width = 64,
                                           .vocabulary = 201088,
                                           .window = 128,
                                           .windowed = ~ballast::layer_set::every(2),
                                           .experts = 32,
                                           .active_experts = 4,
                                           .expert_ffn = 2880,
                                           .sinks = true,
                                           .router_bias = true,
                                           .qkv_bias = true,
                                           .output_bias = true,
                                           .ffn_bias = true}},
    // chunks but in every fourth layer, experts in every second, the others wider: 400,711,848,960
    ballast::preset<ballast::transformer>{"llama-4-maverick",
                                          {.layers = 48,
                                           .hidden = 5120,
                                           .query_heads = 40,
                                           .kv_heads = 8,
                                           .head_width = 128,
                                           .ffn = 16384,
                                           .vocabulary = 202048,
                                           .window = 8192,
                                           .windowed = ~ballast::layer_set::every(4),
                                           .chunked = true,
                                           .experts = 128,
                                           .active_experts = 1,
                                           .expert_ffn = 8192,
                                           .shared_ffn = 8192,
                                           .expert_layers = ballast::layer_set::every(2)}},
    // one norm in front of both blocks: 6,921,720,704
    ballast::preset<ballast::transformer>{"falcon-7b",
                                          {.layers = 32,
                                           .hidden = 4544,
                                           .query_heads = 71,
                                           .kv_heads = 1,
                                           .head_width = 64,
                                           .ffn = 18176,
                                           .gated = false,
                                           .vocabulary = 65024,
                                           .tied = true,
                                           .parallel = true,
                                           .norm_bias = true,
                                           .norms = 1}},
    // a bias of the head: 41,873,153,344
    ballast::preset<ballast::transformer>{"phi-3.5-moe",
                                          {.layers = 32,
                                           .hidden = 4096,
                                           .query_heads = 32,
                                           .kv_heads = 8,
                                           .head_width = 128,
                                           .vocabulary = 32064,
                                           .experts = 16,
                                           .active_experts = 2,
                                           .expert_ffn = 6400,
                                           .qkv_bias = true,
                                           .output_bias = true,
                                           .head_bias = true,
                                           .norm_bias = true}},
};

}  // namespace ballast_test
