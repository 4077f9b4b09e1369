// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/methods/omnibal_partition.hpp>
#include <ballast/partition/check.hpp>
#include <ballast/partition/second_objective.hpp>
#include <ballast/partition/trade_off.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

namespace test_methods_omnibal_partition {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;

namespace {
using numbers = std::vector<std::int64_t>;
using cut = std::vector<std::uint32_t>;
}  // namespace

TEST_CASE("omnibal_partition: 27 cuts around the anchor of four stages, none beyond what the exact objectives find") {
  int lost = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    splitmix64 draw(seed);
    numbers layers(40), volume(39);
    for (auto& x : layers) x = between(1, 900, draw);
    for (auto& x : volume) x = between(0, 1500, draw);
    auto const found = omnibal::partition_around_anchor(layers, volume, {.stages = 4});
    partition_options const options{.stages = 4};
    REQUIRE(found.anchor.bottleneck.optimal());
    REQUIRE(found.tried == 27);  // stages are long enough for all of them
    REQUIRE(found.candidates.size() == 27);
    auto const traded = trade_off_partition(layers, volume, options);
    auto best = found.candidates.front().bottleneck + found.candidates.front().volume;
    std::set<cut> seen;
    for (auto const& c : found.candidates) {
      REQUIRE(check_partition(std::span<std::uint32_t const>(c.boundaries), layers, options).valid());
      REQUIRE(seen.insert(c.boundaries).second);
      for (std::size_t s = 1; s < 4; ++s)
        REQUIRE((c.boundaries[s] + 1 >= found.anchor.boundaries[s] && c.boundaries[s] <= found.anchor.boundaries[s] + 1));
      REQUIRE(c.bottleneck >= found.anchor.bottleneck.value);
      best = (std::min)(best, c.bottleneck + c.volume);
      auto const level = least_squares_partition(layers, {.stages = 4, .limit = c.bottleneck});
      REQUIRE_FALSE(c.squares < level.squares);
    }
    REQUIRE(traded.total.value <= best);
    lost += traded.total.value < best ? 1 : 0;
    for (std::size_t i = 1; i < 27; ++i) REQUIRE_FALSE(found.candidates[i].squares < found.candidates[i - 1].squares);
  }
  CHECK(lost > 20);  // a radius of one misses the best trade-off more often than not
}

TEST_CASE("omnibal_partition: the most level ones, then the leanest that are not among them") {
  numbers const layers{4, 4, 4, 4, 4, 4}, volume{1, 9, 5, 9, 2};
  auto const found = omnibal::partition_around_anchor(layers, volume, {.stages = 2, .radius = 2, .listed = 2});
  CHECK(found.tried == 5);
  REQUIRE(found.candidates.size() == 4);
  CHECK(found.candidates[0].boundaries == cut{0, 3, 6});  // 12, 12
  CHECK(found.candidates[1].boundaries == cut{0, 2, 6});  // 8, 16; as lean as its mirror
  CHECK(found.candidates[2].boundaries == cut{0, 1, 6});
  CHECK(found.candidates[3].boundaries == cut{0, 5, 6});
  CHECK((found.candidates[2].volume == 1 && found.candidates[2].bottleneck == 20));
  CHECK(found.candidates[0].squares == wide{.high = 0, .low = 288});
}

TEST_CASE("omnibal_partition: a projector's narrow cut is found from the level one") {
  // four vision layers, the projector, four language layers; the paper's volumes in MiB for 9 images and 4096 tokens
  numbers const layers{7, 7, 7, 7, 3, 12, 12, 12, 12}, volume{56, 56, 56, 56, 27, 48, 48, 48};
  auto const found = omnibal::partition_around_anchor(layers, volume, {.stages = 2, .listed = 1});
  CHECK(found.anchor.boundaries == cut{0, 6, 9});
  REQUIRE(found.candidates.size() == 2);
  CHECK(found.candidates[1].boundaries == cut{0, 5, 9});
  CHECK(found.candidates[1].volume == 27);
}

TEST_CASE("omnibal_partition: boundaries keep rising, and refusals") {
  auto const tight = omnibal::partition_around_anchor(numbers{1, 1, 1}, numbers{1, 1}, {.stages = 3, .radius = 4});
  CHECK(tight.tried == 1);
  CHECK(tight.candidates.front().boundaries == cut{0, 1, 2, 3});
  auto const one = omnibal::partition_around_anchor(numbers{1, 1}, numbers{1}, {.stages = 1, .radius = 3});
  CHECK(one.candidates.front().boundaries == cut{0, 2});
  auto const none = omnibal::partition_around_anchor(numbers{}, numbers{}, {.stages = 2});
  CHECK((none.anchor.status == status::infeasible && none.candidates.empty() && none.tried == 0));
  CHECK(refusal([] { return omnibal::partition_around_anchor(numbers{1, 1}, numbers{1, 1}, {.stages = 2}); }) ==
        "volume has 2 entries for 2 layers");
  CHECK(refusal([] { return omnibal::partition_around_anchor(numbers{1, 1}, numbers{-1}, {.stages = 2}); }) ==
        "volume[0] = -1 is negative, or brings the sum to 2^62");
  CHECK(refusal([] { return omnibal::partition_around_anchor(numbers(40, 1), numbers(39, 1), {.stages = 9, .radius = 4}); }) ==
        "radius = 4 with stages = 9 makes more than 2^20 cuts");
}

}  // namespace test_methods_omnibal_partition
