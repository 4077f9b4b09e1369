// SPDX-License-Identifier: Apache-2.0
#include <ballast/patterns/unfused.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <vector>

namespace test_patterns_unfused {

TEST_CASE("unfused: a product is rounded before it is added", "[patterns]") {
  double const tiny = 0x1p-30, a = 1 + tiny;  // a * a = 1 + 2^-29 + 2^-60, whose last term rounding takes away
  double const minus = -1 - 2 * tiny;
  CHECK(ballast::detail::plus_product(minus, a, a) == 0);  // fused: 2^-60
  std::vector<double> const x{a, a, a};
  std::vector<double> y(3, minus);
  ballast::detail::add_multiple(y.data(), x.data(), a, 3);
  CHECK(y == std::vector<double>(3, 0));
  CHECK(ballast::detail::plus_products(minus, x.data(), x.data(), 1) == 0);
  std::uint32_t const at[] = {2};
  y = {5, 5, minus};
  ballast::detail::add_sparse_multiple(y.data(), x.data(), a, at, 1);
  CHECK(y == std::vector<double>{5, 5, 0});
  for (std::size_t const n : {4U, 5U, 6U}) {
    std::vector<double> const left(n, 1), right(n, 2);
    CHECK(ballast::detail::four_sums_of_products(left.data(), right.data(), n) == 2 * static_cast<double>(n));
  }
  std::vector<double> const pair{1, 0, 0, 0, a}, other{minus, 0, 0, 0, a};
  CHECK(ballast::detail::four_sums_of_products(pair.data(), other.data(), 5) == 0);
  double first = a, second = -minus;
  ballast::detail::rotate(&first, &second, a, -1, 1);
  CHECK(first == 0);
  CHECK(second == ballast::detail::plus_product(a, a, -minus));
  CHECK(ballast::detail::minus_sparse_products(-minus, x.data(), at, 1, x.data()) == 0);
}

}  // namespace test_patterns_unfused
