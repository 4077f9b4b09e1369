// SPDX-License-Identifier: Apache-2.0
#include <ballast/pipeline/bounds.hpp>
#include <ballast/pipeline/check.hpp>
#include <ballast/pipeline/search_order.hpp>
#include <ballast/pipeline/simulate.hpp>

#include "chained.hpp"
#include "support/progress_log.hpp"
#include "support/rounds.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

namespace test_pipeline_search_order {

using namespace ballast_test;
using namespace ballast;

namespace {

using numbers = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("search_order: ChunkFlow's example at once, and under two capacities") {
  auto const within = [&](numbers const& capacity) {
    return search_order(chunkflow_chains(), {.stages = 4, .capacity = capacity}, chunkflow_work);
  };
  auto const free = within({});
  CHECK(free.timeline.makespan == certificate{42, 42});
  CHECK(free.simulations == 1);
  CHECK(free.complete);
  CHECK(within({6, 6, 6, 6}).timeline.makespan.value == 50);  // as given: 52
  CHECK(within({4, 4, 4, 4}).timeline.makespan.value == 56);  // as given: 58
  auto const none = within({4, 4, 3, 2});
  CHECK(none.status == status::infeasible);
  CHECK(none.shortage == pipeline_shortage{.stage = 2, .chain = 2, .capacity = 3, .needed = 4});
  CHECK(none.order == pipeline_order{});
}

TEST_CASE("search_order: valid, within the capacity, and never worse with more simulations") {
  int better = 0, cases = 0;
  for (std::uint64_t seed = 0; seed < 200; seed += round_step) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto const count = 1 + uniform_below(20, generator), stages = 1 + uniform_below(5, generator);
    auto const work = random_works(stages, count, 99, generator);
    auto const chains = random_chains(count, 1 + uniform_below(6, generator), generator);
    list_options options{.stages = stages, .tie = static_cast<list_tie>(seed % 3), .events = true};
    if (seed % 2 == 0)
      for (auto const needed : bytes_needed(chains, stages, work))
        options.capacity.push_back(needed + static_cast<std::int64_t>(uniform_below(100, generator)));
    auto const listed = list_schedule(chains, options, work);
    auto const bound = pipeline_lower_bound(chains, stages, work);
    auto best = listed.timeline.makespan.value;
    for (std::uint64_t const simulations : {1U, 5U, 40U, 100U}) {
      auto const found = search_order(chains, options, work, {.simulations = simulations});
      REQUIRE(found.status == status::feasible);
      REQUIRE(found.complete);
      REQUIRE(found.simulations <= simulations);
      auto const& t = found.timeline;
      if (simulations == 1) {
        REQUIRE(found.order == listed.order);
        REQUIRE(t.events == listed.timeline.events);
      }
      REQUIRE(check_timeline(t, found.order.stage_of, count, work, chains).valid());
      REQUIRE(simulate_order(found.order, work, true).events == t.events);
      REQUIRE(t.makespan.value <= best);
      REQUIRE(makespan_bound{t.makespan.lower_bound, t.bound} == bound);
      REQUIRE((found.simulations == simulations || t.makespan.optimal()));
      for (std::size_t s = 0; s < options.capacity.size(); ++s) REQUIRE(t.stages[s].peak_memory <= options.capacity[s]);
      // What the result says leads to the same schedule.
      REQUIRE(list_schedule(found.order.chains, found.options, work).order == found.order);
      best = t.makespan.value;
    }
    better += best < listed.timeline.makespan.value ? 1 : 0;
    ++cases;
  }
  CHECK(2 * better > cases);
}

TEST_CASE("search_order: often the least makespan of all orders") {
  int optimal = 0, cases = 0;
  for (std::uint64_t seed = 0; seed < 200; seed += round_step) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto const count = 2 + uniform_below(3, generator), stages = 2 + uniform_below(2, generator);
    auto const work = random_works(stages, count, 20, generator);
    auto const chains = random_chains(count, 3, generator);
    auto const value = search_order(chains, {.stages = stages}, work, {.simulations = 200}).timeline.makespan.value;
    least_chained_makespan const least(chains, stages, work, value);
    if (!least.complete()) continue;
    REQUIRE(least.value() <= value);
    optimal += least.value() == value ? 1 : 0;
    ++cases;
  }
  CHECK(2 * cases > 200 / round_step);
  if (round_step == 1) CHECK(10 * optimal > 8 * cases);  // a share of few rounds says nothing
}

TEST_CASE("search_order: a requested stop ends the search after the given order") {
  auto const stop = std::make_unique<std::stop_source>();  // on the heap: g++ 12 warns of one on the stack at -Og
  stop->request_stop();
  splitmix64 generator(3);
  auto const work = random_works(4, 30, 99, generator);
  auto const chains = random_chains(30, 4, generator);
  auto const found = search_order(chains, {.stages = 4}, work, {.stop = stop->get_token()});
  CHECK(!found.complete);
  CHECK(found.simulations == 1);
  CHECK(found.order == list_schedule(chains, {.stages = 4}, work).order);
  ballast_test::progress_log told;
  auto const searched = search_order(chains, {.stages = 4}, work, {.progress = told});
  CHECK(searched.order == search_order(chains, {.stages = 4}, work).order);
  CHECK((told.sound && told.calls > 4 && told.last <= searched.simulations));
  CHECK(search_order(chunkflow_chains(), {.stages = 4}, chunkflow_work, {.stop = stop->get_token()}).complete);  // proven at once
}

TEST_CASE("search_order: refuses what is no search") {
  CHECK(refusal([&] { return search_order(chunkflow_chains(), {.stages = 4}, chunkflow_work, {.simulations = 0}); }) ==
        "simulations must be at least 1");
  CHECK(refusal([&] { return search_order(chunkflow_chains(), {.stages = 0}, chunkflow_work); }) == "stages = 0 must be in 1 ... 2^32 - 1");
}

}  // namespace test_pipeline_search_order
