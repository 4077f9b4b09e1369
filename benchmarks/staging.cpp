// SPDX-License-Identifier: Apache-2.0
// Joint plans of stages and recompute for InternVL-Chat-1.5 (97 layers) under 1F1B in ten cases that are tight in memory: the time of
// folding and planning, and over it (`programme_slower`) that of the full dynamic programme, which must find the same bottleneck.
//
// Stage times are in ms at 400 TFLOP/s, -1 where a stage does not fit: `joint`; `sequential`, the cut for time alone and the best recompute
// after it; `equal`, an equal count of layers and the best recompute; `full`, everything recomputed and the best cut for that; `unlimited`,
// the least if memory were no matter. `all_different` plans 96 layers of which no two are alike,
// `adversarial` 80 whose selections are hard. `chunks` plans stages with several chunks (interleaved with 2 or 4, or ZB-V as 0): `chunks`,
// the plan and its lower bound, and `equal`, as many layers in every chunk, of which all take the first option that fits everywhere.
//
// A layer holds 14 h + 4 f bytes a token (6 f where gated), 14 h if the feed-forward block's inner part is computed again, 2 h if all is;
// the embeddings 2 h, the head its logits in float32 too. Units of 32 MiB, 18 bytes a parameter, 16 micro-batches, GB = 2^30.
#include <ballast/core/random.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/staging.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <span>
#include <vector>

