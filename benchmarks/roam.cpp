// SPDX-License-Identifier: Apache-2.0
// Peak memory of training steps (docs/roam.md). Counters are percent of what PyTorch's caching allocator reserves for the program order:
// `live` the most in use at a time in program order, `list` the best of the published list schedules (LPMF, BFS, DFS) laid out by size, the
// largest first, as compilers do; `lowest_list` that of the better of the net lists; `rule` our order with activations at the bottom, the
// published layout; `plan` order and layout by search, `bound` the lower bound of every order. `list_time` is the time of the lists and
// their layouts over that of the plan, which is the time shown.
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/training_graph.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/memory/fit_layouts.hpp>
#include <ballast/memory/list_orders.hpp>
#include <ballast/memory/peak.hpp>
#include <ballast/memory/replay_allocator.hpp>
#include <ballast/methods/roam.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "../tests/support/branching_graphs.hpp"

namespace {

using namespace ballast;

std::int64_t by_size(graph const& g, std::span<std::uint32_t const> order) {
  return first_fit_layout(buffers_of(g, order).buffers).height.value;
}
std::int64_t published_lists(graph const& g) {
  return (std::min)({by_size(g, list_order(g, list_rule::least_peak)), by_size(g, list_order(g, list_rule::breadth_first)),
                     by_size(g, list_order(g, list_rule::depth_first))});
}

void table(benchmark::State& state, graph const& g) {
  std::vector<std::uint32_t> program(g.size());
  std::iota(program.begin(), program.end(), 0U);
  auto const eager = replay_allocator(buffers_of(g, program).buffers);
  auto const plan = roam::plan_memory(g);
  auto const percent = [&](char const* name, std::int64_t bytes) {
    state.counters[name] = 100.0 * static_cast<double>(bytes) / static_cast<double>(eager.peak_reserved);
  };
  percent("live", eager.live_peak);
  percent("list", published_lists(g));
  percent("lowest_list", (std::min)(by_size(g, list_order(g, list_rule::net)), by_size(g, list_order(g, list_rule::reverse_net))));
  percent("rule", roam::layout_activations_first(g, plan.order).height.value);
  percent("plan", plan.height.value);
  percent("bound", plan.height.lower_bound);
  state.counters["operators"] = static_cast<double>(g.size());
  state.counters["MiB"] = static_cast<double>(eager.peak_reserved >> 20);
  auto const timed = [](auto&& run) {
    auto const begin = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(run());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  state.counters["list_time"] = timed([&] { return published_lists(g); }) / timed([&] { return roam::plan_memory(g); });
  for (auto _ : state) benchmark::DoNotOptimize(roam::plan_memory(g));
}

graph language(char const* name, std::int64_t batch, std::int64_t length, training_graph_options const& options = {}) {
  return training_graph(transformer_preset(name), batch, length, options);
}
// All in float32, as the published measurements: 16 bytes a parameter, of which the gradient is a quarter.
training_graph_options const single{.state = {.parameter = 4, .gradient = 4, .optimizer = 8}, .activation_bytes = 4, .scores = true};
// BERT-large without its pooler, with a head over the vocabulary.
graph bert(std::int64_t batch) {
  return training_graph(transformer{.layers = 24,
                                    .hidden = 1024,
                                    .query_heads = 16,
                                    .kv_heads = 16,
                                    .head_width = 64,
                                    .ffn = 4096,
                                    .gated = false,
                                    .vocabulary = 30522,
                                    .tied = true,
                                    .positions = 512,
                                    .causal = false},
                        batch, std::int64_t{512}, {.scores = true});
}

BENCHMARK_CAPTURE(table, gpt2_xl_128, language("gpt2-xl", 1, 128))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(table, gpt2_xl_1024, language("gpt2-xl", 1, 1024))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(table, gpt2_xl_8x1024, language("gpt2-xl", 8, 1024))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(table, gpt2_xl_128_float32, language("gpt2-xl", 1, 128, single))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(table, gpt2_xl_1024_float32, language("gpt2-xl", 1, 1024, single))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(table, llama_8b_4096, language("llama-3.1-8b", 1, 4096))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(table, bert_large_1, bert(1))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(table, bert_large_32, bert(32))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(table, vit_clip_l_8, training_graph(vision_presets[0].model.body, std::int64_t{8}, std::int64_t{577}))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(table, inception_1, ballast_test::inception_step(9, 1))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(table, inception_32, ballast_test::inception_step(9, 32))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(table, densenet_1, ballast_test::densenet_step({6, 12, 24, 16}, 1))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(table, densenet_32, ballast_test::densenet_step({6, 12, 24, 16}, 32))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(table, unet_1, ballast_test::unet_step(4, 1))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(table, unet_8, ballast_test::unet_step(4, 8))->Unit(benchmark::kMillisecond);

}  // namespace
