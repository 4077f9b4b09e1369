// SPDX-License-Identifier: Apache-2.0
#include <ballast/pipeline/bounds.hpp>
#include <ballast/pipeline/list_schedule.hpp>

#include "chained.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_pipeline_bounds {

using namespace ballast_test;
using ballast::makespan_bound;
using ballast::pipeline_bound;
using ballast::pipeline_lower_bound;

namespace {

using stages = std::vector<std::uint32_t>;
using chains = ballast::groups<std::uint32_t>;

/// The work of a stage, between the shortest forwards before and the shortest backwards after the first micro-batches of chains.
std::int64_t simple_bound(chains const& c, std::size_t depth, works const& work) {
  std::int64_t best = 0;
  for (std::size_t s = 0; s < depth; ++s) {
    std::int64_t all = 0, before = std::int64_t{1} << 60, after = before;
    for (std::size_t g = 0; g < c.size(); ++g) {
      std::int64_t there = 0, back = 0;
      for (std::size_t k = 0; k < s; ++k) {
        auto const w = work(k, c[g][0]);
        there += w.forward + w.transfer;
        back += w.recompute + w.backward + w.weight + w.transfer;
      }
      before = (std::min)(before, there);
      after = (std::min)(after, back);
      for (auto m : c[g]) all += work(s, m).forward + work(s, m).recompute + work(s, m).backward + work(s, m).weight;
    }
    best = (std::max)(best, before + all + after);
  }
  return best;
}

}  // namespace

TEST_CASE("pipeline_lower_bound: each argument where it is the stronger") {
  auto const even = [](auto, auto) { return ballast::stage_work{.forward = 1, .backward = 1, .weight = 1, .recompute = 0, .transfer = 5}; };
  CHECK(pipeline_lower_bound(stages{0, 1, 2}, 1, false, even) == makespan_bound{29, pipeline_bound::busiest_stage});  // both arguments
  CHECK(pipeline_lower_bound(stages{0, 1, 2}, 1, true, even) ==
        makespan_bound{27, pipeline_bound::busiest_stage});  // one weight part is last
  CHECK(pipeline_lower_bound(stages{0, 1, 2}, 10, false, even) == makespan_bound{11 + 30 + 1 + 11 + 3, pipeline_bound::busiest_stage});
  CHECK(pipeline_lower_bound(stages{0, 0, 0}, 10, false, even) == makespan_bound{90, pipeline_bound::busiest_stage});
  auto const heavy = [](auto, std::uint64_t m) { return ballast::stage_work{.forward = m == 1 ? 50 : 1, .recompute = m == 1 ? 10 : 0}; };
  CHECK(pipeline_lower_bound(stages{0, 1}, 3, false, heavy) == makespan_bound{120, pipeline_bound::longest_path});
}

TEST_CASE("pipeline_lower_bound: never above the least makespan of all orders, and now and then it") {
  int tight = 0, cases = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 generator(seed);
    auto const split = seed % 3 == 0;
    auto const placed = seed % 4 == 0 ? stages{0, 1, 1, 0} : seed % 4 == 1 ? stages{0, 1, 2} : stages{0, 1};
    auto const micros = placed.size() > 2 || split ? 2U : 3U;
    if (placed.size() > 2 && split) continue;
    auto const work = random_works(placed.size(), micros, 9, generator);
    auto const bound = pipeline_lower_bound(placed, micros, split, work);
    auto const least = least_makespan(placed, work, split).value();
    REQUIRE(bound.time <= least);
    tight += bound.time == least ? 1 : 0;
    ++cases;
  }
  CHECK(cases > 90);
  CHECK(5 * tight > cases);
}

TEST_CASE("pipeline_lower_bound of chains: 42 where ChunkFlow publishes 46") {
  CHECK(pipeline_lower_bound(chunkflow_chains(), 4, chunkflow_work) == makespan_bound{42, pipeline_bound::busiest_stage});
  auto const one = chains_of({{0, 1, 2}});
  auto const even = [](auto, auto) { return ballast::stage_work{.forward = 1, .backward = 2, .transfer = 3}; };
  CHECK(pipeline_lower_bound(one, 3, even) == makespan_bound{(2 + 3) * 1 + (2 + 3) * 2 + 4 * 3, pipeline_bound::longest_path});
}

