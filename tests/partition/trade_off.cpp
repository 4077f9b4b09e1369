// SPDX-License-Identifier: Apache-2.0
#include <ballast/partition/min_max.hpp>
#include <ballast/partition/trade_off.hpp>

#include "suite.hpp"

namespace test_partition_trade_off {

using namespace ballast_test;
using ballast::trade_off_partition;

TEST_CASE("trade_off_partition: never above a level cut, nor above any cut near it") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    chain_case c;
    c.layers = draw_numbers(60, 1, 900, draw);
    c.volume = draw_numbers(59, 0, 2000, draw);
    c.stages = 4;
    auto const traded = trade_off_partition(c.layers, c.volume, c.options());
    require_valid(check_partition(traded.partition, c.layers, c.options()));
    auto const own = worth_of(c, traded.partition.boundaries);
    REQUIRE((traded.total == ballast::certificate{own->bottleneck + own->volume, own->bottleneck + own->volume}));
    auto const anchor = ballast::min_max_partition(c.layers, c.options()).boundaries;
    for (int shift = 0; shift < 125; ++shift) {  // two layers either way at each of the three inner cuts
      auto moved = anchor;
      for (int k = 1, s = shift; k < 4; ++k, s /= 5) moved[static_cast<std::size_t>(k)] += static_cast<std::uint32_t>(s % 5 - 2);
      if (!std::is_sorted(moved.begin(), moved.end())) continue;
      if (auto const w = worth_of(c, moved)) REQUIRE(traded.total.value <= w->bottleneck + w->volume);
    }
  }
}

TEST_CASE("trade_off_partition: a cheap cut is worth a dearer stage, up to a point") {
  numbers const layers{4, 4, 4, 4, 1, 1};
  auto const at = [&](std::int64_t dear) { return trade_off_partition(layers, numbers{dear, dear, dear, 3, dear}, {.stages = 2}); };
  auto const cheap = at(8);  // 10 + 8 against 16 + 3
  CHECK((cheap.partition.boundaries == cut{0, 2, 6} && cheap.total == ballast::certificate{18, 18}));
  CHECK(cheap.volume == ballast::certificate{8, 3});
  auto const dear = at(10);
  CHECK((dear.partition.boundaries == cut{0, 4, 6} && dear.total == ballast::certificate{19, 19}));
  CHECK(dear.partition.bottleneck == ballast::certificate{16, 10});
}

TEST_CASE("trade_off_partition: corners and refusals") {
  auto const none = trade_off_partition(numbers{}, numbers{}, {.stages = 2, .min_layers = 0});
  CHECK((none.partition.boundaries == cut{0, 0, 0} && none.total == ballast::certificate{}));
  CHECK(trade_off_partition(numbers{1}, numbers{}, {.stages = 2}).partition.bound == partition_bound::min_layers);
  numbers const two{1, 1}, negative{-1};
  CHECK(refusal([&] { return trade_off_partition(two, two, {.stages = 2}); }) == "volume has 2 entries for 1 inner cuts");
  CHECK(refusal([&] { return trade_off_partition(two, negative, {.stages = 2}); }) == "volume[0] = -1 must not be negative");
  auto const half = std::int64_t{1} << 61;
  CHECK(refusal([&] { return trade_off_partition(numbers{2 * half, 1}, numbers{half}, {.stages = 2}); }) ==
        "a bottleneck of 4611686018427387904 and volumes of up to 4611686018427387904 reach 2^63");
  CHECK(refusal([&] { return trade_off_partition(two, numbers{1}, {}); }) == "stages = 0 must be in 1 ... 2^31");
}

}  // namespace test_partition_trade_off
