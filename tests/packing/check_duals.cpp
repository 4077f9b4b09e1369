// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/check_duals.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <vector>

namespace test_packing_check_duals {
using ballast::histogram;

TEST_CASE("check_duals: takes a proof and refuses what is none", "[packing]") {
  histogram const h{{3, 5}, {4, 2}};
  CHECK(ballast::check_duals(h, 9, {3, 5}, 9, 3));         // the volume, 22 tokens
  CHECK_FALSE(ballast::check_duals(h, 9, {3, 5}, 9, 4));   // too bold
  CHECK_FALSE(ballast::check_duals(h, 9, {4, 5}, 11, 3));  // three threes are worth 12
  CHECK(ballast::check_duals(h, 9, {4, 5}, 12, 3));
  CHECK(ballast::check_duals(h, 9, {3, 4}, 8, 3, 2));  // two fours are worth 8
  CHECK_FALSE(ballast::check_duals(h, 9, {3, 4}, 8, 3, 3));
  CHECK_FALSE(ballast::check_duals(h, 9, {3, 4}, 8, 3));
  CHECK_FALSE(ballast::check_duals(h, 9, {3, 4}, 7, 4, 2));
  CHECK(ballast_test::refusal([&] { return ballast::check_duals(h, 9, {3}, 9, 3); }) == "1 duals for 2 lengths");
  CHECK(ballast_test::refusal([&] { return ballast::check_duals(h, 9, {3, -1}, 9, 3); }) == "duals[1] = -1 must not be negative");
  CHECK(ballast_test::refusal([&] { return ballast::check_duals(h, -1, {3, 5}, 9, 3); }) == "capacity = -1 must be positive");
  ballast::measure_classes const two{.measures = 2, .values = {1, 1}, .counts = {1}};
  std::vector<std::int32_t> const one{1};
  auto const of = [&](std::vector<std::int64_t> const& capacity) {
    return ballast_test::refusal([&] { return ballast::check_duals(two, capacity, one, 1, 1); });
  };
  CHECK(of({5, 5}) == "accepted");
  CHECK(of({5}) == "1 capacities for 2 measures");
  CHECK(of({5, -1}) == "capacity[1] = -1 must not be negative");
}

}  // namespace test_packing_check_duals