namespace {

struct problem {
  std::vector<ballast::stage_layer> layers;
  std::vector<std::int64_t> capacity;
  std::vector<std::uint64_t> in_flight;
  [[nodiscard]] ballast::staging_options options() const {
    return {.stages = capacity.size(), .capacity = capacity, .in_flight = in_flight};
  }
};

problem vision_language(benchmark::State const& state) {
  auto const tiles = state.range(0), text = state.range(1), tensor = state.range(2), stages = state.range(3), gigabytes = state.range(4);
  constexpr std::int64_t unit = std::int64_t{1} << 25, per_microsecond = 400'000'000;
  auto const& m = ballast::vision_language_preset("internvl-chat-1.5");
  auto const tokens = tiles * m.projector.tokens + text, patches = tiles * m.vision.tokens();
  auto const time = [&](std::int64_t flops) { return flops / tensor / per_microsecond; };
  auto const units = [&](std::int64_t bytes) { return (bytes / tensor + unit - 1) / unit; };
  auto const fixed = [&](std::int64_t flops, std::int64_t parameters, std::int64_t bytes) {
    return ballast::stage_layer{.time = 3 * time(flops), .state = units(18 * parameters), .options = {{.memory = units(bytes)}}};
  };
  auto const layer = [&](ballast::transformer const& t, std::int64_t flops, std::int64_t n) {
    auto const matrices = t.gated ? 3 : 2;
    return ballast::stage_layer{.time = 3 * time(flops),
                                .state = units(18 * ballast::layer_parameters(t, 0)),
                                .options = {{.memory = units((14 * t.hidden + 2 * matrices * t.ffn) * n)},
                                            {.memory = units(14 * t.hidden * n), .time = time(2 * (matrices - 1) * t.hidden * t.ffn * n)},
                                            {.memory = units(2 * t.hidden * n), .time = time(flops)}}};
  };
  auto const vision = ballast::layer_flops(m.vision.body, 0)(m.vision.tokens());
  auto const embedding = ballast::tile_flops(m.vision) - m.vision.body.layers * vision;
  problem p;
  p.layers.push_back(fixed(tiles * embedding, 3 * 14 * 14 * m.vision.body.hidden, 2 * m.vision.body.hidden * patches));
  p.layers.insert(p.layers.end(), 45, layer(m.vision.body, tiles * vision, patches));
  p.layers.push_back(fixed(tiles * ballast::tile_flops(m.projector), ballast::parameters(m.projector),
                           2 * m.projector.input * tiles * m.projector.tokens));
  p.layers.push_back(fixed(0, m.language.vocabulary * m.language.hidden, 2 * m.language.hidden * tokens));
  p.layers.insert(p.layers.end(), 48, layer(m.language, ballast::layer_flops(m.language, 0)(tokens), tokens));
  p.layers.push_back(fixed(ballast::head_flops_per_token(m.language) * tokens, m.language.vocabulary * m.language.hidden,
                           (2 * m.language.hidden + 4 * m.language.vocabulary) * tokens));
  p.capacity.assign(static_cast<std::size_t>(stages), gigabytes * (std::int64_t{1} << 30) / unit);
  p.in_flight = ballast::held_by_stage(ballast::one_f_one_b_schedule{}, static_cast<std::uint64_t>(stages), 16);
  return p;
}

/// CPU time of a call.
template <class Call>
double seconds(Call const& call) {
  auto const start = std::clock();
  call();
  return static_cast<double>(std::clock() - start) / static_cast<double>(CLOCKS_PER_SEC);
}

double milliseconds(ballast::joint_stages<> const& plan) {
  return plan.partition.status == ballast::status::feasible ? static_cast<double>(plan.partition.bottleneck.value) / 1000 : -1;
}

/// As many layers in every stage, and the best recompute in each.
ballast::joint_stages<> equal_count(problem const& p) {
  auto const n = p.layers.size(), stages = p.capacity.size();
  ballast::joint_stages<> out;
  for (std::size_t s = 0; s < stages; ++s) {
    auto const begin = (2 * s * n + stages) / (2 * stages), end = (2 * (s + 1) * n + stages) / (2 * stages);
    auto const own = ballast::plan_stages(
        std::span(p.layers).subspan(begin, end - begin),
        {.stages = 1, .capacity = std::span(p.capacity).subspan(s, 1), .in_flight = std::span(p.in_flight).subspan(s, 1)});
    out.partition.status = own.partition.status;
    if (own.partition.status != ballast::status::feasible) return out;
    out.partition.bottleneck.value = (std::max)(out.partition.bottleneck.value, own.partition.bottleneck.value);
  }
  return out;
}

void joint(benchmark::State& state) {
  auto const p = vision_language(state);
  auto const options = p.options();
  ballast::joint_stages<> plan;
  for (auto _ : state) plan = ballast::plan_stages(std::span(p.layers), options);
  auto const chain = ballast::fold_layers(p.layers);
  if (!check_stages(plan, chain, options).valid()) return state.SkipWithError("not a valid plan");
  std::optional<std::int64_t> least;
  auto const programme = seconds([&] { least = ballast::least_stage_bottleneck(chain, options); });
  auto const own = seconds([&] {
    for (int i = 0; i < 20; ++i) plan = ballast::plan_stages(std::span(p.layers), options);
  });
  if (least != (plan.partition.status == ballast::status::feasible ? std::optional(plan.partition.bottleneck.value) : std::nullopt))
    return state.SkipWithError("not the optimum");
  state.counters["programme_slower"] = programme / (own / 20);
  state.counters["joint_ms"] = milliseconds(plan);
  state.counters["sequential_ms"] = milliseconds(ballast::plan_stages_in_sequence(chain, options));
  state.counters["equal_ms"] = milliseconds(equal_count(p));
  auto all = p;
  for (auto& layer : all.layers) layer.options.erase(layer.options.begin(), layer.options.end() - 1);
  state.counters["full_ms"] = milliseconds(ballast::plan_stages_in_sequence(ballast::fold_layers(all.layers), options));
  std::vector<std::int64_t> const ample(p.capacity.size(), std::int64_t{1} << 56);
  auto unlimited = options;
  unlimited.capacity = ample;
  state.counters["unlimited_ms"] = milliseconds(ballast::plan_stages(chain, unlimited));
}

/// Ninety-six layers, each with bytes and times of its own: nothing folds.
void all_different(benchmark::State& state) {
  ballast::splitmix64 draw(96);
  auto const between = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(ballast::uniform_below(static_cast<std::uint64_t>(high - low + 1), draw));
  };
  problem p;
  std::int64_t bytes = 0;
  for (int i = 0; i < 96; ++i) {
    ballast::stage_layer layer;
    layer.time = between(20'000, 40'000);
    auto const kept = between(500'000'000, 900'000'000);
    auto const again = between(3'000, 9'000);
    layer.options = {{.memory = kept}, {.memory = kept / 2, .time = again / 3}, {.memory = kept / 14, .time = again}};
    bytes += kept;
    p.layers.push_back(layer);
  }
  p.in_flight = ballast::held_by_stage(ballast::one_f_one_b_schedule{}, 8, 16);
  p.capacity.assign(8, bytes / 8 * state.range(0) / 100 * 8);
  auto const options = p.options();
  ballast::joint_stages<> plan;
  for (auto _ : state) plan = ballast::plan_stages(std::span(p.layers), options);
  if (!check_stages(plan, ballast::fold_layers(p.layers), options).valid()) return state.SkipWithError("not a valid plan");
  state.counters["gap"] = plan.partition.bottleneck.gap();
  state.counters["sequential_over"] =
      static_cast<double>(ballast::plan_stages_in_sequence(ballast::fold_layers(p.layers), options).partition.bottleneck.value) /
      static_cast<double>(plan.partition.bottleneck.value);
}

