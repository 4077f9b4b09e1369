// SPDX-License-Identifier: Apache-2.0
// Executes steps of samples with several measures: image tiles and sound, each with a linear tower, in texts that a language model reads.
// Gradients of towers and language model are those of the samples one by one; loads by measure and by cost are those of the plan.
#include "run_towers.hpp"

#include <ballast/batching.hpp>
#include <ballast/methods/omnibal.hpp>
#include <ballast/packing.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace execute;

namespace {

/// How far two gradients are apart, over the largest entry of towers and of the language model.
double apart(tower_weights const& a, tower_weights const& b) {
  return std::max(difference(a.model, b.model), difference(a.towers, b.towers));
}

enum class wrong { nothing, order, dropped };  // how the pieces of a rank's first micro-batch are spoilt

/// What one step gave: the gradient over all ranks, and what each rank did.
struct step_run {
  tower_weights gradient;
  std::vector<work_done> done;
  bool spoilt = false;
};
step_run run_step(tower_model const& model, tower_weights const& w, tower_samples const& data, ballast::batching<> const& plan,
                  std::size_t step, bool packed, wrong how) {
  step_run out{.gradient = model.zeros(), .done = {}};
  std::int64_t learnt = 0;
  for (std::size_t rank = 0; rank < plan.ranks; ++rank)
    for (auto const pack : plan.packs_of(step, rank))
      for (auto const i : pack) learnt += data.text.learnt[i];
  auto const weight = 1 / static_cast<double>(std::max<std::int64_t>(1, learnt));
  for (std::size_t rank = 0; rank < plan.ranks; ++rank) {
    auto& done = out.done.emplace_back(model.kinds.size() + 2);
    auto gradient = model.zeros();
    for (auto const pack : plan.packs_of(step, rank)) {
      auto pieces = pieces_of(data, pack);
      if (how != wrong::nothing && !out.spoilt && pieces.size() > 1) {
        auto const other = std::find_if(pieces.begin(), pieces.end(), [&](piece const& p) {
          return how == wrong::dropped || (p.sample != pieces[0].sample && p.kind == pieces[0].kind);
        });
        out.spoilt = other != pieces.end();
        if (out.spoilt && how == wrong::order) std::swap(pieces[0], *other);
        if (out.spoilt && how == wrong::dropped) pieces.erase(other);
      }
      if (packed) {
        train_pack(model, w, data, pack, pieces, weight, gradient, done);
        continue;
      }
      for (auto const& sample : pack) train_pack(model, w, data, {&sample, 1}, pieces_of(data, {&sample, 1}), weight, gradient, done);
    }
    for (std::size_t i = 0; i < gradient.model.size(); ++i) out.gradient.model[i] += gradient.model[i];
    for (std::size_t i = 0; i < gradient.towers.size(); ++i) out.gradient.towers[i] += gradient.towers[i];
  }
  return out;
}

/// The gradient of the samples of a step in the order of their numbers, each by itself.
tower_weights unpacked(tower_model const& model, tower_weights const& w, tower_samples const& data, std::vector<std::uint32_t> samples) {
  std::sort(samples.begin(), samples.end());
  std::int64_t learnt = 0;
  for (auto const i : samples) learnt += data.text.learnt[i];
  auto out = model.zeros();
  work_done done(model.kinds.size() + 2);
  for (auto const& i : samples)
    train_with_towers(model, w, data.text.tokens[i], data.pieces[i], 1 / static_cast<double>(std::max<std::int64_t>(1, learnt)), out, done);
  return out;
}

struct found_faults {
  std::size_t spoilt = 0, found = 0;
};

/// Runs all steps of a plan. Returns what each rank did in each step: a list for each measure, and for the pairs of a query and a key.
std::vector<std::vector<std::int64_t>> compare_plan(outcome& to, tower_model const& model, tower_samples const& data,
                                                    ballast::batching<> const& plan, found_faults& faults) {
  auto const w = model.initial();
  std::vector<std::vector<std::int64_t>> loads(model.kinds.size() + 2);
  std::vector<std::size_t> times(data.pieces.size()), expected(data.pieces.size(), 1);
  for (auto const i : plan.dropped) expected[i] = 0;
  for (auto const i : plan.repeated) ++expected[i];
  for (std::size_t step = 0; step < plan.steps(); ++step) {
    std::vector<std::uint32_t> samples;
    for (std::size_t rank = 0; rank < plan.ranks; ++rank)
      for (auto const pack : plan.packs_of(step, rank)) samples.insert(samples.end(), pack.begin(), pack.end());
    for (auto const i : samples) ++times[i];
    auto const right = unpacked(model, w, data, samples);
    auto const run = run_step(model, w, data, plan, step, true, wrong::nothing);
    to.add(apart(run.gradient, right), run.gradient == run_step(model, w, data, plan, step, false, wrong::nothing).gradient);
    for (auto const& done : run.done)
      for (std::size_t m = 0; m < loads.size(); ++m) loads[m].push_back(done[m]);
    for (auto const how : {wrong::order, wrong::dropped}) {
      auto caught = true;
      try {
        auto const other = run_step(model, w, data, plan, step, true, how);
        if (!other.spoilt) continue;
        caught = !(apart(other.gradient, right) < 1e-12);
      } catch (std::exception const&) {  // a piece is missing
      }
      ++faults.spoilt;
      faults.found += caught;
    }
  }
  to.faults += times != expected;
  for (std::size_t m = 0; m < data.measures.size(); ++m) {
    std::int64_t all = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) all += data.measures[m][i] * static_cast<std::int64_t>(expected[i]);
    to.faults += std::accumulate(loads[m].begin(), loads[m].end(), std::int64_t{0}) != all;
  }
  return loads;
}

}  // namespace

