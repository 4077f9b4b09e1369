// SPDX-License-Identifier: Apache-2.0
#include <ballast/partition/min_max.hpp>
#include <ballast/partition/second_objective.hpp>

#include "suite.hpp"

namespace test_partition_second_objective {

using namespace ballast_test;
using ballast::least_squares_partition;
using ballast::least_volume_partition;

namespace {
/// The least sum of squares of equal stages within a limit, by trying every begin of every stage.
std::int64_t least_squares(numbers const& layers, std::size_t stages, std::int64_t limit) {
  auto const n = layers.size();
  auto const none = std::int64_t{1} << 60;
  numbers before(n + 1, none);
  before[0] = 0;
  for (std::size_t s = 0; s < stages; ++s) {
    numbers here(n + 1, none);
    for (std::size_t end = 1; end <= n; ++end) {
      std::int64_t load = 0;
      for (auto begin = end; begin-- > 0;) {
        load += layers[begin];
        if (load > limit) break;
        if (before[begin] != none) here[end] = (std::min)(here[end], before[begin] + load * load);
      }
    }
    before = here;
  }
  return before[n];
}
}  // namespace

TEST_CASE("least_squares_partition: long chains, against the plain dynamic programme") {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    auto c = random_chain_case(seed, nothing, 150, 20);
    if (seed % 2 == 0) c.limit = 1 + std::accumulate(c.layers.begin(), c.layers.end(), std::int64_t{0});
    auto const level = least_squares_partition(c.layers, c.options());
    require_valid(check_partition(level.partition, c.layers, c.options()));
    if (level.partition.status != status::feasible) continue;
    auto const limit = c.limit != 0 ? c.limit : level.partition.bottleneck.lower_bound;
    REQUIRE(level.squares ==
            ballast::wide{0, static_cast<std::uint64_t>(least_squares(c.layers, static_cast<std::size_t>(c.stages), limit))});
  }
}

TEST_CASE("least_squares_partition: spreads the slack that a longest prefix leaves behind") {
  numbers const layers(9, 1);
  CHECK(ballast::min_max_partition(layers, {.stages = 4}).boundaries == cut{0, 3, 6, 8, 9});
  CHECK(least_squares_partition(layers, {.stages = 4}).partition.boundaries == cut{0, 2, 4, 6, 9});
  auto const half = std::int64_t{1} << 61;
  auto const wide = least_squares_partition(numbers{half, half, half - 1}, {.stages = 2});
  CHECK(wide.partition.boundaries == cut{0, 1, 3});
  CHECK(wide.squares == ballast::wide{(std::uint64_t{1} << 58) * 5 - 1, std::uint64_t{0} - (std::uint64_t{1} << 63) + 1});
}

TEST_CASE("least_volume_partition: a limit buys a smaller volume") {
  numbers const layers{4, 4, 4, 4, 1, 1}, volume{50, 50, 50, 3, 50};
  auto const tight = least_volume_partition(layers, volume, {.stages = 2});
  CHECK((tight.partition.boundaries == cut{0, 2, 6} && tight.volume == ballast::certificate{50, 50}));
  auto const loose = least_volume_partition(layers, volume, {.stages = 2, .limit = 16});
  CHECK((loose.partition.boundaries == cut{0, 4, 6} && loose.volume == ballast::certificate{3, 3}));
  CHECK((loose.partition.bottleneck == ballast::certificate{16, 10} && !loose.partition.bottleneck.optimal()));
  auto const never = least_volume_partition(layers, volume, {.stages = 2, .limit = 9});
  CHECK((never.partition.status == status::infeasible && never.partition.boundaries.empty()));
  CHECK((never.partition.bottleneck == ballast::certificate{9, 10} && never.volume == ballast::certificate{}));
  require_valid(check_partition(never.partition, layers, {.stages = 2, .limit = 9}));
}

TEST_CASE("second objectives: corners and refusals") {
  auto const none = least_squares_partition(numbers{}, {.stages = 2, .min_layers = 0});
  CHECK((none.partition.boundaries == cut{0, 0, 0} && none.squares == ballast::wide{}));
  CHECK(least_volume_partition(numbers{}, numbers{}, {.stages = 2}).partition.bound == partition_bound::min_layers);
  numbers const two{1, 1}, one{1}, negative{-1}, large{ballast::unaffordable};
  CHECK(refusal([&] { return least_squares_partition(two, {.stages = 2, .limit = -1}); }) ==
        "limit = -1 must not be negative (0 = the least possible)");
  CHECK(refusal([&] { return least_squares_partition(two, {}); }) == "stages = 0 must be in 1 ... 2^31");
  CHECK(refusal([&] { return least_volume_partition(two, two, {.stages = 2}); }) == "volume has 2 entries for 1 inner cuts");
  CHECK(refusal([&] { return least_volume_partition(two, negative, {.stages = 2}); }) == "volume[0] = -1 must not be negative");
  CHECK(refusal([&] { return least_volume_partition(two, large, {.stages = 2}); }) ==
        "volumes of up to 9223372036854775807 at each of 2 stages reach 2^63");
}

}  // namespace test_partition_second_objective
