// SPDX-License-Identifier: Apache-2.0
// Long-context fine-tuning on 32 GPUs. Packs have several lengths: short packs run on one GPU, long ones on up to eight, and each step has
// packs of one length.
#include <ballast/core/classes.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/sequence_parallel.hpp>
#include <ballast/levels/choose.hpp>
#include <ballast/levels/figures.hpp>
#include <ballast/methods/hbp.hpp>

#include <cstdint>
#include <iostream>
#include <vector>

int main() {
  std::vector<std::int64_t> lengths;  // tokens of each sample of your data set; here one in 500 is long
  ballast::splitmix64 draw(1);
  for (int i = 0; i < 100000; ++i) {
    auto const size = draw();
    auto const is_long = draw() % 500 == 0;
    lengths.push_back(static_cast<std::int64_t>(is_long ? 32769 + size % 98304 : 50 + size % 1500));
  }

  // Chooses pack lengths, SP degrees and recomputed layers by a cost model. If you have measured your own settings, use these instead.
  ballast::sequence_parallel_setup const run{.model = ballast::transformer_preset("llama-3.1-8b"), .devices = 32};
  auto const candidates =
      ballast::modelled_levels(run, std::vector<std::int64_t>{8192, 16384, 32768, 65536, 131072}, std::vector<std::uint32_t>{1, 2, 4, 8});
  auto const choice = ballast::choose_levels(ballast::fold(lengths), candidates, 3);
  std::vector<ballast::level> levels;
  std::vector<ballast::level_time> times;
  for (auto const& [setting, time] : choice.levels) {
    std::cout << "packs of " << setting.capacity << " tokens on " << setting.sp << " GPUs, " << setting.recomputed_layers
              << " layers recomputed\n";
    levels.push_back(setting);
    times.push_back(time);
  }

  auto const plan = ballast::hbp::plan_training(lengths, levels, {.devices = 32, .warm_up = 20});
  std::int64_t my_tokens = 0;
  for (std::size_t i = 0; i < plan.order.size(); ++i) {
    auto const step = plan.order.at(i);  // switch to the SP group and the recomputation of step.setting
    auto const& level = plan.steps.steps[step.source];
    auto const my_rank = 9 / step.setting.sp;  // the SP group of GPU 9
    for (auto const pack : level.packs_of(step.index, my_rank))
      for (auto const sample : pack) my_tokens += lengths[sample];  // forward and backward here
  }
  auto const ours = ballast::figures_of(plan.steps, plan.packed.lengths, times);
  auto const random = ballast::hbp::plan_training(lengths, levels, {.devices = 32, .balanced = false, .warm_up = 20});
  auto const theirs = ballast::figures_of(random.steps, random.packed.lengths, times);
  std::cout << plan.order.size() << " steps, " << plan.order.switches() << " changes of level; GPU 9 works on " << my_tokens
            << " tokens\nidle: " << 100 * theirs.idle << " % with random steps, " << 100 * ours.idle << " % here\n";
  return ours.idle < theirs.idle ? 0 : 1;
}
