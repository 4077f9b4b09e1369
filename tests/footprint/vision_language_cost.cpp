// SPDX-License-Identifier: Apache-2.0
#include <ballast/footprint/vision_language_cost.hpp>

#include <ballast/cost/layer.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/model_layers.hpp>

#include "support/catch.hpp"

#include <array>
#include <cstdint>
#include <span>

namespace test_footprint_vision_language_cost {

namespace {

using namespace ballast;

constexpr trainable frozen{.what = trained::none}, adapted{.what = trained::low_rank, .rank = 16};

std::int64_t cost_of(vision_language_cost const& cost, std::int64_t tiles, std::int64_t tokens) {
  std::array const row{tiles, tokens};
  return cost(std::span<std::int64_t const>(row));
}

}  // namespace

TEST_CASE("vision_language_cost: where all is trained, three times the forward FLOPs of tower, projector and language model") {
  for (auto const& [name, model] : vision_language_presets) {
    CAPTURE(name);
    auto const cost = sample_cost(model);
    auto const unit = cost.language.flops_per_unit;
    CHECK(cost.per_tile * unit == 3 * (tile_flops(model.vision) + tile_flops(model.projector)));
    for (std::int64_t const tokens : {1, 256, 4096})
      CHECK(cost_of(cost, 5, tokens) * unit ==
            15 * (tile_flops(model.vision) + tile_flops(model.projector)) + 3 * forward_flops(model.language)(tokens));
  }
}

TEST_CASE("vision_language_cost: frozen parts cost what the layers of the model say") {
  auto const& model = vision_language_preset("internvl-chat-1.5");
  for (auto const& language : {trainable{}, frozen, adapted})
    for (auto const& vision : {trainable{}, frozen, adapted})
      for (auto const& projector : {trainable{}, frozen}) {
        model_setting const by{.language = language, .vision = vision, .projector = projector};
        CAPTURE(static_cast<int>(language.what), static_cast<int>(vision.what), static_cast<int>(projector.what));
        auto const cost = sample_cost(model, by);
        batch_shape const sample{.tokens = 2000, .squares = 2000 * 2000, .tiles = 7};
        double flops = 0;
        auto const any = language.what != trained::none || vision.what != trained::none || projector.what != trained::none;
        for (auto const& l : layers_of(model, by))
          flops += static_cast<double>(l.forward(sample)) + (any ? static_cast<double>(l.backward(sample)) : 0.0);
        auto const found = static_cast<double>(cost_of(cost, 7, 2000)) * static_cast<double>(cost.language.flops_per_unit);
        CHECK(found >= flops * (1 - 1e-4));
        CHECK(found <= flops * (1 + 1e-4));
      }
  auto const whole = sample_cost(model);
  auto const tower = sample_cost(model, {.vision = frozen});
  auto const ratio = static_cast<double>(whole.per_tile) * static_cast<double>(whole.language.flops_per_unit) /
                     (static_cast<double>(tower.per_tile) * static_cast<double>(tower.language.flops_per_unit));
  CHECK(ratio > 2.9);  // a frozen tower has no backward pass
}

TEST_CASE("vision_language_cost: costs that reach 2^63 do not fit, and other numbers of measures neither") {
  auto const cost = sample_cost(vision_language_preset("llava-1.5-7b"));
  std::array const good{std::int64_t{5}, std::int64_t{4096}}, far{std::int64_t{1} << 50, std::int64_t{4096}};
  CHECK(cost.fits(std::span<std::int64_t const>(good)));
  CHECK(!cost.fits(std::span<std::int64_t const>(far)));
  CHECK(!cost.fits(std::span<std::int64_t const>(good).first(1)));
}

}  // namespace test_footprint_vision_language_cost
