// SPDX-License-Identifier: Apache-2.0
// Executes epochs of packs of several lengths: each step switches to the sequence-parallel degree of its level, and updates the weights.
// The weights stay those of unpacked training in the same order of steps.
#include "run_steps.hpp"

#include <ballast/levels.hpp>
#include <ballast/methods/hbp.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <vector>

using namespace execute;

namespace {

/// The gradient of a step: groups of `sp` ranks share packs, each rank a part of each sample; one all-reduce averages over all devices.
numbers run_level(transformer const& model, numbers const& p, samples const& data, packs_of_ranks const& packs, std::size_t sp,
                  exchange how) {
  auto const normaliser = ballast::loss_normaliser::token_mean();
  ballast::gradient_path const path{.ranks = static_cast<std::int64_t>(packs.size()), .context = static_cast<std::int64_t>(sp)};
  ballast::loss_totals all;
  for (auto const& of_group : packs)
    for (auto const& pack : of_group) all += ballast::loss_totals_of(counts_of(data, pack), normaliser);
  std::vector<numbers> gradient(packs.size() * sp, numbers(model.size()));
  rank_group run(model, how);
  for (std::size_t g = 0; g < packs.size(); ++g)
    for (auto const& pack : packs[g]) {
      auto const weights = ballast::loss_weights(counts_of(data, pack), all, normaliser, path);
      std::vector<rank_pass> passes;
      for (std::size_t r = 0; r < sp; ++r) {
        auto& pass = passes.emplace_back(rank_pass{.rank = g * sp + r, .at = {}, .group = {}});
        for (std::size_t i = 0; i < pack.size(); ++i) {
          auto const& tokens = data.tokens[pack[i]];
          for (auto t = r * tokens.size() / sp; t < (r + 1) * tokens.size() / sp; ++t) {
            pass.at.push_back(tokens[t]);
            pass.at.back().sample = static_cast<std::uint32_t>(i);
            pass.at.back().weight *= weights[i];
          }
        }
        pass.group.assign(pass.at.size(), 0);
      }
      (void)run.train(p, passes, gradient);
    }
  numbers out(model.size());
  for (auto const& each : gradient)
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += each[i] / static_cast<double>(gradient.size());
  return out;
}

void update(numbers& p, numbers const& gradient) {
  for (std::size_t i = 0; i < p.size(); ++i) p[i] -= 0.05 * gradient[i];
}

}  // namespace

int main() {
  transformer const model;
  outcome steps{.what = "steps of levels"}, epochs{.what = "weights after epochs"};
  std::size_t switches = 0;
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    ballast::splitmix64 draw(seed);
    auto const wide = static_cast<std::uint32_t>(2 + draw() % 4);  // also degrees that are no power of two
    std::vector<ballast::level> const levels{{.capacity = 16, .sp = 1}, {.capacity = 32, .sp = 2}, {.capacity = 48, .sp = 2 * wide}};
    auto const data = draw_samples(16, 48, model.vocabulary, seed);
    auto const plan = ballast::hbp::plan_training(
        data.lengths, levels, {.devices = 2ULL * wide * (1 + draw() % 2), .balanced = draw() % 2 == 0, .warm_up = 3, .seed = seed});
    auto const how = static_cast<exchange>(draw() % 3);
    auto p = model.initial(), expected = p;
    std::vector<int> times(data.lengths.size());
    for (std::size_t i = 0; i < plan.order.size(); ++i) {
      auto const at = plan.order.at(i);
      auto const packs = packs_of_step(plan.steps.steps[at.source], at.index);
      for (auto const& of_group : packs)
        for (auto const& pack : of_group)
          for (auto const sample : pack) ++times[sample];
      auto const gradient = run_level(model, p, data, packs, at.setting.sp, how);
      auto const right = by_formula(model, expected, data, packs, ballast::loss_normaliser::token_mean());
      steps.add(difference(gradient, by_formula(model, p, data, packs, ballast::loss_normaliser::token_mean())), true);
      update(p, gradient);
      update(expected, right);
    }
    switches += plan.order.switches();
    epochs.add(difference(p, expected), std::all_of(times.begin(), times.end(), [](int n) { return n == 1; }));
  }
  auto right = steps.print();
  right = epochs.print() && right;
  std::cout << switches << " changes of the degree\n";
  return right && switches > 0 ? 0 : 1;
}
