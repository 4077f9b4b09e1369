// SPDX-License-Identifier: Apache-2.0
// Layouts of the weights of a model on a group of devices (docs/weights.md). Counters: `step_ms` the modelled step, `gap_ppm` millionths
// above the lower bound, `GB` bytes of a device, `megatron` and `data_parallel` the steps of these plans in percent of ours (0: none fits),
// `evaluated` the layouts of operators that were evaluated, `decimals` of 3^weights, which an enumeration of the whole model would
// evaluate. `enumerate` evaluates all plans of the six weights of one layer and returns the least time, beside `plan_layouts` of the same
// block.
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/training_graph.hpp>
#include <ballast/graph/repeated_blocks.hpp>
#include <ballast/graph/repeated_subgraphs.hpp>
#include <ballast/methods/tap.hpp>
#include <ballast/methods/tap_operators.hpp>
#include <ballast/weights/check.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../tests/support/layout_blocks.hpp"

namespace {

using namespace ballast;

layout_setting cluster(std::int64_t devices, std::int64_t tokens, std::int64_t length, std::int64_t memory) {
  return {.devices = devices,
          .tokens = tokens,
          .sequences = tokens / length,
          .memory = memory,
          .flops_per_s = 400'000'000'000'000,
          .links = datasheet_fabric(device_named("h100"))};
}

// A model with any number of layers like those of another.
std::vector<layout_operator> deeper(char const* name, std::int64_t layers) {
  auto model = transformer_preset(name);
  model.layers = 1;
  auto const one = tap::operators_of(model, 4096);
  auto const behind = one.size() - 3;  // norm, head and loss
  std::vector<layout_operator> out{one[0]};
  for (std::int64_t l = 0; l < layers; ++l)
    for (std::size_t v = 1; v < behind; ++v) {
      out.push_back(one[v]);
      out.back().name = "layers." + std::to_string(l) + one[v].name.substr(8);
    }
  out.insert(out.end(), one.begin() + static_cast<std::ptrdiff_t>(behind), one.end());
  return out;
}

void count(benchmark::State& state, std::vector<layout_operator> const& operators, layout_setting const& options) {
  auto const best = tap::shard(operators, options);
  state.counters["step_ms"] = static_cast<double>(best.plan.time.value) / 1e9;
  state.counters["gap_ppm"] = best.plan.time.gap() * 1e6;
  state.counters["GB"] = static_cast<double>(best.plan.bytes) / 1e9;
  state.counters["evaluated"] = static_cast<double>(best.plan.evaluated);
  state.counters["operations"] = static_cast<double>(best.plan.operations);
  state.counters["decimals"] = static_cast<double>(best.weights) * 0.4771212547;
  auto const percent = [&](tap::sharded_model const& other) {
    return 100.0 * static_cast<double>(other.plan.time.value) / static_cast<double>(best.plan.time.value);
  };
  state.counters["megatron"] = percent(tap::shard_as_megatron(operators, options));
  state.counters["data_parallel"] = percent(tap::shard_as_data_parallel(operators, options));
}

void preset(benchmark::State& state, char const* name, std::int64_t devices, std::int64_t sequences, std::int64_t length,
            std::int64_t memory) {
  auto const operators = tap::operators_of(transformer_preset(name), length);
  auto const options = cluster(devices, sequences * length, length, memory);
  count(state, operators, options);
  for (auto _ : state) benchmark::DoNotOptimize(tap::shard(operators, options));
}

// Layers of LLaMA-3.1-8B; the memory is 2.25 GB for each, so some layers are faster than others.
void layers(benchmark::State& state) {
  auto const operators = deeper("llama-3.1-8b", state.range(0));
  auto const options = cluster(8, 32'768, 4096, 2'250'000'000 * state.range(0));
  count(state, operators, options);
  auto const chain = tap::fold(operators);
  for (auto _ : state) benchmark::DoNotOptimize(plan_layouts(chain, options));
}

layout_setting tight(std::int64_t h, std::int64_t tokens) {
  auto options = ballast_test::plain_devices(8, tokens);
  options.sequence = options.batch = false;
  options.flops_per_s = 100'000'000'000'000;
  options.memory = 12 * h * h * 18 / 8 + tokens * 2 * (2 * h + 12 * h / 8);
  return options;
}

// All layouts of the weights of a layer, and of what several weights make together.
class enumeration {
 public:
  enumeration(layout_block const& block, layout_setting const& options) : block_(block), options_(options) {
    made_.operators.resize(block.size());
    weights(0);
  }
  std::int64_t least = -1, plans = 0;

