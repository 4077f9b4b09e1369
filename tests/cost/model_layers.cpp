// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/model_layers.hpp>
#include <ballast/cost/presets.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace test_cost_model_layers {

using namespace ballast;

TEST_CASE("layers_of: the chain adds up to the model") {
  auto const& llama = transformer_preset("llama-3.1-8b");
  auto const chain = layers_of(llama);
  REQUIRE(chain.size() == 34);
  std::int64_t const n = 4096;
  batch_shape const one{.tokens = n, .squares = n * n};
  std::int64_t flops = 0, held = 0, weights = 0;
  for (auto const& c : chain) {
    CHECK(c.forward.fits(one));
    CHECK(c.backward(one) == 2 * c.forward(one));
    REQUIRE(!c.options.empty());
    CHECK(c.options.front().recomputed == recomputation::none);
    for (std::size_t k = 1; k < c.options.size(); ++k) {
      CHECK(c.options[k].bytes(one) < c.options[k - 1].bytes(one));
      CHECK(c.options[k].recomputed > c.options[k - 1].recomputed);
    }
    CHECK(c.forward.polynomial()(one.values()) == c.forward(one));
    flops += c.forward(one);
    weights += c.parameters;
  }
  for (std::size_t l = 1; l <= 32; ++l) held += chain[l].options.front().bytes(one);
  CHECK(flops == forward_flops(llama)(n));
  CHECK(weights == parameters(llama));
  CHECK(held == 32 * n * activation_bytes_per_token(llama, 0));
}

TEST_CASE("layers_of: samples of a micro-batch attend to themselves alone") {
  auto const& qwen = transformer_preset("qwen2.5-7b");
  auto const layer = layers_of(qwen)[1];
  auto const cost = layer_flops(qwen, 0);
  CHECK(layer.forward({.tokens = 900, .squares = 300 * 300 + 600 * 600}) == cost(300) + cost(600));
}

TEST_CASE("layers_of: the vision-language chain has the 97 layers that planners are measured on") {
  auto const& model = vision_language_preset("internvl-chat-1.5");
  auto const chain = layers_of(model);
  REQUIRE(chain.size() == 97);
  batch_shape const tile{.tiles = 1};
  std::int64_t vision = 0, weights = 0;
  for (std::size_t l = 0; l <= 45; ++l) vision += chain[l].forward(tile);
  for (auto const& c : chain) weights += c.parameters;
  CHECK(vision == tile_flops(model.vision));
  CHECK(chain[46].forward(tile) == tile_flops(model.projector));
  CHECK(weights == parameters(model));
  CHECK(chain[46].name == "projector");
  CHECK(chain[48].name == "language 0");
}

TEST_CASE("layers_of: degrees divide, shares are rounded up") {
  auto const& model = vision_language_preset("internvl-chat-1.5");
  auto const alone = layers_of(model), spread = layers_of(model, {.tensor = 4, .context = 2, .sequence_parallel = true});
  for (std::size_t l = 0; l < alone.size(); ++l) {
    batch_shape const batch{.tokens = 1000, .squares = 1000 * 1000, .tiles = 3};
    CHECK(8 * spread[l].forward(batch) >= alone[l].forward(batch));
    CHECK(8 * spread[l].forward(batch) <= alone[l].forward(batch) + 8 * (batch.tokens + batch.squares + batch.tiles * 1025 * 1026));
    CHECK(spread[l].parameters == alone[l].parameters);
    CHECK(2 * spread[l].boundary(batch) == alone[l].boundary(batch));
  }
}

TEST_CASE("layers_of: OmniBal's table 4 is three boundaries in MiB") {
  auto const chain = layers_of(vision_language_preset("internvl-chat-1.5"));
  batch_shape const step{.tokens = 4096, .squares = 4096 * 4096, .tiles = 9};  // the paper's largest micro-batch
  auto const volume = [&](std::initializer_list<std::size_t> last_layers) {
    std::int64_t bytes = 0;
    for (auto const l : last_layers) bytes += chain[l].boundary(step);
    return static_cast<double>(bytes) / (1 << 20);
  };
  // Cuts by parameters all stand in the language model; cuts by profiled time put two into the vision model; the balanced ones put one
  // right behind the projector (layer 46).
  auto const by_parameters = volume({50, 65, 80});
  CHECK(by_parameters == 3 * 48.0);
  CHECK(std::round(10 * (volume({20, 40, 72}) - by_parameters)) == 166);   // +16.6 MB
  CHECK(std::round(10 * (volume({46, 63, 79}) - by_parameters)) == -210);  // -21.0 MB
}

TEST_CASE("layers_of: states and options of every layer are those of the shape") {
  auto const model = transformer_preset("llama-3.1-8b");
  parallelism const spread{.tensor = 2, .data = 16, .sequence_parallel = true, .zero = 1};
  auto const layers = layers_of(model, spread);
  std::int64_t states = 0;
  for (auto const& of : layers) {
    CAPTURE(of.name);
    CHECK(of.state == state_bytes(of.parameters, spread));
    states += of.state;
  }
  auto const& decoder = layers[1];
  REQUIRE(decoder.options.size() == 3);
  for (auto const& o : decoder.options) {
    CHECK(o.bytes == batch_cost{.per_token = activation_bytes_per_token(model, 0, spread, o.recomputed)});
    CHECK(o.work == (o.recomputed == recomputation::full
                         ? decoder.forward
                         : batch_cost{.per_token = recomputed_flops_per_token(model, 0, spread, o.recomputed)}));
  }
  CHECK(layers[0].options == std::vector<layer_option>{{}});  // the embedding keeps nothing
  CHECK(layers.back().options.size() == 2);                   // the head knows no part
  // 6 bytes of each half of the parameters, and a sixteenth of 12 more, up to rounding
  auto const half = parameters(model) / 2;
  CHECK((states >= 6 * half + 12 * half / 16 && states < 6 * half + 12 * half / 16 + 1000));
  CHECK(layers_of(model, spread, {.parameter = 0, .gradient = 0, .optimizer = 0})[1].state == 0);
}

}  // namespace test_cost_model_layers
