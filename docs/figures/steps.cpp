// SPDX-License-Identifier: Apache-2.0
#include "figures.hpp"

#include "planning/level_choice.hpp"
#include "planning/level_plan.hpp"
#include "planning/model_plan.hpp"

#include <ballast/batching/plan_steps.hpp>
#include <ballast/batching/step_randomness.hpp>
#include <ballast/core/classes.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/curriculum/plan_curriculum.hpp>
#include <ballast/plan/compare.hpp>
#include <ballast/plan/plan_data.hpp>

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <utility>

namespace figures {

namespace {

// ballast plan rollouts.txt --columns 1+2 --capacity 32768 --oversize truncate --ranks RANKS --micro-batches MICRO_BATCHES
ballast::data_plan_options shape_of(std::uint64_t ranks, std::uint64_t micro_batches = 1) {
  return {.steps = {.capacity = 32768, .ranks = ranks, .micro_batches = micro_batches}, .oversize = ballast::oversize::truncate};
}

}  // namespace

void batching(writer& show) {
  constexpr std::size_t ranks = 32;
  auto const lengths = lengths_like("reasoning-rollouts", 100000);
  auto const cost = ballast_cli::modelled_cost({});
  auto const options = shape_of(ranks);
  auto const plan = ballast::plan_data(lengths, options, cost);
  auto const compared = compare_with_usual(plan, options, cost.ms_per_unit);
  auto const show_plan = [&](std::string const& name, ballast::plan_figures const& f) {
    numbers slowest;             // over the mean rank, in thousandths
    std::vector<numbers> first;  // milliseconds of each rank in each of the first steps
    for (std::size_t s = 0; s < f.steps; ++s) {
      std::span const step(f.loads.data() + s * ranks, ranks);
      slowest.push_back(*std::ranges::max_element(step) * 1000 * static_cast<std::int64_t>(ranks) /
                        std::accumulate(step.begin(), step.end(), std::int64_t{0}));
      if (s >= 4) continue;
      first.emplace_back();
      for (auto const load : step) first.back().push_back(static_cast<std::int64_t>(static_cast<double>(load) * cost.ms_per_unit + 0.5));
    }
    show("batching." + name, slowest);
    show("batching." + name + ".first_ms", first);
    // share of waiting in millionths, seconds of an epoch, steps
    show("batching." + name + ".all",
         numbers{millionths(f.idle, 1), static_cast<std::int64_t>(f.modelled_total_ms / 1000 + 0.5), static_cast<std::int64_t>(f.steps)});
  };
  show_plan("naive", compared.naive);
  show_plan("usual", compared.usual);
  show_plan("plan", compared.planned);
}

void randomness(writer& show) {
  for (auto const& [name, capacity] : {std::pair{"chat-sft", 4096}, {"reasoning-rollouts", 32768}, {"long-context-sft", 131072}})
    for (std::uint64_t const ranks : {8U, 32U}) {
      auto lengths = lengths_like(name, 20000);
      for (auto& l : lengths) l = (std::min)(l, std::int64_t{capacity});
      std::vector<numbers> at;  // idle time in millionths, and the design effect over eight steps in thousandths
      for (auto const price : {0U, 5U, 20U, 50U, 1000U}) {
        auto const plan =
            ballast::plan_steps(lengths, {.capacity = capacity, .ranks = ranks, .time_for_randomness = price}, ballast::dense_4096_cost);
        at.push_back({millionths(1 - 1 / plan.slowest_over_mean(), 1),
                      static_cast<std::int64_t>(ballast::randomness_of(plan, lengths).design_effect_8)});
      }
      show("randomness." + std::string(name) + "." + std::to_string(ranks), at);
    }
}

void plan(writer& show) {
  auto const lengths = lengths_like("reasoning-rollouts", 20000);
  ballast_cli::model_on_device const on;
  std::vector<numbers> shares;  // ranks, stages, seconds of the epoch, then device-time in millionths
  for (std::uint64_t const stages : {1U, 2U, 4U, 8U}) {
    ballast_cli::model_request asked{.stages = stages, .memory = std::int64_t{72} << 30, .hidden = {}, .layers = {}};
    asked.setting.spread.zero = 1;
    asked.setting.loss = {.how = ballast::head_loss::kind::chunked, .chunks = 8};
    auto const options = [&] {
      auto o = shape_of(16 / stages, 16);
      o.steps.synchronisation = ballast::synchronisation::pipeline;
      o.steps.stages = stages;
      return o;
    }();
    auto input = ballast_cli::read_model(asked, on, options.steps);
    auto const data = ballast::plan_data(lengths, options, input.cost);
    auto const others = ballast::usual_batchings_of(data, options);
    auto const made = ballast_cli::plan_model(asked, on, std::move(input.model), data, others, "").runs.planned;
    auto const part = [&](std::int64_t time) { return millionths(made.shares.share(time), 1); };
    shares.push_back({static_cast<std::int64_t>(16 / stages), static_cast<std::int64_t>(stages), made.time.value / 1'000'000'000,
                      part(made.shares.work), part(made.shares.recompute), part(made.shares.bubble), part(made.shares.waiting),
                      part(made.shares.exchange + made.shares.optimizer)});
  }
  show("plan.shares", shares);
}

void levels(writer& show) {
  numbers lengths;  // conversations, and two samples in a thousand of 32K to 128K tokens
  ballast::splitmix64 draw(1);
  for (auto const l : lengths_like("chat-sft", 50000)) {
    auto const above = static_cast<std::int64_t>(ballast::uniform_below(131072 - 32768, draw));
    lengths.push_back(ballast::uniform_below(500, draw) == 0 ? 32768 + above : (std::min)(l, std::int64_t{32768}));
  }
  ballast_cli::level_request const request{.on = {}, .gpus = 32, .table = {}};
  ballast_cli::level_setup const on(request);
  auto const show_figures = [&](std::string const& name, ballast::level_figures const& f) {
    // seconds of the epoch in thousandths; shares of waiting and of tokens in packs of several GPUs in millionths
    show("levels." + name, numbers{millionths(f.seconds, 1000), millionths(f.idle, 1), millionths(f.communication_ratio, 1)});
  };
  auto const choice = ballast_cli::choose(ballast_cli::level_rule::exact, ballast::fold(lengths), 131072, 3, request, on);
  auto const made = ballast_cli::plan_choice(lengths, choice, {.devices = 32});
  std::vector<numbers> rows;  // capacity, GPUs, recomputed layers, tokens and device-milliseconds of each level
  for (std::size_t i = 0; i < choice.levels.size(); ++i) {
    auto const& [setting, time] = choice.levels[i];
    std::int64_t packs = 0, tokens = 0, squares = 0;
    for (auto p = made.packed.first_pack[i]; p < made.packed.first_pack[i + 1]; ++p, ++packs)
      for (auto const m : made.packed.packs[p]) {
        tokens += made.packed.lengths[m];
        squares += made.packed.lengths[m] * made.packed.lengths[m];
      }
    rows.push_back({setting.capacity, setting.sp, setting.recomputed_layers, tokens,
                    time(static_cast<std::uint64_t>(packs), tokens, squares) / 1'000'000});
  }
  show("levels.levels", rows);
  show_figures("plan", made.figures);
  show_figures("one_level", made.usual.one_level);
  show_figures("naive", made.usual.naive);
}

void curriculum(writer& show) {
  std::vector<ballast::curriculum_source> const sources{
      {.setting = {4096, 1, 0}, .steps = 240}, {.setting = {16384, 1, 28}, .steps = 48}, {.setting = {131072, 8, 28}, .steps = 24}};
  auto const show_order = [&](std::string const& name, ballast::curriculum_options const& o) {
    auto const source = ballast::plan_curriculum(sources, o).source;
    show("curriculum." + name, numbers(source.begin(), source.end()));
  };
  show_order("random", {.order = ballast::curriculum_order::random, .seed = 1});
  show_order("interleaved", {.warm_up = 40, .seed = 1});
}

}  // namespace figures
