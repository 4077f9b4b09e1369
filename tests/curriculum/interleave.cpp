// SPDX-License-Identifier: Apache-2.0
#include <ballast/curriculum/apportion.hpp>

#include "suite.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace test_curriculum_interleave {

using ballast::detail::interleave;
using counts = std::vector<std::uint64_t>;
using steps = std::vector<std::uint32_t>;

namespace {
/// The largest deviation from the share over all points and sources, in steps times their number.
std::int64_t worst(steps const& order, std::vector<std::uint64_t> const& count) {
  auto const all = static_cast<std::int64_t>(order.size());
  std::vector<std::int64_t> seen(count.size(), 0);
  std::int64_t most = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    ++seen[order[k]];
    for (std::size_t s = 0; s < count.size(); ++s) {
      auto const off = seen[s] * all - static_cast<std::int64_t>(count[s] * (k + 1));
      most = (std::max)({most, off, -off});
    }
  }
  return most;
}
}  // namespace

TEST_CASE("interleave: keeps Tijdeman's bound at every point") {
  ballast::splitmix64 draw(29);
  for (int round = 0; round < 600; ++round) {
    counts count(2 + draw() % (round % 10 == 0 ? 40 : 6));
    auto const highest = std::int64_t{1} << (draw() % 8);
    for (auto& c : count) c = static_cast<std::uint64_t>(ballast_test::between(0, highest, draw));
    count[0] += 1;
    auto const present = static_cast<std::int64_t>(count.size()) - std::count(count.begin(), count.end(), std::uint64_t{0});
    auto const order = interleave(count);
    auto const all = std::accumulate(count.begin(), count.end(), std::uint64_t{0});
    REQUIRE(order.size() == all);
    for (std::size_t s = 0; s < count.size(); ++s)
      REQUIRE(static_cast<std::uint64_t>(std::count(order.begin(), order.end(), s)) == count[s]);
    CAPTURE(count);
    if (present == 1)
      REQUIRE(worst(order, count) == 0);
    else
      REQUIRE(worst(order, count) * (2 * present - 2) <= static_cast<std::int64_t>(all) * (2 * present - 3));
  }
}

TEST_CASE("interleave: of two sources, no order is more even") {
  for (std::uint64_t a = 1; a <= 7; ++a)
    for (std::uint64_t b = 1; b <= 7; ++b) {
      counts const count{a, b};
      steps any(static_cast<std::size_t>(a), 0);
      any.insert(any.end(), static_cast<std::size_t>(b), 1);
      auto best = worst(any, count);
      while (std::next_permutation(any.begin(), any.end())) best = (std::min)(best, worst(any, count));
      REQUIRE(worst(interleave(count), count) == best);
    }
}

TEST_CASE("interleave: by hand") {
  CHECK(interleave(counts{}) == steps{});
  CHECK(interleave(counts{0, 0}) == steps{});
  CHECK(interleave(counts{0, 3, 0}) == steps{1, 1, 1});
  CHECK(interleave(counts{2, 2}) == steps{0, 1, 0, 1});
  CHECK(interleave(counts{3, 1}) == steps{0, 0, 1, 0});
  CHECK(interleave(counts{1, 1, 1}) == steps{0, 1, 2});
}

}  // namespace test_curriculum_interleave