/// Eighty layers, eight stages and three options, made to be hard: what an option saves is nearly proportional to what it costs, and part
/// of the transfers hide. `work` is what the call spent of `search_limits::work`, in millions.
void adversarial(benchmark::State& state) {
  ballast::splitmix64 draw(96);
  auto const between = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(ballast::uniform_below(static_cast<std::uint64_t>(high - low + 1), draw));
  };
  problem p;
  std::int64_t bytes = 0;
  for (int i = 0; i < 80; ++i) {
    auto const time = between(20'000, 40'000), kept = between(500'000, 900'000);
    p.layers.push_back({.time = time, .options = {{.memory = kept}}});
    auto& options = p.layers.back().options;
    if (state.range(0) == 0) {
      options.push_back({.memory = kept / 2, .time = kept / 100 + between(0, 3)});
      options.push_back({.memory = kept / 20, .transfer = kept / 50 + between(0, 9)});
    } else {
      options.push_back({.memory = kept / 20, .time = kept / 100 + 5'000});
      options.push_back({.memory = kept / 2, .transfer = kept / 50});
    }
    bytes += kept;
  }
  p.in_flight = ballast::held_by_stage(ballast::one_f_one_b_schedule{}, 8, 16);
  p.capacity.assign(8, bytes / 100 * state.range(1));
  auto options = p.options();
  options.hidden_percent = state.range(2);
  ballast::joint_stages<> plan;
  for (auto _ : state) plan = ballast::plan_stages(std::span(p.layers), options);
  if (!check_stages(plan, ballast::fold_layers(p.layers), options).valid()) return state.SkipWithError("not a valid plan");
  state.counters["gap"] = plan.partition.bottleneck.gap();
  state.counters["work"] = static_cast<double>(plan.work) / 1e6;
}

/// Time of the slowest stage in ms if every chunk has as many layers, and all layers take the same option; -1 if that fits with none.
double equal_chunks(problem const& p, ballast::chunks_in_flight const& held) {
  auto const q = held.stage_of.size(), n = p.layers.size();
  for (std::size_t way = 0; way < 3; ++way) {
    std::vector<std::int64_t> time(p.capacity.size()), beside(time.size()), working(time.size());
    std::vector<std::vector<std::int64_t>> bytes(time.size());
    for (std::size_t k = 0; k < q; ++k) {
      auto const s = held.stage_of[k];
      bytes[s].push_back(0);
      for (auto i = (2 * k * n + q) / (2 * q); i < (2 * (k + 1) * n + q) / (2 * q); ++i) {
        auto const& layer = p.layers[i];
        auto const& taken = layer.options[(std::min)(way, layer.options.size() - 1)];
        time[s] += layer.time + taken.time;
        beside[s] += layer.state;
        working[s] = (std::max)(working[s], layer.working);
        bytes[s].back() += taken.memory;
      }
    }
    auto fits = true;
    for (std::size_t s = 0; s < time.size(); ++s)
      for (std::size_t at = 0; at < held.held[s].size(); at += bytes[s].size()) {
        auto sum = beside[s] + working[s];
        for (std::size_t c = 0; c < bytes[s].size(); ++c) sum += static_cast<std::int64_t>(held.held[s][at + c]) * bytes[s][c];
        fits = fits && sum <= p.capacity[s];
      }
    if (fits) return static_cast<double>(*std::max_element(time.begin(), time.end())) / 1000;
  }
  return -1;
}

void chunks(benchmark::State& state) {
  auto const p = vision_language(state);
  auto const count = static_cast<std::uint64_t>(state.range(5)), stages = static_cast<std::uint64_t>(state.range(3));
  auto const held = ballast::held_by_chunk(
      count == 0 ? ballast::any_schedule(ballast::zbv_schedule{}) : ballast::any_schedule(ballast::interleaved_schedule{.chunks = count}),
      stages, 16);
  ballast::chunk_options const options{.capacity = p.capacity};
  std::span<ballast::stage_layer const> const layers(p.layers);
  ballast::joint_stages<> plan;
  for (auto _ : state) plan = ballast::plan_chunks(layers, held, options);
  if (!check_chunks(plan, layers, held, options).valid()) return state.SkipWithError("not a valid plan");
  state.counters["chunks_ms"] = milliseconds(plan);
  state.counters["bound_ms"] = static_cast<double>(plan.partition.bottleneck.lower_bound) / 1000;
  state.counters["equal_ms"] = equal_chunks(p, held);
}

void tight(benchmark::internal::Benchmark* b) {
  b->ArgNames({"tiles", "text", "TP", "stages", "GB"});
  for (auto const& row : std::vector<std::vector<std::int64_t>>{{7, 512, 1, 8, 76},
                                                                {12, 512, 1, 8, 76},
                                                                {12, 2048, 1, 12, 72},
                                                                {24, 2048, 2, 8, 60},
                                                                {24, 4096, 2, 8, 56},
                                                                {36, 4096, 2, 8, 76},
                                                                {7, 512, 1, 16, 48},
                                                                {4, 4096, 1, 8, 76},
                                                                {1, 8192, 1, 8, 72},
                                                                {24, 512, 2, 4, 72}})
    b->Args(row);
}

BENCHMARK(all_different)->ArgName("percent_of_bytes")->Arg(30)->Arg(50)->Arg(70)->Unit(benchmark::kMillisecond);
BENCHMARK(adversarial)
    ->ArgNames({"kind", "percent_of_bytes", "hidden_percent"})
    ->ArgsProduct({{0, 1}, {15, 30, 50}, {0, 20, 40}})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(joint)->Apply(tight)->Unit(benchmark::kMillisecond);
BENCHMARK(chunks)
    ->ArgNames({"tiles", "text", "TP", "stages", "GB", "chunks"})
    ->ArgsProduct({{24}, {2048, 4096}, {2}, {8}, {60, 76}, {0, 2, 4}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
