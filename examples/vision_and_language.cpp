// SPDX-License-Identifier: Apache-2.0
// A vision-language model whose ranks wait for each other after the vision tower and after the language model. The steps of an epoch are
// balanced in both phases; then one step is planned phase by phase, if the tokens may go to other ranks in between. At last the step has
// four micro-batches whose ranks wait for each other, and the language part of a sample may wait for a later one.
#include <ballast/balance/defer_phases.hpp>
#include <ballast/batching/phase_steps.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/sharding/phase_shards.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <ranges>
#include <vector>

int main() {
  constexpr std::int64_t us_of_patch = 8, us_of_token = 10, ps = 1'000'000;  // in a microsecond
  std::vector<std::int64_t> patches, tokens;                                 // from your data set: every second sample has an image
  for (std::int64_t i = 0; i < 600; ++i) {
    patches.push_back(i % 2 == 0 ? 0 : 256 * (1 + i % 7));
    tokens.push_back(60 + i * 37 % 900 + patches.back() / 4);
  }
  auto const costs = [&](std::int64_t sample) {
    auto const i = static_cast<std::size_t>(sample);
    return std::array{us_of_patch * patches[i], us_of_token * tokens[i]};
  };
  auto const plan = ballast::phase_steps(tokens, {.capacity = 8192, .ranks = 8}, costs);
  std::cout << plan.steps() << " steps take " << plan.time.value << " us, at least " << plan.time.lower_bound << "; " << plan.time_of_sums
            << " us if only the sums are balanced\n";

  std::array<std::vector<std::int64_t>, 2> lengths;  // of the first step
  for (std::size_t rank = 0; rank < 8; ++rank)
    for (auto const pack : plan.packs_of(0, rank))
      for (auto const i : pack) {
        lengths[0].push_back(patches[i]);
        lengths[1].push_back(tokens[i]);
      }
  ballast::sharding_options const shape{.capacity = 8192, .ranks = 8};
  std::array const phase_costs{ballast::degree_cost{.linear = ps * us_of_patch}, ballast::degree_cost{.linear = ps * us_of_token}};
  auto const apart = ballast::phase_shards(lengths, std::array{shape, shape}, phase_costs);
  std::cout << "one step takes " << apart.time.value / 1000 << " us if the tokens move between the phases, " << apart.time_in_place / 1000
            << " us if none does\n";

  auto const of_step = [&](std::int64_t us_of_first, std::int64_t us_of_second) {
    return [&, us_of_first, us_of_second](std::int64_t sample) {
      auto const i = static_cast<std::size_t>(sample);
      return std::array{us_of_first * lengths[0][i], us_of_second * lengths[1][i]};
    };
  };
  auto const samples = std::views::iota(std::int64_t{0}, static_cast<std::int64_t>(lengths[0].size()));
  auto const deferred = ballast::defer_phases(samples, {.ranks = 8, .micro_batches = 4, .capacity = {8192, 4096}},
                                              of_step(us_of_patch, us_of_token), of_step(1, 1));
  std::cout << "in four micro-batches it takes " << deferred.undeferred << " us, and " << deferred.time.value << " us if up to "
            << deferred.held << " tokens of a rank wait for a later one\n";
  return plan.time.value <= plan.time_of_sums && apart.time.value <= apart.time_in_place && deferred.time.value <= deferred.undeferred ? 0
                                                                                                                                       : 1;
}
