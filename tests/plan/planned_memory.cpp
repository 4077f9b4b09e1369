// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/kernel_setting.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/plan/export/setting.hpp>
#include <ballast/plan/judge_setting.hpp>
#include <ballast/plan/memory_of.hpp>
#include <ballast/plan/search_degrees.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

// Plans for frameworks whose tensors are counted, beside what memory_of says of them.

namespace test_plan_planned_memory {

namespace {

using namespace ballast;
using ballast_test::between;
using ballast_test::round_step;

cluster const h100{};

/// A training with a few layers of a preset, and flags, cut and recomputation drawn at random.
struct drawn {
  transformer model;
  training_setting by;
};
drawn draw_training(std::uint64_t seed) {
  splitmix64 draw(seed);
  auto const one_of = [&](auto const& all) {
    return all[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(std::size(all)) - 1, draw))];
  };
  auto const likely = [&](std::int64_t in) { return between(1, in, draw) == 1; };
  constexpr char const* presets[] = {"llama-3.1-8b", "qwen3-30b-a3b", "deepseek-v3", "qwen2.5-0.5b", "gpt2-xl"};
  drawn out{.model = transformer_preset(one_of(presets)), .by = {}};
  auto& [model, by] = out;
  model.layers = between(6, 16, draw);
  if (model.experts > 64) model.experts = 64;
  if (likely(3)) model.mtp_layers = between(0, 1, draw);
  if (likely(6)) model.vocabulary = 0, model.mtp_layers = 0;
  auto& m = by.model;
  m.framework = framework_named(one_of(std::array{"megatron", "eager", "compiled"}));
  auto const tensor = one_of(std::array<std::int64_t, 2>{1, 2}), context = one_of(std::array<std::int64_t, 3>{1, 1, 2});
  m.spread = {.tensor = model.kv_heads % 2 == 0 && model.query_heads % 2 == 0 ? tensor : 1,
              .context = context,
              .data = context * one_of(std::array<std::int64_t, 3>{1, 2, 4}),
              .sequence_parallel = between(0, 1, draw) == 1,
              .zero = static_cast<int>(between(0, 3, draw))};
  if (m.spread.tensor == 1) m.spread.sequence_parallel = false;
  if (model.experts > 0 && m.spread.data % 2 == 0 && (m.spread.tensor == 1 || m.spread.sequence_parallel))
    m.expert = one_of(std::array{1, 2});
  if (likely(8)) m.moved = one_of(std::array{offload::optimizer, offload::parameters});
  if (likely(4)) m.language.what = trained::low_rank;
  if (likely(10)) m.language.what = trained::none;
  m.loss = {.how = static_cast<head_loss::kind>(between(0, 8, draw)), .chunks = between(1, 4, draw)};
  if (likely(4)) m.attention = attention_kernel::stored_scores;
  if (likely(3))
    m.recompute_modules = {recompute_module::core_attention, recompute_module::layernorm, recompute_module::mlp, recompute_module::moe};
  auto& k = m.kernels;
  for (auto* const flag : {&k.flash, &k.hidden_dropout, &k.attention_dropout, &k.grouped_gemm, &k.tensor_overlap, &k.expert_overlap,
                           &k.loader_mask, &k.dummy_gradients, &k.repeated_keys, &k.composed_activation, &k.adapter_dropout, &k.offload_all,
                           &k.step_in_backward, &k.stream_pools, &k.kept_copies})
    *flag = likely(5);
  k.engine = !likely(6);
  k.fused_activation = !likely(3);
  k.fp8 = likely(6);
  k.deferred = likely(4) ? between(1, 3, draw) : 0;
  k.value = likely(4) ? 4 : 2;
  k.local_gradient = likely(4) ? between(1, 4, draw) : 0;
  if (likely(4)) m.loss.share = between(1, 999, draw);
  if (likely(6)) model.outputs = between(1, 3, draw);
  for (auto const& of : offload_modules)
    if (likely(12)) k.moved.bits = static_cast<std::uint8_t>(k.moved.bits | offload_set{of.module}.bits);
  by.pipeline.stages = static_cast<std::uint64_t>(between(1, 4, draw));
  auto const chunks = static_cast<std::uint64_t>(
      between(1, (std::min)(std::int64_t{3}, model.layers / static_cast<std::int64_t>(by.pipeline.stages)), draw));
  constexpr char const* single[] = {"1f1b", "gpipe", "zb1p", "zb2p"};
  by.pipeline.schedule = chunks == 1                ? schedule_named(one_of(single))
                         : chunks == 2 && likely(2) ? schedule_named("zbv")
                                                    : schedule_named("interleaved", chunks);
  if (by.pipeline.stages == 1 && chunks == 1) by.pipeline.schedule = schedule_named("1f1b");
  by.sequence = 512 << between(0, 3, draw);
  by.micro_batch = between(1, 2, draw);
  by.micro_batches = between(1, 10, draw);
  by.recompute.what = static_cast<recompute_setting::kind>(between(0, 5, draw));
  if (by.recompute.what == recompute_setting::kind::modules) by.recompute.modules = {recompute_module::mlp};
  by.recompute.layers = between(1, 3, draw);
  if (likely(2)) {  // any cut with a layer in each chunk
    auto const cuts = by.pipeline.stages * chunks;
    std::vector<std::int64_t> of(static_cast<std::size_t>(cuts), 1);
    for (auto left = model.layers - static_cast<std::int64_t>(cuts); left > 0; --left)
      ++of[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(cuts) - 1, draw))];
    by.boundaries = cut_by_layers(model, of);
  }
  return out;
}

}  // namespace

