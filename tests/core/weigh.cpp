// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/weigh.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <vector>

namespace test_core_weigh {

using ballast::weigh;
using ballast_test::refusal;

namespace {
constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
constexpr auto itself = [](std::int64_t item) { return item; };

/// A cost that says of 13 that it has none.
struct bounded {
  [[nodiscard]] static bool fits(std::int64_t item) { return item != 13; }
  std::int64_t operator()(std::int64_t item) const { return 2 * item; }
};

template <class Range, class Cost>
std::string says(Range const& items, Cost const& cost) {
  std::vector<std::int64_t> out;
  return refusal([&] { return weigh(items, cost, "items", "cost", out); });
}
}  // namespace

TEST_CASE("weigh: each item once, in order, and the sum") {
  std::vector<std::int64_t> seen, out{9, 9, 9, 9};
  auto const cost = [&](std::int64_t item) { return seen.push_back(item), item * item; };
  CHECK(weigh(std::deque<std::int8_t>{3, -2, 0}, cost, "items", "cost", out) == 13);
  CHECK(out == std::vector<std::int64_t>{9, 4, 0});
  CHECK(seen == std::vector<std::int64_t>{3, -2, 0});
  CHECK(weigh(std::vector<int>{}, itself, "items", "cost", out) == 0);
  CHECK(out.empty());
  CHECK(weigh(std::vector{most - 1, std::int64_t{1}}, itself, "items", "cost", out) == most);
}

TEST_CASE("weigh: names the first item whose cost is none, or that brings the sum over the edge") {
  CHECK(says(std::vector<int>{3, -1}, itself) == "items[1] = -1 has cost -1, outside [0, 2^63)");
  CHECK(says(std::vector<int>{3}, [](std::int64_t) { return ~std::uint64_t{0}; }) ==
        "items[0] = 3 has cost 18446744073709551615, outside [0, 2^63)");
  CHECK(says(std::vector<std::uint64_t>{1, std::uint64_t{1} << 63}, itself) == "items[1] = 9223372036854775808 must be below 2^63");
  CHECK(says(std::vector<int>{12, 13}, bounded{}) == "items[1] = 13 has a cost that is negative, not a number or too large for 63 bits");
  CHECK(says(std::vector{most, std::int64_t{0}, std::int64_t{1}}, itself) == "items[2] = 1 brings the sum of costs to 2^63 or more");
  std::vector<std::int64_t> out;
  CHECK(refusal([&] { return weigh(std::vector<int>{-4}, itself, "layers", "size", out); }) ==
        "layers[0] = -4 has size -4, outside [0, 2^63)");
}

TEST_CASE("checked_cost: one item, named by the caller") {
  auto const name = [] { return std::string("the layer"); };
  CHECK(ballast::checked_cost(7, bounded{}, "cost", name) == 14);
  CHECK(refusal([&] { return ballast::checked_cost(13, bounded{}, "part", name); }) ==
        "the layer has a part that is negative, not a number or too large for 63 bits");
}

}  // namespace test_core_weigh
