// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/trainable.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace test_footprint_trainable {

using namespace ballast;
using ballast_test::refusal;

constexpr double gib = 1024.0 * 1024 * 1024;
bool near(double gibibytes, double published) { return std::fabs(gibibytes - published) <= 0.05; }

TEST_CASE("trainable: the adapters of Qwen2.5-7B with rank 8 have the 20.1851M parameters that ms-swift prints") {
  auto const& model = transformer_preset("qwen2.5-7b");
  CHECK(model.layers * adapter_parameters(model, 0, 8) == 20'185'088);
  CHECK(adapter_parameters(model, 27, 16) == 2 * adapter_parameters(model, 27, 8));
}

TEST_CASE("trainable: QLoRA has 4.127 bits a parameter, and a LLaMA-65B for a device of 48 GB") {
  STATIC_REQUIRE(quantised_bytes(16'384) == 8452);  // 4.127 bits
  STATIC_REQUIRE(quantised_bytes(0) == 0);
  STATIC_REQUIRE(quantised_bytes(1) == 1 + 1 + 4);
  transformer const model{
      .layers = 80, .hidden = 8192, .query_heads = 64, .kv_heads = 64, .head_width = 128, .ffn = 22'016, .vocabulary = 32'000};
  CHECK(parameters(model) == 65'285'660'672);
  CHECK(parameters(model) * 12 > 780'000'000'000);  // "more than 780 GB" in 16 bits, with Adam
  auto const bytes = [&](trainable const& is) {
    return model.layers * layer_states(model, 0, optimizer_named("adam"), is).total().total() +
           2 * (parameters(model) - model.layers * layer_parameters(model, 0));
  };
  auto const quantised = bytes({.what = trained::low_rank, .rank = 64, .quantised = true});
  CHECK(static_cast<double>(quantised) < 48 * gib);  // states alone
  std::int64_t saved = 0;
  for_each_matrix(model, 0, [&](weight_matrix const& m) {
    auto const n = m.copies * m.in * m.out;
    saved += 2 * n - quantised_bytes(n);
  });
  CHECK(bytes({.what = trained::low_rank, .rank = 64}) - quantised == model.layers * saved);

  // weights as a file stores them: frozen or with adapters, all matrices but routers or those of experts alone
  auto const mixture = transformer_preset("mixtral-8x7b");
  auto const held = [&](trainable const& is) { return layer_states(mixture, 0, optimizer_named("adam"), is).total().parameter; };
  std::int64_t matrices = 0, of_experts = 0;
  for_each_matrix(mixture, 0, [&](weight_matrix const& m) {
    auto const n = m.copies * m.in * m.out;
    matrices += m.router ? 0 : 2 * n - n * 4250 / 8000;
    of_experts += m.expert ? 2 * n - n * 4250 / 8000 : 0;
  });
  for (auto const what : {trained::none, trained::low_rank}) {
    CHECK(held({.what = what}) - held({.what = what, .stored = {.bits = 4250}}) == matrices);
    CHECK(held({.what = what}) - held({.what = what, .stored = {.bits = 4250, .experts_only = true}}) == of_experts);
  }
  CHECK(held({}) == held({.stored = {.bits = 4250}}));  // whoever trains weights has them in 16 bits
}

TEST_CASE("trainable: the states of published fine-tuning runs") {
  auto const& model = transformer_preset("qwen2.5-7b");
  auto const& adam = optimizer_named("adam");
  auto const outside = parameters(model) - model.layers * layer_parameters(model, 0);  // embedding, head, final norm
  auto const states = [&](trainable const& is) {
    state_size sum = state_bytes({.in = outside}, adam);
    if (is.what != trained::all) sum = {.parameter = sum.parameter};
    for (std::int64_t l = 0; l < model.layers; ++l) sum += layer_states(model, l, adam, is).total();
    return sum;
  };
  CHECK(states({}).total() == 18 * parameters(model));
  CHECK(near(static_cast<double>(states({}).total()) / 2 / gib, 63.8));  // full, TP 2
  auto const frozen = states({.what = trained::none}), low_rank = states({.what = trained::low_rank, .rank = 8});
  CHECK(frozen == state_size{.parameter = 2 * parameters(model)});
  CHECK(near(static_cast<double>(frozen.total()) / 2 / gib, 7.1));  // LoRA, TP 2: weights without adapters
  CHECK(low_rank.total() - frozen.total() == 18 * 20'185'088);

  // Qwen2.5-VL-7B: a tower of 32 layers and a merger, tensor by tensor, in front of the same language model
  std::int64_t const h = 1280, f = 3420, merged = 4 * h;
  auto const layer = (h * 3 * h + 3 * h) + (h * h + h) + (3 * h * f + 2 * f + h) + 2 * h;
  auto const tower = 3 * 2 * 14 * 14 * h + 32 * layer + (h + (merged * merged + merged) + (merged * 3584 + 3584));
  CHECK(tower + parameters(model) == 8'292'166'656);         // published
  auto const frozen_tower = static_cast<double>(2 * tower);  // runs in Hugging Face's code, so tensor parallelism does not split it
  CHECK(near((frozen_tower + static_cast<double>(frozen.total())) / gib, 15.4));          // LoRA, TP 1: weights
  CHECK(near((frozen_tower + static_cast<double>(states({}).total()) / 2) / gib, 65.1));  // frozen tower, TP 2
}

TEST_CASE("trainable: the states of a layer with experts, vector and router apart") {
  auto const& model = transformer_preset("qwen3-30b-a3b");
  CHECK(layer_states(model, 5, optimizer_named("adam")).total().total() == 18 * layer_parameters(model, 5));
  std::int64_t const h = 2048, f = 768, r = 4;
  auto const attention = r * (h + 4096) + 2 * r * (h + 512) + r * (4096 + h);
  auto const experts = 128 * 3 * r * (h + f);  // an adapter for each expert's matrix, none for the router
  CHECK(adapter_parameters(model, 5, r) == attention + experts);
  CHECK(layer_states(model, 5, optimizer_named("adam-bf16-gradients"), {.what = trained::low_rank, .rank = r}).total() ==
        state_size{.parameter = 2 * (layer_parameters(model, 5) + attention + experts),
                   .gradient = 2 * (attention + experts),
                   .optimizer = 12 * (attention + experts)});
  // Adafactor: rows and columns of each matrix of the adapters, too
  transformer const plain{.hidden = 64, .query_heads = 1, .kv_heads = 1, .head_width = 64, .ffn = 256, .gated = false};
  auto const adapted = layer_states(plain, 0, optimizer_named("adafactor"), {.what = trained::low_rank, .rank = r}).total();
  CHECK(adapted.optimizer == 4 * r * (4 * 128 + 2 * 320) + 4 * (10 * (64 + r) + 2 * (256 + r)));
  CHECK(layer_states(plain, 0, optimizer_named("adafactor")).total().optimizer ==
        4 * layer_parameters(plain, 0) + 4 * (4 * 128 + 2 * 320) + 4 * 128);  // two norms: a vector of 128
}

TEST_CASE("trainable: adapters of queries and values alone") {
  trainable const few{.what = trained::low_rank, .rank = 8, .matrices = adapted_matrices::queries_and_values};
  auto const& model = transformer_preset("llama-3.1-8b");
  auto const states = layer_states(model, 0, optimizer_named("adam"), few).total();
  std::int64_t const adapters = 8 * (4096 + 4096) + 8 * (4096 + 1024);
  CHECK(32 * adapters == 3'407'872);  // peft's count of trainable parameters of Llama-3-8B
  CHECK(states.gradient == 4 * adapters);
  CHECK(states.parameter == 2 * (layer_parameters(model, 0) + adapters));
  auto const flops = layer_training_flops(model, 0, few, true);
  CHECK(flops.forward.per_token - layer_flops(model, 0).per_token == 2 * adapters);
  auto const& latent = transformer_preset("deepseek-v3");  // queries of latent vectors, and keys and values together
  CHECK(layer_states(latent, 3, optimizer_named("adam"), few).total().gradient == 4 * 8 * (1536 + 24576 + 512 + 32768));
  CHECK_FALSE(trainable{.matrices = adapted_matrices::queries_and_values}.adapts({.query_or_value = true}));
}

TEST_CASE("trainable: states by the devices that hold them are those of the parameter groups") {
  auto const& adam = optimizer_named("adam");
  for (auto const& [name, model] : transformer_presets)
    for (std::int64_t const l : {std::int64_t{0}, model.layers - 1}) {
      CAPTURE(name, l);
      auto const groups = layer_parameter_groups(model, l);
      auto const states = layer_states(model, l, adam);
      CHECK(states == states_of(groups, adam));
      CHECK(states.sharded.total() == 18 * groups.sharded);
      CHECK(states.replicated.total() == 18 * groups.replicated);
      CHECK(states.experts.total() == 18 * groups.experts);
      for (int zero = 0; zero <= 3; ++zero) {
        parallelism const spread{.tensor = 4, .data = 16, .zero = zero};
        expert_parallelism const by{.expert = groups.experts > 0 ? 16 : 1, .expert_tensor = groups.experts > 0 ? 1 : 4};
        CHECK(std::llabs(device_states(states, spread, by).total() - state_bytes(groups, spread, by)) <=
              18);  // bytes, not parameters, rounded
      }
      auto const frozen = layer_states(model, l, adam, {.what = trained::none});
      CHECK(frozen.total() == state_size{.parameter = states.total().parameter});
    }
}

TEST_CASE("trainable: groups that shard the optimiser's states each for themselves") {
  auto const states = layer_states(transformer_preset("qwen3-30b-a3b"), 5, optimizer_named("adam"));
  parallelism const eight{.tensor = 2, .data = 8, .zero = 1}, four{.tensor = 2, .data = 4, .zero = 1};
  expert_parallelism const by{.expert = 4, .expert_tensor = 1};
  CHECK(device_states(states, eight, by, 2) == device_states(states, four, by));
  CHECK(device_states(states, eight, by, 8).optimizer > device_states(states, eight, by, 2).optimizer);
}

TEST_CASE("trainable: matrices cost one, two or three forward passes") {
  STATIC_REQUIRE(backward_factor({}, false) == 2);
  STATIC_REQUIRE(backward_factor({.what = trained::none}, false) == 0);
  STATIC_REQUIRE(backward_factor({.what = trained::none}, true) == 1);
  STATIC_REQUIRE(backward_factor({.what = trained::low_rank}, false) == 1);

  for (auto const& [name, model] : transformer_presets) {
    CAPTURE(name);
    auto const last = model.layers - 1;
    auto const flops = layer_flops(model, last);
    for (bool const before : {false, true}) {
      auto const all = layer_training_flops(model, last, {}, before);
      CHECK(all.forward == flops);
      CHECK(all.forward(1000) + all.backward(1000) == training_factor * flops(1000));
      auto const low_rank = layer_training_flops(model, last, {.what = trained::low_rank, .rank = 8}, before);
      auto const adapters = low_rank.forward.per_token - flops.per_token;
      if (model.experts == 0) CHECK(adapters == 2 * adapter_parameters(model, last, 8));
      CHECK(adapters > 0);
      CHECK(low_rank.backward.per_token == flops.per_token + 2 * adapters);
      CHECK(low_rank.backward.per_pair == 2 * flops.per_pair);
    }
    auto const stopped = layer_training_flops(model, last, {.what = trained::none}, false);
    CHECK(stopped.forward == flops);
    CHECK(stopped.backward(1000) == 0);
    auto const passed = layer_training_flops(model, last, {.what = trained::none}, true);
    CHECK(passed.forward == flops);
    CHECK(passed.backward.per_token == flops.per_token);    // the input's gradient only
    CHECK(passed.backward.per_pair == 2 * flops.per_pair);  // attention has two inputs and no weight
  }
  transformer const windowed{.layers = 2, .hidden = 64, .query_heads = 1, .kv_heads = 1, .head_width = 64, .ffn = 256, .window = 8};
  CHECK(layer_training_flops(windowed, 0, {.what = trained::none}, true).backward.per_windowed_pair ==
        2 * layer_flops(windowed, 0).per_windowed_pair);
  CHECK(layer_training_flops(windowed, 0, {.what = trained::none}, false).backward.per_windowed_pair == 0);
  auto const& moe = transformer_preset("qwen3-30b-a3b");  // a token passes the adapters of 8 of 128 experts
  auto const adapted = layer_training_flops(moe, 0, {.what = trained::low_rank, .rank = 1}, true);
  CHECK(adapted.forward.per_token - layer_flops(moe, 0).per_token == 2 * (2 * (2048 + 4096) + 2 * (2048 + 512) + 8 * 3 * (2048 + 768)));
}

TEST_CASE("trainable: what makes no sense is refused") {
  auto const& model = transformer_preset("gpt2-xl");
  trainable const none{.what = trained::low_rank, .rank = 0};
  CHECK(refusal([&] { return adapter_parameters(model, 0, 0); }) == "rank = 0 must be in [1, 65536]");
  CHECK(refusal([&] { return layer_states(model, 0, optimizer_named("adam"), none).total(); }) == "rank = 0 must be in [1, 65536]");
  CHECK(refusal([&] { return layer_training_flops(model, 0, none, true).forward.window; }) == "rank = 0 must be in [1, 65536]");
  CHECK(refusal([&] { return layer_states(model, 48, optimizer_named("adam")).total(); }) == "layer = 48 must be in [0, 48)");
}

}  // namespace test_footprint_trainable
