// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/sample_degree_cost.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_cost_sample_degree_cost {

using ballast::degree_cost;
using ballast::sample_degree_cost;

TEST_CASE("sample_degree_cost: a sample has its own work, and the exchanges of all") {
  degree_cost const common{.linear = 3000, .square = 20, .exchange = {0, 500, 400}};
  std::vector<std::int64_t> const linear{3000, 9000}, square{20, 5};
  sample_degree_cost const cost{common, linear, square};
  for (std::int64_t const ranks : {1, 2, 3, 4}) {
    CHECK(cost(0, 700, ranks) == common(700, ranks));
    CHECK(cost(1, 700, ranks) == degree_cost{.linear = 9000, .square = 5, .exchange = {0, 500, 400}}(700, ranks));
    CHECK(sample_degree_cost{common, linear, {}}(1, 700, ranks) ==
          degree_cost{.linear = 9000, .square = 20, .exchange = {0, 500, 400}}(700, ranks));
    CHECK(sample_degree_cost{common}(5, 700, ranks) == common(700, ranks));
  }
  CHECK(ballast::detail::shard_time(cost, 1, 700, 2) == cost(1, 700, 2));
  CHECK(ballast::detail::shard_time(common, 1, 700, 2) == common(700, 2));
  ballast::detail::cost_of_units<sample_degree_cost> const threes{&cost, 3};
  CHECK(threes(1, 700, 2) == cost(1, 700, 6));
}

TEST_CASE("sample_degree_cost: fits is false where the time would overflow or a constant is negative, and names a sample without cost") {
  std::vector<std::int64_t> const linear{1, std::int64_t{1} << 61, -1};
  sample_degree_cost const cost{{.exchange = {0, 9}}, linear, {}};
  CHECK(cost.fits(0, std::int64_t{1} << 40, 2));
  CHECK_FALSE(cost.fits(1, 8, 2));
  CHECK_FALSE(cost.fits(2, 8, 2));
  CHECK_FALSE(cost.fits(0, 8, 0));
  CHECK(ballast_test::refusal([&] { return cost.fits(3, 8, 2); }) == "sample 3 has no entry among 3 of its cost");
  CHECK(ballast::detail::shard_time_fits([](std::int64_t, std::int64_t) { return 1; }, 0, 8, 2));
}

}  // namespace test_cost_sample_degree_cost
