// SPDX-License-Identifier: Apache-2.0
#include <ballast/partition/bounds.hpp>

#include "suite.hpp"

namespace test_partition_bounds {

using namespace ballast_test;
using ballast::bottleneck_bound;
using ballast::partition_lower_bound;
using ballast::unequal_lower_bound;

namespace {
bottleneck_bound bound_of(numbers const& layers, std::uint64_t stages) {
  numbers prefix(1);
  std::int64_t largest = 0;
  for (auto const x : layers) {
    prefix.push_back(prefix.back() + x);
    largest = (std::max)(largest, x);
  }
  return partition_lower_bound(prefix, largest, stages);
}
}  // namespace

TEST_CASE("partition_lower_bound: each argument where it is the strongest") {
  CHECK(bound_of({}, 3) == bottleneck_bound{});
  CHECK(bound_of({5, 4, 4}, 2) == bottleneck_bound{8, partition_bound::window});
  CHECK(bound_of({3, 1, 2, 1}, 2) == bottleneck_bound{4, partition_bound::mean});  // 7 / 2, rounded up
  CHECK(bound_of({9, 1, 1, 1}, 2) == bottleneck_bound{9, partition_bound::largest_layer});
  CHECK(bound_of({4, 4, 4, 4, 4}, 4) == bottleneck_bound{8, partition_bound::window});
  CHECK(bound_of({4, 4}, 4) == bottleneck_bound{4, partition_bound::largest_layer});
}

TEST_CASE("unequal_lower_bound: stages together hold the total, in whole units") {
  CHECK(unequal_lower_bound(0, numbers{3}) == bottleneck_bound{});
  CHECK(unequal_lower_bound(10, numbers{1}) == bottleneck_bound{10, partition_bound::mean});
  CHECK(unequal_lower_bound(10, numbers{1, 1, 2}) == bottleneck_bound{4, partition_bound::mean});
  CHECK(unequal_lower_bound(9, numbers{5, 1}) == bottleneck_bound{8, partition_bound::mean});  // 1 + 8; 7 units of time hold 1 + 7
}

TEST_CASE("bounds: never above the optimum, often at it") {
  int tight = 0, tight_unequal = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    auto const c = random_chain_case(seed, empty_stages);
    auto const bound = bound_of(c.layers, c.stages).cost;
    auto const best = every_cut(c).front().bottleneck;
    REQUIRE(bound <= best);
    tight += bound == best ? 1 : 0;
    auto const u = random_chain_case(seed, empty_stages | speeds);
    auto const total = std::accumulate(u.layers.begin(), u.layers.end(), std::int64_t{0});
    auto const unequal = unequal_lower_bound(total, u.unit_time).cost;
    auto const best_unequal = every_cut(u).front().bottleneck;
    REQUIRE(unequal <= best_unequal);
    tight_unequal += unequal == best_unequal ? 1 : 0;
  }
  CHECK(tight > 800);
  CHECK(tight_unequal > 500);
}

}  // namespace test_partition_bounds
