// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/export/describe.hpp>

#include "support/catch.hpp"

#include <string>
#include <vector>

// What a plan of steps, a training and a comparison say of real plans is in the tests of those.

namespace test_plan_export_describe {

using namespace ballast;

TEST_CASE("describe: a training names its largest loss, or the memory that it lacks") {
  training_plan plan;
  CHECK(describe(plan) ==
        std::vector<std::string>{"There are too few layers for the stages, or they do not fit in memory with any recomputation."});
  plan.shortage = {.stage = 2, .needed = 70, .budget = 64};
  CHECK(describe(plan) == std::vector<std::string>{"No partition into stages fits in 64 bytes per device: in the one that needs least, "
                                                   "stage 2 needs 70, which is 6 more."});
  plan.status = status::feasible;
  CHECK(describe(plan).empty());
  plan.shares.work = 600;
  plan.shares.exchange = 100;
  plan.shares.bubble = 300;
  auto const text = describe(plan);
  REQUIRE(text.size() == 2);
  CHECK(text[0].starts_with("Of the device-time 60.00 % is forward and backward, 0.00 % recomputed forward, 10.00 % exchange, "));
  CHECK(text[1].starts_with("The bubble costs most"));
}

TEST_CASE("describe: a comparison says which plan does not fit, or is faster") {
  training_comparison all;
  all.planned.status = status::feasible;
  all.planned.time = {400, 400};
  all.usual.status = status::feasible;
  all.usual.time = {300, 300};
  all.naive.shortage = {.stage = 1, .needed = 9, .budget = 4};
  CHECK(describe(all) == std::vector<std::string>{"The naive plan does not fit in memory: with all that can be recomputed, stage 1 needs 5 "
                                                  "bytes more.",
                                                  "The usual plan takes 25.00 % less time than this plan, by simulation."});
}

}  // namespace test_plan_export_describe
