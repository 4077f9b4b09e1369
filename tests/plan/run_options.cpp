// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/run_options.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace test_plan_run_options {

TEST_CASE("micro_batches_of: tokens of a step over what all ranks hold, or the nearest that divide") {
  CHECK(ballast::micro_batches_of(4'194'304, 8192, 64) == 8);
  CHECK(ballast::micro_batches_of(8192, 8192, 1) == 1);
  auto const refused = [](std::int64_t tokens, std::int64_t capacity, std::uint64_t ranks) {
    return ballast_test::refusal([&] { return ballast::micro_batches_of(tokens, capacity, ranks); });
  };
  CHECK(refused(4'000'000, 8192, 64) ==
        "tokens_per_step = 4000000 is no multiple of capacity * ranks = 524288; the nearest are 3670016 and 4194304");
  CHECK(refused(-5, 10, 2) == "tokens_per_step = -5 is no multiple of capacity * ranks = 20; the nearest are 20");
  CHECK(refused((std::numeric_limits<std::int64_t>::max)(), 1000, 2) ==
        "tokens_per_step = 9223372036854775807 is no multiple of capacity * ranks = 2000; the nearest are 9223372036854774000 and "
        "9223372036854776000");
  CHECK(refused(100, 0, 2) == "capacity = 0 and ranks = 2 must be positive");
}

}  // namespace test_plan_run_options
