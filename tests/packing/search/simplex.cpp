// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/detail/search/simplex.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_packing_search_simplex {

TEST_CASE("simplex: a plan that covers the demand, and duals that prove it optimal", "[packing][property]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const rows = static_cast<std::size_t>(ballast_test::between(1, 40, draw));
    auto const columns = static_cast<std::size_t>(ballast_test::between(1, 400, draw));
    ballast::detail::pooled_vector<double> demand(rows);
    for (auto& d : demand) d = static_cast<double>(ballast_test::between(0, 1000, draw));
    ballast::detail::simplex lp;
    lp.start(demand, ballast::detail::pooled_vector<double>(rows, 1.0));
    std::vector<std::vector<double>> dense;
    for (std::size_t j = 0; j < columns; ++j) {
      std::vector<std::uint32_t> row;
      std::vector<double> value;
      auto& column = dense.emplace_back(rows, 0.0);
      for (std::uint32_t i = 0; i < rows; ++i)
        if (draw() % 5 == 0) {
          row.push_back(i);
          value.push_back(static_cast<double>(ballast_test::between(1, 9, draw)) / 2);
          column[i] = value.back();
        }
      lp.add(row, value);
    }
    ballast::search_budget budget({.work = ~std::uint64_t{0}});
    lp.solve(budget);
    std::vector<double> covered(rows, 0.0);
    lp.for_each_basic([&](std::size_t j, double x) {
      CHECK(x >= -1e-6);
      for (std::size_t i = 0; i < rows; ++i) covered[i] += x * dense[j][i];
    });
    double paid = 0, by_artificials = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      CHECK(lp.duals()[i] >= -1e-6);
      paid += lp.duals()[i] * demand[i];
      by_artificials += covered[i] < demand[i] ? demand[i] - covered[i] : 0;  // each costs 1
    }
    for (std::size_t j = 0; j < columns; ++j) CHECK(lp.reduced_cost(j) >= -1e-6);
    double used = by_artificials;
    lp.for_each_basic([&](std::size_t, double x) { used += x; });
    CHECK(lp.objective() <= used + 1e-4);
    CHECK((paid - lp.objective() < 1e-4 && lp.objective() - paid < 1e-4));  // strong duality
  }
}

}  // namespace test_packing_search_simplex
