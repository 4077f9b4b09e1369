// SPDX-License-Identifier: Apache-2.0
// Images and text in one data set: packs are limited in image tiles and in text tokens, and the ranks of a step are balanced in both.
// Compares the published method of OmniBal with `plan_steps`.
#include <ballast/batching/vector_steps.hpp>
#include <ballast/methods/omnibal.hpp>

#include <cstdint>
#include <iostream>
#include <vector>

int main() {
  std::vector<std::int64_t> tiles, tokens;  // two columns of your data set; the tokens of a sample include those of its tiles
  ballast::splitmix64 draw(1);
  for (int i = 0; i < 50000; ++i) {
    std::int64_t const counts[] = {1, 1, 1, 1, 3, 3, 4, 5};
    tiles.push_back(counts[draw() % 8]);
    auto const text = 20 + draw() % 160;
    tokens.push_back(256 * tiles.back() + static_cast<std::int64_t>(text * (draw() % 8 == 0 ? 6 : 1)));
  }
  auto const show = [](char const* name, ballast::certificate packs, std::size_t steps, double vision, double text) {
    std::cout << name << ": " << packs.value << " packs (no fewer than " << packs.lower_bound << "), " << steps
              << " steps; ranks are unequal by " << 100 * vision << " % in tiles and " << 100 * text << " % in tokens\n";
  };

  auto const paper = ballast::omnibal::plan_data(tiles, tokens);
  show("as published", paper.sets[0].packing.count, paper.steps.steps(), paper.distance[0], paper.distance[1]);

  std::uint64_t const ranks = 8, my_rank = 3;  // from your launcher
  auto const plan = ballast::plan_steps({tiles, tokens}, {.steps = {.capacity = 4096, .ranks = ranks, .seed = 2026}, .others = {9}});
  show("ballast", plan.pack_count, plan.steps(), plan.balance[0].mean_ratio, plan.balance[1].mean_ratio);

  std::int64_t my_tiles = 0, my_tokens = 0;
  for (std::size_t step = 0; step < plan.steps(); ++step)
    for (auto const pack : plan.packs_of(step, my_rank))
      for (auto const sample : pack) {  // forward(sample …); backward(); optimiser.step();
        my_tiles += tiles[sample];
        my_tokens += tokens[sample];
      }
  std::cout << "rank " << my_rank << " trained on " << my_tiles << " tiles and " << my_tokens << " tokens\n";

  // To balance time instead, weight the measures: here a tile takes as long in the vision encoder as 300 tokens in the language model.
  auto const timed =
      ballast::plan_steps({tiles, tokens}, {.steps = {.capacity = 4096, .ranks = ranks}, .others = {9}, .weights = {300, 1}});
  std::cout << "waiting makes the steps " << timed.slowest_over_mean() << " times as long as perfect balance would\n";
  return plan.balance[1].mean_ratio < paper.distance[1] ? 0 : 1;
}
