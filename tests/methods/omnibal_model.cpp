// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/methods/omnibal_model.hpp>
#include <ballast/partition/check.hpp>
#include <ballast/partition/second_objective.hpp>
#include <ballast/recompute/keep_tensors.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <span>
#include <vector>

namespace test_methods_omnibal_model {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;

namespace {
using numbers = std::vector<std::int64_t>;
using cut = std::vector<std::uint32_t>;
}  // namespace

TEST_CASE("omnibal_model: 27 cuts around the anchor of four stages, none beyond what the exact objectives find") {
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
    std::set<cut> seen;
    for (auto const& c : found.candidates) {
      REQUIRE(check_partition(std::span<std::uint32_t const>(c.boundaries), layers, options).valid());
      REQUIRE(seen.insert(c.boundaries).second);
      for (std::size_t s = 1; s < 4; ++s)
        REQUIRE((c.boundaries[s] + 1 >= found.anchor.boundaries[s] && c.boundaries[s] <= found.anchor.boundaries[s] + 1));
      REQUIRE(c.bottleneck >= found.anchor.bottleneck.value);
      auto const level = least_squares_partition(layers, {.stages = 4, .limit = c.bottleneck});
      REQUIRE_FALSE(c.squares < level.squares);
    }
    for (std::size_t i = 1; i < 27; ++i) REQUIRE_FALSE(found.candidates[i].squares < found.candidates[i - 1].squares);
  }
}

