// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/plan.hpp>

#include "plan.hpp"
#include "stages.hpp"

#include <optional>
#include <span>

namespace plan_hashes {

using namespace ballast;

inline void put(digest& d, batch_shape const& s) { put(d, s.tokens, s.squares, s.tiles); }
inline void put(digest& d, batch_cost const& c) { put(d, c.per_token, c.per_square, c.per_tile); }
inline void put(digest& d, layer_option const& o) { put(d, o.recomputed, o.bytes, o.work); }
inline void put(digest& d, layer_traffic const& t) {
  put(d, t.what, t.how, t.over.ranks, t.over.stride, t.when, t.bytes, t.bytes_of_batch, t.calls);
}
inline void put(digest& d, layer const& l) {
  put(d, l.forward, l.backward, l.state, l.apart, l.updated, l.options, l.working, l.buffers, l.boundary, l.exchanges);
}
inline void put(digest& d, layer_rates const& r) {
  put(d, r.work_per_ms, r.units_per_byte, r.link_bytes_per_ms, r.stage_devices, r.memory_bytes_per_ms);
}
inline void put(digest& d, memory_shortage const& s) { put(d, s.stage, s.needed, s.budget); }
inline void put(digest& d, time_shares const& s) { put(d, s.work, s.recompute, s.exchange, s.optimizer, s.bubble, s.waiting); }
inline void put(digest& d, stage_memory const& m) { put(d, m.state, m.activations, m.budget); }
inline void put(digest& d, stage_work const& w) {
  put(d, w.forward, w.backward, w.weight, w.recompute, w.transfer, w.kept, w.recomputed, w.residue);
}
inline void put(digest& d, training_plan const& r) {
  put(d, r.status, r.shortage, r.mean, r.largest, r.stages, r.in_flight, r.steps, r.time, r.shares, r.memory, r.slowest_step,
      r.slowest_rank, r.timeline);
}

namespace {

void of_runs() {
  for (auto const& c : data_cases()) {
    if (std::ranges::empty(c.lengths)) continue;
    run_options o{.data = {.steps = {.capacity = c.capacity, .ranks = 4, .micro_batches = 2, .seed = 3}, .oversize = oversize::truncate},
                  .epochs = 2};
    training_run const plain(c.lengths, o, square);
    o.order = run_order{.key = step_key::cost, .buckets = 3};
    training_run run(c.lengths, o, square);
    show("training_run", c.name, plain.hash(), plain.steps(), run.hash(), run.steps());
    for (auto left = run.plan().steps.steps() / 2 + 1; left > 0 && !run.done(); --left) run.next();
    o.data.steps.ranks = 3;
    training_run fewer(c.lengths, o, square);
    fewer.resume(run.state());
    show("training_run", std::string(c.name) + ",resumed", fewer.hash(), fewer.steps());
  }
}

void of_data() {
  auto const model = transformer_preset("qwen2.5-7b");
  std::vector<lengths_case> cases = data_cases();
  cases.push_back({"above", long_tailed(600, 9000, 131), 2048});
  for (auto const& c : cases) {
    auto const name = std::string(c.name);
    std::pair<std::string, data_plan_options> const variants[] = {
        {"set_aside", {.steps = {.capacity = c.capacity, .ranks = 4}, .oversize = oversize::set_aside}},
        {"truncate",
         {.steps = {.capacity = c.capacity, .ranks = 4, .micro_batches = 3, .left_over = left_over::shorten},
          .oversize = oversize::truncate}},
        {"split",
         {.steps = {.capacity = c.capacity, .ranks = 2, .micro_batches = 2, .left_over = left_over::drop, .seed = 3, .least_fill = 900},
          .oversize = oversize::split}},
        {"repeat",
         {.steps = {.capacity = c.capacity, .ranks = 8, .left_over = left_over::repeat, .epoch = 2}, .oversize = oversize::set_aside}},
        {"limited", {.steps = {.capacity = c.capacity, .ranks = 4, .seed = 5}, .oversize = oversize::split, .max_samples = 4}}};
    for (auto const& [what, o] : variants) {
      auto const data = plan_data(c.lengths, o, square);
      auto const of = name + ',' + what;
      show_data("", of, data, o);
      show_data("", of + ",model", plan_data(c.lengths, o, model), o);
      if (!data.samples.set_aside.empty()) continue;
      auto const samples = weigh(data.samples.tokens, o.steps, square);
      show("run_lower_bound", of, steps_lower_bound(samples, o.steps));
      show("figures_of", of, figures_of(data.steps, samples, o.steps, 0.001));
      show("limits_of", of, report_balance(data.steps, samples, o.steps));
      show("shapes_of", of, shapes_of(data.steps.packs, std::span<std::int64_t const>(data.samples.tokens)));
    }
  }
}

void of_training() {
  auto const model = transformer_preset("qwen2.5-7b");
  auto const lengths = long_tailed(500, 8192, 132);
  model_setting const by{.spread = {.tensor = 2, .data = 4, .sequence_parallel = true, .zero = 1}};
  auto const layers = layers_of(model, by);
  auto const rates = rates_of({}, 8);
  show("run_model_of", "qwen2.5-7b", layers, rates);
  data_plan_options const options{.steps = {.capacity = 8192, .ranks = 4, .micro_batches = 8, .left_over = left_over::shorten}};
  auto const data = plan_data(lengths, options, model);
  show_data("", "whole_run", data, options);
  auto const packs = shapes_of(data.steps.packs, std::span<std::int64_t const>(data.samples.tokens));
  for (auto const* const schedule : {"1f1b", "gpipe", "zb1p", "zb2p"})
    for (std::int64_t const gigabytes : {10, 24, 40, 80}) {
      auto const name = std::string(schedule) + ',' + std::to_string(gigabytes);
      training_options const o{.stages = 4, .memory = gigabytes * 1'000'000'000, .schedule = schedule_named(schedule)};
      auto const run = plan_training(data, o, model, {}, by);
      show("plan_whole_run", name, run);
      show("plan_whole_run.works", name, run.works);
      show("plan_whole_run.layers", name, run.layers);
      show("plan_whole_run", name + ",packs", plan_training<std::uint32_t>(data.steps, packs, layers, o, rates));
      show("shortage_of", name, shortage_of(run.layers, run.in_flight, o.memory));
      if (run.status != status::feasible) continue;
      std::vector<layer_kind> kinds(run.layers.size(), layer_kind::decoder);
      kinds.front() = layer_kind::embedding;
      kinds.back() = layer_kind::loss;
      auto const& cut = run.stages.partition.boundaries;
      show("megatron_layout", name, megatron_layout(std::span<std::uint32_t const>(cut), kinds).value_or("none"));
      numbers const capacity(4, o.memory);
      staging_options const asked{.stages = 4, .capacity = capacity, .in_flight = run.in_flight};
      auto const nearest = nearest_megatron_recompute<std::uint32_t>(run.layers, kinds, run.stages, asked, {.selective = 1U, .full = 2U});
      show("nearest_megatron_recompute", name, nearest.status, in_shell(*megatron_recompute_flags(nearest.setting)), nearest.bottleneck);
    }
}

/// Image tiles and tokens, for a vision-language model.
void of_images() {
  auto const& model = vision_language_preset("llava-1.5-7b");
  splitmix64 draw(133);
  numbers tiles, tokens;
  for (int i = 0; i < 700; ++i) {
    tiles.push_back(i % 4 == 0 ? 0 : between(1, 4, draw));
    tokens.push_back(576 * tiles.back() + between(1, 900, draw));
  }
  model_setting const by{.spread = {.tensor = 2, .data = 4, .zero = 1}, .vision = {.what = trained::none}};
  std::pair<std::string, data_plan_options> const variants[] = {
      {"measures", {.steps = {.capacity = 4096, .ranks = 4}, .others = {5}}},
      {"measures,set_aside",
       {.steps = {.capacity = 2800, .ranks = 4, .micro_batches = 2, .left_over = left_over::shorten, .cost_per_micro_batch = 1000},
        .oversize = oversize::set_aside,
        .others = {3}}},
      {"measures,pipeline",
       {.steps = {.capacity = 4096, .ranks = 4, .micro_batches = 8, .synchronisation = synchronisation::pipeline, .stages = 2},
        .others = {5}}},
      {"measures,limited", {.steps = {.capacity = 4096, .ranks = 4}, .others = {5}, .max_samples = 2}}};
  for (auto const& [name, o] : variants) {
    auto const data = plan_data(sample_measures{tiles, tokens}, o, model, by);
    show_data("", name, data, o);
    show("plan_whole_run", name, plan_training(data, {.stages = 2, .memory = 80'000'000'000}, model, {}, by));
  }
}

}  // namespace

void plan() {
  of_data();
  of_runs();
  of_training();
  of_images();
}

}  // namespace plan_hashes
