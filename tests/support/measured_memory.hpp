// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/footprint/trainable.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

// Published measurements of memory, and what the library computes for the same runs: the table of docs/footprint.md.

namespace ballast_test {

inline constexpr double gib = 1024.0 * 1024 * 1024;

/// What is kept of each layer.
enum class layer_policy : std::uint8_t {
  none,      ///< all activations
  full,      ///< the input of each layer
  products,  ///< torchtitan's selection by operators: the layer's input, every second matrix product, and the output of attention
};

/// A published measurement.
struct memory_row {
  std::string_view name;
  ballast::transformer model;
  ballast::model_setting by;
  std::int64_t tokens;  ///< of a micro-batch, on the devices of a tensor-parallel group
  layer_policy policy;
  double measured;                     ///< GiB
  double window;                       ///< most relative error that the tests allow; 0: no statement
  bool fitted = false;                 ///< whether a constant of the model was fitted to this row
  std::vector<std::size_t> stages{};   ///< number of transformer layers of each pipeline stage; empty: one stage
  std::int64_t unused_parameters = 0;  ///< parameters of a frozen part that is not in `model`, two bytes each, on the first stage
  std::int64_t logits = 12;            ///< bytes per token and vocabulary entry
};

/// Bytes that the library computes for a row, on the stage that needs most.
struct memory_terms {
  std::int64_t states = 0, kept = 0, working = 0, fixed = 0;
  [[nodiscard]] double total() const { return static_cast<double>(states + kept + working + fixed) / gib; }
};

/// The context of the process, buffers of communication, and what the allocator loses: the one constant of all rows. It is the mean of what
/// three rows of ms-swift leave, rounded to a whole number of GiB.
inline constexpr std::int64_t fixed_bytes = std::int64_t{4} << 30;

/// Bytes per token of a layer under torchtitan's selection by operators: its input, the products with the query, value, gate and down
/// matrices, and the output of attention.
[[nodiscard]] inline std::int64_t kept_products(ballast::transformer const& m) {
  return 2 * (2 * m.hidden + 2 * m.query_heads * m.head_width + m.kv_heads * m.head_width + m.ffn);
}

/// What the library computes for a row. The last `kept_whole` layers recompute nothing, whatever the policy.
[[nodiscard]] inline memory_terms computed(memory_row const& row, std::int64_t kept_whole = 0) {
  auto const layers = ballast::layers_of(row.model, row.by);
  auto const stages = row.stages.empty() ? std::vector<std::size_t>{static_cast<std::size_t>(row.model.layers)} : row.stages;
  ballast::batch_shape const batch{.tokens = row.tokens, .squares = row.tokens * row.tokens};
  memory_terms largest;
  std::size_t next = 1;  // layer 0 is the embedding
  for (std::size_t s = 0; s < stages.size(); ++s) {
    auto const begin = s == 0 ? 0 : next, end = s + 1 == stages.size() ? layers.size() : next + stages[s];
    memory_terms of{.fixed = fixed_bytes + (s == 0 ? 2 * row.unused_parameters : 0)};
    for (auto i = begin; i < end; ++i) {
      auto const& layer = layers[i];
      auto kept = layer.options.front().bytes(batch), working = layer.working(batch);
      if (i + 1 == layers.size())
        working += ballast::divide_up((row.logits - 12) * row.model.vocabulary, row.by.spread.tensor) * row.tokens;
      else if (i > 0 && row.policy != layer_policy::none && static_cast<std::int64_t>(i) <= row.model.layers - kept_whole)
        kept = row.policy == layer_policy::full ? layer.options.back().bytes(batch) : kept_products(row.model) * row.tokens;
      of.states += layer.state;
      of.kept += kept;
      of.working = (std::max)(of.working, working + layer.buffers);
    }
    next = end;
    of.kept *= static_cast<std::int64_t>(ballast::one_f_one_b_schedule{}.in_flight(s, stages.size(), 1000).held);
    if (of.total() > largest.total()) largest = of;
  }
  return largest;
}

/// Parameters of vision towers with their projectors: Qwen2.5-VL-7B, Qwen3-VL-8B, and about those of InternVL3.5.
inline constexpr std::int64_t tower_of_qwen2 = ballast::parameters(ballast::vision_language_preset("qwen2.5-vl-7b").vision) +
                                               ballast::parameters(ballast::vision_language_preset("qwen2.5-vl-7b").projector),
                              tower_of_qwen3 = 576'388'336, tower_of_internvl = 304'000'000;
/// Shapes that are no presets.
inline constexpr ballast::transformer qwen3_8b{
    .layers = 36, .hidden = 4096, .query_heads = 32, .kv_heads = 8, .head_width = 128, .ffn = 12288, .vocabulary = 151936, .qk_norm = 256};
inline constexpr ballast::transformer qwen3_14b{
    .layers = 40, .hidden = 5120, .query_heads = 40, .kv_heads = 8, .head_width = 128, .ffn = 17408, .vocabulary = 151936, .qk_norm = 256};

/// torchtitan, H100 with 96 GB, LLaMA-3.1, sequences of 8,192 tokens: benchmarks/llama3_h100_202412_torchtitan.md. States are 16 bytes per
/// parameter. The rows of 32,768 tokens and of 70B computed in Float8, which moves the first row by 0.2 GiB.
[[nodiscard]] inline std::vector<memory_row> torchtitan_rows() {
  auto const& small = ballast::transformer_preset("llama-3.1-8b");
  auto const& large = ballast::transformer_preset("llama-3.1-70b");
  auto const fsdp = [](std::int64_t data, std::int64_t tensor = 1) {
    return ballast::model_setting{.spread = {.tensor = tensor, .data = data, .sequence_parallel = tensor > 1, .zero = 3},
                                  .optimizer = ballast::optimizer_named("adam-bf16-gradients")};
  };
  using enum layer_policy;
  return {
      {"8B, FSDP 8, 2 x 8,192, by operators", small, fsdp(8), 16384, products, 82.4, 0.10},
      {"8B, FSDP 8, 2 x 8,192, by operators, compiled", small, fsdp(8), 16384, products, 77.0, 0.10},
      {"8B, FSDP 128, 2 x 8,192, by operators", small, fsdp(128), 16384, products, 67.0, 0.10},
      {"8B, FSDP 128, 2 x 8,192, by operators, compiled", small, fsdp(128), 16384, products, 62.0, 0.10},
      {"8B, FSDP 8, 32,768, full", small, fsdp(8), 32768, full, 83.9, 0.10},
      {"70B, FSDP 32, TP 8, 16 x 8,192, full", large, fsdp(32, 8), 131072, full, 71.9, 0.30},
      {"70B, FSDP 32, TP 8, 16 x 8,192, full, asynchronous TP", large, fsdp(32, 8), 131072, full, 67.6, 0.30},
  };
}

/// ms-swift with Megatron, packed, in bfloat16 with float32 gradients: docs/source_en and examples/megatron. "GB" and "GiB" are the same
/// meter there. A vision tower is frozen and not split.
[[nodiscard]] inline std::vector<memory_row> megatron_swift_rows() {
  auto const& seven = ballast::transformer_preset("qwen2.5-7b");
  auto const& thirty = ballast::transformer_preset("qwen3-30b-a3b");
  auto const by = [](std::int64_t tensor, std::int64_t data = 1, std::int64_t expert = 1) {
    return ballast::model_setting{.spread = {.tensor = tensor, .data = data, .sequence_parallel = tensor > 1, .zero = 1},
                                  .expert = expert,
                                  .optimizer = ballast::optimizer_named("adam")};
  };
  auto const adapters = [](ballast::model_setting setting, std::int64_t rank) {
    setting.language = {.what = ballast::trained::low_rank, .rank = rank};
    return setting;
  };
  auto const offloaded = [](ballast::model_setting setting) {
    setting.moved = ballast::offload::optimizer;
    return setting;
  };
  auto bf16_moments = by(4, 2);
  bf16_moments.optimizer.state.optimizer = 8;
  using enum layer_policy;
  return {
      {"Qwen2.5-VL-7B, vision frozen, TP 2, 2,048, full", seven, by(2), 2048, full, 72, 0.15, true, {}, tower_of_qwen2},
      {"Qwen2.5-VL-7B, LoRA 8, DP 2, 2,048, full", seven, adapters(by(1, 2), 8), 2048, full, 23, 0.15, true, {}, tower_of_qwen2},
      {"Qwen3-VL-8B, vision frozen, TP 2, 2,048, full", qwen3_8b, by(2), 2048, full, 76, 0.15, true, {}, tower_of_qwen3},
      {"Qwen2.5-14B, TP 4, DP 2, 8,192", ballast::transformer_preset("qwen2.5-14b"), by(4, 2), 8192, none, 64, 0.15},
      {"Qwen3-14B, moments in bf16, TP 4, DP 2, 8,192", qwen3_14b, bf16_moments, 8192, none, 52, 0.15},
      {"Qwen2.5-7B, TP 4, 32,768, full", seven, by(4), 32768, full, 50, 0.15},
      {"Qwen2.5-72B, optimiser on the host, TP 8, 8,192, full", ballast::transformer_preset("qwen2.5-72b"), offloaded(by(8)), 8192, full,
       65, 0.15},
      {"Qwen3-30B-A3B, PP 2, DP 8, EP 8, 8,192, full", thirty, by(1, 8, 8), 8192, full, 60, 0.15, false, {24, 24}},
      {"Qwen3-30B-A3B, PP 2, TP 4, EP 4, 8,192, full", thirty, by(4, 1, 4), 8192, full, 76, 0.15, false, {25, 23}},
      {"Qwen3-30B-A3B, optimiser on the host, EP 4, 8,192, full", thirty, offloaded(by(1, 4, 4)), 8192, full, 75, 0.15},
      {"Qwen3-30B-A3B, LoRA 32, EP 4, 8,192, full", thirty, adapters(by(1, 4, 4), 32), 8192, full, 49, 0.15},
      {"InternVL3.5-30B-A3B, LoRA 8, EP 2, 2,048, full",
       thirty,
       adapters(by(1, 2, 2), 8),
       2048,
       full,
       43,
       0.15,
       false,
       {},
       tower_of_internvl},
  };
}

/// ms-swift with DeepSpeed and Hugging Face, packed, all layers recomputed, 16 bytes per parameter: docs/source_en.
[[nodiscard]] inline std::vector<memory_row> deepspeed_swift_rows() {
  auto const& seven = ballast::transformer_preset("qwen2.5-7b");
  auto const& fourteen = ballast::transformer_preset("qwen2.5-14b");
  auto const by = [](std::int64_t data, int zero, bool fused_loss = false) {
    return ballast::model_setting{.spread = {.data = data, .zero = zero},
                                  .optimizer = ballast::optimizer_named("adam-bf16-gradients"),
                                  .framework = ballast::framework_named("hbp"),
                                  .loss = {.how = fused_loss ? ballast::head_loss::kind::fused : ballast::head_loss::kind::plain}};
  };
  auto one_device = by(1, 0);
  one_device.language = {.what = ballast::trained::low_rank, .rank = 8};
  auto const full = layer_policy::full;
  return {
      {"Qwen2.5-14B, ZeRO-2 over 8, 8,192", fourteen, by(8, 2), 8192, full, 80, 0.15},
      {"Qwen2.5-14B, ZeRO-3 over 8, 8,192", fourteen, by(8, 3), 8192, full, 58, 0.15},
      {"Qwen2.5-7B, ZeRO-3 over 4, 8,192", seven, by(4, 3), 8192, full, 54, 0.15},
      {"Qwen2.5-7B, ZeRO-3 over 4, 8,192, fused loss", seven, by(4, 3, true), 8192, full, 42, 0.15},
      {"the same, another page", seven, by(4, 3, true), 8192, full, 44, 0.15},
      {"Qwen2.5-7B, ZeRO-3 over 4, 16,384, fused loss", seven, by(4, 3, true), 16384, full, 43, 0.15},
      {"Qwen2.5-7B, LoRA 8, one device, 2,048", seven, one_device, 2048, full, 22, 0.15},
      {"Qwen3-30B-A3B, ZeRO-3 over 16, 8,192, experts one by one", ballast::transformer_preset("qwen3-30b-a3b"), by(16, 3), 8192, full, 80,
       0},
  };
}

/// SWIFT, A100, Qwen-7B-Chat, LoRA, micro-batches of one sample of at most this length (arXiv 2408.05517, benchmark page of ms-swift). One
/// constant is fitted: 22 bytes per token and vocabulary entry instead of 12, because the trainer keeps copies of the logits.
[[nodiscard]] inline std::vector<memory_row> swift_rows() {
  auto const& model = ballast::transformer_preset("qwen-7b-chat");
  auto const row = [&](std::string_view name, std::int64_t tokens, layer_policy policy, ballast::attention_kernel kernel, double measured) {
    return memory_row{.name = name,
                      .model = model,
                      .by = {.optimizer = ballast::optimizer_named("adam"),
                             .attention = kernel,
                             .language = {.what = ballast::trained::low_rank, .rank = 8}},
                      .tokens = tokens,
                      .policy = policy,
                      .measured = measured,
                      .window = 0.15,
                      .fitted = true,
                      .logits = 22};
  };
  using enum layer_policy;
  using enum ballast::attention_kernel;
  return {
      row("512, full", 512, full, fused, 18.01),    row("1,024, full", 1024, full, fused, 21.73),
      row("2,048, full", 2048, full, fused, 27.74), row("2,048, full, scores stored", 2048, full, stored_scores, 27.71),
      row("4,096, full", 4096, full, fused, 35.31), row("8,192, full", 8192, full, fused, 48.41),
      row("2,048, none", 2048, none, fused, 37.70), row("2,048, none, scores stored", 2048, none, stored_scores, 57.67),
  };
}

/// ChunkFlow (arXiv 2503.02356): Qwen2.5-7B on four devices, TP 4 with sequence parallelism, selective recomputation, which recomputes
/// nothing with fused attention; a context of 32K in chunks. The factor of `megatron`, 2, is fitted to the slope of 5.9 GiB per 2,048
/// tokens.
[[nodiscard]] inline std::vector<memory_row> chunkflow_rows() {
  auto const& model = ballast::transformer_preset("qwen2.5-7b");
  ballast::model_setting const by{.spread = {.tensor = 4, .sequence_parallel = true, .zero = 1},
                                  .optimizer = ballast::optimizer_named("adam"),
                                  .framework = ballast::framework_named("chunkflow")};
  auto const none = layer_policy::none;
  return {
      {"chunks of 2,048", model, by, 2048, none, 41.6, 0.15, true},
      {"chunks of 4,096", model, by, 4096, none, 47.5, 0.15, true},
      {"chunks of 8,192", model, by, 8192, none, 59.3, 0.15, true},
  };
}

/// HBP (arXiv 2503.07680): LLaMA-3.1-8B on 32 H100, ZeRO-3. Published is the least number of recomputed layers; see `least_recomputed`.
[[nodiscard]] inline memory_row hbp_row(std::int64_t tokens) {
  return {.name = "HBP",
          .model = ballast::transformer_preset("llama-3.1-8b"),
          .by = {.spread = {.data = 32, .zero = 3},
                 .optimizer = ballast::optimizer_named("adam-bf16-gradients"),
                 .framework = ballast::framework_named("hbp")},
          .tokens = tokens,
          .policy = layer_policy::full,
          .measured = 0,
          .window = 0};
}

/// The fewest recomputed layers with which a row fits into a device; more than there are if none do.
[[nodiscard]] inline std::int64_t least_recomputed(memory_row const& row, std::int64_t capacity) {
  for (std::int64_t recomputed = 0; recomputed <= row.model.layers; ++recomputed) {
    auto const of = computed(row, row.model.layers - recomputed);
    if (of.states + of.kept + of.working + of.fixed <= capacity) return recomputed;
  }
  return row.model.layers + 1;
}

}  // namespace ballast_test