TEST_CASE("omnibal_model: the most level ones, then the leanest that are not among them") {
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

TEST_CASE("omnibal_model: a projector's narrow cut is found from the level one") {
  // four vision layers, the projector, four language layers; the paper's volumes in MiB for 9 images and 4096 tokens
  numbers const layers{7, 7, 7, 7, 3, 12, 12, 12, 12}, volume{56, 56, 56, 56, 27, 48, 48, 48};
  auto const found = omnibal::partition_around_anchor(layers, volume, {.stages = 2, .listed = 1});
  CHECK(found.anchor.boundaries == cut{0, 6, 9});
  REQUIRE(found.candidates.size() == 2);
  CHECK(found.candidates[1].boundaries == cut{0, 5, 9});
  CHECK(found.candidates[1].volume == 27);
}

namespace {
/// A full micro-batch of the paper: 9 tiles and 4,096 tokens.
constexpr batch_shape full{.tokens = 4096, .squares = 4096 * 4096, .tiles = 9};
/// The volume across the cuts of four stages less that of three cuts inside the language model: MiB, as table 4 of the paper counts them.
double more_volume(std::vector<layer> const& chain, cut const& boundaries) {
  std::int64_t bytes = 0;
  for (std::size_t s = 1; s < 4; ++s) bytes += chain[boundaries[s] - 1].boundary(full) - chain[95].boundary(full);
  return static_cast<double>(bytes) / (1 << 20);
}
std::int64_t bottleneck(numbers const& weights, cut const& boundaries) {
  std::int64_t most = 0;
  for (std::size_t s = 0; s + 1 < boundaries.size(); ++s)
    most = (std::max)(most, std::accumulate(weights.begin() + boundaries[s], weights.begin() + boundaries[s + 1], std::int64_t{0}));
  return most;
}
}  // namespace

TEST_CASE("omnibal_model: the chain of InternVL-Chat-1.5, cut by parameters", "[published]") {
  auto const chain = layers_of(vision_language_preset("internvl-chat-1.5"));
  REQUIRE(chain.size() == 97);
  numbers weights;
  for (auto const& l : chain) weights.push_back(l.parameters);
  CHECK(min_max_partition(weights, {.stages = 4}).boundaries == cut{0, 49, 65, 81, 97});
  // The authors' chain has 101 units: a cast comes first, and the head is one of four units at the end. Their example is the same cut but
  // for one language layer, which makes its largest stage 0.3 % larger.
  numbers units{0};
  units.insert(units.end(), weights.begin(), weights.end());
  units.insert(units.end(), 3, 0);
  cut const example{0, 49, 66, 82, 101};
  auto const found = min_max_partition(units, {.stages = 4});
  CHECK(found.boundaries == cut{0, 50, 66, 82, 101});
  CHECK(found.bottleneck.value == 6'611'598'720);
  CHECK(bottleneck(units, example) == 6'631'403'520);
}

TEST_CASE("omnibal_model: no profile of one chain gives both rows of table 4", "[published]") {
  auto const chain = layers_of(vision_language_preset("internvl-chat-1.5"));
  numbers volume;
  for (std::size_t i = 0; i + 1 < chain.size(); ++i) volume.push_back(chain[i].boundary(full));
  auto const is = [](double mib, double published) { return std::abs(mib - published) < 0.05; };
  int of_profile = 0, of_search = 0;
  for (std::int64_t percent = 20; percent <= 400; ++percent) {  // time of the vision layers over what their FLOPs say
    numbers times;
    for (std::size_t i = 0; i < chain.size(); ++i) times.push_back(chain[i].forward(full) * (i <= 46 ? percent : 100) / 100);
    auto const anchor = more_volume(chain, min_max_partition(times, {.stages = 4}).boundaries);
    auto least = anchor;
    for (std::uint64_t const radius : {1U, 2U, 4U}) {
      auto const found = omnibal::partition_around_anchor(times, volume, {.stages = 4, .radius = radius});
      REQUIRE(found.tried == (radius == 1 ? 27U : radius == 2 ? 125U : 729U));
      for (auto const& c : found.candidates) least = (std::min)(least, more_volume(chain, c.boundaries));
      if (percent == 100) {  // by FLOPs, one cut is in the vision model, and no candidate sends less
        CHECK(found.anchor.boundaries == cut{0, 30, 57, 77, 97});
        CHECK(is(anchor, 8.3));
        CHECK(least == anchor);
      }
    }
    CAPTURE(percent, anchor, least);
    CHECK(is(anchor, 16.6) == (percent >= 157));                  // the row "profile"
    CHECK(is(least, -21.0) == (percent >= 38 && percent <= 58));  // the row "BMP"
    if (is(anchor, 16.6)) CHECK(least > -12.8);
    of_profile += is(anchor, 16.6) ? 1 : 0;
    of_search += is(least, -21.0) ? 1 : 0;
  }
  CHECK((of_profile == 244 && of_search == 21));
}

TEST_CASE("omnibal_model: boundaries keep rising, and refusals") {
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

TEST_CASE("omnibal_model: stages of one and of both kinds") {
  omnibal::layer_bytes const bytes{.vision = 20, .language = 10};
  CHECK(omnibal::recomputed_layers(12, 0, 95, bytes) == 12 - 3);      // 95 / 20 = 4, one in reserve
  CHECK(omnibal::recomputed_layers(0, 12, 95, bytes) == 12 - 8);      // 95 / 10 = 9
  CHECK(omnibal::recomputed_layers(5, 12, 95, bytes) == 17 - 8);      // language first
  CHECK(omnibal::recomputed_layers(5, 4, 95, bytes) == 9 - (4 + 1));  // 55 left: two vision layers, one in reserve
  CHECK(omnibal::recomputed_layers(5, 4, 9, bytes) == 9);
  CHECK(omnibal::recomputed_layers(5, 4, -1, bytes) == 9);
  CHECK(omnibal::recomputed_layers(5, 4, 1000, bytes) == 0);
  CHECK(refusal([&] { return omnibal::recomputed_layers(1, 1, 1, {.vision = 0}); }) == "bytes = {0, 1073741824} must be positive");
}

TEST_CASE("omnibal_model: within the memory, and never better than the exact selection") {
  int behind = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    splitmix64 draw(seed);
    auto const vision = between(0, 20, draw), language = between(1, 20, draw);
    omnibal::layer_bytes const bytes{between(5, 30, draw), between(5, 30, draw)};
    auto const vision_time = between(1, 30, draw), language_time = between(1, 30, draw), room = between(0, 400, draw);
    auto const recomputed = omnibal::recomputed_layers(vision, language, room, bytes);
    auto const kept_vision = vision - (recomputed < vision ? recomputed : vision);
    auto const kept_language = language - (recomputed > vision ? recomputed - vision : 0);
    CAPTURE(seed, vision, language, room, recomputed);
    CHECK(kept_vision * bytes.vision + kept_language * bytes.language <= room);
    std::vector<saved_tensor> kinds{{.bytes = bytes.language, .time = language_time, .count = static_cast<std::uint64_t>(language)}};
    if (vision > 0) kinds.push_back({.bytes = bytes.vision, .time = vision_time, .count = static_cast<std::uint64_t>(vision)});
    auto const best = keep_tensors(kinds, room);
    auto const time = (vision - kept_vision) * vision_time + (language - kept_language) * language_time;
    CHECK(time >= best.time.value);
    behind += time > best.time.value ? 1 : 0;
  }
  CHECK(behind > 250);
}

}  // namespace test_methods_omnibal_model
