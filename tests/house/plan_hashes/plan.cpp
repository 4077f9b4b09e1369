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
inline void put(digest& d, run_option const& o) { put(d, o.level, o.bytes, o.work); }
inline void put(digest& d, run_layer const& l) { put(d, l.forward, l.backward, l.state, l.options, l.boundary); }
inline void put(digest& d, run_model const& m) { put(d, m.layers, m.work_per_ms, m.units_per_byte, m.link_bytes_per_ms); }
inline void put(digest& d, run_shortage const& s) { put(d, s.stage, s.needed, s.budget); }
inline void put(digest& d, run_shares const& s) { put(d, s.work, s.recompute, s.bubble, s.waiting); }
inline void put(digest& d, run_memory const& m) { put(d, m.state, m.activations, m.budget); }
inline void put(digest& d, stage_work const& w) {
  put(d, w.forward, w.backward, w.weight, w.recompute, w.transfer, w.kept, w.recomputed, w.residue);
}
inline void put(digest& d, whole_run const& r) {
  put(d, r.status, r.shortage, r.mean, r.largest, r.model, r.in_flight, r.steps, r.time, r.shares, r.memory, r.slowest_step, r.slowest_rank,
      r.timeline);
}

namespace {

constexpr quadratic_cost square{.linear = 100, .quadratic = 1};

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
         {.steps = {.capacity = c.capacity, .ranks = 8, .left_over = left_over::repeat, .epoch = 2}, .oversize = oversize::set_aside}}};
    for (auto const& [what, o] : variants) {
      auto const data = plan_data(c.lengths, o, square, 0.001);
      auto const of = name + ',' + what;
      show_data("", of, data);
      show_data("", of + ",model", plan_data(c.lengths, o, model));
      if (!data.set_aside.empty()) continue;
      show("run_lower_bound", of, run_lower_bound(data.tokens, o.steps, square));
      show("figures_of", of, figures_of(data.steps, data.tokens, o.steps, 0.001, square));
      show("limits_of", of, limits_of(data.steps, data.tokens, o.steps, square));
      show("shapes_of", of, shapes_of(data.steps.packs, std::span<std::int64_t const>(data.tokens)));
    }
  }
}

void of_a_run() {
  auto const model = transformer_preset("qwen2.5-7b");
  auto const lengths = long_tailed(500, 8192, 132);
  parallelism const spread{.tensor = 2, .data = 4, .sequence_parallel = true, .zero = 1};
  auto const in_numbers = run_model_of(model, {}, spread);
  show("run_model_of", "qwen2.5-7b", in_numbers);
  auto const data =
      plan_data(lengths, {.steps = {.capacity = 8192, .ranks = 4, .micro_batches = 8, .left_over = left_over::shorten}}, model);
  show_data("", "whole_run", data);
  auto const packs = shapes_of(data.steps.packs, std::span<std::int64_t const>(data.tokens));
  for (auto const* const schedule : {"1f1b", "gpipe", "zb1p", "zb2p"})
    for (std::int64_t const gigabytes : {10, 24, 40, 80}) {
      auto const name = std::string(schedule) + ',' + std::to_string(gigabytes);
      whole_run_options const o{.stages = 4, .memory = gigabytes * 1'000'000'000, .schedule = schedule_named(schedule)};
      auto const run = plan_whole_run(data, model, {}, spread, o);
      show("plan_whole_run", name, run);
      show("plan_whole_run.works", name, run.works);
      show("plan_whole_run.layers", name, run.layers);
      show("plan_whole_run", name + ",packs", plan_whole_run(data.steps, packs, in_numbers, o));
      show("shortage_of", name, shortage_of(run.layers, run.in_flight, o.memory));
      if (run.status != status::feasible) continue;
      std::vector<layer_kind> kinds(run.layers.size(), layer_kind::decoder);
      kinds.front() = layer_kind::embedding;
      kinds.back() = layer_kind::loss;
      auto const& cut = run.model.plan.boundaries;
      show("megatron_layout", name, megatron_layout(std::span<std::uint32_t const>(cut), kinds).value_or("none"));
      numbers const capacity(4, o.memory);
      staging_options const asked{.stages = 4, .capacity = capacity, .in_flight = run.in_flight};
      auto const nearest = nearest_megatron_recompute<std::uint32_t>(run.layers, kinds, run.model, asked, {.selective = 1U, .full = 2U});
      show("nearest_megatron_recompute", name, nearest.status, nearest.flags, nearest.bottleneck);
    }
}

}  // namespace

void plan() {
  of_data();
  of_a_run();
}

}  // namespace plan_hashes
