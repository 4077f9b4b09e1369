// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/cost/vision.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>

namespace test_cost_vision {

using namespace ballast;
using ballast_test::refusal;

TEST_CASE("vision: the FLOPs of an image tile") {
  auto const& vit = vision_preset("internvit-6b-448");
  std::int64_t const h = 3200, n = 1025;
  CHECK(vit.tokens() == n);
  // 4 h^2 of attention and 8 h^2 of feed-forward matrices, n^2 pairs of 2 x 2 h, patches of 14 x 14 x 3
  CHECK(tile_flops(vit) == 45 * (2 * 12 * h * h * n + 4 * h * n * n) + 2 * 1024 * h * 588);
  auto const& qwen = vision_language_preset("qwen2.5-vl-7b");  // 1,024 patches, of which 28 layers see 64 and four see all
  CHECK(qwen.vision.tokens() == 1024);
  CHECK(tile_flops(qwen.vision) ==
        std::int64_t{1024} * (32 * 2 * (4 * 1280 * 1280 + 3 * 1280 * 3420) + 4 * 1280 * (28 * 64 + 4 * 1024) + 2 * 1280 * 1176));
  CHECK(tile_flops(qwen.projector) == std::int64_t{2} * 256 * (5120 + 3584) * 5120);
  CHECK(tile_flops(vision_language_preset("internvl-chat-1.5").projector) == std::int64_t{2} * 256 * (12800 + 6144) * 6144);
}

TEST_CASE("vision: a shape that makes no sense is refused by name") {
  auto const of = [](auto const& change) {
    auto model = vision_preset("clip-l-14-336");
    change(model);
    return refusal([&] { return tile_flops(model); });
  };
  CHECK(of([](vision_transformer&) {}) == "accepted");
  CHECK(of([](vision_transformer& m) { m.body.causal = true; }) == "body.causal = true: a vision transformer is not causal");
  CHECK(of([](vision_transformer& m) { m.patch = 0; }) == "patch = 0 must be in [1, 1024]");
  CHECK(of([](vision_transformer& m) { m.extra_tokens = 600; }) == "extra_tokens = 600 must be in [0, 577]");
  CHECK(of([](vision_transformer& m) { m.tile_tokens = 99, m.extra_tokens = 100; }) == "extra_tokens = 100 must be in [0, 99]");
  CHECK(of([](vision_transformer& m) { m.tile_tokens = -1; }) == "tile_tokens = -1 must be in [0, 16777216]");
  CHECK(of([](vision_transformer& m) { m.tile_tokens = 1 << 24; }) == "tile_tokens = 16777216 bring the FLOPs of a tile to 2^63 or more");
  CHECK(of([](vision_transformer& m) { m.body.layers = -1; }) == "layers = -1 must be in [1, 1024]");
  CHECK(of([](vision_transformer& m) { m.body.positions = 1 << 24; }) ==
        "body.positions = 16777216 bring the FLOPs of a tile to 2^63 or more");
}

}  // namespace test_cost_vision
