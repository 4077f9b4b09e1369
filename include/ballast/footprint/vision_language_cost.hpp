// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/config.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/transformer_cost.hpp>
#include <ballast/cost/vision.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/trainable.hpp>

#include <cstdint>
#include <numeric>
#include <span>

/// @file
/// @brief `vision_language_cost`: what a sample of image tiles and tokens costs in the training of a vision-language model.

namespace ballast::inline v0_2 {

/// @brief The cost of a sample of image tiles and tokens, forward and backward. `sample_cost` makes it from the shape of a model.
struct vision_language_cost {
  std::int64_t per_tile = 0;  ///< units per image tile, not negative
  transformer_cost language;  ///< units by the number of tokens; `flops_per_unit` counts FLOPs of the forward and the backward pass

  /// @brief The cost in units. @param tiles_and_tokens image tiles, then tokens of the language model, those of images included; with
  /// `fits(tiles_and_tokens)`
  [[nodiscard]] constexpr std::int64_t operator()(std::span<std::int64_t const> tiles_and_tokens) const noexcept {
    return per_tile * tiles_and_tokens.front() + language(tiles_and_tokens.back());
  }
  /// @brief Whether there are two measures, and the cost is below 2^63.
  /// @param tiles_and_tokens image tiles, then tokens of the language model, those of images included
  [[nodiscard]] constexpr bool fits(std::span<std::int64_t const> tiles_and_tokens) const noexcept {
    return tiles_and_tokens.size() == 2 && language.fits(tiles_and_tokens[1]) &&
           (checked(per_tile) * checked(tiles_and_tokens[0]) + checked(language(tiles_and_tokens[1]))).fits();
  }
  friend constexpr bool operator==(vision_language_cost const&, vision_language_cost const&) = default;
};

/// @brief The cost of a sample in the training of a vision-language model: FLOPs of both passes, divided by their greatest common divisor.
///
/// A frozen part has no weight gradients, and no backward pass at all if nothing in front of it is trained (`backward_factor`). Degrees,
/// optimiser and recomputation do not change the cost: it is that of one device, without recomputation.
///
/// @param model  the shape
/// @param by     which parts are trained
/// @return the cost of a sample by its tiles and tokens
/// @throws invalid_input as `layers_of`
template <class = when_called>
[[nodiscard]] inline vision_language_cost sample_cost(vision_language_model const& model, model_setting const& by = {}) {
  vision_language_cost out;
  for (auto const& layer : layers_of(model, {.language = by.language, .vision = by.vision, .projector = by.projector}))
    out.per_tile += layer.forward.per_tile + layer.backward.per_tile;
  auto const trained_before = by.vision.what != trained::none || by.projector.what != trained::none || by.language.what != trained::none;
  auto const factor = backward_factor(by.language, trained_before);
  std::int64_t adapters = 0;
  for (std::int64_t l = 0; l < model.language.layers; ++l)
    adapters += layer_training_flops(model.language, l, by.language, true).forward.per_token - layer_flops(model.language, l).per_token;
  auto& cost = out.language = forward_flops(model.language);
  cost.per_token = cost.per_token * (1 + factor) + 3 * adapters;
  for (auto* const pairs : {&cost.per_pair, &cost.per_windowed_pair}) *pairs *= factor > 0 ? 3 : 1;
  cost.flops_per_unit = std::gcd(std::gcd(std::gcd(cost.per_token, cost.per_pair), cost.per_windowed_pair), out.per_tile);
  for (auto* const part : {&cost.per_token, &cost.per_pair, &cost.per_windowed_pair, &out.per_tile}) *part /= cost.flops_per_unit;
  return out;
}

}  // namespace ballast::inline v0_2
