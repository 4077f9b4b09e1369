// SPDX-License-Identifier: Apache-2.0
#include <ballast/patterns/detail/full_knapsack.hpp>
#include <ballast/patterns/detail/pattern_squares.hpp>

#include <ballast/core/random.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace test_patterns_squares {

using ballast_test::between;

TEST_CASE("pattern_squares: no column lowers the square, and those in use leave it where it is", "[patterns][property]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const rows = static_cast<std::size_t>(between(2, 30, draw));
    ballast::detail::pattern_columns columns(rows, draw);
    std::vector<std::uint64_t> left(rows, 0);
    while (columns.size() < 3 * rows / 2) {
      std::vector<std::uint32_t> column(static_cast<std::size_t>(between(1, 4, draw)));
      for (auto& i : column) i = static_cast<std::uint32_t>(draw() % rows);
      std::sort(column.begin(), column.end());
      if (columns.add(column) && (seed % 2 == 0 || draw() % 2 == 0))
        for (auto const i : column) ++left[i];  // with an even seed, all columns once are a solution
    }
    if (seed % 4 == 1) left[0] += 3;
    ballast::search_budget budget({});
    ballast::detail::pattern_squares<> squares(columns, rows, budget);
    auto const is_least = [&](double tolerance) {
      for (std::size_t j = 0; j < columns.size(); ++j) {
        if (columns.fixed(j) && squares.is_used(j)) return false;
        auto const gain = squares.gain(j);
        if (!columns.fixed(j) && (gain > tolerance || (squares.is_used(j) && gain < -tolerance))) return false;
      }
      auto rest = std::vector<double>(left.begin(), left.end());
      for (auto const& [j, x] : squares.here()) {
        if (x < 0) return false;
        for (auto const i : columns[j]) rest[i] -= x;
      }
      for (std::size_t i = 0; i < rows; ++i)
        if (rest[i] - squares.residual()[i] > 1e-9 || rest[i] - squares.residual()[i] < -1e-9) return false;
      return true;
    };
    columns.fix(left);
    squares.grow();
    squares.demand(left);
    REQUIRE(squares.improve(~std::uint64_t{0}));
    REQUIRE(is_least(1e-4));
    if (seed % 2 == 0) REQUIRE(squares.largest() < 1e-6);
    auto const whole = squares.here();
    for (std::size_t j = 0; j < columns.size(); j += 3) columns.ban(j);
    columns.fix(left);
    REQUIRE(squares.improve(~std::uint64_t{0}));
    REQUIRE(is_least(1e-4));
    for (std::size_t j = 0; j < columns.size(); j += 3) columns.lift_ban(j);
    columns.fix(left);
    squares.go_back(whole);
    REQUIRE(squares.improve(~std::uint64_t{0}));
    REQUIRE(is_least(1e-4));
  }
}

TEST_CASE("full_knapsack: proves of small rows what all full packs prove, and finds packs of positive value", "[patterns][property]") {
  std::size_t proofs = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    ballast::detail::pattern_rows rows{between(6, 40, draw), {}, {}, {}, 0};
    for (auto length = rows.capacity; length > 0; length -= between(1, 7, draw)) {
      rows.length.push_back(length);
      rows.count.push_back(draw() % 4);
    }
    std::vector<double> value(rows.size());
    auto const shift = static_cast<double>(seed % 3) - 1;
    for (auto& v : value) v = shift + static_cast<double>(draw() % 2001) / 1000 - 1;
    ballast::search_budget budget({});
    ballast::detail::full_knapsack<> knapsack(rows);
    knapsack.solve(value, rows.count, budget);
    std::optional<std::int64_t> best;
    std::function<void(std::size_t, std::int64_t, std::int64_t)> const look = [&](std::size_t i, std::int64_t room, std::int64_t sum) {
      if (room == 0 && (!best || sum > *best)) best = sum;
      if (i == rows.size()) return;
      for (std::uint64_t k = 0; k <= rows.count[i] && static_cast<std::int64_t>(k) * rows.length[i] <= room; ++k)
        look(i + 1, room - static_cast<std::int64_t>(k) * rows.length[i], sum + static_cast<std::int64_t>(k) * knapsack.values()[i]);
    };
    look(0, rows.capacity, 0);
    std::int64_t all = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) all += static_cast<std::int64_t>(rows.count[i]) * knapsack.values()[i];
    auto const any = std::any_of(rows.count.begin(), rows.count.end(), [](auto n) { return n != 0; });
    for (std::int64_t packs = 1; any && packs < 6; ++packs) {
      REQUIRE(knapsack.exceeds(static_cast<std::uint64_t>(packs)) == (!best || all > packs * *best));
      proofs += best && all > packs * *best ? 1U : 0U;
    }
    (void)knapsack.for_each_pack(rows.count, budget, [&](std::span<std::uint32_t const> pack) {
      std::int64_t tokens = 0, sum = 0;
      for (auto const i : pack) {
        tokens += rows.length[i];
        sum += knapsack.values()[i];
      }
      REQUIRE(tokens == rows.capacity);
      REQUIRE((sum > 0 && sum <= *best));
      return true;
    });
  }
  CHECK(proofs > 100);
}

}  // namespace test_patterns_squares
