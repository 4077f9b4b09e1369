// SPDX-License-Identifier: Apache-2.0
#include <ballast/patterns/detail/pattern_squares.hpp>

#include <ballast/core/random.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

}  // namespace test_patterns_squares
