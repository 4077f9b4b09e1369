// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/training_plan.hpp>

#include "support/catch.hpp"

#include <cstdint>

namespace test_plan_training_plan {

using namespace ballast;

TEST_CASE("time_shares: the largest loss is named, and parts are shares of the whole") {
  CHECK(time_shares{}.largest_loss() == lost_time::none);
  CHECK(time_shares{}.share(0) == 0.0);
  CHECK(time_shares{.work = 9}.largest_loss() == lost_time::none);
  for (std::int64_t recompute = 0; recompute < 4; ++recompute)
    for (std::int64_t bubble = 0; bubble < 4; ++bubble)
      for (std::int64_t waiting = 0; waiting < 4; ++waiting) {
        CAPTURE(recompute, bubble, waiting);
        time_shares const of{.work = 8, .recompute = recompute, .bubble = bubble, .waiting = waiting};
        auto const loss = of.largest_loss();
        auto const lost = loss == lost_time::recompute ? recompute
                          : loss == lost_time::bubble  ? bubble
                          : loss == lost_time::waiting ? waiting
                                                       : 0;
        CHECK((lost >= recompute && lost >= bubble && lost >= waiting));
        CHECK((loss == lost_time::none) == (lost == 0));
        CHECK(of.total() == 8 + recompute + bubble + waiting);
        CHECK(of.share(of.total()) == 1.0);
      }
  CHECK(time_shares{.work = 8, .recompute = 1, .exchange = 3, .optimizer = 2}.largest_loss() == lost_time::exchange);
  CHECK(time_shares{.work = 8, .exchange = 3, .optimizer = 4, .bubble = 4}.largest_loss() == lost_time::optimizer);
  CHECK(time_shares{.work = 8, .exchange = 3, .optimizer = 4}.total() == 15);
  CHECK(to_string(lost_time::waiting) == "waiting");
  CHECK((to_string(lost_time::exchange) == "exchange" && to_string(lost_time::optimizer) == "optimizer"));
}

}  // namespace test_plan_training_plan
