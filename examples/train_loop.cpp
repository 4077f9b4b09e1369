// SPDX-License-Identifier: Apache-2.0
// Plans every epoch inside a training loop, each while the epoch before is trained. Every rank computes the same plan, so ranks do not
// communicate.
#include <ballast/core/random.hpp>
#include <ballast/layout.hpp>
#include <ballast/plan.hpp>

#include <chrono>
#include <cstdint>
#include <future>
#include <iostream>
#include <vector>

int main() {
  std::vector<std::int64_t> lengths;  // tokens of each sample of your data set; here drawn with a long tail
  ballast::splitmix64 draw(1);
  for (int i = 0; i < 20000; ++i) {
    auto const sample = draw();
    lengths.push_back(static_cast<std::int64_t>(64 + sample % 900 * (draw() % 16 == 0 ? 16 : 1)));
  }
  auto const cost = ballast::sample_cost(ballast::transformer_preset("llama-3.1-8b"));
  std::uint64_t const ranks = 16, my_rank = 3;  // from your launcher
  std::int64_t my_tokens = 0;
  double planning = 0, layout = 0;  // seconds
  auto const seconds_since = [](auto start) { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  auto const plan_epoch = [&](std::uint64_t epoch) {
    auto const start = std::chrono::steady_clock::now();
    auto plan = ballast::plan_steps(lengths, {.capacity = 16384, .ranks = ranks, .micro_batches = 2, .seed = 2026, .epoch = epoch}, cost);
    planning = seconds_since(start);
    return plan;
  };
  auto next = std::async(std::launch::async, plan_epoch, 0);
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    auto const plan = next.get();
    if (epoch == 0) next = std::async(std::launch::async, plan_epoch, epoch + 1);  // on another core, while this epoch is trained
    std::cout << "epoch " << epoch << ": " << plan.steps() << " steps; waiting makes them " << plan.slowest_over_mean()
              << " times as long as perfect balance would\n";
    for (std::size_t step = 0; step < plan.steps(); ++step) {
      auto const start = std::chrono::steady_clock::now();
      for (auto const samples : plan.packs_of(step, my_rank)) {
        ballast::packed_row<> const row(samples, lengths);
        my_tokens += row.cu_seqlens().back();  // forward(samples, row); backward();
      }
      layout += seconds_since(start);
      // optimiser.step();
    }
  }
  std::cout << "planning an epoch takes " << planning / (layout / 2) << " times as long as writing the rank's cu_seqlens and ids\n";
  std::cout << "rank " << my_rank << " trained on " << my_tokens << " tokens\n";

  auto const model = ballast::transformer_preset("llama-3.1-8b");
  ballast::data_plan_options const options{.steps = {.capacity = 16384, .ranks = ranks, .micro_batches = 2}};
  auto const compared = compare_with_usual(ballast::plan_data(lengths, options, model), options, model);
  std::cout << "idle: " << 100 * compared.usual.idle << " % when packs are dealt at random, " << 100 * compared.planned.idle << " % here\n";
  return compared.planned.idle < compared.usual.idle ? 0 : 1;
}
