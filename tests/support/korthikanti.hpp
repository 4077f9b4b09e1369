// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/footprint/memory.hpp>

#include <array>
#include <cstdint>

namespace ballast_test {

/// A configuration of Korthikanti et al., "Reducing activation recomputation in large transformer models", arXiv 2205.05198, tables 3 to 5,
/// with what they publish for it. All have sequences of 2,048 tokens, a vocabulary of 51,200, and A100 with 80 GB.
struct korthikanti_run {
  char const* name;
  std::int64_t heads, hidden, layers, pipeline, chunks, devices, global_batch, micro_batch;
  double parameters;                               ///< as their formula gives them, recomputed to five digits
  double full_seconds, seconds;                    ///< an iteration, with full recomputation and as the paper proposes
  double model_utilisation, hardware_utilisation;  ///< per cent
  double sequence, selective, both, full;          ///< activations over those of tensor parallelism alone, figure 7

  static constexpr std::int64_t tokens = 2048, tensor = 8, vocabulary = 51200;

  [[nodiscard]] constexpr ballast::transformer model() const {
    return {.layers = layers,
            .hidden = hidden,
            .query_heads = heads,
            .kv_heads = heads,
            .head_width = hidden / heads,
            .ffn = 4 * hidden,
            .gated = false,
            .vocabulary = vocabulary,
            .tied = true,
            .positions = tokens,
            .qkv_bias = true,
            .output_bias = true,
            .ffn_bias = true,
            .norm_bias = true};
  }
  [[nodiscard]] constexpr ballast::megatron_layer layer() const {
    return {.sequence = tokens, .batch = micro_batch, .hidden = hidden, .heads = heads, .ffn = 4 * hidden};
  }
};

inline constexpr std::array<korthikanti_run, 4> korthikanti_runs{{
    {"22B", 64, 6144, 48, 1, 1, 8, 4, 4, 22.07e9, 1.42, 1.10, 41.5, 43.7, .668, .494, .161, .076},
    {"175B", 96, 12288, 96, 8, 3, 64, 64, 1, 174.62e9, 18.13, 13.75, 51.4, 52.8, .620, .565, .185, .087},
    {"530B", 128, 20480, 105, 35, 3, 280, 280, 1, 529.60e9, 49.05, 37.83, 56.0, 57.0, .583, .619, .202, .095},
    {"1T", 160, 25600, 128, 64, 1, 512, 512, 1, 1008.04e9, 94.42, 71.49, 56.3, 57.0, .583, .619, .202, .095},
}};

}  // namespace ballast_test