TEST_CASE("pipeline_lower_bound of chains: never above the least makespan of all orders, and often it") {
  int tight = 0, cases = 0;
  for (std::uint64_t seed = 0; seed < 600; seed += round_step) {
    CAPTURE(seed);
    ballast::splitmix64 generator(seed);
    auto const count = 1 + ballast::uniform_below(seed % 10 == 0 ? 5 : 4, generator);
    auto const depth = 1 + ballast::uniform_below(3, generator);
    auto const work = random_works(depth, count, 9, generator);
    auto const c = random_chains(count, 3, generator);
    auto const bound = pipeline_lower_bound(c, depth, work);
    auto const listed = ballast::list_schedule(c, {.stages = depth}, work).timeline.makespan.value;
    least_chained_makespan const least(c, depth, work, listed);
    if (!least.complete()) continue;
    REQUIRE(bound.time <= least.value());
    REQUIRE(bound.time >= simple_bound(c, static_cast<std::size_t>(depth), work));
    tight += bound.time == least.value() ? 1 : 0;
    ++cases;
  }
  CHECK(cases > 500 / round_step);
  CHECK(2 * tight > cases);
}

TEST_CASE("pipeline_lower_bound of chains: a time or a micro-batch more never lowers it") {
  for (std::uint64_t seed = 0; seed < 300; seed += round_step) {
    CAPTURE(seed);
    ballast::splitmix64 generator(seed);
    auto const count = 2 + ballast::uniform_below(20, generator), depth = 1 + ballast::uniform_below(5, generator);
    auto work = random_works(depth, count, 99, generator);
    auto const c = random_chains(count, 6, generator);
    auto const bound = pipeline_lower_bound(c, depth, work).time;
    REQUIRE(bound >= simple_bound(c, static_cast<std::size_t>(depth), work));
    // One micro-batch more: in a new chain, or at the end of the last.
    auto const wider = random_works(depth, count + 1, 99, generator);
    auto const more = [&](std::uint64_t s, std::uint64_t m) { return m < count ? work(s, m) : wider(s, m); };
    auto alone = c, longer = c;
    std::uint32_t const added[] = {static_cast<std::uint32_t>(count)};
    alone.push_back(added);
    longer.members.push_back(added[0]);
    ++longer.offsets.back();
    REQUIRE(pipeline_lower_bound(alone, depth, more).time >= bound);
    REQUIRE(pipeline_lower_bound(longer, depth, more).time >= bound);
    auto& w = work.table[static_cast<std::size_t>(ballast::uniform_below(depth * count, generator))];
    auto& time = seed % 3 == 0 ? w.forward : seed % 3 == 1 ? w.weight : w.transfer;
    time += 50;
    REQUIRE(pipeline_lower_bound(c, depth, work).time >= bound);
  }
}

TEST_CASE("pipeline_lower_bound of chains: at least the bound without chains, for chains of one micro-batch and for longer ones") {
  for (std::uint64_t seed = 0; seed < 300; seed += round_step) {
    CAPTURE(seed);
    ballast::splitmix64 generator(seed);
    auto const count = 1 + ballast::uniform_below(20, generator), depth = 1 + ballast::uniform_below(5, generator);
    auto const work = random_works(depth, count, 99, generator);
    stages placed;
    for (std::uint32_t s = 0; s < depth; ++s) placed.push_back(s);
    auto const bound = pipeline_lower_bound(placed, count, false, work).time;
    REQUIRE(pipeline_lower_bound(random_chains(count, 1, generator), depth, work).time >= bound);
    REQUIRE(pipeline_lower_bound(random_chains(count, 6, generator), depth, work).time >= bound);
  }
}

TEST_CASE("pipeline_lower_bound: refuses what is no pipeline") {
  auto const none = [](auto, auto) { return ballast::stage_work{}; };
  CHECK(refusal([&] { return pipeline_lower_bound(stages{}, 1, false, none); }) ==
        "there must be at least one virtual stage and micro-batch");
  CHECK(refusal([&] { return pipeline_lower_bound(stages{0}, 0, false, none); }) ==
        "there must be at least one virtual stage and micro-batch");
  chains c;
  CHECK(refusal([&] { return pipeline_lower_bound(c, 1, none); }) == "there must be at least one stage and micro-batch");
  c.push_back(stages{1, 0});
  CHECK(pipeline_lower_bound(c, 1, none) == makespan_bound{0, pipeline_bound::longest_path});
  CHECK(refusal([&] { return pipeline_lower_bound(c, 0, none); }) == "there must be at least one stage and micro-batch");
  c.push_back(stages{1});
  CHECK(refusal([&] { return pipeline_lower_bound(c, 1, none); }) == "chains.members[2] = 1 is listed twice");
}

}  // namespace test_pipeline_bounds
