// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/metrics/step_balance.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace test_core_metrics_step_balance {

using ballast::balance_of_steps;
using ballast_test::refusal;

namespace {
using numbers = std::vector<std::int64_t>;
bool near(double x, double y) { return std::fabs(x - y) < 1e-12; }
}  // namespace

TEST_CASE("balance_of_steps: the published example, equal tokens and an attention balance of 25 %") {
  numbers const four_short(4, 1024), two_long(2, 2048);
  auto const dbr = balance_of_steps(numbers{ballast::token_load(four_short), ballast::token_load(two_long)}, 2);
  auto const abr = balance_of_steps(numbers{ballast::attention_load(four_short), ballast::attention_load(two_long)}, 2);
  CHECK(dbr.mean_ratio == 0.0);
  CHECK(abr.mean_ratio == 0.25);
  CHECK(abr.idle() == 0.25);  // of one step the two are the same
}

TEST_CASE("balance_of_steps: the mean of ratios weighs steps alike, idle by their cost") {
  auto const b = balance_of_steps(numbers{0, 10, 100, 100, 0, 0}, 2);
  CHECK((b.steps == 3 && b.total == 210 && b.slowest == 110));
  CHECK(near(b.mean_ratio, 0.5 / 3));  // an empty step counts 0
  CHECK(near(b.idle(), 1 - 105.0 / 110));
  CHECK(near(b.slowest_over_mean(), 110 / 105.0));
  CHECK(near(b.idle(), 1 - 1 / b.slowest_over_mean()));
  CHECK(b.worst_step == 2.0);
  CHECK(b.single_sample_bound() == 1.0);
  auto const bounded = balance_of_steps(numbers{0, 10, 100, 100}, 2, numbers{10, 60});
  CHECK(near(bounded.single_sample_bound(), (10 + 100) / 105.0));  // max(5, 10) + max(100, 60) over 5 + 100
  CHECK(bounded.single_sample_bound() <= bounded.slowest_over_mean());
  auto const none = balance_of_steps({}, 8);
  CHECK((none.steps == 0 && none.idle() == 0.0 && none.slowest_over_mean() == 1.0 && none.mean_ratio == 0.0));

  auto const most = (std::numeric_limits<std::int64_t>::max)();
  CHECK(refusal([] { return balance_of_steps(numbers{1, 2, 3}, 2); }) == "3 loads do not divide into steps of ranks = 2");
  CHECK(refusal([] { return balance_of_steps(numbers{1, -2}, 2); }) == "loads[1] = -2 must not be negative");
  CHECK(refusal([&] { return balance_of_steps(numbers{most, 1}, 2); }) == "loads[1] = 1 brings a sum to 2^63 or more");
  CHECK(refusal([&] { return balance_of_steps(numbers{1, 1}, 2, numbers{most}); }) ==
        "largest[0] = 9223372036854775807 times ranks reaches 2^63");
  CHECK(refusal([] { return ballast::attention_load(numbers{3037000500}); }) == "lengths[0] = 3037000500 has a square outside [0, 2^63)");
}

}  // namespace test_core_metrics_step_balance
