// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/check.hpp>
#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/pipeline_steps.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/packing/shuffled.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace test_batching_pipeline_steps {

// What all planners owe is in planners.cpp.

using namespace ballast_test;
using options = ballast::batching_options;

TEST_CASE("pipeline_steps: expensive micro-batches meet in few replicas, which run fewer of them", "[batching]") {
  ballast::splitmix64 draw(4);
  auto const lengths = random_lengths(3000, 4000, draw);
  ballast::quadratic_cost const attention{.linear = 0, .quadratic = 1};
  options const o{.capacity = 4096,
                  .ranks = 4,
                  .micro_batches = 4,
                  .synchronisation = ballast::synchronisation::pipeline,
                  .stages = 8,
                  .seed = 1,
                  .equal_micro_batches = false};
  auto const plan = ballast::pipeline_steps(lengths, o, attention);
  CHECK(ballast::describe(ballast::check_batching(plan, lengths, o, attention)) == "valid");
  auto const packs = ballast::best_fit_shuffled(lengths, {.capacity = o.capacity, .seed = 1}).packs;
  auto const dealt = ballast::deal_steps(packs, lengths, o, attention, {.how = ballast::dealing::random});
  CHECK(plan.slowest.value < dealt.slowest.value);
  // Of a step, the replica with the most expensive micro-batch has no more of them than the others have at most.
  std::size_t fewer = 0;
  for (std::size_t s = 0; s < plan.steps(); ++s) {
    std::int64_t largest = 0;
    std::size_t with_largest = 0, most = 0;
    for (std::size_t r = 0; r < plan.ranks; ++r) {
      std::size_t count = 0;
      for (auto const pack : plan.packs_of(s, r)) {
        ++count;
        std::int64_t cost = 0;
        for (auto const i : pack) cost += attention(lengths[i]);
        if (cost > largest) {
          largest = cost;
          with_largest = r;
        }
      }
      most = (std::max)(most, count);
    }
    auto const mine = plan.packs_of(s, with_largest);
    fewer += static_cast<std::size_t>(std::distance(mine.begin(), mine.end())) < most ? 1U : 0U;
  }
  CHECK(2 * fewer > plan.steps());
}

TEST_CASE("pipeline_steps: equal numbers of micro-batches cost no time and no step", "[batching]") {
  ballast::splitmix64 draw(6);
  for (std::uint64_t const each : {1U, 2U, 4U, 8U})
    for (bool const heavy : {false, true}) {
      auto lengths = random_lengths(2000, 900, draw);
      if (heavy)
        for (std::size_t i = 0; i < lengths.size(); i += 16) lengths[i] = 16000;  // each costs more than a replica's mean step
      options o{.capacity = 16384, .ranks = 4, .micro_batches = each, .stages = 4, .seed = each};
      o.synchronisation = ballast::synchronisation::pipeline;
      auto const cost = ballast::dense_4096_cost;
      auto const equal = ballast::pipeline_steps(lengths, o, cost);
      o.equal_micro_batches = false;
      auto const free = ballast::pipeline_steps(lengths, o, cost);
      CAPTURE(each, heavy, equal.slowest.value, free.slowest.value);
      CHECK(equal.steps() == free.steps());
      CHECK(equal.micro_batches <= free.micro_batches);
      CHECK(static_cast<double>(equal.slowest.value) <= (heavy ? 1.01 : 0.98) * static_cast<double>(free.slowest.value));
    }
}

TEST_CASE("pipeline_steps: fewer tokens a step where less fill is asked for, and refusals", "[batching]") {
  ballast::splitmix64 draw(9);
  auto const lengths = random_lengths(500, 900, draw);
  options const o{.capacity = 1000, .ranks = 2, .micro_batches = 4, .stages = 3};
  auto const steps = [&](std::uint32_t fill) { return ballast::pipeline_steps(lengths, o, ballast::token_cost{}, fill).steps(); };
  CHECK(steps(500) > steps(900));
  CHECK(refusal([&] { return steps(0); }) == "fill = 0 must be in 1 ... 1000");
  CHECK(refusal([&] { return steps(1001); }) == "fill = 1001 must be in 1 ... 1000");
}

}  // namespace test_batching_pipeline_steps
