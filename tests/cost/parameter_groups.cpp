// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/math.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/parameter_groups.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/memory.hpp>

#include "support/catch.hpp"
#include "support/hybrid_shapes.hpp"
#include "support/megatron_memory.hpp"
#include "support/refusal.hpp"
#include "support/state_space_shapes.hpp"

#include <cmath>
#include <cstdint>

namespace test_cost_parameter_groups {

namespace {

using namespace ballast;
using ballast_test::refusal;

// What Megatron-LM's estimate counts as well: no biases and no learned positions.
transformer without_biases(transformer m) {
  m.qkv_bias = m.output_bias = m.ffn_bias = m.router_bias = false;
  m.positions = 0;
  return m;
}

}  // namespace

TEST_CASE("parameter_groups: the groups of layers and models add up to their parameters", "[property]") {
  auto const check = [](preset<transformer> const& p) {
    CAPTURE(p.name);
    CHECK(model_parameter_groups(p.model).total() == parameters(p.model));
    for (std::int64_t l = 0; l < p.model.layers; ++l) {
      auto const groups = layer_parameter_groups(p.model, l);
      CHECK(groups.total() == layer_parameters(p.model, l));
      CHECK((groups.experts > 0) == (p.model.experts > 0 && p.model.expert_layers.contains(l)));
    }
  };
  for (auto const& p : transformer_presets) check(p);
  for (auto const& p : ballast_test::hybrid_shapes) check(p);
  for (auto const& p : ballast_test::state_space_shapes) check(p);
  auto olmo = preset<transformer>{.name = "norms without weights", .model = transformer_preset("llama-3.1-8b")};
  olmo.model.norm_weights = false;
  check(olmo);
  CHECK(parameters(transformer_preset("llama-3.1-8b")) - parameters(olmo.model) == (2 * 32 + 1) * 4096);
}

TEST_CASE("parameter_groups: what only some families have") {
  auto const& [next, oss, maverick, falcon, phi] = ballast_test::hybrid_shapes;
  // the norm of each value head's output, both norms, the router and the shared expert's gate are on every device
  CHECK(layer_parameter_groups(next.model, 0).replicated == 128 + 2 * 2048 + 2048 * 512 + 2048);
  CHECK(layer_parameter_groups(next.model, 3).replicated == 512 + 2 * 2048 + 2048 * 512 + 2048);
  // heads share the sinks and the biases of queries, keys and values
  CHECK(layer_parameter_groups(oss.model, 0) ==
        parameter_groups{.sharded = 2880 * (64 + 2 * 8) * 64 + 64 * 64 * 2880 + (64 + 2 * 8) * 64 + 64,
                         .replicated = 2880 + 2 * 2880 + 32 * (2880 + 1),
                         .experts = 32 * (3 * 2880 * 2880 + 2 * 2880 + 2880)});
  CHECK(layer_parameter_groups(maverick.model, 0).experts == 0);
  CHECK(layer_parameter_groups(maverick.model, 1).experts == std::int64_t{128} * 3 * 5120 * 8192);
  CHECK(layer_parameter_groups(falcon.model, 0).replicated == 2 * 4544);
  auto const& [nemotron, falcon_h1, jamba, lfm2, sparse] = ballast_test::state_space_shapes;  // heads and channels are split
  CHECK((layer_parameter_groups(nemotron.model, 0).replicated == 4480 && layer_parameter_groups(lfm2.model, 0).replicated == 2 * 1024));
  CHECK(layer_parameter_groups(jamba.model, 0).replicated == 2 * 4096 + 256 + 32);
  CHECK(layer_parameter_groups(sparse.model, 0).replicated ==
        layer_parameter_groups(transformer_preset("deepseek-v3"), 0).replicated + 13'959'424);
  CHECK(head_parameter_groups(phi.model) == parameter_groups{.sharded = 32064 * 4097, .replicated = 2 * 4096});
}

TEST_CASE("parameter_groups: every part of a layer counted by hand") {
  transformer m{.layers = 2,
                .hidden = 12,
                .query_heads = 6,
                .kv_heads = 2,
                .head_width = 5,
                .ffn = 70,
                .gated = false,
                .vocabulary = 1000,
                .positions = 11,
                .experts = 8,
                .active_experts = 2,
                .expert_ffn = 90,
                .shared_ffn = 40,
                .expert_layers = layer_set::from(1),
                .router_bias = true,
                .qkv_bias = true,
                .output_bias = true,
                .ffn_bias = true,
                .norm_bias = true,
                .norms = 3,
                .qk_norm = 10,
                .layer_scale = true};
  // norms, norms of queries and keys, scales, biases of both sums over devices
  std::int64_t const vectors = 3 * 2 * 12 + 10 + 2 * 12 + 12 + 12;
  std::int64_t const attention = 12 * (6 + 2 + 2) * 5 + (6 + 2 + 2) * 5 + 6 * 5 * 12;
  CHECK(layer_parameter_groups(m, 0) == parameter_groups{.sharded = attention + 2 * 12 * 70 + 70, .replicated = vectors});
  CHECK(layer_parameter_groups(m, 1) == parameter_groups{.sharded = attention + 2 * 12 * 40 + 40,
                                                         .replicated = vectors + 8 * 12 + 8,
                                                         .experts = 8 * (2 * 12 * 90 + 90 + 12)});
  CHECK(embedding_parameter_groups(m) == parameter_groups{.sharded = 12000, .replicated = 11 * 12});
  CHECK(head_parameter_groups(m) == parameter_groups{.sharded = 12000, .replicated = 24});
  m.tied = true;
  CHECK(head_parameter_groups(m) == parameter_groups{.replicated = 24});

  // latent attention: the matrices that compress, and the norms of what they give, are replicated
  transformer const latent{
      .hidden = 12, .query_heads = 6, .kv_heads = 6, .head_width = 5, .kv_rank = 7, .q_rank = 9, .rope_width = 2, .v_width = 4, .norms = 0};
  CHECK(layer_parameter_groups(latent, 0) ==
        parameter_groups{.sharded = 9 * 6 * 5 + 7 * 6 * (3 + 4) + 6 * 4 * 12, .replicated = 12 * (9 + 7 + 2) + 9 + 7});
}

TEST_CASE("parameter_groups: DeepSeek-V3 on 2,048 devices", "[published]") {
  auto const& v3 = transformer_preset("deepseek-v3");
  auto const groups = model_parameter_groups(v3);
  CHECK(groups.experts == 653'908'770'816);
  CHECK(groups.total() - groups.experts == 17'117'648'384);
  // 16 pipeline stages, 64-fold expert parallelism, ZeRO-1 over 128 devices, of the experts over 2: an average stage
  parameter_groups const stage{.sharded = divide_up(groups.sharded, std::int64_t{16}),
                               .replicated = divide_up(groups.replicated, std::int64_t{16}),
                               .experts = divide_up(groups.experts, std::int64_t{16})};
  CHECK(stage.experts / 64 == 638'582'784);                  // 0.6386e9
  CHECK(stage.sharded + stage.replicated == 1'069'853'024);  // 1.0698e9
  auto const bytes = state_bytes(stage, {.data = 128, .zero = 1}, {.expert = 64});
  CHECK(bytes == std::int64_t{6} * (638'582'784 + 1'069'853'024) + std::int64_t{12} * (319'291'392 + 8'358'227));  // by hand
  CHECK(bytes == 14'182'410'276);                                                                                  // 14.2 GB
}

TEST_CASE("parameter_groups: without expert or tensor parallelism, states are those of one group", "[property]") {
  splitmix64 draw(7);
  auto const any = [&](std::uint64_t bound) { return static_cast<std::int64_t>(uniform_below(bound, draw)); };
  for (int i = 0; i < 1000; ++i) {
    parameter_groups const some{.sharded = any(1 << 20), .replicated = any(1 << 20), .experts = any(2) * any(1 << 20)};
    parallelism const spread{.data = 1 + any(64), .zero = static_cast<int>(any(4))};
    auto const one = state_bytes(some.total(), spread), three = state_bytes(some, spread, {});
    CAPTURE(some.sharded, some.replicated, some.experts, spread.data, spread.zero);
    if (some.experts == 0 || spread.zero == 0)
      CHECK(three == one);
    else
      CHECK((three >= one && three <= one + 18));  // a share more is rounded up
  }
  auto const& llama = transformer_preset("llama-3.1-8b");
  CHECK(state_bytes(model_parameter_groups(llama), {.data = 8, .zero = 3}, {}) == state_bytes(parameters(llama), {.data = 8, .zero = 3}));
  // shares are rounded up: 4 + 1 parameters of ten devices' group, 3 of two devices'
  CHECK(state_bytes({.sharded = 7, .replicated = 1, .experts = 11}, {.tensor = 2, .data = 4, .zero = 1}, {.expert = 4}) ==
        6 * 5 + 12 * 2 + 6 * 3 + 12 * 2);
  CHECK(state_bytes({.experts = 12}, {.tensor = 4, .data = 2}, {.expert = 2, .expert_tensor = 2}) == 18 * 3);
}

TEST_CASE("parameter_groups: Megatron-LM's estimate, restated", "[published]") {
  struct setting {
    char const* model;
    ballast_test::megatron_degrees by;
  };
  setting const settings[] = {
      {"llama-3.1-8b", {.world = 1}},
      {"llama-3.1-8b", {.world = 8, .tensor = 8}},
      {"llama-3.1-8b", {.world = 64, .tensor = 2, .data = 32, .distributed_optimizer = true}},
      {"llama-3.1-70b", {.world = 64, .pipeline = 4, .tensor = 8, .data = 2, .distributed_optimizer = true}},
      {"llama-3.1-70b", {.world = 512, .pipeline = 8, .tensor = 4, .data = 16, .distributed_optimizer = true}},
      {"qwen2.5-0.5b", {.world = 4, .tensor = 2, .data = 2}},
      {"qwen2.5-0.5b", {.world = 8, .pipeline = 2, .data = 4, .distributed_optimizer = true}},
      {"qwen2.5-7b", {.world = 32, .pipeline = 4, .tensor = 4, .data = 2, .distributed_optimizer = true}},
      {"qwen2.5-14b", {.world = 16, .pipeline = 2, .tensor = 8}},
      {"qwen2.5-32b", {.world = 128, .pipeline = 8, .tensor = 4, .data = 4, .distributed_optimizer = true}},
      {"qwen2.5-72b", {.world = 256, .pipeline = 16, .tensor = 8, .data = 2, .distributed_optimizer = true}},
      {"internlm2-20b", {.world = 48, .pipeline = 6, .tensor = 8}},
      {"vicuna-7b", {.world = 16, .pipeline = 2, .tensor = 4, .data = 2, .distributed_optimizer = true}},
      {"gpt2-xl", {.world = 40, .pipeline = 4, .tensor = 5, .data = 2, .distributed_optimizer = true}},
      {"deepseek-v2", {.world = 8, .expert = 8, .data = 8}},
      {"deepseek-v2", {.world = 160, .pipeline = 4, .expert = 20, .data = 40, .distributed_optimizer = true}},
      {"deepseek-v2",
       {.world = 128, .pipeline = 4, .tensor = 4, .expert = 8, .expert_tensor = 2, .data = 8, .distributed_optimizer = true}},
      {"deepseek-v3", {.world = 2048, .pipeline = 16, .expert = 64, .data = 128, .distributed_optimizer = true}},
      {"deepseek-v3", {.world = 1024, .pipeline = 16, .tensor = 2, .expert = 64, .data = 32, .distributed_optimizer = true}},
      {"deepseek-v3", {.world = 256, .pipeline = 8, .tensor = 8, .expert = 4, .expert_tensor = 8, .data = 4}},
  };
  for (auto const& [name, by] : settings) {
    CAPTURE(name, by.world, by.pipeline, by.tensor, by.expert);
    auto const m = without_biases(transformer_preset(name));
    parameter_groups block{.replicated = m.norm_bias ? 2 * m.hidden : m.hidden};  // the final norm
    for (std::int64_t l = 0; l < m.layers; ++l) block = block + layer_parameter_groups(m, l);
    auto const p = std::int64_t{by.pipeline};
    auto stage = embedding_parameter_groups(m) +
                 parameter_groups{divide_up(block.sharded, p), divide_up(block.replicated, p), divide_up(block.experts, p)};
    if (p == 1) stage.sharded += head_parameter_groups(m).sharded;
    parallelism const spread{.tensor = by.tensor, .data = by.data, .zero = by.distributed_optimizer ? 1 : 0};
    auto const ours = state_bytes(stage, spread, {.expert = by.expert, .expert_tensor = by.expert_tensor});

    // Megatron-LM's own layers replicate what compresses the inputs of latent attention; its estimate divides it
    auto const compressed = m.kv_rank > 0 ? m.hidden * (m.q_rank + m.kv_rank + m.rope_width) + m.q_rank + m.kv_rank : 0;
    auto const whole = static_cast<double>(m.layers * compressed) / by.pipeline;
    auto const each = by.distributed_optimizer ? 6 + 12.0 / by.data : 18.0;
    auto const theirs = ballast_test::megatron_state_bytes(m, by) + whole * (1 - 1.0 / by.tensor) * each;
    CHECK(std::abs(static_cast<double>(ours) - theirs) <= 100);  // five shares are rounded up, of at most 18 bytes a parameter
  }
}

TEST_CASE("parameter_groups: arguments out of range throw") {
  CHECK(refusal([] { return layer_parameter_groups({}, 1); }) == "layer = 1 must be in [0, 1)");
  CHECK(refusal([] { return state_bytes(parameter_groups{}, {.data = 8}, {.expert = 3}); }) ==
        "expert * expert_tensor = 3 must divide tensor * data = 8");
  CHECK(refusal([] { return state_bytes(parameter_groups{}, {}, {.expert = 0}); }) == "expert = 0 must be in [1, 16777216]");
  CHECK(refusal([] { return state_bytes(parameter_groups{}, {}, {.expert_tensor = 0}); }) == "expert_tensor = 0 must be in [1, 65536]");
  CHECK(refusal([] { return state_bytes({.sharded = -1}, {}, {}); }) == "sharded = -1 must be in [0, 4503599627370496]");
  CHECK(refusal([] { return state_bytes({.replicated = -1}, {}, {}); }) == "replicated = -1 must be in [0, 4503599627370496]");
  CHECK(refusal([] { return state_bytes({.experts = -1}, {}, {}); }) == "experts = -1 must be in [0, 4503599627370496]");
  CHECK(refusal([] { return state_bytes(parameter_groups{}, {}, {}, {.gradient = 257}); }) == "gradient = 257 must be in [0, 256]");
  CHECK(refusal([] { return state_bytes(parameter_groups{}, {.tensor = 2, .data = 1 << 24}, {}); }) ==
        "tensor * data / (expert * expert_tensor) = 33554432 must be at most 2^24");
}

}  // namespace test_cost_parameter_groups
