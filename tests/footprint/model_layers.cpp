// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/model_layers.hpp>

#include "support/catch.hpp"
#include "support/hybrid_shapes.hpp"
#include "support/refusal.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <vector>

namespace test_footprint_model_layers {

using namespace ballast;
using ballast_test::refusal;

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
    flops += c.forward(one);
    weights += c.parameters;
  }
  for (std::size_t l = 1; l <= 32; ++l) held += chain[l].options.front().bytes(one);
  CHECK(flops == forward_flops(llama)(n));
  CHECK(weights == parameters(llama));
  CHECK(held == 32 * n * activation_bytes_per_token(llama, 0));
}

TEST_CASE("layers_of: layers of several kinds add up, too") {
  for (auto const& p : ballast_test::hybrid_shapes) {
    auto const& model = p.model;
    auto const chain = layers_of(model);
    std::int64_t const n = 32768;
    batch_shape const one{.tokens = n, .squares = n * n};
    std::int64_t weights = 0;
    for (auto const& c : chain) weights += c.parameters;
    CHECK(weights == parameters(model));
    for (std::int64_t l = 0; l < model.layers; ++l) {
      CAPTURE(p.name, l);
      auto const& c = chain[static_cast<std::size_t>(l + 1)];
      auto const flops = layer_flops(model, l);
      // a token is charged with a full window, as in the middle of a long sample, or with half a chunk, rounded up
      auto const w = model.window, more = flops.per_windowed_pair == 0 ? 0 : model.chunked ? n / 2 : w * (w - 1) / 2;
      REQUIRE(c.forward(one) == flops(n) + flops.per_windowed_pair * more);
      REQUIRE(c.backward(one) == 2 * c.forward(one));
      REQUIRE(c.options.front().bytes(one) == n * activation_bytes_per_token(model, l));
      REQUIRE(c.options.back().work == c.forward);
    }
  }
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

TEST_CASE("layers_of: an encoder with windows and without learned positions adds up, too") {
  auto const& model = vision_language_preset("qwen2.5-vl-7b");
  auto const chain = layers_of(model);
  REQUIRE(chain.size() == 1 + 32 + 1 + 1 + 28 + 1);
  batch_shape const tile{.tiles = 1};
  std::int64_t vision = 0, weights = 0;
  for (std::size_t l = 0; l <= 32; ++l) vision += chain[l].forward(tile);
  for (auto const& c : chain) weights += c.parameters;
  CHECK(vision == tile_flops(model.vision));
  CHECK(chain[33].forward(tile) == tile_flops(model.projector));
  CHECK(chain[33].boundary(tile) == 2 * 256 * 3584);
  CHECK(weights == parameters(model));
}

TEST_CASE("layers_of: degrees divide, shares are rounded up") {
  auto const& model = vision_language_preset("internvl-chat-1.5");
  auto const alone = layers_of(model),
             spread = layers_of(model, {.spread = {.tensor = 4, .context = 2, .data = 2, .sequence_parallel = true}});
  for (std::size_t l = 0; l < alone.size(); ++l) {
    batch_shape const batch{.tokens = 1000, .squares = 1000 * 1000, .tiles = 3};
    CHECK(8 * spread[l].forward(batch) >= alone[l].forward(batch));
    CHECK(8 * spread[l].forward(batch) <= alone[l].forward(batch) + 8 * (batch.tokens + batch.squares + batch.tiles * 1025 * 1026));
    CHECK(spread[l].parameters == alone[l].parameters);
    CHECK(2 * spread[l].boundary(batch) == alone[l].boundary(batch));
  }
}

TEST_CASE("layers_of: the volumes of three cuts are those of OmniBal's table 4, in MiB") {
  auto const chain = layers_of(vision_language_preset("internvl-chat-1.5"));
  batch_shape const step{.tokens = 4096, .squares = 4096 * 4096, .tiles = 9};  // the paper's largest micro-batch
  auto const volume = [&](std::initializer_list<std::size_t> last_layers) {
    std::int64_t bytes = 0;
    for (auto const l : last_layers) bytes += chain[l].boundary(step);
    return static_cast<double>(bytes) / (1 << 20);
  };
  // Three cuts chosen by hand: all in the language model, two in the vision model, one right behind the projector (layer 46). No search
  // finds the second and the third from one profile: tests/methods/omnibal_model.cpp.
  auto const by_parameters = volume({50, 65, 80});
  CHECK(by_parameters == 3 * 48.0);
  CHECK(std::round(10 * (volume({20, 40, 72}) - by_parameters)) == 166);   // +16.6 MB
  CHECK(std::round(10 * (volume({46, 63, 79}) - by_parameters)) == -210);  // -21.0 MB
}

TEST_CASE("layers_of: states and options of every layer are those of the shape") {
  auto const model = transformer_preset("llama-3.1-8b");
  model_setting const by{.spread = {.tensor = 2, .data = 16, .sequence_parallel = true, .zero = 1}};
  auto const layers = layers_of(model, by);
  std::int64_t states = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    CAPTURE(layers[i].name);
    auto const groups = i == 0                   ? embedding_parameter_groups(model)
                        : i + 1 == layers.size() ? head_parameter_groups(model)
                                                 : layer_parameter_groups(model, static_cast<std::int64_t>(i) - 1);
    CHECK(layers[i].parameters == groups.total());
    CHECK(std::llabs(layers[i].state - state_bytes(groups, by.spread, by.experts())) <= 12);  // shares of bytes, not parameters, rounded up
    states += layers[i].state;
  }
  auto const& decoder = layers[1];
  REQUIRE(decoder.options.size() == 3);
  for (auto const& o : decoder.options) {
    CHECK(o.bytes == batch_cost{.per_token = activation_bytes_per_token(model, 0, by.spread, o.recomputed)});
    CHECK(o.work == (o.recomputed == recomputation::full
                         ? decoder.forward
                         : batch_cost{.per_token = recomputed_flops_per_token(model, 0, by.spread, o.recomputed)}));
  }
  CHECK(decoder.working == decoder.options.front().bytes);
  CHECK(layers[0].options == std::vector<layer_option>{{}});  // the embedding keeps nothing
  CHECK(layers.back().options.size() == 1);                   // logits exist in the head's backward pass, whatever is recomputed
  // 6 bytes of each half of the parameters, and a sixteenth of 12 more, up to rounding and norms, which each device has
  auto const half = parameters(model) / 2, norms = (2 * model.layers + 1) * model.hidden;
  auto const expected = 6 * half + 12 * half / 16;
  CHECK((states >= expected && states < expected + 9 * norms + 1000));
  auto free = by;
  free.optimizer.state = {.parameter = 0, .gradient = 0, .optimizer = 0};
  CHECK(layers_of(model, free)[1].state == 0);
}

