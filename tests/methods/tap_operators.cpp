// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/methods/tap_operators.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace test_methods_tap_operators {

using namespace ballast;

TEST_CASE("tap::operators_of: all parameters and all FLOPs of a model") {
  for (auto const* const name : {"llama-3.1-8b", "llama-3.1-70b", "qwen2.5-7b", "qwen2.5-0.5b", "gpt2-xl", "mixtral-8x7b"}) {
    CAPTURE(name);
    auto const model = transformer_preset(name);
    auto const operators = tap::operators_of(model, 4096);
    std::int64_t flops = 0, held = 0;
    for (auto const& o : operators) {
      flops += o.flops;
      for (auto const& w : o.weights) held += w.in * w.out * w.matrices + w.router;
      for (auto const& w : o.weights)
        if (w.kind != weight_kind::embedding && w.kind != weight_kind::vector) flops += 2 * w.in * w.out * w.visited;
    }
    CHECK(held == parameters(model));
    std::int64_t routers = 0;
    for (std::int64_t l = 0; l < model.layers; ++l) routers += 2 * model.hidden * model.experts;
    CHECK((flops + routers) == forward_flops(model)(4096) / 4096);
  }
  CHECK(ballast_test::refusal([] { return tap::operators_of(transformer_preset("deepseek-v3"), 4096); }) ==
        "tap: models with kv_rank (latent attention) are not supported");
  CHECK(ballast_test::refusal([] { return tap::operators_of(transformer_preset("llama-3.1-8b"), 0); }) ==
        "length = 0 must be in [1, 2^28]");
}

TEST_CASE("tap::operators_of: what an executed layout showed") {
  auto const model = transformer_preset("llama-3.1-8b");
  auto const operators = tap::operators_of(model, 4096);
  auto const named = [&](char const* name) {
    return *std::find_if(operators.begin(), operators.end(), [&](auto const& o) { return o.name == name; });
  };
  // Sums of terms are made before gate and up are multiplied: no operator but one of matrices works on terms.
  auto const product = named("layers.0.activation");
  CHECK(product.rule == layout_rule::any);
  CHECK((product.width == 2 * model.ffn && product.makes == model.ffn && product.units == model.ffn));
  CHECK(named("layers.0.up").kept + product.kept + named("layers.0.down").kept == model.hidden + 3 * model.ffn);
  // A part of attention has whole heads of keys.
  CHECK(named("layers.0.attention").units == model.kv_heads);
  // The router is where its experts are, and a device holds whole experts, not some of their matrices.
  auto const mixtral = tap::operators_of(transformer_preset("mixtral-8x7b"), 4096);
  auto const experts = std::find_if(mixtral.begin(), mixtral.end(), [](auto const& o) { return o.name == "layers.0.experts"; });
  REQUIRE(experts != mixtral.end());
  CHECK(std::pair(experts->weights[0].router, experts->weights[0].row_units) == std::pair(std::int64_t{4096 * 8}, std::int64_t{8}));
  CHECK((experts - 1)->weights.size() == 1);
  // Each norm holds its own weights, whose gradients are exchanged as it is laid out.
  for (auto const* const norm : {"layers.0.attention_norm", "layers.0.ffn_norm", "norm"}) {
    CAPTURE(norm);
    REQUIRE(named(norm).weights.size() == 1);
    CHECK(named(norm).weights[0].in * named(norm).weights[0].out == model.hidden);
  }
}

}  // namespace test_methods_tap_operators