int main() {
  auto const ranks_wait_as_planned = [](std::vector<std::int64_t> const& loads, ballast::step_balance const& planned) {
    return ballast::balance_of_steps(loads, planned.ranks) == planned;
  };
  outcome planned{.what = "plan_steps of several measures"}, balanced{.what = "balanced_steps"}, dealt{.what = "deal_steps"},
      published{.what = "omnibal::plan_data"};
  found_faults faults;
  std::size_t plans = 0;
  for (std::uint64_t seed = 0; seed < 70; ++seed) {
    ballast::splitmix64 draw(seed);
    tower_model model{.language = {}, .kinds = {{.values = 6, .rows = 2}}};
    if (seed % 3 == 0) model.kinds.push_back({.values = 3, .rows = 1});  // sound
    auto const data = draw_tower_samples(model, 20 + draw() % 20, seed);
    std::vector<std::span<std::int64_t const>> columns(data.measures.begin(), data.measures.end());
    ballast::sample_measures const samples(std::move(columns));
    ballast::vector_batching_options options{.steps = {.capacity = 24 + static_cast<std::int64_t>(draw() % 12),
                                                       .ranks = 1 + draw() % 7,
                                                       .micro_batches = 1 + draw() % 3,
                                                       .left_over = static_cast<ballast::left_over>(draw() % 4),
                                                       .seed = seed},
                                             .others = std::vector<std::int64_t>(model.kinds.size(), 4),
                                             .oversize = ballast::oversize::set_aside};
    // Pairs of a query and a key: what the language model's attention does.
    auto const pairs = [](std::span<std::int64_t const> measures) { return measures.back() * (measures.back() + 1) / 2; };
    auto const compare = [&](outcome& to, ballast::vector_batching<> const& plan) {
      auto loads = compare_plan(to, model, data, plan, faults);
      for (std::size_t m = 0; m < samples.measures(); ++m) to.faults += !ranks_wait_as_planned(loads[m], plan.balance[m]);
      to.faults += !ranks_wait_as_planned(loads.back(), plan.cost_balance);
      ++plans;
    };
    compare(balanced, ballast::balanced_steps(samples, options, pairs));
    options.exchange = seed % 2 == 0;
    if (seed % 4 == 1) options.separate = 0;
    compare(planned, ballast::plan_steps(samples, options, pairs));
    if (model.kinds.size() > 1) continue;
    options.separate.reset();
    auto packs = ballast::pack(samples, {.capacity = {options.others[0], options.steps.capacity}, .oversize = options.oversize}).packs;
    compare(dealt, ballast::deal_steps(std::move(packs), samples, options, pairs));
    auto const paper = ballast::omnibal::plan_data(
        data.measures[0], data.measures[1],
        {.limits = {.tiles = 4, .tokens = options.steps.capacity, .spare = 4}, .ranks = options.steps.ranks, .seed = seed});
    auto const loads = compare_plan(published, model, data, paper.steps, faults);
    for (std::size_t m = 0; m < 2; ++m)
      published.faults += std::abs(ballast::balance_of_steps(loads[m], paper.steps.ranks).mean_ratio - paper.distance[m]) > 1e-12;
    ++plans;
  }
  auto right = true;
  for (auto const* each : {&planned, &balanced, &dealt, &published}) right = each->print() && right;
  std::cout << plans << " plans of epochs; spoilt pieces: " << faults.found << " of " << faults.spoilt << " found\n";
  return right && faults.found == faults.spoilt && plans >= 200 ? 0 : 1;
}
