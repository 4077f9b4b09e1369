// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/transformer.hpp>

#include <cstdint>
#include <string>

/// @file
/// @brief Vision transformers, projectors, and vision-language models composed of both and a language model.

namespace ballast::inline v0_2 {

/// @brief A vision transformer: an image tile is cut into patches, which are embedded and passed through a bidirectional transformer.
struct vision_transformer {
  transformer body{};             ///< the transformer layers; `positions` is the number of tokens of a tile, if positions are learned
  std::int64_t patch = 14;        ///< edge of a patch, in pixels
  std::int64_t channels = 3;      ///< values per pixel, in all frames that a patch spans
  std::int64_t extra_tokens = 1;  ///< number of tokens that are not patches (the class token), each a learned vector
  bool patch_bias = true;         ///< whether the patch embedding has a bias
  bool pre_norm = false;          ///< whether a norm precedes the first layer
  std::int64_t tile_tokens = 0;   ///< number of tokens of a tile if positions are not learned; 0: `body.positions`

  /// @brief Number of tokens of one tile.
  [[nodiscard]] constexpr std::int64_t tokens() const noexcept { return tile_tokens > 0 ? tile_tokens : body.positions; }
  friend constexpr bool operator==(vision_transformer const&, vision_transformer const&) = default;
};

/// @brief The perceptron of two layers between a vision transformer and a language model.
struct projector {
  std::int64_t input = 1;         ///< input width: that of the vision transformer times the tokens that it merges
  std::int64_t output = 1;        ///< width of the language model
  std::int64_t tokens = 1;        ///< number of tokens per tile that it passes to the language model
  bool norm = false;              ///< whether it begins with a norm
  std::int64_t inner = 0;         ///< width of the inner layer; 0: `output`
  std::int64_t norm_weights = 0;  ///< number of weights and biases of the norm; 0: two for each value of the input

  /// @brief Width of the inner layer.
  [[nodiscard]] constexpr std::int64_t inner_width() const noexcept { return inner > 0 ? inner : output; }

  friend constexpr bool operator==(projector const&, projector const&) = default;
};

/// @brief A vision-language model: a vision transformer, a projector and a language model.
struct vision_language_model {
  vision_transformer vision{};     ///< reads image tiles
  ballast::projector projector{};  ///< turns vision tokens into tokens of the language model
  transformer language{};          ///< reads all tokens

  friend constexpr bool operator==(vision_language_model const&, vision_language_model const&) = default;
};

/// @brief Throws unless the shape of a vision transformer is valid.
/// @param model  the shape
/// @throws invalid_input naming the field
constexpr void require_valid(vision_transformer const& model) {
  require_valid(model.body);
  require(!model.body.causal, [] { return "body.causal = true: a vision transformer is not causal"; });
  detail::require_within("patch", model.patch, 1, 1024);
  detail::require_within("channels", model.channels, 1, 1024);
  detail::require_within("tile_tokens", model.tile_tokens, 0, 1 << 24);
  detail::require_within("extra_tokens", model.extra_tokens, 0, model.tokens());
}

/// @brief Number of parameters of a vision transformer, patch and position embeddings included.
/// @param model  the shape
/// @return the number of parameters
/// @throws invalid_input as `require_valid`
[[nodiscard]] constexpr std::int64_t parameters(vision_transformer const& model) {
  require_valid(model);
  auto const h = model.body.hidden;
  return parameters(model.body) + h * (model.patch * model.patch * model.channels + (model.patch_bias ? 1 : 0) + model.extra_tokens) +
         (model.pre_norm ? h * (model.body.norm_bias ? 2 : 1) : 0);
}

/// @brief Number of parameters of a projector.
/// @param model  the shape, widths below 2^30
/// @return the number of parameters
[[nodiscard]] constexpr std::int64_t parameters(projector const& model) noexcept {
  auto const inner = model.inner_width(), norm = model.norm_weights > 0 ? model.norm_weights : 2 * model.input;
  return (model.input + 1) * inner + (inner + 1) * model.output + (model.norm ? norm : 0);
}

/// @brief Number of parameters of a vision-language model.
/// @param model  the shape
/// @return the number of parameters
/// @throws invalid_input as `require_valid`
[[nodiscard]] constexpr std::int64_t parameters(vision_language_model const& model) {
  return parameters(model.vision) + parameters(model.projector) + parameters(model.language);
}

/// @brief Forward FLOPs of a vision transformer for one image tile.
/// @param model  the shape
/// @return FLOPs
/// @throws invalid_input as `require_valid`, or if the FLOPs of a tile reach 2^63
[[nodiscard]] constexpr std::int64_t tile_flops(vision_transformer const& model) {
  require_valid(model);

  auto const layers = forward_flops(model.body);
  auto const patches = checked(model.tokens() - model.extra_tokens) * checked(model.patch * model.patch * model.channels);
  auto const embedding = checked(2 * model.body.hidden) * patches;
  auto const fits = layers.fits(model.tokens()) && (embedding + checked(layers(model.tokens()))).fits();
  require(fits, [&] {
    return std::string(model.tile_tokens > 0 ? "tile_tokens" : "body.positions") + " = " + std::to_string(model.tokens()) +
           " bring the FLOPs of a tile to 2^63 or more";
  });
  return embedding.value + layers(model.tokens());
}

/// @brief Forward FLOPs of a projector for one image tile.
/// @param model  the shape, widths below 2^20
/// @return FLOPs
[[nodiscard]] constexpr std::int64_t tile_flops(projector const& model) noexcept {
  return 2 * model.tokens * (model.input + model.output) * model.inner_width();
}

}  // namespace ballast::inline v0_2
