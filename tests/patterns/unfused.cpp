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
  CHECK(ballast::detail::minus_sparse_products(-minus, x.data(), at, 1, x.data()) == 0);
}

}  // namespace test_patterns_unfused
