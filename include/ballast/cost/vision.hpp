// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/transformer.hpp>

#include <cstdint>
#include <string>

/// @file
/// @brief Vision transformers, projectors, and the vision-language models that they make with a language model.

namespace ballast::inline v0_2 {

/// @brief A vision transformer: an image tile is cut into patches, embedded and passed through a bidirectional transformer.
struct vision_transformer {
  transformer body{};             ///< its layers; `positions` are the tokens of a tile
  std::int64_t patch = 14;        ///< edge of a patch, in pixels
  std::int64_t channels = 3;      ///< values of a pixel
  std::int64_t extra_tokens = 1;  ///< tokens that are no patch (the class token), each a learned vector
  bool patch_bias = true;         ///< bias of the patch embedding
  bool pre_norm = false;          ///< whether a norm precedes the first layer

  /// @brief Tokens of one tile.
  [[nodiscard]] constexpr std::int64_t tokens() const noexcept { return body.positions; }
  friend constexpr bool operator==(vision_transformer const&, vision_transformer const&) = default;
};

/// @brief The two-layer perceptron between a vision transformer and a language model.
struct projector {
  std::int64_t input = 1;   ///< width of what it reads: that of the vision transformer times the tokens it merges
  std::int64_t output = 1;  ///< width of the language model, and of its own inner layer
  std::int64_t tokens = 1;  ///< tokens it hands on of one tile
  bool norm = false;        ///< whether it begins with a norm (weight and bias)

  friend constexpr bool operator==(projector const&, projector const&) = default;
};

/// @brief A vision-language model.
struct vision_language_model {
  vision_transformer vision{};     ///< reads image tiles
  ballast::projector projector{};  ///< makes language tokens of them
  transformer language{};          ///< reads all tokens

  friend constexpr bool operator==(vision_language_model const&, vision_language_model const&) = default;
};

/// @brief Throws for a vision transformer that makes no sense.
/// @param model  the shape
/// @throws invalid_input naming the field
constexpr void require_valid(vision_transformer const& model) {
  require_valid(model.body);
  require(!model.body.causal, [] { return "a vision transformer with body.causal = true"; });
  detail::require_within("patch", model.patch, 1, 1024);
  detail::require_within("channels", model.channels, 1, 1024);
  detail::require_within("extra_tokens", model.extra_tokens, 0, model.body.positions);
}

/// @brief Parameters of a vision transformer, patch and position embeddings included.
/// @param model  the shape
/// @return how many
/// @throws invalid_input as `require_valid`
[[nodiscard]] constexpr std::int64_t parameters(vision_transformer const& model) {
  require_valid(model);
  auto const h = model.body.hidden;
  return parameters(model.body) + h * (model.patch * model.patch * model.channels + (model.patch_bias ? 1 : 0) + model.extra_tokens) +
         (model.pre_norm ? h * (model.body.norm_bias ? 2 : 1) : 0);
}

/// @brief Parameters of a projector.
/// @param model  the shape, widths below 2^30
/// @return how many
[[nodiscard]] constexpr std::int64_t parameters(projector const& model) noexcept {
  return (model.input + 1 + model.output + 1) * model.output + (model.norm ? 2 * model.input : 0);
}

/// @brief Parameters of a vision-language model.
/// @param model  the shape
/// @return how many
/// @throws invalid_input as `require_valid`
[[nodiscard]] constexpr std::int64_t parameters(vision_language_model const& model) {
  return parameters(model.vision) + parameters(model.projector) + parameters(model.language);
}

/// @brief Forward FLOPs of a vision transformer for one image tile.
/// @param model  the shape
/// @return FLOPs
/// @throws invalid_input as `require_valid`, or if the FLOPs of a tile pass 2^63
[[nodiscard]] constexpr std::int64_t tile_flops(vision_transformer const& model) {
  require_valid(model);

  auto const layers = forward_flops(model.body);
  auto const patches = checked(model.tokens() - model.extra_tokens) * checked(model.patch * model.patch * model.channels);
  auto const embedding = checked(2 * model.body.hidden) * patches;
  auto const fits = layers.fits(model.tokens()) && (embedding + checked(layers(model.tokens()))).fits();
  require(fits, [&] { return "body.positions = " + std::to_string(model.tokens()) + " bring the FLOPs of a tile to 2^63 or more"; });
  return embedding.value + layers(model.tokens());
}

/// @brief Forward FLOPs of a projector for one image tile.
/// @param model  the shape, widths below 2^20
/// @return FLOPs
[[nodiscard]] constexpr std::int64_t tile_flops(projector const& model) noexcept {
  return 2 * model.tokens * (model.input + model.output) * model.output;
}

}  // namespace ballast::inline v0_2
