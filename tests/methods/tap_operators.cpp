// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/methods/tap_operators.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>

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
      for (auto const& w : o.weights) held += w.in * w.out * w.matrices;
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

}  // namespace test_methods_tap_operators
