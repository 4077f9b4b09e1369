// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/run_result.hpp>

#include "support/catch.hpp"

#include <cstdint>

namespace test_plan_run_result {

using namespace ballast;

TEST_CASE("run_shares: the largest loss is named, and parts are shares of the whole") {
  CHECK(run_shares{}.largest_loss() == run_loss::none);
  CHECK(run_shares{}.share(0) == 0.0);
  CHECK(run_shares{.work = 9}.largest_loss() == run_loss::none);
  for (std::int64_t recompute = 0; recompute < 4; ++recompute)
    for (std::int64_t bubble = 0; bubble < 4; ++bubble)
      for (std::int64_t waiting = 0; waiting < 4; ++waiting) {
        CAPTURE(recompute, bubble, waiting);
        run_shares const of{8, recompute, bubble, waiting};
        auto const loss = of.largest_loss();
        auto const lost = loss == run_loss::recompute ? recompute
                          : loss == run_loss::bubble  ? bubble
                          : loss == run_loss::waiting ? waiting
                                                      : 0;
        CHECK((lost >= recompute && lost >= bubble && lost >= waiting));
        CHECK((loss == run_loss::none) == (lost == 0));
        CHECK(of.total() == 8 + recompute + bubble + waiting);
        CHECK(of.share(of.total()) == 1.0);
      }
  CHECK(to_string(run_loss::waiting) == "waiting");
}

}  // namespace test_plan_run_result
