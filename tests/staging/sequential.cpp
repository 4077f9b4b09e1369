// SPDX-License-Identifier: Apache-2.0
#include <ballast/staging/check.hpp>
#include <ballast/staging/joint.hpp>

#include "support/catch.hpp"
#include "vision_language.hpp"

#include <cstdint>
#include <numeric>
#include <vector>

namespace test_staging_sequential {

using namespace ballast;

TEST_CASE("plan_stages_in_sequence: in ten tight cases of a vision-language model it fits in six and is best in one") {
  int fits = 0, best = 0, proven = 0;
  for (auto const& c : ballast_test::tight_cases()) {
    CAPTURE(c.tiles, c.text, c.stages, c.gigabytes);
    auto const chain = c.chain();
    REQUIRE(std::accumulate(chain.runs.counts.begin(), chain.runs.counts.end(), std::uint64_t{0}) == 97);
    REQUIRE(chain.classes.size() == 6);
    auto const capacity = c.capacity();
    auto const in_flight = c.in_flight();
    staging_options const options{.stages = static_cast<std::uint64_t>(c.stages), .capacity = capacity, .in_flight = in_flight};
    auto const joint = plan_stages(chain, options);
    REQUIRE(joint.partition.bottleneck == certificate{c.joint, c.joint});
    auto const sequential = plan_stages_in_sequence(chain, options);
    REQUIRE(check_stages(sequential, chain, options).valid());
    REQUIRE((sequential.partition.status == status::feasible ? sequential.partition.bottleneck.value : 0) == c.sequential);
    if (sequential.partition.status == status::infeasible) {
      CHECK(sequential.partition.bound == partition_bound::capacity);
      CHECK(sequential.partition.bottleneck.value == capacity[0]);
      CHECK(sequential.partition.bottleneck.lower_bound > capacity[0]);
    }
    if (c.stages == 12 || c.tiles == 24) {  // the quick ones for the dynamic programme
      auto const verdict = prove_stages(joint, chain, options);
      INFO(describe(verdict));
      REQUIRE(verdict.valid());
      REQUIRE(least_stage_bottleneck(chain, options) == c.joint);
      ++proven;
    }
    fits += c.sequential > 0 ? 1 : 0;
    best += c.sequential == c.joint ? 1 : 0;
  }
  CHECK((fits == 6 && best == 1 && proven == 4));
}

TEST_CASE("plan_stages_in_sequence: with ample memory it is the joint plan, and too few layers are said so") {
  auto const c = ballast_test::tight_cases().front();
  std::vector<std::int64_t> const ample(8, std::int64_t{1} << 40);
  auto const in_flight = c.in_flight();
  staging_options options{.stages = 8, .capacity = ample, .in_flight = in_flight};
  auto const sequential = plan_stages_in_sequence(c.chain(), options);
  CHECK(sequential.partition.bottleneck == plan_stages(c.chain(), options).partition.bottleneck);
  CHECK(sequential.partition.bottleneck.optimal());
  options.min_layers = 13;
  CHECK(plan_stages_in_sequence(c.chain(), options).partition.bound == partition_bound::min_layers);
}

}  // namespace test_staging_sequential