 private:
  void weights(std::size_t v) {
    if (v == block_.size()) {
      ++plans;
      auto const c = cost_of_layouts(block_, made_, options_);
      if (c.legal && c.bytes.value <= options_.memory && (least < 0 || c.time.value < least)) least = c.time.value;
      return;
    }
    auto& l = made_.operators[v];
    if (block_[v].rule != layout_rule::weights) {
      for (auto const at : {activation_layout::replicated, activation_layout::hidden}) {
        l.reads = l.makes = at;
        weights(v + 1);
      }
      return;
    }
    auto const count = block_[v].weights.size();
    std::size_t all = 1;
    for (std::size_t i = 0; i < count; ++i) all *= 3;
    for (std::size_t code = 0; code < all; ++code) {
      l.weights.clear();
      auto rest = code;
      for (std::size_t i = 0; i < count; ++i, rest /= 3)
        l.weights.push_back(
            {static_cast<weight_layout>(rest % 3), rest % 3 == 2 ? activation_layout::hidden : activation_layout::replicated});
      if (count == 1) {
        l.makes = use_of(weight_kind::matrix, l.weights[0].layout, activation_layout::replicated).makes;
        weights(v + 1);
        continue;
      }
      for (auto const makes : {activation_layout::replicated, activation_layout::hidden, activation_layout::partial}) {
        l.makes = makes;
        weights(v + 1);
      }
    }
  }

  layout_block const& block_;
  layout_setting const& options_;
  block_layouts made_{};
};

void enumerate(benchmark::State& state) {
  auto const block = ballast_test::plain_layer(1024, 16);
  auto const options = tight(1024, 2048);
  for (auto _ : state) {
    enumeration const all(block, options);
    state.counters["step_ms"] = static_cast<double>(all.least) / 1e9;
    state.counters["evaluated"] = static_cast<double>(all.plans);
  }
}
void plan_one(benchmark::State& state) {
  layout_chain const chain{{ballast_test::plain_layer(1024, 16)}, {{0, 1}}};
  auto const options = tight(1024, 2048);
  for (auto _ : state) {
    auto const plan = plan_layouts(chain, options);
    state.counters["step_ms"] = static_cast<double>(plan.time.value) / 1e9;
    state.counters["evaluated"] = static_cast<double>(plan.evaluated);
  }
}

// Training graphs of GPT-2 XL with as many layers; operators a second.
graph step_of(std::int64_t layers) {
  auto model = transformer_preset("gpt2-xl");
  model.layers = layers;
  return training_graph(model, std::int64_t{1}, std::int64_t{1024});
}
void fold_subgraphs(benchmark::State& state) {
  auto const g = step_of(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(find_repeated_subgraphs(g));
  auto const found = find_repeated_subgraphs(g);
  state.counters["classes"] = static_cast<double>(found.classes.size());
  state.counters["copies"] = found.classes.empty() ? 0 : static_cast<double>(found.classes[0].copies.size());
  state.counters["rounds"] = found.rounds;
  state.counters["epl_classes"] = static_cast<double>(find_repeated_subgraphs(g, epl_subgraph_limits).classes.size());
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(g.size()));
}
void fold_blocks(benchmark::State& state) {
  auto const g = step_of(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(find_repeats(g));
  state.counters["copies"] = find_repeats(g).layers;
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(g.size()));
}

BENCHMARK_CAPTURE(preset, llama_8b_32k_80GB, "llama-3.1-8b", 8, 8, 4096, 80'000'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(preset, llama_8b_32k_unlimited, "llama-3.1-8b", 8, 8, 4096, std::int64_t{1} << 60)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(preset, llama_8b_8k_80GB, "llama-3.1-8b", 8, 8, 1024, 80'000'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(preset, qwen_7b_on_4_32k_80GB, "qwen2.5-7b", 4, 8, 4096, 80'000'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(preset, mixtral_8x7b_8k_141GB, "mixtral-8x7b", 8, 8, 1024, 141'000'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(preset, gpt2_xl_on_5_10k_80GB, "gpt2-xl", 5, 10, 1000, 80'000'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(layers)->Arg(32)->Arg(100)->Arg(1'000)->Arg(10'000)->Unit(benchmark::kMillisecond);
BENCHMARK(enumerate)->Unit(benchmark::kMillisecond);
BENCHMARK(plan_one)->Unit(benchmark::kMillisecond);
BENCHMARK(fold_subgraphs)->Arg(48)->Arg(480)->Unit(benchmark::kMillisecond);
BENCHMARK(fold_blocks)->Arg(48)->Arg(480)->Unit(benchmark::kMillisecond);

}  // namespace