TEST_CASE("planned memory: what is planned fits as memory_of counts it, and so does the setting that is exported", "[property]") {
  int planned = 0, refused = 0, in_units = 0;
  for (std::uint64_t seed = 0; seed < 300; seed += round_step) {
    CAPTURE(seed);
    auto [model, by] = draw_training(seed);
    auto const full = full_step_of(by);
    by.pipeline.memory = largest_of(memory_of(model, by)).peak();  // just enough for the drawn cut and recomputation, or any other number
    auto const exact = seed % 2 == 0;
    if (!exact) by.pipeline.memory = by.pipeline.memory / 64 * static_cast<std::int64_t>(32 + seed * 7 % 49);
    // nothing was judged, so this is the plan
    auto const plan = improve_setting<std::uint32_t>(full.steps, full.packs, model, by, h100, {});
    if (plan.status != status::feasible) {
      ++refused;
      if (by.chunks() == 1) CHECK(plan.shortage.needed > by.pipeline.memory);
      if (!exact) continue;
      // no plan has units of layers, or every second product
      CHECK((by.recompute.what == recompute_setting::kind::uniform || by.recompute.what == recompute_setting::kind::products));
      CHECK((by.recompute.what == recompute_setting::kind::products || by.recompute.layers > 1));
      ++in_units;
      continue;
    }
    ++planned;
    auto const stages = memory_of(plan, model, by);
    REQUIRE(stages.size() == plan.memory.size());
    for (std::size_t s = 0; s < stages.size(); ++s) {
      CHECK(stages[s].peak() <= by.pipeline.memory);
      CHECK(stages[s].peak() == plan.memory[s].bytes());
      CHECK(stages[s].states == plan.memory[s].state);
      CHECK(plan.memory[s].budget == by.pipeline.memory);
      CHECK(plan.stages.figures[s].memory == plan.memory[s].bytes());
    }
    REQUIRE(nearest_megatron_recompute(plan, model, by).status == status::feasible);
    auto const exported = setting_of(plan, model, by);
    CHECK(exported.boundaries == plan.stages.partition.boundaries);
    CHECK(judge_setting<std::uint32_t>(full.steps, full.packs, model, exported, h100).status == status::feasible);
  }
  CAPTURE(planned, refused, in_units);
  CHECK((round_step > 1 || (planned > 180 && refused > 20 && in_units < 10)));
}

TEST_CASE("planned memory: settings with nothing or all recomputed are never refused if they fit", "[property]") {
  for (std::uint64_t seed = 1000; seed < 1200; seed += round_step) {
    auto [model, by] = draw_training(seed);
    auto const full = full_step_of(by);
    for (auto const what : {recompute_setting::kind::none, recompute_setting::kind::uniform}) {
      by.recompute = {.what = what};
      by.pipeline.memory = largest_of(memory_of(model, by)).peak();
      CAPTURE(seed, static_cast<int>(what));
      CHECK(improve_setting<std::uint32_t>(full.steps, full.packs, model, by, h100, {}).status == status::feasible);
    }
  }
}

