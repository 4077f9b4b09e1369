// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/memory.hpp>
#include <ballast/cost/transformer.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// Layers of models, one after the other. Private.

namespace ballast::inline v0_2::detail {

/// Builds the chain of a model, layer by layer, for one device of its groups.
struct layer_maker {
  parallelism const& spread;
  training_state const& state;
  std::vector<layer> made{};

  layer_maker(parallelism const& degrees, training_state const& bytes) : spread(degrees), state(bytes) {
    require_valid(spread);
    require(spread.tensor * spread.context <= std::int64_t{1} << 24, [] { return std::string("tensor * context must be at most 2^24"); });
  }
  [[nodiscard]] std::int64_t shards() const { return spread.tensor * spread.context; }
  layer& add(std::string name, std::int64_t parameters, batch_cost const& boundary) {
    made.push_back(
        {.name = std::move(name), .parameters = parameters, .state = state_bytes(parameters, spread, state), .boundary = boundary});
    return made.back();
  }

  /// Adds one transformer layer, with costs by token and square on one tensor-parallel device; context parallelism divides both. If `tile`
  /// tokens are given, it is a layer of a vision encoder and has costs by tile.
  void add_transformer_layer(transformer const& model, std::int64_t which, std::string name, std::int64_t tile = 0) {
    auto const flops = layer_flops(model, which);
    // pairs are tokens^2 where all see all, half of (tokens^2 + tokens) where causal, at most `window` a token where windowed
    auto const squares = flops.causal ? flops.per_pair / 2 : flops.per_pair;
    auto const diagonal = flops.causal ? flops.per_pair - squares : 0;
    auto const of = [&](batch_cost const& c) {
      if (tile == 0) return c;
      batch_shape const sample{.tokens = tile, .squares = tile * tile, .tiles = 0};
      require(c.fits(sample),
              [&] { return "body.positions = " + std::to_string(tile) + " bring a layer's cost of a tile to 2^63 or more"; });
      return batch_cost{.per_tile = c(sample)};
    };
    auto const by_token = [&](std::int64_t cost) { return of({.per_token = divide_up(cost, spread.context)}); };
    auto& out = add(std::move(name), layer_parameters(model, which), by_token(2 * model.hidden));
    batch_cost const forward{divide_up(flops.per_token + diagonal + flops.per_windowed_pair * flops.window, shards()),
                             divide_up(squares, shards()), 0};
    out.forward = of(forward);
    out.backward = of(forward + forward);
    using enum recomputation;
    for (auto const recomputed : {none, selective, full})
      out.add({recomputed, by_token(activation_bytes_per_token(model, which, spread, recomputed)),
               recomputed == full ? out.forward : by_token(recomputed_flops_per_token(model, which, spread, recomputed))});
  }
  /// Adds the chain of a language model.
  void add_language_model(transformer const& model, std::string const& layers) {
    auto const by_token = [&](std::int64_t cost) { return batch_cost{.per_token = divide_up(cost, spread.context)}; };
    if (model.vocabulary > 0)  // a look-up keeps nothing but indices
      add("embedding", (model.vocabulary + model.positions) * model.hidden, by_token(2 * model.hidden)).add({});
    for (std::int64_t l = 0; l < model.layers; ++l) add_transformer_layer(model, l, layers + " " + std::to_string(l));
    if (model.vocabulary == 0) return;
    auto& head = add(
        "head", (model.tied ? 0 : model.vocabulary * model.hidden) + (model.final_norm ? model.hidden * (model.norm_bias ? 2 : 1) : 0), {});
    head.forward.per_token = divide_up(head_flops_per_token(model), shards());
    head.backward = head.forward + head.forward;
    batch_cost const logits{.per_token = divide_up(4 * model.vocabulary, shards())};  // float32, for the loss
    head.add({.bytes = logits + by_token(2 * model.hidden + (model.final_norm ? 2 * model.hidden : 0))});
    head.add({recomputation::full, by_token(2 * model.hidden), head.forward});
  }
  /// Adds a layer that is not a transformer layer, with costs by tile.
  void add_by_tile(char const* name, std::int64_t flops, std::int64_t parameters, std::int64_t kept, std::int64_t input,
                   std::int64_t handed) {
    auto const by_tile = [&](std::int64_t cost) { return batch_cost{.per_tile = divide_up(cost, spread.context)}; };
    auto& out = add(name, parameters, by_tile(handed));
    out.forward.per_tile = divide_up(flops, shards());
    out.backward = out.forward + out.forward;
    out.add({.bytes = by_tile(kept)});
    out.add({recomputation::full, by_tile(input), out.forward});
  }
};

}  // namespace ballast::inline v0_2::detail