TEST_CASE("layers_of: the head works on logits as the loss is computed") {
  auto const& model = transformer_preset("llama-3.1-8b");
  auto const head = [&](head_loss const& loss, std::int64_t tensor) {
    return layers_of(model, {.spread = {.tensor = tensor}, .loss = loss}).back();
  };
  using enum head_loss::kind;
  auto const input = 4 * model.hidden;
  CHECK(head({}, 1).options.front().bytes.per_token == 4 * 128'256 + input);
  CHECK(head({}, 1).working.per_token == 8 * 128'256);
  CHECK(head({}, 8).working.per_token == 128'256);
  CHECK(head({.how = fused}, 1).options.front().bytes.per_token == input);
  CHECK(head({.how = fused}, 1).working == batch_cost{});
  CHECK(head({.how = chunked, .chunks = 8}, 1).options.front().bytes.per_token == input);
  CHECK(head({.how = chunked, .chunks = 8}, 1).working.per_token == 12 * 128'256 / 8);
  CHECK(refusal([] { return layers_of(transformer_preset("gpt2-xl"), {.loss = {.how = chunked, .chunks = 0}}).size(); }) ==
        "loss.chunks = 0 must be in [1, 1099511627776]");
}

TEST_CASE("layers_of: modules that may be recomputed are options") {
  auto const& model = transformer_preset("deepseek-v3");
  using enum recompute_module;
  // what DeepSeek-V3 recomputed, by its report: norms and the up-projection of latent attention
  model_setting by{.spread = {.data = 128}, .expert = 64, .recompute_modules = {layernorm, mla_up_projection}};
  auto const layer = layers_of(model, by)[40];
  REQUIRE(layer.options.size() == 4);
  CHECK(layer.options[1].modules == module_set{layernorm});
  CHECK(layer.options[2].modules == module_set{layernorm, mla_up_projection});
  CHECK(layer.options[2].recomputed == recomputation::selective);
  CHECK(layer.options[2].bytes == kept_bytes(model, 39, by.spread, {layernorm, mla_up_projection}));
  CHECK(layer.options[2].work == repeated_flops(model, 39, by.spread, {layernorm, mla_up_projection}));
  CHECK(layer.options[3].recomputed == recomputation::full);
  by.recompute_modules = {};
  CHECK(layers_of(model, by)[40].options.size() == 2);
}

TEST_CASE("layers_of: stored scores take five bytes a head and pair, in every framework") {
  auto const& model = transformer_preset("qwen-7b-chat");
  auto const of = [&](model_setting by) {
    by.attention = attention_kernel::stored_scores;
    by.recompute_modules = {recompute_module::core_attention};
    return layers_of(model, by)[1];
  };
  auto const plain = of({}), split = of({.spread = {.tensor = 4}}), eager = of({.framework = framework_named("hbp")});
  CHECK(plain.options[0].bytes.per_square == 5 * 32);
  CHECK(plain.forward.per_square == 2 * layers_of(model)[1].forward.per_square);  // hidden pairs are computed too
  CHECK(plain.working.per_square == 5 * 32);
  CHECK(split.options[0].bytes.per_square == 5 * 8);
  CHECK(eager.options[0].bytes.per_square == 5 * 32);
  CHECK(plain.options[1].bytes == layers_of(model)[1].options[0].bytes);  // recomputed, scores are gone
  CHECK(layers_of(model)[1].options[0].bytes.per_square == 0);
}

TEST_CASE("layers_of: layers for multi-token prediction run the head once more") {
  auto model = transformer_preset("deepseek-v3");
  auto const main = layers_of(model);
  model.mtp_layers = 1;
  auto const all = layers_of(model);
  REQUIRE(all.size() == main.size() + 1);
  auto const& mtp = all[all.size() - 2];
  CHECK(mtp.name == "mtp 0");
  CHECK(mtp.parameters == mtp_parameters(model));
  CHECK(mtp.state == 18 * mtp_parameters(model));
  CHECK(mtp.apart == 18 * model.vocabulary * model.hidden);  // it looks up the next tokens
  CHECK(layers_of(model, {.spread = {.data = 8, .zero = 3}})[62].buffers == 8 * mtp_parameters(model));
  CHECK(mtp.forward.per_token - mtp_layer_flops(model).per_token == main[60].forward.per_token - layer_flops(model, 60).per_token);
  CHECK(mtp.backward.per_token == 2 * mtp.forward.per_token);
  auto const& before = all[all.size() - 3];
  CHECK(mtp.working.per_token == before.working.per_token + 8 * model.vocabulary);
  CHECK(mtp.options.back().bytes.per_token == before.options.back().bytes.per_token + 4 * model.vocabulary + 4 * model.hidden);
  CHECK(all.back() == main.back());
}

TEST_CASE("layers_of: devices that share an expert hold more of fewer states, and all of its rows") {
  auto const& model = transformer_preset("qwen3-30b-a3b");
  model_setting by{
      .spread = {.tensor = 4, .data = 8, .sequence_parallel = true, .zero = 1}, .expert = 8, .framework = framework_named("megatron")};
  auto const shared = layers_of(model, by)[1];  // by four, which is the default
  by.expert_tensor = 1;
  auto const whole = layers_of(model, by)[1];
  // both have 1 / 32 or 1 / 8 of the experts' parameters and gradients, and 1 / 32 of the states, which are sharded over 1 or 4 devices
  CHECK(whole.state - shared.state == 6 * layer_parameter_groups(model, 0).experts * 3 / 32);
  CHECK(shared.options[0].bytes.per_token - whole.options[0].bytes.per_token == 3 * 2 * 8 * 2048 / 4);
  auto const group = [](layer const& of) {
    for (auto const& e : of.exchanges)
      if (e.what == traffic::gradient && e.over.stride > 4) return e.over;
    return rank_group{};
  };
  CHECK(group(whole) == rank_group{4, 8});
  CHECK(group(shared) == rank_group{});  // one device has all of a part
}

TEST_CASE("layers_of: a framework's activations are larger, the inputs of recomputed layers are not") {
  auto const& model = transformer_preset("qwen2.5-7b");
  auto const fused = layers_of(model)[1], eager = layers_of(model, {.framework = framework_named("hbp")})[1];
  for (std::size_t o = 0; o < 2; ++o) CHECK(eager.options[o].bytes.per_token == (fused.options[o].bytes.per_token * 415 + 99) / 100);
  CHECK(eager.options[2] == fused.options[2]);
  CHECK(eager.working == eager.options[0].bytes);
  auto const head = layers_of(model, {.framework = framework_named("hbp")}).back();
  CHECK(head.working.per_token == 8 * model.vocabulary + eager.working.per_token);
  CHECK(refusal([] { return framework_named("jax").activations; }) ==
        "no framework \"jax\"; there are fused, megatron, eager, compiled, chunkflow, hbp");
}

TEST_CASE("layers_of: ZeRO-3 gathers two layers and scatters the gradients of one") {
  auto const& model = transformer_preset("llama-3.1-8b");
  auto const of = [&](int zero, std::int64_t data) { return layers_of(model, {.spread = {.data = data, .zero = zero}}); };
  CHECK(of(3, 8)[1].buffers == 8 * layer_parameters(model, 0));
  CHECK(of(3, 8).back().buffers == 8 * (128'256 + 1) * model.hidden);
  CHECK(of(2, 8)[1].buffers == 0);
  CHECK(of(3, 1)[1].buffers == 0);  // nothing is sharded
  auto const experts = layers_of(transformer_preset("qwen3-30b-a3b"), {.spread = {.data = 16, .zero = 3}, .expert = 8})[1];
  auto const groups = layer_parameter_groups(transformer_preset("qwen3-30b-a3b"), 0);
  CHECK(experts.buffers == 8 * (groups.sharded + groups.replicated + groups.experts / 8));
}

TEST_CASE("layers_of: a tied head needs a copy of the embedding where the two part") {
  auto const& model = transformer_preset("gpt2-xl");
  auto const layers = layers_of(model, {.spread = {.tensor = 1, .data = 8, .zero = 1}});
  CHECK(layers.back().apart == 50'257 * model.hidden * (6 + 12) - 50'257 * model.hidden * 12 * 7 / 8);
  CHECK(layers.back().state < 100'000);  // the final norm alone
  CHECK(layers_of(transformer_preset("qwen2.5-7b")).back().apart == 0);
}

TEST_CASE("layers_of: frozen parts have no gradients, no states, and no backward pass in front of what is trained") {
  auto const& model = vision_language_preset("internvl-chat-1.5");
  auto const all = layers_of(model), tower = layers_of(model, {.vision = {.what = trained::none}}),
             both = layers_of(model, {.vision = {.what = trained::none}, .projector = {.what = trained::none}}),
             adapters = layers_of(model, {.language = {.what = trained::low_rank}, .vision = {.what = trained::none}});
  batch_shape const batch{.tokens = 4096, .squares = 4096 * 4096, .tiles = 9};
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(all[i].name);
    if (i < 46) {  // the tower
      CHECK(tower[i].backward == batch_cost{});
      CHECK(tower[i].options == std::vector<layer_option>{{}});
      CHECK(tower[i].state == 2 * all[i].parameters);
    } else {
      CHECK(tower[i] == all[i]);
    }
    CHECK(tower[i].forward == all[i].forward);
    CHECK(both[i].backward(batch) == (i < 47 ? 0 : all[i].backward(batch)));
  }
  auto const& adapted = adapters[50];
  CHECK(adapted.state == 2 * adapted.parameters + 18 * adapter_parameters(model.language, 0, 8));
  CHECK(adapted.backward(batch) < 11 * adapted.forward(batch) / 10 + all[50].forward.per_square * batch.squares);
  CHECK(adapters.back().backward == adapters.back().forward);
  CHECK(adapters.back().state == 2 * adapters.back().parameters);
}

TEST_CASE("layers_of: exchanges of a layer are those of its states and activations") {
  auto const& model = transformer_preset("qwen3-30b-a3b");
  model_setting const by{.spread = {.tensor = 2, .context = 2, .data = 16, .sequence_parallel = true, .zero = 1}, .expert = 8};
  auto const layers = layers_of(model, by);
  std::int64_t const tokens = 8192;
  auto const expected = layer_exchanges(model, 0, by.exchanges(), tokens);
  auto const bytes = [](auto const& all, traffic what, exchange_phase when) {
    std::int64_t sum = 0;
    for (auto const& e : all) sum += e.what == what && e.when == when ? e.bytes * e.calls : 0;
    return sum;
  };
  std::vector<layer_exchange> found;
  for (auto const& e : layers[1].exchanges) found.push_back(e({.tokens = tokens}));
  for (auto const what : {traffic::tensor, traffic::kept_input, traffic::context, traffic::expert, traffic::gradient, traffic::parameter})
    for (auto const when : {exchange_phase::forward, exchange_phase::backward, exchange_phase::step}) {
      CAPTURE(static_cast<int>(what), static_cast<int>(when));
      CHECK(bytes(found, what, when) == bytes(expected, what, when));
    }
  CHECK(bytes(found, traffic::expert, exchange_phase::forward) > 0);
  for (auto const& e : layers[0].exchanges) CHECK((e.what == traffic::gradient || e.what == traffic::parameter));
  CHECK(layers_of(model)[1].exchanges.empty());
  // what is frozen exchanges no gradients, and under ZeRO-3 its parameters
  auto frozen = by;
  frozen.language.what = trained::none;
  CHECK(bytes(layers_of(model, frozen)[0].exchanges, traffic::gradient, exchange_phase::step) == 0);
  frozen.spread.zero = 3;
  auto const gathered = layers_of(model, frozen)[5].exchanges;
  CHECK(bytes(gathered, traffic::parameter, exchange_phase::forward) > 0);
  CHECK(bytes(gathered, traffic::parameter, exchange_phase::backward) == 0);
}

TEST_CASE("layers_of: the optimiser reads and writes the device's share of the states") {
  auto const& model = transformer_preset("llama-3.1-8b");
  auto const of = [&](int zero, offload moved = offload::none) {
    return layers_of(model, {.spread = {.data = 8, .zero = zero}, .moved = moved})[1].updated;
  };
  auto const n = layer_parameters(model, 0);
  CHECK(of(0) == 30 * n);  // 12 bytes read and written, 4 read, 2 written
  CHECK(std::llabs(of(1) - 30 * n / 8) <= 4);
  CHECK(of(1) == of(3));
  CHECK(of(1, offload::optimizer) == 0);  // the host does it
}

}  // namespace test_footprint_model_layers