TEST_CASE("planned memory: no cut and no options that fit are faster than the bound", "[property]") {
  int proven = 0, slower = 0;
  for (std::uint64_t seed = 2000; seed < 2300; seed += round_step) {
    auto [model, by] = draw_training(seed);
    if (by.model.framework.count == tensor_count::table || by.pipeline.stages * by.chunks() > 4) continue;
    model.layers = (std::max)(static_cast<std::int64_t>(by.pipeline.stages * by.chunks()), std::int64_t{3});
    model.mtp_layers = 0;
    by.boundaries = {};
    by.recompute = {};
    auto const full = full_step_of(by);
    auto const kept = largest_of(memory_of(model, by)).peak();
    by.recompute.what = recompute_setting::kind::uniform;
    auto const least = largest_of(memory_of(model, by)).peak();
    by.pipeline.memory = least + (kept - least) / 16 * static_cast<std::int64_t>(seed % 17);
    auto const plan = improve_setting<std::uint32_t>(full.steps, full.packs, model, by, h100, {});
    REQUIRE(plan.status == status::feasible);
    CAPTURE(seed);
    auto other = plan;
    auto const n = plan.layers.size(), chunks = plan.stages.partition.boundaries.size() - 1;
    auto fastest = plan.stages.partition.bottleneck.value;
    auto& cuts = other.stages.partition.boundaries;
    auto& option = other.stages.option;
    auto const judge = [&] {
      std::vector<std::int64_t> time(static_cast<std::size_t>(by.pipeline.stages));
      for (std::size_t c = 0; c < chunks; ++c) {
        auto& of = time[std::visit([&](auto const& s) { return s.stage_of(c, time.size()); }, by.pipeline.schedule)];
        for (auto i = std::size_t{cuts[c]}; i < cuts[c + 1]; ++i) of += plan.layers[i].time + plan.layers[i].options[option[i]].time;
      }
      auto const slowest = *std::max_element(time.begin(), time.end());
      if (slowest < fastest && largest_of(memory_of(other, model, by)).peak() <= by.pipeline.memory) fastest = slowest;
    };
    for (auto subset = 0U; subset < 1U << (n - 1); ++subset) {  // bit i: layer i + 1 begins a chunk
      cuts.assign(1, 0);
      for (std::uint32_t i = 1; i < n; ++i)
        if ((subset >> (i - 1) & 1) != 0) cuts.push_back(i);
      cuts.push_back(static_cast<std::uint32_t>(n));
      if (cuts.size() != chunks + 1) continue;
      std::size_t i = 0;
      for (option.assign(n, 0); i < n;) {  // counts up through all options
        judge();
        for (i = 0; i < n && ++option[i] == plan.layers[i].options.size(); ++i) option[i] = 0;
      }
    }
    auto const& certified = plan.stages.partition.bottleneck;
    CHECK(certified.lower_bound <= fastest);
    proven += certified.optimal() ? 1 : 0;
    slower += fastest < certified.value ? 1 : 0;
  }
  CAPTURE(proven, slower);
  CHECK((round_step > 1 || (proven > 20 && slower > 5)));
}

TEST_CASE("planned memory: every setting that a search returns fits as memory_of counts it") {
  auto dense = transformer_preset("llama-3.1-8b"), experts = transformer_preset("qwen3-30b-a3b");
  dense.layers = experts.layers = 12;
  pack_sizes const packs{.mean = {.tokens = 4000, .squares = 4000 * 2000}, .largest = {.tokens = 4096, .squares = 4096 * 4096}};
  std::size_t ranked = 0, recomputing = 0;
  for (auto const* name : {"megatron", "eager", "compiled"})
    for (auto const* model : {&dense, &experts})
      for (auto const gib : {6, 12, 24}) {
        search_options const o{.gpus = 8,
                               .memory = std::int64_t{gib} << 30,
                               .sequence = 4096,
                               .global_batch = 16,
                               .zero = {1, 2, 3},
                               .schedules = {schedule_named("1f1b"), schedule_named("interleaved", 2), schedule_named("zbv")}};
        model_setting by{.framework = framework_named(name)};
        by.kernels.stream_pools = true;
        for (auto const& found : search_degrees(*model, packs, o, h100, by).ranked) {
          CAPTURE(std::string(name), gib, ranked);
          REQUIRE(found.plan.status == status::feasible);
          CHECK(largest_of(memory_of(found.plan, *model, found.setting)).peak() <= o.memory);
          CHECK(judge_setting(*model, setting_of(found.plan, *model, found.setting), h100).status == status::feasible);
          ++ranked;
          recomputing += found.plan.shares.recompute > 0 ? 1 : 0;
        }
      }
  CHECK(ranked > 60);
  CHECK(recomputing > 10);
}

TEST_CASE("planned memory: a plan for data fits, with a shortage that says what is missing") {
  auto const& model = transformer_preset("llama-3.1-8b");
  splitmix64 draw(3);
  auto const lengths = ballast_test::random_lengths(300, 4000, draw);
  data_plan_options const o{.steps = {.capacity = 8192, .ranks = 4, .micro_batches = 2, .seed = 3}};
  auto const data = plan_data(lengths, o, model);
  for (auto const* name : {"megatron", "eager"}) {
    training_setting by{
        .model = {.spread = {.tensor = 2, .data = 4, .sequence_parallel = true, .zero = 2}, .framework = framework_named(name)},
        .pipeline = {.stages = 4, .memory = 1'000'000'000},
        .micro_batches = 2};
    auto const none = plan_training(data, by.pipeline, model, h100, by.model);
    REQUIRE(none.status == status::infeasible);
    by.pipeline.memory = none.shortage.needed + (std::int64_t{1} << 28);  // what is beside the layers depends on the cut a little
    auto const plan = plan_training(data, by.pipeline, model, h100, by.model);
    REQUIRE(plan.status == status::feasible);
    CHECK(largest_of(memory_of(plan, model, by)).peak() <= by.pipeline.memory);
    by.pipeline.memory = none.shortage.needed - (std::int64_t{1} << 28);
    CHECK(plan_training(data, by.pipeline, model, h100, by.model).status == status::infeasible);
  }
}

}  // namespace test_plan_planned_memory
