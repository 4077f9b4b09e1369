// SPDX-License-Identifier: Apache-2.0
#include "figures.hpp"

#include <ballast/cost/presets.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/partition/min_max.hpp>
#include <ballast/pipeline/simulate.hpp>
#include <ballast/recompute/keep_tensors.hpp>
#include <ballast/staging.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <string>
#include <utility>

namespace figures {

namespace {

/// A vision-language model whose layers differ: vision, then language. Times in microseconds at 400 TFLOP/s.
std::vector<ballast::stage_layer> internvl(std::int64_t tiles, std::int64_t text) {
  auto const& model = ballast::vision_language_preset("internvl-chat-1.5");
  auto const tokens = tiles * model.projector.tokens + text;
  ballast::batch_shape const batch{.tokens = tokens, .squares = tokens * tokens, .tiles = tiles};
  return ballast::stage_layers_of(ballast::layers_of(model), batch, batch, {.work_per_ms = 400'000'000'000});
}

numbers stage_sums(std::span<std::int64_t const> costs, std::span<std::uint32_t const> boundaries) {
  numbers out;
  for (std::size_t s = 0; s + 1 < boundaries.size(); ++s)
    out.push_back(std::accumulate(costs.begin() + boundaries[s], costs.begin() + boundaries[s + 1], std::int64_t{0}));
  return out;
}

}  // namespace

void cost(writer& show) {
  for (auto const* name : {"qwen2.5-0.5b", "llama-3.1-8b", "qwen2.5-72b", "deepseek-v3"}) {
    auto const of = ballast::sample_cost(ballast::transformer_preset(name));
    numbers over;  // cost of a token over that of one that attends to nothing, in thousandths, at 2^10, 2^10.5 … 2^20 tokens
    for (int half = 20; half <= 40; ++half) {
      auto const length = half % 2 == 0 ? std::int64_t{1} << half / 2 : (std::int64_t{46341} << (half - 1) / 2) >> 15;
      over.push_back(static_cast<std::int64_t>(
          static_cast<double>(of(length)) * 1000 / static_cast<double>(of.per_token) / static_cast<double>(length) + 0.5));
    }
    show("cost." + std::string(name), over);
  }
}

void partition(writer& show) {
  auto const layers = internvl(4, 4096);
  numbers costs;
  for (auto const& l : layers) costs.push_back(l.time / 1000);
  std::vector<std::uint32_t> equal;
  for (std::uint32_t s = 0; s <= 8; ++s) equal.push_back((2 * s * static_cast<std::uint32_t>(costs.size()) + 8) / 16);
  auto const plan = ballast::min_max_partition(costs, {.stages = 8});
  show("partition.equal", stage_sums(costs, equal));
  show("partition.plan", stage_sums(costs, plan.boundaries));
  show("partition.bound", numbers{plan.bottleneck.lower_bound});
}

void recompute(writer& show) {
  // What a layer of llama-3.1-8b keeps of 8,192 tokens: bytes, and microseconds at 400 TFLOP/s to compute it again from what is before it.
  auto const& m = ballast::transformer_preset("llama-3.1-8b");
  constexpr std::int64_t n = 8192, layers = 32;
  auto const wide = m.query_heads * m.head_width, narrow = m.kv_heads * m.head_width;
  auto const product = [](std::int64_t in, std::int64_t out) { return 2 * n * in * out / 400'000'000; };
  auto const bytes = [](std::int64_t width) { return 2 * n * width; };
  std::vector<ballast::saved_tensor> const tensors{
      {bytes(m.hidden), 40, 0, layers},                               // after the first norm
      {bytes(wide), product(m.hidden, wide), 0, layers},              // queries
      {2 * bytes(narrow), 2 * product(m.hidden, narrow), 0, layers},  // keys and values
      {bytes(wide), 2 * n * n * wide / 400'000'000, 0, layers},       // attention
      {bytes(m.hidden), product(wide, m.hidden), 0, layers},          // after attention
      {bytes(m.hidden), 40, 0, layers},                               // after the second norm
      {bytes(m.ffn), product(m.hidden, m.ffn), 0, layers},            // gate
      {bytes(m.ffn), product(m.hidden, m.ffn), 0, layers},            // up
      {bytes(m.ffn), 120, 0, layers},                                 // their product
  };
  std::int64_t all = 0, time = 0;
  for (auto const& t : tensors) {
    all += t.bytes * layers;
    time += t.time * layers;
  }
  std::vector<numbers> rows;  // budget in thousandths of all bytes; microseconds of recomputation: whole layers, exact, bound
  for (std::int64_t kept = 0; kept <= layers; ++kept) {
    auto const plan = ballast::keep_tensors(tensors, all / layers * kept);
    rows.push_back({1000 * kept / layers, time / layers * (layers - kept), plan.time.value, plan.time.lower_bound});
  }
  show("recompute.budgets", rows);
  show("recompute.all", numbers{all, time});
}

void staging(writer& show) {
  constexpr std::uint64_t stages = 8;
  auto const layers = internvl(4, 4096);
  std::vector<std::int64_t> const capacity(stages, std::int64_t{76} << 30);
  auto const held = ballast::held_by_stage(ballast::one_f_one_b_schedule{}, stages, 16);
  ballast::staging_options const o{.stages = stages, .capacity = capacity, .in_flight = held};
  auto const chain = ballast::fold_layers(layers);
  auto const show_plan = [&](std::string const& name, ballast::joint_stages<> const& plan) {
    std::vector<numbers> rows;  // microseconds of forward and backward, microseconds of recomputation, MiB
    for (auto const& s : plan.figures) rows.push_back({s.time / 1000, s.added / 1000, s.memory >> 20});
    show("staging." + name, rows);
  };
  show_plan("in_sequence", ballast::plan_stages_in_sequence(chain, o));
  show_plan("joint", ballast::plan_stages(chain, o));
}

void pipeline(writer& show) {
  constexpr std::uint64_t stages = 4, micro_batches = 10;
  auto lengths = lengths_like("long-context-sft", micro_batches);
  for (auto& l : lengths) l = (std::max)(l / 256, std::int64_t{8});
  auto const run = [&](std::string const& name, numbers const& order) {
    auto const work = [&](std::uint64_t, std::uint64_t m) { return ballast::stage_work{.forward = order[m], .backward = 2 * order[m]}; };
    auto const t = ballast::simulate_pipeline(ballast::one_f_one_b_schedule{},
                                              {.stages = stages, .micro_batches = micro_batches, .events = true}, work);
    std::vector<numbers> tasks;  // stage, whether backward, micro-batch by length, begin, end
    auto const rank = [&](std::size_t m) { return std::ranges::count_if(order, [&](auto l) { return l < order[m]; }); };
    for (auto const& e : t.events)
      tasks.push_back({e.stage, e.pass == ballast::pipeline_pass::forward ? 0 : 1, rank(e.micro_batch), e.start, e.end});
    show("pipeline." + name, tasks);
    show("pipeline." + name + ".all", numbers{t.makespan.value, t.makespan.lower_bound, millionths(t.bubble(), 1)});
  };
  run("as_drawn", lengths);
  std::ranges::sort(lengths);  // small ones at both ends
  numbers hill;
  for (std::size_t i = 0; i < lengths.size(); i += 2) hill.push_back(lengths[i]);
  for (std::size_t i = lengths.size() - lengths.size() % 2; i-- > 0;)
    if (i % 2 == 1) hill.push_back(lengths[i]);
  run("ordered", hill);
}

}  // namespace figures
