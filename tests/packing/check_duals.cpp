// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/math.hpp>
#include <ballast/core/random.hpp>
#include <ballast/packing/check_duals.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_packing_check_duals {
using ballast::histogram;
using ballast_test::between;

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
  CHECK(ballast_test::refusal([&] { return ballast::check_duals(h, 9, {3}, 9, 3); }) == "1 dual for 2 lengths");
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

TEST_CASE("check_duals: the claims hold exactly if no pack of all has more value", "[packing][property]") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const capacity = between(1, 24, draw);
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(between(1, 9, draw)));
    for (auto& l : lengths) l = between(1, capacity, draw);
    auto const h = ballast::fold(lengths);
    std::vector<std::int32_t> values(h.lengths.size());
    for (auto& v : values) v = static_cast<std::int32_t>(between(0, 9, draw));
    auto const limit = seed % 2 == 0 ? 0 : between(1, 6, draw);
    auto const best = [&](auto const& again, std::size_t k, std::int64_t room, std::int64_t samples) -> std::int64_t {
      if (k == values.size()) return 0;
      auto out = again(again, k + 1, room, samples);
      if (room >= h.lengths[k] && samples > 0) out = (std::max)(out, values[k] + again(again, k, room - h.lengths[k], samples - 1));
      return out;
    };
    auto const most = best(best, 0, capacity, limit == 0 ? capacity : limit);
    std::int64_t all = 0;
    for (std::size_t k = 0; k < values.size(); ++k) all += values[k] * static_cast<std::int64_t>(h.counts[k]);
    auto const packs = most == 0 ? 0 : ballast::divide_up(all, most);
    auto const holds = [&](std::int64_t of_pack, std::int64_t claimed) {
      return ballast::check_duals(h, capacity, values, of_pack, claimed, static_cast<std::uint64_t>(limit));
    };
    REQUIRE((holds(most, packs) && !holds(most, packs + 1)));
    if (most > 0) REQUIRE_FALSE(holds(most - 1, packs));
  }
}

}  // namespace test_packing_check_duals
