// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/sharding/check.hpp>
#include <ballast/sharding/phase_shards.hpp>
#include <ballast/sharding/plan_shards.hpp>
#include <ballast/sharding/time_shards.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_sharding_phase_shards {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;
using numbers = std::vector<std::int64_t>;

namespace {

/// Samples of text, of which half have images and a quarter sound.
std::vector<numbers> batch(std::size_t count, splitmix64& draw) {
  std::vector<numbers> out(3);
  for (std::size_t i = 0; i < count; ++i) {
    auto const images = draw() % 2, sound = draw() % 4, long_text = draw() % 12;
    auto const patches = images == 0 ? 0 : between(16, 3000, draw);
    auto const frames = sound == 0 ? between(20, 1500, draw) : 0;
    auto const text = long_text == 0 ? between(2000, 9000, draw) : between(20, 900, draw);
    out[0].push_back(patches);
    out[1].push_back(frames);
    out[2].push_back(patches / 4 + frames / 2 + text);
  }
  return out;
}
std::vector<degree_cost> const costs{{.linear = 300000, .square = 3, .exchange = {0, 9000}},
                                     {.linear = 200000, .square = 10, .exchange = {0, 8000}},
                                     {.linear = 1000000, .square = 40, .exchange = {0, 20000}}};

/// The tokens of a phase that a rank holds without a right to them in the last phase, added up piece by piece from the definition.
double moved_by_definition(shards<> const& phase, shards<> const& last, numbers const& here, numbers const& there) {
  double sum = 0;
  for (std::size_t i = 0; i < here.size(); ++i)
    for (std::size_t r = 0; r < phase.ranks(); ++r) {
      auto const on = [&](shards<> const& plan) {
        std::int64_t tokens = 0;
        for (std::size_t m = 0; m < plan.passes(r); ++m)
          for (auto const& p : plan(r, m)) tokens += p.sample == i ? p.end - p.begin : 0;
        return static_cast<double>(tokens);
      };
      if (there[i] == 0) continue;
      sum += (std::max)(on(phase) - static_cast<double>(here[i]) * on(last) / static_cast<double>(there[i]), 0.0);
    }
  return sum;
}

}  // namespace

TEST_CASE("phase_shards: valid shards of every phase, never slower than samples that stay in place", "[property]") {
  splitmix64 draw(81);
  std::int64_t ours = 0, in_place = 0, moves[2] = {0, 0};
  auto compared = 0, stayed = 0;
  for (int round = 0; round < 120; round += ballast_test::round_step) {
    auto const lengths = batch(static_cast<std::size_t>(between(1, 90, draw)), draw);
    auto const ranks = static_cast<std::uint64_t>(between(1, 16, draw));
    std::vector<sharding_options> options(3, {.ranks = ranks});
    for (std::size_t p = 0; p < 3; ++p) {
      auto const longest = *std::max_element(lengths[p].begin(), lengths[p].end());
      options[p].capacity = (std::max)(longest / (draw() % 2 == 0 ? 1 : 2) + 1, between(500, 5000, draw));
      options[p].cost_per_pass = between(0, 300000, draw);
      options[p].execution = round % 3 == 0 ? execution::independent : round % 3 == 1 ? execution::mixed : execution::lockstep;
    }
    auto const plan = phase_shards(lengths, options, costs);
    CAPTURE(round, ranks, lengths[0].size());
    if (plan.status != status::feasible) {
      CHECK((plan.phases.empty() && ranks == 1));
      continue;
    }
    REQUIRE(plan.phases.size() == 3);
    std::int64_t time = 0, bound = 0;
    for (std::size_t p = 0; p < 3; ++p) {
      auto const& phase = plan.phases[p];
      INFO(p << ": "
             << describe(check_shards(phase, lengths[p], options[p], {.aligned = !detail::takes_any_size(options[p], lengths[p].size())})));
      CHECK(check_shards(phase, lengths[p], options[p], {.aligned = !detail::takes_any_size(options[p], lengths[p].size())}).valid());
      CHECK(phase.execution == options[p].execution);
      CHECK(phase.time.value == time_shards(phase, costs[p], options[p].cost_per_pass).makespan);
      for (auto const& held : phase.pieces) CHECK(lengths[p][held.sample] > 0);
      numbers present;
      std::vector<std::uint32_t> sample;
      for (std::uint32_t i = 0; i < lengths[p].size(); ++i) {
        if (lengths[p][i] == 0) continue;
        present.push_back(lengths[p][i]);
        sample.push_back(i);
      }
      auto alone = plan_shards(present, options[p], costs[p]);
      for (auto& held : alone.pieces) held.sample = sample[held.sample];
      CHECK((phase.time.value <= alone.time.value && phase.time.lower_bound == alone.time.lower_bound));
      auto const not_renamed = moved_by_definition(alone, plan.phases[2], lengths[p], lengths[2]);
      CHECK(static_cast<double>(plan.moved[p]) <= not_renamed + 0.001);
      moves[0] += plan.moved[p];
      moves[1] += static_cast<std::int64_t>(not_renamed);
      auto const moved = static_cast<double>(plan.moved[p]);
      auto const expected = moved_by_definition(phase, plan.phases[2], lengths[p], lengths[2]);
      CHECK((moved <= expected + 0.001 && expected - moved <= static_cast<double>(phase.pieces.size())));  // whole tokens
      time += phase.time.value;
      bound += phase.time.lower_bound;
    }
    CHECK(plan.time == certificate{time, bound});
    CHECK(bound <= time);
    CHECK(plan.moved[2] == 0);
    auto const again = phase_shards(lengths, options, costs);
    for (std::size_t p = 0; p < 3; ++p) CHECK(hash(again.phases[p]) == hash(plan.phases[p]));

    // All phases on the ranks of the language model.
    if (options[0].execution == execution::lockstep) continue;
    auto placed = true;
    auto stay = plan.phases[2].time.value;
    for (std::size_t p = 0; p < 2; ++p) {
      auto const like = shards_like(plan.phases[2], lengths[p], options[p]);
      placed = placed && like.status == status::feasible;
      if (like.status != status::feasible) continue;
      CHECK(check_shards(like, lengths[p], options[p], {.aligned = !detail::takes_any_size(options[p], lengths[p].size())}).valid());
      CHECK(moved_by_definition(like, plan.phases[2], lengths[p], lengths[2]) <= static_cast<double>(like.pieces.size()));
      stay += time_shards(like, costs[p], options[p].cost_per_pass).makespan;
    }
    CHECK(plan.time_in_place == (placed ? stay : -1));
    if (!placed) continue;
    CHECK(time <= stay);
    ours += time;
    in_place += stay;
    ++compared;
    stayed += plan.moved[0] + plan.moved[1] == 0;
  }
  CAPTURE(ours, in_place, compared, stayed);
  CHECK(compared > 0);
  CHECK(100 * ours < 97 * in_place);
  CAPTURE(moves[0], moves[1]);
  CHECK(10 * moves[0] < 9 * moves[1]);
}

