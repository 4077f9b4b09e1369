// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/check.hpp>
#include <ballast/batching/phase_steps.hpp>
#include <ballast/batching/plan_steps.hpp>
#include <ballast/core/random.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace test_batching_phase_steps {

using namespace ballast;
using ballast_test::between;
using ballast_test::random_lengths;
using ballast_test::refusal;
using numbers = std::vector<std::int64_t>;

namespace {

/// Costs of a sample that follow from its length, so that `check_batching` can ask for their sum, but not in proportion to it.
numbers costs_of(std::int64_t length, std::size_t phases) {
  splitmix64 draw(static_cast<std::uint64_t>(length));
  numbers out(phases, 0);
  for (auto& c : out) {
    auto const zero = draw() % 3 == 0;
    auto const factor = between(1, 8, draw);
    c = zero ? 0 : factor * length;
  }
  out.back() += 2 * length;
  return out;
}
std::int64_t sum_of(numbers const& costs) { return std::accumulate(costs.begin(), costs.end(), std::int64_t{0}); }

/// The time of a plan, from its definition.
std::int64_t time_of(batching<> const& plan, numbers const& lengths, batching_options const& o, std::size_t phases) {
  std::int64_t time = 0;
  auto const rows = o.synchronisation == synchronisation::per_micro_batch ? plan.micro_batches : 1;
  for (std::size_t s = 0; s < plan.steps(); ++s) {
    time += o.cost_per_step;
    for (std::uint64_t row = 0; row < rows; ++row)
      for (std::size_t p = 0; p < phases; ++p) {
        std::int64_t slowest = 0;
        for (std::size_t r = 0; r < plan.ranks; ++r) {
          std::int64_t mine = 0;
          for (std::size_t m = 0; m < plan.micro_batches; ++m) {
            auto const pack = plan.at(s, r, m);
            if (pack == plan.none || (rows != 1 && m != row)) continue;
            if (p + 1 == phases) mine += o.cost_per_micro_batch;
            for (auto const i : plan.packs[pack]) mine += costs_of(lengths[i], phases)[p];
          }
          slowest = (std::max)(slowest, mine);
        }
        time += slowest;
      }
  }
  return time;
}

/// The samples of a step, or of one of its micro-batches, ascending.
std::vector<std::uint32_t> samples_of(batching<> const& plan, std::size_t s) {
  std::vector<std::uint32_t> out;
  for (auto const pack : plan.packs_of(s)) out.insert(out.end(), pack.begin(), pack.end());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

TEST_CASE("phase_steps: valid plans that never lose to plan_steps on the sums", "[property]") {
  splitmix64 draw(71);
  std::int64_t ours = 0, by_sums = 0, bound = 0;
  for (int round = 0; round < 120; round += ballast_test::round_step) {
    auto const phases = static_cast<std::size_t>(between(1, 4, draw));
    auto const fixed = round % 3 == 0;
    batching_options o{.capacity = between(100, 900, draw)};
    o.ranks = static_cast<std::uint64_t>(between(1, 9, draw));
    o.micro_batches = static_cast<std::uint64_t>(between(1, 4, draw));
    o.synchronisation = round % 2 == 0 ? synchronisation::per_step : synchronisation::per_micro_batch;
    o.left_over = static_cast<left_over>(draw() % 4);
    o.seed = draw();
    o.cost_per_micro_batch = fixed ? 500 : 0;
    o.cost_per_step = fixed ? 70 : 0;
    o.equal_micro_batches = draw() % 2 == 0;
    auto const lengths = random_lengths(static_cast<std::size_t>(between(1, 400, draw)), o.capacity / 2 + 1, draw);
    auto const of = [&](std::int64_t i) { return costs_of(lengths[static_cast<std::size_t>(i)], phases); };
    auto const sum = [&](std::int64_t length) { return sum_of(costs_of(length, phases)); };
    auto const plan = phase_steps(lengths, o, of);
    auto const usual = plan_steps(lengths, o, sum);
    INFO(round << ": " << describe(check_batching(plan, lengths, o, sum)));
    CHECK(check_batching(plan, lengths, o, sum).valid());
    CHECK(plan.phases == phases);
    CHECK(plan.time.value == time_of(plan, lengths, o, phases));
    CHECK(plan.time_of_sums == time_of(usual, lengths, o, phases));
    CHECK(plan.time.value <= plan.time_of_sums);
    CHECK(plan.time.lower_bound <= plan.time.value);
    if (phases == 1) CHECK(plan.time.value == plan.slowest.value);
    CHECK(plan.table == usual.table);
    CHECK((plan.dropped == usual.dropped && plan.repeated == usual.repeated));
    for (std::size_t s = 0; s < plan.steps(); ++s) CHECK(samples_of(plan, s) == samples_of(usual, s));
    CHECK(hash(phase_steps(lengths, o, of)) == hash(plan));
    ours += plan.time.value;
    by_sums += plan.time_of_sums;
    bound += plan.time.lower_bound;
  }
  CAPTURE(ours, by_sums, bound);
  CHECK(100 * ours < 97 * by_sums);
}

TEST_CASE("phase_steps: close to the optimum of steps with few samples", "[property]") {
  splitmix64 draw(72);
  auto optimal = 0, rounds = 0;
  std::int64_t ours = 0, best = 0;
  for (int round = 0; round < 150; round += ballast_test::round_step, ++rounds) {
    auto const ranks = static_cast<std::size_t>(between(2, 3, draw)), phases = static_cast<std::size_t>(between(2, 3, draw));
    auto const lengths = random_lengths(static_cast<std::size_t>(between(4, 8, draw)), 100, draw);
    auto const all = sum_of(lengths);
    batching_options const o{.capacity = (std::max)(std::int64_t{100}, all / static_cast<std::int64_t>(ranks)) + between(10, 80, draw),
                             .ranks = ranks};
    auto const of = [&](std::int64_t i) { return costs_of(lengths[static_cast<std::size_t>(i)], phases); };
    auto const plan = phase_steps(lengths, o, of);
    if (plan.steps() != 1) continue;
    auto least = (std::numeric_limits<std::int64_t>::max)();
    std::vector<numbers> load(ranks, numbers(phases, 0));
    numbers held(ranks, 0);
    std::function<void(std::size_t)> const go = [&](std::size_t i) {
      if (i == lengths.size()) {
        std::int64_t time = 0;
        for (std::size_t p = 0; p < phases; ++p) {
          std::int64_t slowest = 0;
          for (auto const& l : load) slowest = (std::max)(slowest, l[p]);
          time += slowest;
        }
        if (std::find(held.begin(), held.end(), 0) == held.end()) least = (std::min)(least, time);
        return;
      }
      auto const c = costs_of(lengths[i], phases);
      for (std::size_t r = 0; r < ranks; ++r) {
        if (held[r] + lengths[i] > o.capacity) continue;
        held[r] += lengths[i];
        for (std::size_t p = 0; p < phases; ++p) load[r][p] += c[p];
        go(i + 1);
        held[r] -= lengths[i];
        for (std::size_t p = 0; p < phases; ++p) load[r][p] -= c[p];
      }
    };
    go(0);
    CHECK(plan.time.lower_bound <= least);
    CHECK(least <= plan.time.value);
    ours += plan.time.value;
    best += least;
    optimal += plan.time.value == least;
  }
  CAPTURE(optimal, rounds, ours, best);
  CHECK(1000 * ours <= 1010 * best);
  CHECK(4 * optimal >= 3 * rounds);
}

TEST_CASE("phase_steps: phases that the sum hides") {
  // Two samples of images, two of text, in one step: the sum is even however they are paired.
  std::vector<std::array<int, 2>> const costs{{10, 0}, {10, 0}, {0, 10}, {0, 10}};
  auto const of = [&](std::int64_t i) { return costs[static_cast<std::size_t>(i)]; };
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    auto const plan = phase_steps(numbers{5, 5, 5, 5}, {.capacity = 10, .ranks = 2, .seed = seed}, of);
    CHECK(plan.steps() == 1);
    CHECK(plan.time == certificate{20, 20});
    CHECK((plan.time_of_sums == 20 || plan.time_of_sums == 40));
  }
  auto const none = phase_steps(numbers{}, {.capacity = 10, .ranks = 2}, of);
  CHECK((none.steps() == 0 && none.time == certificate{0, 0} && none.phases == 0));
}

TEST_CASE("phase_steps: refuses bad input") {
  auto const of = [](std::int64_t i) { return numbers(static_cast<std::size_t>(i) + 1, i - 1); };
  auto const plan = [&](numbers const& lengths, batching_options const& o, auto const& costs) { return phase_steps(lengths, o, costs); };
  auto const one = [](std::int64_t) { return std::array{1}; };
  auto const zero = [](std::int64_t) { return std::array{0}; };
  CHECK(refusal([&] { return plan({1}, {.capacity = 5, .synchronisation = synchronisation::pipeline}, one); }) ==
        "synchronisation = pipeline: phases are barriers of ranks, so ask for per_step or per_micro_batch");
  CHECK(refusal([&] { return plan({1}, {}, one); }) == "capacity = 0 must be positive");
  CHECK(refusal([&] { return plan({6}, {.capacity = 5}, one); }) == "lengths[0] = 6 exceeds capacity 5");
  CHECK(refusal([&] { return plan({1}, {.capacity = 5}, of); }) == "costs of samples[0] = -1 must not be negative");
  CHECK(refusal([&] {
          return plan({1, 1}, {.capacity = 5}, [](std::int64_t i) { return numbers(static_cast<std::size_t>(i) + 1, 1); });
        }) == "sample 1 has 2 costs, not 1");
  CHECK(refusal([&] { return plan({1}, {.capacity = 5}, zero); }) ==
        "lengths[0] = 1 has cost 0, which is not positive or brings the sum of costs too near to 2^63; count costs in a larger unit");
}

}  // namespace test_batching_phase_steps
