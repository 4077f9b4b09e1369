// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/presets.hpp>

#include <array>

namespace ballast_test {

/// Models with state-space layers, short convolutions or chosen keys. The counts of weights are published.
inline constexpr std::
    array
        state_space_shapes{
            // 27 layers of Mamba-2, 25 feed-forward blocks and 4 layers of attention, each alone: 8,888,227,328
            ballast::preset<ballast::transformer>{
                "nemotron-nano-9b-v2",
                {.layers = 56,
                 .hidden = 4480,
                 .query_heads = 40,
                 .kv_heads = 8,
                 .head_width = 128,
                 .ffn = 15680,
                 .gated = false,
                 .vocabulary = 131072,
                 .space = {.layers = {0, 2, 4, 6, 7, 9, 11, 13, 16, 18, 20, 23, 25, 27, 29, 32, 34, 36, 38, 41, 43, 44, 46, 48, 50, 52, 54},
                           .heads = 128,
                           .head_width = 80,
                           .state = 128,
                           .groups = 8,
                           .chunk = 128},
                 .attention_layers = {14, 21, 30, 39},
                 .ffn_layers = {1, 3, 5, 8, 10, 12, 15, 17, 19, 22, 24, 26, 28, 31, 33, 35, 37, 40, 42, 45, 47, 49, 51, 53, 55},
                 .norms = 1}},
            // attention beside Mamba-2 in every layer, without a gated norm: 521,411,104
            ballast::preset<ballast::transformer>{
                "falcon-h1-0.5b",
                {.layers = 36,
                 .hidden = 1024,
                 .query_heads = 8,
                 .kv_heads = 2,
                 .head_width = 64,
                 .ffn = 2048,
                 .vocabulary = 32784,
                 .space = {.layers = ballast::layer_set::all(), .heads = 24, .head_width = 64, .state = 128, .norm = false}}},
            // Mamba-1 but in layers 4, 12, 20 and 28, experts in every second layer: 51,570,323,328
            ballast::preset<ballast::transformer>{
                "jamba-v0.1",
                {.layers = 32,
                 .hidden = 4096,
                 .query_heads = 32,
                 .kv_heads = 8,
                 .head_width = 128,
                 .ffn = 14336,
                 .vocabulary = 65536,
                 .space = {.layers = ~ballast::layer_set{4, 12, 20, 28}, .heads = 8192, .state = 16, .step_rank = 256},
                 .attention_layers = {4, 12, 20, 28},
                 .experts = 16,
                 .active_experts = 2,
                 .expert_ffn = 14336,
                 .expert_layers = ballast::layer_set::every(2)}},
            // short convolutions but in six layers: 354,483,968
            ballast::preset<ballast::transformer>{
                "lfm2-350m",
                {.layers = 16,
                 .hidden = 1024,
                 .query_heads = 16,
                 .kv_heads = 8,
                 .head_width = 64,
                 .ffn = 4608,
                 .vocabulary = 65536,
                 .tied = true,
                 .conv = {.layers = ~ballast::layer_set{2, 5, 8, 10, 12, 14}},
                 .attention_layers = {2, 5, 8, 10, 12, 14},
                 .qk_norm = 128}},
            // DeepSeek-V3 with an indexer that chooses 2,048 keys: 671,026,419,200 + 61 * 13,959,424
            ballast::
                preset<ballast::transformer>{
                    "deepseek-v3.2",
                    [] {
                      auto model = ballast::transformer_preset("deepseek-v3");
                      model.window = 2048;
                      model.index = {.heads = 64, .width = 128};
                      return model;
                    }()},
        };

}  // namespace ballast_test
