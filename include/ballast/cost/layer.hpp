// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/memory.hpp>
#include <ballast/cost/symbolic.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/vision.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief The layers of a model as planners of stages and memory see them: what each computes, holds and hands on, by micro-batch.

namespace ballast::inline v0_2 {

/// @brief A micro-batch in numbers: all that the cost of a layer depends on.
struct batch_shape {
  std::int64_t tokens = 0;   ///< of the language model, image tokens among them
  std::int64_t squares = 0;  ///< sum of the squared lengths of its samples
  std::int64_t tiles = 0;    ///< image tiles

  /// @brief The values in the order of the symbolic dimensions 0, 1, 2.
  [[nodiscard]] constexpr std::array<std::int64_t, 3> values() const noexcept { return {tokens, squares, tiles}; }
  friend constexpr bool operator==(batch_shape const&, batch_shape const&) = default;
};

/// @brief A cost of a micro-batch: linear in its tokens, squares and tiles.
struct batch_cost {
  std::int64_t per_token = 0;   ///< units per token, not negative
  std::int64_t per_square = 0;  ///< units per squared token, not negative
  std::int64_t per_tile = 0;    ///< units per tile, not negative

  /// @brief The cost. @param of a micro-batch, with `fits(of)`
  [[nodiscard]] constexpr std::int64_t operator()(batch_shape const& of) const noexcept {
    return per_token * of.tokens + per_square * of.squares + per_tile * of.tiles;
  }
  /// @brief Whether the cost is below 2^63. @param of a micro-batch
  [[nodiscard]] constexpr bool fits(batch_shape const& of) const noexcept {
    return (checked(per_token) * checked(of.tokens) + checked(per_square) * checked(of.squares) + checked(per_tile) * checked(of.tiles))
        .fits();
  }
  /// @brief The same over dimensions 0 (tokens), 1 (squares) and 2 (tiles).
  [[nodiscard]] symbolic polynomial() const {
    return per_token * symbolic::of(0) + per_square * symbolic::of(1) + per_tile * symbolic::of(2);
  }
  friend constexpr bool operator==(batch_cost const&, batch_cost const&) = default;
};

/// @brief One layer on one device of its stage.
struct layer_cost {
  std::string name;             ///< as in "language 12"
  batch_cost forward{};         ///< FLOPs of the forward pass
  batch_cost backward{};        ///< FLOPs of the backward pass, nothing recomputed
  batch_cost selective{};       ///< FLOPs that selective recomputation adds; none if the layer knows only all or nothing
  std::int64_t parameters = 0;  ///< parameters that one tensor-parallel group holds together
  batch_cost kept{};            ///< bytes held from forward to backward, nothing recomputed
  batch_cost kept_selective{};  ///< the same under selective recomputation
  batch_cost checkpoint{};      ///< the same if all is recomputed: the layer's input
  batch_cost boundary{};        ///< bytes handed to the next layer

