// SPDX-License-Identifier: Apache-2.0
#include <ballast/sharding/bounds.hpp>
#include <ballast/sharding/fixed_groups.hpp>
#include <ballast/sharding/homogeneous.hpp>

#include "support/catch.hpp"
#include "support/exhaustive_shards.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"
#include "support/sound_shards.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_sharding_fixed_groups {

using ballast::execution;
using ballast::fixed_groups;
using ballast::sharding_options;
using ballast_test::between;
using ballast_test::flexsp_cost;

TEST_CASE("fixed_groups: every plan is valid, no rank changes its group, and none is slower than groups of one size", "[property]") {
  ballast::splitmix64 draw(7);
  auto const cost = flexsp_cost();
  for (int round = 0; round < 200; round += ballast_test::round_step) {
    auto const n = static_cast<std::size_t>(between(0, 150, draw));
    sharding_options o{.capacity = between(1000, 9000, draw), .ranks = static_cast<std::uint64_t>(between(1, 40, draw))};
    o.cost_per_pass = draw() % 3 == 0 ? 0 : between(0, 700000000, draw);
    o.execution = execution::independent;
    auto const lengths = ballast_test::random_lengths(n, o.capacity * static_cast<std::int64_t>((o.ranks + 1) / 2), draw);
    auto const plan = fixed_groups(lengths, o, cost);
    if (plan.status != ballast::status::feasible) continue;
    REQUIRE(ballast_test::sound_shards(plan, lengths, o, cost));
    CHECK(plan.time.lower_bound == shard_bounds(lengths, o, cost).lower());
    CHECK(plan.time.value <= homogeneous_shards(lengths, o, cost).time.value);
    std::vector<std::vector<std::uint32_t>> group(plan.ranks());
    for (auto const ranks : plan.rank_groups)
      for (auto const r : ranks) {
        std::vector<std::uint32_t> const mine(ranks.begin(), ranks.end());
        if (group[r].empty()) group[r] = mine;
        CHECK(group[r] == mine);
      }
  }
}

/// The least time on fixed groups of 4 ranks: every way to divide them, every sample to every group, as few passes as hold a group's.
std::int64_t optimum(std::vector<std::int64_t> const& lengths, sharding_options const& o, ballast::degree_cost const& cost) {
  auto const sets = std::size_t{1} << lengths.size();
  auto const best_of = [&](std::int64_t width) {  // time of each set on one group
    std::vector<std::int64_t> tokens(sets, 0), time(sets, 0);
    std::vector<int> passes(sets, 100);
    passes[0] = 0;
    for (std::size_t set = 1; set < sets; ++set) {
      for (std::size_t i = 0; i < lengths.size(); ++i)
        if ((set >> i & 1) != 0) {
          tokens[set] += lengths[i];
          time[set] += cost(lengths[i], width);
        }
      for (auto part = set; part != 0; part = (part - 1) & set)
        if (tokens[part] <= o.capacity * width) passes[set] = std::min(passes[set], passes[set ^ part] + 1);
    }
    for (std::size_t set = 0; set < sets; ++set)
      time[set] = passes[set] >= 100 ? ballast_test::exhaustive_times::never : time[set] + passes[set] * o.cost_per_pass;
    return time;
  };
  auto const one = best_of(1), two = best_of(2), four = best_of(4);
  auto const both = [&](std::vector<std::int64_t> const& a, std::vector<std::int64_t> const& b) {  // of each set on two sides
    std::vector<std::int64_t> out(sets, ballast_test::exhaustive_times::never);
    for (std::size_t set = 0; set < sets; ++set)
      for (auto part = set;; part = (part - 1) & set) {
        out[set] = std::min(out[set], std::max(a[part], b[set ^ part]));
        if (part == 0) break;
      }
    return out;
  };
  auto const ones = both(one, one);
  auto half = two;
  for (std::size_t set = 0; set < sets; ++set) half[set] = std::min(half[set], ones[set]);
  return std::min(four[sets - 1], both(half, half)[sets - 1]);
}

TEST_CASE("fixed_groups: near the optimum of four ranks and up to six samples", "[property]") {
  ballast::splitmix64 draw(8);
  double sum = 0, worst = 0;
  int optimal = 0, count = 0;
  for (int round = 0; round < 200; round += ballast_test::round_step) {
    auto batch = ballast_test::random_tiny_batch(draw);
    if (batch.lengths.size() > 6) batch.lengths.resize(6);
    auto const plan = fixed_groups(batch.lengths, batch.options, batch.cost);
    if (plan.status != ballast::status::feasible) continue;
    auto const best = optimum(batch.lengths, batch.options, batch.cost);
    REQUIRE(plan.time.value >= best);
    REQUIRE(plan.time.lower_bound <= best);
    auto const ratio = static_cast<double>(plan.time.value) / static_cast<double>(best);
    sum += ratio;
    worst = std::max(worst, ratio);
    optimal += plan.time.value == best;
    ++count;
  }
  CAPTURE(sum / count, worst, optimal, count);
  CHECK(worst <= 1.3);
  if (ballast_test::round_step > 1) return;  // too few rounds for a mean
  CHECK(sum <= 1.01 * count);
  CHECK(5 * optimal >= 4 * count);
}

TEST_CASE("fixed_groups: no samples, no room, and misuse") {
  auto const cost = flexsp_cost();
  CHECK(fixed_groups(std::vector<int>{}, {.capacity = 10, .ranks = 4}, cost).ranks() == 4);
  CHECK(fixed_groups(std::vector<int>{41}, {.capacity = 10, .ranks = 4}, cost).status == ballast::status::infeasible);
  CHECK(ballast_test::refusal([&] { return fixed_groups(std::vector<int>{1}, {.capacity = 0, .ranks = 4}, cost); }) ==
        "capacity = 0 must be positive");
}

}  // namespace test_sharding_fixed_groups
