// SPDX-License-Identifier: Apache-2.0
#include <ballast/pipeline/bounds.hpp>

#include "suite.hpp"

#include <cstdint>
#include <vector>

namespace test_pipeline_bounds {

using namespace ballast_test;
using ballast::makespan_bound;
using ballast::pipeline_bound;
using ballast::pipeline_lower_bound;

namespace {

using stages = std::vector<std::uint32_t>;

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

TEST_CASE("pipeline_lower_bound: refuses what is no pipeline") {
  auto const none = [](auto, auto) { return ballast::stage_work{}; };
  CHECK(refusal([&] { return pipeline_lower_bound(stages{}, 1, false, none); }) ==
        "there must be at least one virtual stage and micro-batch");
  CHECK(refusal([&] { return pipeline_lower_bound(stages{0}, 0, false, none); }) ==
        "there must be at least one virtual stage and micro-batch");
}

}  // namespace test_pipeline_bounds