  /// @brief Bytes held under a recompute level. @param level what is recomputed
  [[nodiscard]] constexpr batch_cost const& memory(recompute_level level) const noexcept {
    return level == recompute_level::none ? kept : level == recompute_level::selective ? kept_selective : checkpoint;
  }
  /// @brief FLOPs that a recompute level adds. @param level what is recomputed
  [[nodiscard]] constexpr batch_cost recomputed(recompute_level level) const noexcept {
    return level == recompute_level::none ? batch_cost{} : level == recompute_level::selective ? selective : forward;
  }
  friend bool operator==(layer_cost const&, layer_cost const&) = default;
};

namespace detail {
/// One layer of a transformer, by token and square, on one tensor-parallel device; context parallelism divides both.
[[nodiscard]] inline layer_cost transformer_layer(transformer const& model, std::int64_t layer, parallelism const& spread,
                                                  std::string name) {
  auto const flops = layer_flops(model, layer);
  auto const shards = spread.tensor * spread.context;
  layer_cost out{.name = std::move(name)};
  // pairs are tokens^2 where all see all, half of (tokens^2 + tokens) where causal, at most `window` a token where windowed
  auto const squares = flops.causal ? flops.per_pair / 2 : flops.per_pair;
  auto const diagonal = flops.causal ? flops.per_pair - squares : 0;
  out.forward = {divide_up(flops.per_token + diagonal + flops.per_windowed_pair * flops.window, shards), divide_up(squares, shards), 0};
  out.backward = {2 * out.forward.per_token, 2 * out.forward.per_square, 0};
  auto const bytes = [&](recompute_level level) {
    return batch_cost{.per_token = divide_up(activation_bytes_per_token(model, layer, spread, level), spread.context)};
  };
  out.kept = bytes(recompute_level::none);
  out.kept_selective = bytes(recompute_level::selective);
  out.checkpoint = bytes(recompute_level::full);
  out.selective = {divide_up(recomputed_flops_per_token(model, layer, spread, recompute_level::selective), spread.context), 0, 0};
  out.parameters = layer_parameters(model, layer);
  out.boundary = {.per_token = divide_up(2 * model.hidden, spread.context)};
  return out;
}
/// What costs by token costs by tile, for samples of `tokens` each.
[[nodiscard]] inline batch_cost by_tile(batch_cost const& c, std::int64_t tokens) {
  batch_shape const tile{.tokens = tokens, .squares = tokens * tokens, .tiles = 0};
  require(c.fits(tile), [&] { return "body.positions = " + std::to_string(tokens) + " bring a layer's cost of a tile to 2^63 or more"; });
  return {.per_tile = c(tile)};
}
inline void require_degrees(parallelism const& spread) {
  require_valid(spread);
  require(spread.tensor * spread.context <= std::int64_t{1} << 24, [] { return std::string("tensor * context must be at most 2^24"); });
}
}  // namespace detail

/// @brief The chain of a language model: embedding, layers, head. Where there is no vocabulary, layers alone.
///
/// FLOPs and bytes are those of one device of a tensor- and context-parallel group, shares rounded up. Layers with a window count `window`
/// pairs a token, which is never too few. Boundaries are counted whole, in a 16-bit format, as they travel without sequence parallelism.
///
/// @param model   the shape
/// @param spread  degrees
/// @return layers from first to last
/// @throws invalid_input as `require_valid`
[[nodiscard]] inline std::vector<layer_cost> layers_of(transformer const& model, parallelism const& spread = {}) {
  require_valid(model);
  detail::require_degrees(spread);
  auto const shards = spread.tensor * spread.context;
  std::vector<layer_cost> out;
  batch_cost const boundary{.per_token = divide_up(2 * model.hidden, spread.context)};
  if (model.vocabulary > 0)  // a look-up keeps nothing but indices
    out.push_back({.name = "embedding", .parameters = (model.vocabulary + model.positions) * model.hidden, .boundary = boundary});
  for (std::int64_t l = 0; l < model.layers; ++l) out.push_back(detail::transformer_layer(model, l, spread, "layer " + std::to_string(l)));
  if (model.vocabulary > 0) {
    batch_cost const flops{.per_token = divide_up(head_flops_per_token(model), shards)};
    auto const norm = model.final_norm ? 2 * model.hidden : 0;
    batch_cost const input{.per_token = divide_up(2 * model.hidden + norm, spread.context)};
    batch_cost const logits{.per_token = divide_up(4 * model.vocabulary, shards) + input.per_token};  // float32, for the loss
    out.push_back({.name = "head",
                   .forward = flops,
                   .backward = {2 * flops.per_token, 0, 0},
                   .selective = {},
                   .parameters = (model.tied ? 0 : model.vocabulary * model.hidden) +
                                 (model.final_norm ? model.hidden * (model.norm_bias ? 2 : 1) : 0),
                   .kept = logits,
                   .kept_selective = logits,
                   .checkpoint = {.per_token = divide_up(2 * model.hidden, spread.context)},
                   .boundary = {}});
  }
  return out;
}

/// @brief The chain of a vision-language model: patch embedding, vision layers, projector, then that of the language model.
///
/// Vision layers cost by tile, language layers by token. Vision boundaries carry vision tokens, the projector's its merged ones.
///
/// @param model   the shape
/// @param spread  degrees, the same for both parts
/// @return layers from first to last
/// @throws invalid_input as `require_valid`
[[nodiscard]] inline std::vector<layer_cost> layers_of(vision_language_model const& model, parallelism const& spread = {}) {
  require_valid(model.vision);
  require_valid(model.language);
  detail::require_degrees(spread);
  auto const& vision = model.vision;
  auto const shards = spread.tensor * spread.context;
  auto const n = vision.tokens(), h = vision.body.hidden;
  std::vector<layer_cost> out;
  auto const pixels = vision.patch * vision.patch * vision.channels;
  auto const add = [&](char const* name, std::int64_t flops, std::int64_t parameters, std::int64_t kept, std::int64_t input,
                       std::int64_t handed) {
    batch_cost const all{.per_tile = divide_up(kept, spread.context)};
    auto const share = divide_up(flops, shards);
    out.push_back({.name = name,
                   .forward = {.per_tile = share},
                   .backward = {.per_tile = 2 * share},
                   .selective = {},
                   .parameters = parameters,
                   .kept = all,
                   .kept_selective = all,
                   .checkpoint = {.per_tile = divide_up(input, spread.context)},
                   .boundary = {.per_tile = divide_up(handed, spread.context)}});
  };
  auto const patches = n - vision.extra_tokens;
  std::int64_t of_layers = 0;
  for (std::int64_t l = 0; l < vision.body.layers; ++l) of_layers += layer_parameters(vision.body, l);
  add("patches", 2 * patches * pixels * h, parameters(vision) - of_layers, 2 * patches * pixels, 2 * patches * pixels, 2 * n * h);
  for (std::int64_t l = 0; l < vision.body.layers; ++l) {
    auto c = detail::transformer_layer(vision.body, l, spread, "vision " + std::to_string(l));
    for (auto* const cost : {&c.forward, &c.backward, &c.selective, &c.kept, &c.kept_selective, &c.checkpoint, &c.boundary})
      *cost = detail::by_tile(*cost, n);
    out.push_back(std::move(c));
  }
  auto const& p = model.projector;
  auto const read = 2 * p.tokens * p.input;
  add("projector", tile_flops(p), parameters(p), (p.norm ? 2 : 1) * read + 2 * 2 * p.tokens * p.output, read, 2 * p.tokens * p.output);
  for (auto& c : layers_of(model.language, spread)) {
    c.name = c.name.starts_with("layer") ? "language" + c.name.substr(5) : c.name;
    out.push_back(std::move(c));
  }
  return out;
}

}  // namespace ballast::inline v0_2