TEST_CASE("phase_shards: images go to ranks that have none") {
  // Two long texts and two images with few words. With the long texts alone on their ranks, both images would be on the third.
  std::vector<numbers> const lengths{{0, 0, 1000, 1000}, {4000, 4000, 400, 400}};
  std::vector<sharding_options> const options{{.capacity = 2000, .ranks = 3}, {.capacity = 4000, .ranks = 3}};
  auto const one = [](std::int64_t length, std::int64_t ranks) { return length / ranks + (ranks > 1 ? length : 0); };
  auto const plan = phase_shards(lengths, options, std::array{one, one});
  CHECK(plan.time == certificate{5000, plan.time.lower_bound});
  CHECK(plan.time_in_place == 6000);
  CHECK(plan.moved == numbers{1000, 0});
}

TEST_CASE("phase_shards: a phase alone, none of the samples, and what has no room") {
  sharding_options const o{.capacity = 1000, .ranks = 4};
  auto const cost = costs[2];
  numbers const lengths{900, 3000, 10};
  auto const alone = phase_shards(std::array{lengths}, std::array{o}, std::array{cost});
  CHECK(hash(alone.phases[0]) == hash(plan_shards(lengths, o, cost)));
  CHECK((alone.time_in_place == alone.time.value && alone.moved == numbers{0}));
  auto const silent = phase_shards(std::vector{numbers{0, 0, 0}, lengths}, std::array{o, o}, std::array{cost, cost});
  CHECK((silent.time == alone.time && silent.phases[0].pieces.empty()));
  auto const too_long = phase_shards(std::vector{numbers{4001, 0, 0}, lengths}, std::array{o, o}, std::array{cost, cost});
  CHECK((too_long.status == status::infeasible && too_long.phases.empty() && too_long.moved.empty()));
  auto const only_images = phase_shards(std::vector{numbers{50, 0}, numbers{0, 70}}, std::array{o, o}, std::array{cost, cost});
  CHECK((only_images.status == status::feasible && only_images.time_in_place == -1 && only_images.moved == numbers{0, 0}));
}

TEST_CASE("phase_shards: refuses bad input") {
  sharding_options const o{.capacity = 1000, .ranks = 4}, wide{.capacity = 1000, .ranks = 5};
  auto const plan = [&](std::vector<numbers> const& lengths, std::vector<sharding_options> const& options) {
    return phase_shards(lengths, options, std::vector(options.size(), costs[0]));
  };
  CHECK(refusal([&] { return plan({}, {}); }) == "there are 0 phases of lengths, 0 of options and 0 of costs");
  CHECK(refusal([&] { return plan({{1}, {1}}, {o}); }) == "there are 2 phases of lengths, 1 of options and 1 of costs");
  CHECK(refusal([&] { return plan({{1, 2}, {1}}, {o, o}); }) == "phase 0 has other samples or ranks than the last one");
  CHECK(refusal([&] { return plan({{1}, {1}}, {o, wide}); }) == "phase 0 has other samples or ranks than the last one");
  CHECK(refusal([&] { return plan({{1, -3}, {1, 1}}, {o, o}); }) == "lengths[1] = -3 must not be negative");
  auto const leader = plan_shards(numbers{5}, o, costs[0]);
  sharding_options const waits{.capacity = 10, .ranks = 4, .execution = execution::lockstep};
  CHECK(refusal([&] { return shards_like(leader, numbers{5}, waits); }) ==
        "execution = lockstep: ranks would have different numbers of passes");
  CHECK(shards_like(leader, numbers{5}, wide).status == status::unknown);
}

}  // namespace test_sharding_phase_shards
