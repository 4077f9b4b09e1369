// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance/karmarkar_karp.hpp>

#include "suite.hpp"

namespace test_balance_karmarkar_karp {

using namespace ballast_test;

namespace {
auto const kk = [](auto const& items, balance_options const& o, auto const& cost, auto const& size) {
  return ballast::karmarkar_karp(items, o, cost, size);
};
auto const kk64 = [](auto const& items, balance_options const& o, auto const& cost, auto const& size) {
  return ballast::karmarkar_karp<std::uint64_t>(items, o, cost, size);
};

/// Loads by the definition: plans of k sums, the two of largest spread joined, largest sum with smallest; sums sorted anew each time.
numbers loads_by_definition(numbers const& costs, std::size_t k, bool equal) {
  auto sorted = costs;
  std::sort(sorted.begin(), sorted.end(), std::greater<>{});
  std::vector<numbers> plans;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (!equal || i % k == 0) plans.emplace_back(k, 0);
    plans.back()[equal ? i % k : 0] = sorted[i];
  }
  auto const narrower = [](numbers const& a, numbers const& b) { return a.front() - a.back() < b.front() - b.back(); };
  while (plans.size() > 1) {
    std::swap(*std::max_element(plans.begin(), plans.end(), narrower), plans.back());
    auto const a = plans.back();
    plans.pop_back();
    auto& b = *std::max_element(plans.begin(), plans.end(), narrower);
    for (std::size_t s = 0; s < k; ++s) b[s] += a[k - 1 - s];
    std::sort(b.begin(), b.end(), std::greater<>{});
  }
  return plans.empty() ? numbers(k, 0) : plans.front();
}
}  // namespace

TEST_CASE("karmarkar_karp: valid, bounded, the same twice") { keeps_its_promises(kk); }

TEST_CASE("karmarkar_karp: its loads are those of the definition") {
  auto const equal = GENERATE(false, true);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(equal, seed);
    ballast::splitmix64 draw(seed);
    auto const k = 1 + draw() % 9;
    numbers costs(draw() % 90);
    for (auto& c : costs) {  // no ties, which may be resolved either way
      auto const value = draw();
      c = static_cast<std::int64_t>(value >> (20 + draw() % 8));
    }
    auto const plan = ballast::karmarkar_karp(costs, {.sets = k, .equal_counts = equal});
    numbers loads(k);
    for (std::size_t s = 0; s < k; ++s)
      for (auto i : plan.sets[s]) loads[s] += costs[i];
    REQUIRE(loads == loads_by_definition(costs, k, equal));
  }
}

TEST_CASE("karmarkar_karp: limits that bind no set change nothing, not even among equal costs") {  // they ask for sorted sets, not heaps
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const k = 1 + draw() % (seed % 4 == 0 ? 200 : 9);
    numbers costs(draw() % 400);
    auto const most = 1 + draw() % (seed % 2 == 0 ? 12 : 100'000);
    for (auto& c : costs) c = static_cast<std::int64_t>(draw() % 5 == 0 ? draw() % most : draw() % (most * most));
    auto const plan = ballast::karmarkar_karp(costs, {.sets = k});
    REQUIRE(plan.sets == ballast::karmarkar_karp(costs, {.sets = k, .capacity = std::int64_t{1} << 62}).sets);
  }
}

TEST_CASE("karmarkar_karp: finds what longest processing time first does not") {
  CHECK(ballast::karmarkar_karp(numbers{8, 7, 6, 5, 4}, {.sets = 2}).load.value == 16);  // the example of the paper: difference 2
  CHECK(ballast::karmarkar_karp(numbers{5, 5, 4, 4, 3, 3, 3}, {.sets = 3}).load.value <= 11);
}

TEST_CASE("karmarkar_karp: corners") { handles_corners(kk, kk64); }

TEST_CASE("karmarkar_karp: golden") { CHECK(golden_hash(kk) == 15650843844102653823U); }

}  // namespace test_balance_karmarkar_karp
