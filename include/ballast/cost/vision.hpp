// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/layer_set.hpp>
#include <ballast/cost/transformer.hpp>

#include <cstdint>
#include <string>

/// @file
/// @brief Vision transformers, projectors, and vision-language models composed of both and a language model.

namespace ballast::inline v0_2 {

/// @brief A vision transformer: an image tile is cut into patches, which are embedded and passed through a bidirectional transformer.
struct vision_transformer {
  transformer body{};              ///< the transformer layers; `positions` is the number of tokens of a tile, if positions are learned
  std::int64_t patch = 14;         ///< edge of a patch, in pixels
  std::int64_t channels = 3;       ///< values per pixel, in all frames that a patch spans
  std::int64_t extra_tokens = 1;   ///< number of tokens that are not patches (the class token), each a learned vector
  bool patch_bias = true;          ///< whether the patch embedding has a bias
  bool pre_norm = false;           ///< whether a norm precedes the first layer
  std::int64_t tile_tokens = 0;    ///< number of tokens of a tile if it is not that of the learned positions; 0: `body.positions`
  std::int64_t unused_layers = 0;  ///< number of last layers that are never computed: LLaVA takes the output of an earlier layer

  /// @brief Number of layers that are computed.
  [[nodiscard]] constexpr std::int64_t computed_layers() const noexcept { return body.layers - unused_layers; }
  /// @brief Number of tokens of one tile.
  [[nodiscard]] constexpr std::int64_t tokens() const noexcept { return tile_tokens > 0 ? tile_tokens : body.positions; }
  friend constexpr bool operator==(vision_transformer const&, vision_transformer const&) = default;
};

/// @brief The perceptron between a vision transformer and a language model.
struct projector {
  std::int64_t input = 1;         ///< input width: that of the vision transformer times the tokens that it merges
  std::int64_t output = 1;        ///< width of the language model
  std::int64_t tokens = 1;        ///< number of tokens per tile that it passes to the language model
  bool norm = false;              ///< whether it begins with a norm
  std::int64_t inner = 0;         ///< width of the inner layers; 0: `output`
  std::int64_t norm_weights = 0;  ///< number of weights and biases of the norm; 0: two for each value of the input
  std::int64_t matrices = 2;      ///< number of matrices: input to inner, inner to inner, inner to output; with 1, input to output
  bool bias = true;               ///< whether each matrix has a bias
  std::int64_t merged = 0;        ///< width to which a matrix of its own brings the input, in front of the others; 0: there is none
  bool merged_bias = false;       ///< whether that matrix has a bias
  std::int64_t gated = 0;         ///< inner width of a gated feed-forward block behind the matrices, without biases; 0: there is none
  std::int64_t vectors = 0;       ///< learned vectors of the output width beside the tokens of tiles, such as the end of a row of tiles
  /// Layers of the vision transformer whose outputs are projected too, each by a projector of its own with a norm (two weights for each
  /// value of the input). The results are added to the outputs of the first layers of the language model (DeepStack).
  layer_set deep{};

  /// @brief Width of the inner layers.
  [[nodiscard]] constexpr std::int64_t inner_width() const noexcept { return inner > 0 ? inner : output; }
  /// @brief Number of weights in matrices of one projector.
  [[nodiscard]] constexpr std::int64_t weights() const noexcept {
    auto const w = inner_width(), first = merged > 0 ? merged : input;
    auto const perceptron = matrices == 1 ? first * output : first * w + (matrices - 2) * w * w + w * output;
    return perceptron + input * merged + 3 * output * gated;
  }
  /// @brief Number of projectors: one, and one for each layer of `deep`.
  [[nodiscard]] constexpr std::int64_t count() const noexcept { return 1 + deep.count(layer_set::most); }

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
  detail::require_within("unused_layers", model.unused_layers, 0, model.body.layers - 1);
}

/// @brief Throws unless the shape of a projector is valid.
/// @param model  the shape
/// @throws invalid_input naming the field
constexpr void require_valid(projector const& model) {
  constexpr auto within = detail::require_within;
  constexpr std::int64_t widest = 1 << 20;
  within("projector.input", model.input, 1, widest);
  within("projector.output", model.output, 1, widest);
  within("projector.tokens", model.tokens, 1, 1 << 24);
  within("projector.inner", model.inner, 0, widest);
  within("projector.norm_weights", model.norm_weights, 0, 2 * widest);
  within("projector.matrices", model.matrices, 1, 8);
  within("projector.vectors", model.vectors, 0, widest);
  within("projector.merged", model.merged, 0, widest);
  within("projector.gated", model.gated, 0, widest);
}

/// @brief Throws unless the shape of a vision-language model is valid.
/// @param model  the shape
/// @throws invalid_input naming the field
constexpr void require_valid(vision_language_model const& model) {
  require_valid(model.vision);
  require_valid(model.projector);
  require_valid(model.language);
  auto const layers = model.vision.computed_layers(), deep = model.projector.count() - 1;
  require(model.projector.deep.count(layers) == deep && deep <= model.language.layers, [&] {
    return "projector.deep has " + std::to_string(deep) + " layers, of which " + std::to_string(model.projector.deep.count(layers)) +
           " are among the computed ones of the vision transformer, for a language model of " + std::to_string(model.language.layers);
  });
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

/// @brief Number of parameters of a projector, those of `deep` layers included.
/// @param model  the shape, widths at most 2^20
/// @return the number of parameters
[[nodiscard]] constexpr std::int64_t parameters(projector const& model) noexcept {
  auto const biases = (model.bias ? (model.matrices - 1) * model.inner_width() + model.output : 0) + (model.merged_bias ? model.merged : 0);
  auto const norm = model.norm_weights > 0 ? model.norm_weights : 2 * model.input;
  return model.count() * (model.weights() + biases) + (model.norm ? norm : 0) + (model.count() - 1) * 2 * model.input +
         model.vectors * model.output;
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
  auto body = model.body;
  body.layers = model.computed_layers();
  auto const layers = forward_flops(body);
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
/// @param model  the shape, widths at most 2^20
/// @return FLOPs
[[nodiscard]] constexpr std::int64_t tile_flops(projector const& model) noexcept {
  return 2 * model.tokens * model.count() * model.weights();
}

}  // namespace ballast::inline v0_2
