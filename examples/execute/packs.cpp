// SPDX-License-Identifier: Apache-2.0
// Executes steps of packs under every loss preset: what reaches the optimiser is the gradient of the normaliser's own formula, and a pack
// is trained as its samples are, bit for bit. A run that goes on with another number of ranks trains every sample once.
#include "run_steps.hpp"

#include <ballast/loss.hpp>
#include <ballast/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

using namespace execute;

namespace {

constexpr auto cost = [](std::int64_t tokens) { return tokens * tokens + 20 * tokens; };

}  // namespace

int main() {
  transformer const model;
  auto const p = model.initial();
  auto right = true;
  std::size_t spoilt = 0, found = 0;
  for (auto preset : ballast::loss_presets) {
    preset.normaliser.length = 24;
    outcome of_preset{.what = "packs, " + std::string(preset.name)};
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      ballast::splitmix64 draw(seed);
      auto const data = draw_samples(8 + draw() % 16, 24, model.vocabulary, seed);
      ballast::batching_options const options{.capacity = 32 + static_cast<std::int64_t>(draw() % 16),
                                              .ranks = 1 + draw() % 5,
                                              .micro_batches = 1 + draw() % 3,
                                              .left_over = static_cast<ballast::left_over>(draw() % 3),
                                              .seed = seed};
      auto const plan = ballast::plan_steps(data.lengths, options, cost);
      for (std::size_t step = 0; step < plan.steps(); ++step) {
        auto packs = packs_of_step(plan, step);
        compare_step(of_preset, model, p, data, packs, preset);
        if (step > 0 || packs[0].empty() || packs[0][0].size() < 2) continue;
        ++spoilt;
        outcome wrong;
        packs[0][0].back() = packs[0][0].front();  // a sample twice in place of another
        compare_steps_apart(wrong, model, p, data, packs_of_step(plan, step), packs, preset);
        found += wrong.faults;
      }
    }
    right = of_preset.print() && right;
  }

  outcome resumed{.what = "runs that go on with other ranks"};
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    ballast::splitmix64 draw(seed);
    auto const data = draw_samples(40, 24, model.vocabulary, seed);
    auto preset = ballast::loss_preset_named("hf");
    ballast::run_options options{
        .data = {.steps = {.capacity = 40, .ranks = 1 + draw() % 5, .micro_batches = 1 + draw() % 2, .seed = seed}}, .epochs = 2};
    std::vector<std::uint64_t> state;
    std::vector<int> times(data.lengths.size());
    for (auto done = false; !done;) {
      ballast::training_run run(data.lengths, options, cost);
      if (!state.empty()) run.resume(ballast::run_state::from_words(state));
      for (auto left = 1 + draw() % 3; left > 0 && !run.done(); --left) {
        run.next();
        std::vector<std::vector<std::vector<std::uint32_t>>> packs(options.data.steps.ranks);
        for (std::size_t rank = 0; rank < packs.size(); ++rank)
          for (auto const pack : run.packs_of(rank)) {
            packs[rank].push_back({pack.begin(), pack.end()});
            for (auto const sample : pack) ++times[sample];
          }
        compare_step(resumed, model, p, data, packs, preset);
      }
      state = run.state().words();
      done = run.done();
      options.data.steps.ranks = 1 + draw() % 5;
    }
    resumed.faults += std::any_of(times.begin(), times.end(), [](int n) { return n != 2; });
  }
  right = resumed.print() && right;
  std::cout << "spoilt packs: " << found << " of " << spoilt << " found\n";
  return right && found == spoilt ? 0 : 1;
}
