// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/trainable.hpp>
#include <ballast/staging/offload_model.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstddef>
#include <cstdint>

namespace test_staging_offload_model {

using namespace ballast;

TEST_CASE("offload_model_of: states by kind, times and activations are those of the model's layers") {
  auto const& shape = transformer_preset("llama-3.1-8b");
  batch_shape const batch{.tokens = 4096, .squares = 4096 * 4096};
  model_setting const by{.spread = {.tensor = 2, .data = 4, .zero = 1}, .optimizer = optimizer_named("adam")};
  for (auto const& on : {cluster{.mfu = 0.4}, cluster{}}) {
    auto const [layers, rates] = chain_of(shape, by, on, batch);
    layer_evaluator const evaluate(rates);
    std::int64_t before = -1;
    for (auto const recomputed : {recomputation::full, recomputation::selective, recomputation::none}) {
      auto const model = offload_model_of(shape, by, batch, on, recomputed);
      REQUIRE(model.layers.size() == 34);
      CHECK(model.names.front() == "embedding");
      for (std::size_t i = 0; i < layers.size(); ++i) {
        CHECK(model.layers[i].states.total() == layers[i].state);
        CHECK(model.layers[i].device_update == evaluate.end_of_step(layers[i]).optimizer);
      }
      CHECK(model.layers[1].states == device_states(layer_states(shape, 0, by.optimizer), by.spread, by.experts()));
      auto const plain = evaluate(layers[1], layers[1].options.front(), batch);
      CHECK(model.layers[1].forward == plain.forward + evaluate.waits(layers[1], batch).forward);
      auto const backward = plain.backward + evaluate.waits(layers[1], batch).backward;
      CHECK((model.layers[1].backward == backward) == (recomputed == recomputation::none));
      CHECK(model.activations > before);
      CHECK(model.working > 0);
      before = model.activations;
    }
  }
  auto moved = by;
  moved.moved = offload::optimizer;
  CHECK(ballast_test::refusal([&] { return offload_model_of(shape, moved, batch, cluster{}); }).find("moved") == 0);
}

}  // namespace test_staging_offload_model
