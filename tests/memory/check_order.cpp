// SPDX-License-Identifier: Apache-2.0
#include <ballast/memory/check_order.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/verdicts.hpp"

#include <cstdint>
#include <vector>

namespace test_memory_check_order {

using namespace ballast;

TEST_CASE("check_order: each rule") {
  // x is read by "left" and "right"; "change" overwrites x by y through a view; "end" reads all that was made.
  graph g;
  auto const x = g.add({.bytes = 8}), v = g.add({.shares = x}), a = g.add({.bytes = 4}), b = g.add({.bytes = 2});
  auto const y = g.add({.kept = true, .shares = v, .in_place = true}), z = g.add({.bytes = 1});
  g.add({}, {x}, {v});
  g.add({}, {x}, {a});
  g.add({.workspace = 5}, {v}, {b});
  g.add({}, {v}, {y});
  g.add({}, {a, b, y}, {z});
  using order = std::vector<std::uint32_t>;
  using fault = verdict;
  auto const found = [&](order const& steps, certificate peak = {19, 15}) { return check_order(g, steps, peak); };
  CHECK(found({0, 1, 2, 3, 4}).valid());
  CHECK(found({0, 2, 1, 3, 4}, {15, 15}).valid());
  CHECK(found({0, 1, 2, 3}) == fault{order_fault::wrong_size, 0, 4, 5});
  CHECK(found({0, 1, 2, 5, 4}) == fault{order_fault::no_such_operator, 3, 5, 5});
  CHECK(found({0, 1, 2, 1, 4}) == fault{order_fault::run_twice, 3, 1});
  CHECK(found({1, 2, 0, 3, 4}) == fault{order_fault::read_too_early, 1, v});
  CHECK(found({0, 2, 3, 1, 4}) == fault{order_fault::read_overwritten, 3, x});
  CHECK(found({0, 1, 3, 2, 4}) == fault{order_fault::read_overwritten, 3, v});
  CHECK(found({0, 1, 2, 3, 4}, {18, 15}) == fault{order_fault::wrong_peak, 2, 18, 19});
  CHECK(found({0, 1, 2, 3, 4}, {19, 20}) == fault{order_fault::wrong_bound, 0, 20, 19});
  CHECK(found({0, 1, 2, 3, 4}, {19, -1}) == fault{order_fault::wrong_bound, 0, -1, 19});
  CHECK(ballast_test::place_of(found({0, 1, 3, 2, 4})) == verdict{order_fault::read_overwritten, 3});
  CHECK(ballast_test::place_of(found({0, 1, 2, 3, 4})) == verdict{});
  CHECK(check_order(graph{}, order{}, {}).valid());
  g.tensors[0].bytes = -2;
  CHECK(ballast_test::refusal([&] { return found({0, 1, 2, 3, 4}); }) == "tensor 0 has a negative size, -2");
}

}  // namespace test_memory_check_order
