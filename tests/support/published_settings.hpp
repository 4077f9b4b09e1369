// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/plan/search_degrees.hpp>

#include <cstdint>
#include <ctime>
#include <string_view>

// Settings that people publish for models on a number of GPUs, and what a search over degrees finds for the same GPUs, batch and memory.

namespace ballast_test {

struct published_setting {
  std::string_view source, model;
  std::int64_t gpus, memory;                  // GB of a device that a plan may use
  std::int64_t sequence, batch, micro_batch;  // sequences of a step, and of a micro-batch
  std::int64_t tensor, context, expert;
  std::uint64_t stages, chunks;
  int zero;
};

/// "bridge": NVIDIA Megatron-Bridge, docs/performance-summary-archive.md, DGX H100 (memory: 95 % of 80 GB). "titan": torchtitan, benchmarks
/// of December 2024, H100 of 96 GB. "folding": Liu et al., "MoE Parallel Folding", arXiv 2504.14960, whose batch is 256 sequences of 4,096
/// tokens. DeepSeek: arXiv 2412.19437, section 3.2. Those on Megatron have the distributed optimiser, ZeRO-1.
inline constexpr published_setting published_settings[] = {
    {"bridge", "llama-3.1-8b", 8, 76, 8192, 128, 1, 1, 1, 1, 1, 1, 3},
    {"titan", "llama-3.1-8b", 8, 91, 8192, 16, 2, 1, 1, 1, 1, 1, 3},
    {"titan", "llama-3.1-8b", 128, 91, 8192, 256, 2, 1, 1, 1, 1, 1, 3},
    {"bridge", "llama-3.1-70b", 64, 76, 8192, 128, 1, 4, 1, 1, 8, 5, 1},
    {"bridge, fine-tuning", "llama-3.1-70b", 32, 76, 4096, 32, 1, 4, 1, 1, 4, 5, 1},
    {"titan", "llama-3.1-70b", 256, 91, 8192, 512, 16, 8, 1, 1, 1, 1, 3},
    {"folding", "mixtral-8x7b", 64, 76, 4096, 256, 1, 2, 1, 8, 4, 1, 1},
    {"bridge", "qwen3-30b-a3b", 16, 76, 4096, 1024, 1, 1, 1, 8, 2, 12, 1},
    {"bridge", "qwen3-235b-a22b", 256, 76, 4096, 8192, 1, 2, 1, 32, 8, 4, 1},
    {"titan", "llama-3.1-405b", 512, 91, 8192, 256, 1, 8, 1, 1, 8, 1, 3},
    {"titan, interleaved", "llama-3.1-405b", 512, 91, 8192, 256, 1, 8, 1, 1, 8, 2, 3},
    {"bridge", "llama-3.1-405b", 1024, 76, 8192, 512, 1, 8, 2, 1, 8, 8, 1},
    {"bridge", "deepseek-v3", 1024, 76, 4096, 8192, 1, 2, 1, 64, 8, 4, 1},
    {"DeepSeek", "deepseek-v3", 2048, 76, 4096, 15360, 1, 1, 1, 64, 16, 1, 1},
};

/// A search in the default space, and in that of the published setting alone.
struct searched_beside_published {
  ballast::searched_settings best, published;
  double ms = 0;  // processor time of the first
};

template <class = void>
[[nodiscard]] inline searched_beside_published search_beside(published_setting const& p) {
  using namespace ballast;
  auto const model = transformer_preset(p.model);
  model_setting const by{.optimizer = optimizer_named("adam"), .loss = {.how = head_loss::kind::fused}};
  batch_shape const full{.tokens = p.sequence, .squares = p.sequence * p.sequence};
  search_options const space{
      .gpus = p.gpus, .memory = p.memory * 1'000'000'000, .sequence = p.sequence, .global_batch = p.batch, .keep = 1};
  auto one = space;
  one.tensor = {p.tensor};
  one.context = {p.context};
  one.expert = {p.expert};
  one.stages = {p.stages};
  one.zero = {p.zero};
  one.micro_batch = {p.micro_batch};
  one.schedules = {one_f_one_b_schedule{}};
  if (p.chunks > 1) {
    one.schedules = {interleaved_schedule{}};
    one.chunks = {p.chunks};
  }
  auto const run = [&](search_options const& o) { return detail::degree_search<transformer>(model, {full, full}, o, {}, by).run(); };
  searched_beside_published out;
  auto const begin = std::clock();
  out.best = run(space);
  out.ms = static_cast<double>(std::clock() - begin) * 1000 / CLOCKS_PER_SEC;
  out.published = run(one);
  return out;
}

}  // namespace ballast_test
