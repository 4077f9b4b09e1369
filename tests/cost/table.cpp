// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/table.hpp>

#include "support/catch.hpp"
#include "support/cost_border.hpp"
#include "support/refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_cost_table {

namespace {

using namespace ballast;
using ballast_test::int128;
using ballast_test::most;
using ballast_test::refusal;

/// The rule read off the definition, one entry after the other, in 128 bits.
int128 by_definition(std::vector<std::int64_t> const& lengths, std::vector<std::int64_t> const& costs, int128 length) {
  if (length <= lengths[0] || lengths.size() == 1) return costs[0];
  std::size_t i = 1;
  while (i + 1 < lengths.size() && lengths[i] < length) ++i;
  return costs[i - 1] + (int128{costs[i]} - costs[i - 1]) * (length - lengths[i - 1]) / (lengths[i] - lengths[i - 1]);
}

}  // namespace

TEST_CASE("table: lines between the entries, flat before, the last line beyond") {
  cost_table const table({10, 20, 40}, {5, 8, 100});
  std::int64_t const expected[][2]{{0, 5}, {10, 5}, {11, 5}, {14, 6}, {19, 7}, {20, 8}, {21, 12}, {40, 100}, {60, 192}};
  for (auto const& e : expected) CHECK(table(e[0]) == e[1]);
  static constexpr std::int64_t lengths[]{10, 20, 40}, costs[]{5, 8, 100};
  STATIC_REQUIRE(table_cost{lengths, costs, 3}(60) == 192);
  CHECK(cost_table({100}, {7})(1'000'000) == 7);
  CHECK(cost_table({0, 5}, {0, 0})(99) == 0);
}

TEST_CASE("table: every value is the definition's, never decreasing, and refused where it does not fit") {
  splitmix64 draw(3);
  std::int64_t wrong = 0, refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int64_t> lengths{static_cast<std::int64_t>(uniform_below(50, draw))},
        costs{static_cast<std::int64_t>(uniform_below(1000, draw))};
    auto const scale = std::uint64_t{1} << (draw() % 24), steep = std::uint64_t{1} << (draw() % 56);
    for (auto entries = draw() % 9; entries > 0; --entries) {
      lengths.push_back(lengths.back() + 1 + static_cast<std::int64_t>(uniform_below(scale, draw)));
      costs.push_back(costs.back() + static_cast<std::int64_t>(uniform_below(steep, draw)));
    }
    cost_table const table(lengths, costs);
    std::vector<std::int64_t> at{0, 1, (std::int64_t{1} << 31) - 1};
    for (auto l : lengths) at.insert(at.end(), {l - 1, l, l + 1});
    for (int i = 0; i < 20; ++i)
      at.push_back(static_cast<std::int64_t>(uniform_below(static_cast<std::uint64_t>(2 * lengths.back() + 2), draw)));
    for (auto l : at) {
      if (l < 0) continue;
      auto const exact = by_definition(lengths, costs, l);
      wrong += table.fits(l) != (exact <= most);
      refused += exact > most;
      if (exact <= most) wrong += int128{table(l)} != exact || int128{table.view()(l)} != exact;
      if (exact <= most && l > 0) wrong += table(l - 1) > table(l);
    }
  }
  CHECK((wrong == 0 && refused > 0));
}

TEST_CASE("table: what is no table is refused") {
  auto const of = [](std::vector<std::int64_t> lengths, std::vector<std::int64_t> costs) {
    return refusal([&] { return cost_table(lengths, costs)(1); });
  };
  CHECK(of({}, {}) == "a table of 0 lengths and 0 costs: as many are needed, and one at least");
  CHECK(of({1, 2}, {1}) == "a table of 2 lengths and 1 costs: as many are needed, and one at least");
  CHECK(of({1, 2, 2}, {1, 2, 3}) == "lengths[2] = 2 must be above its predecessor");
  CHECK(of({-1}, {1}) == "lengths[0] = -1 must be in [0, 2^31)");
  CHECK(of({1, std::int64_t{1} << 31}, {1, 2}) == "lengths[1] = 2147483648 must be in [0, 2^31)");
  CHECK(of({1, 2}, {3, 2}) == "costs[1] = 2 must not be below its predecessor");
  CHECK(of({1}, {-2}) == "costs[0] = -2 must not be negative");
  CHECK_FALSE(table_cost{}.fits(1));
  CHECK_FALSE(cost_table({1}, {1}).fits(-1));
  CHECK_FALSE(cost_table({1}, {1}).fits(std::int64_t{1} << 31));
}

}  // namespace test_cost_table
