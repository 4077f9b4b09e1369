// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/layer_time.hpp>
#include <ballast/plan/training_setting.hpp>

#include "support/catch.hpp"
#include "support/state_space_shapes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace test_footprint_layer_time {

using namespace ballast;

namespace {
bool near(std::int64_t ps, double ms, double within) { return std::fabs(static_cast<double>(ps) / 1e9 - ms) <= within; }
}  // namespace

TEST_CASE("layer_time: a layer of Qwen3-235B with eight expert-parallel H800") {
  training_setting by;
  by.model.spread.data = 8;
  by.model.expert = 8;
  by.model.expert_tensor = 1;
  auto const model = transformer_preset("qwen3-235b-a22b");
  time_setting const with{.rates = kernels_named("h800-te-bf16")};
  auto const parts = parts_of_layer(model, 0, by.model, device_named("h800"), with, {16384, 16384 * 4096, 0});
  CHECK((near(parts.gemm.forward, 3.55, 0.01) && near(parts.gemm.backward, 7.10, 0.01)));
  CHECK((near(parts.experts.forward, 7.80, 0.01) && near(parts.experts.backward, 14.97, 0.015)));
  CHECK((near(parts.attention.forward, 2.17, 0.01) && near(parts.attention.backward, 6.43, 0.01)));
  CHECK((near(parts.dispatch.forward, 12.1, 0.05) && near(parts.dispatch.backward, 12.1, 0.05)));
  CHECK((near(parts.memory.forward, 5.07, 0.01) && near(parts.memory.backward, 5.58, 0.01)));
}

TEST_CASE("layer_time: a state-space layer takes the same for each token, and attention beside it comes on top") {
  auto const& [nemotron, falcon, jamba, lfm2, sparse] = ballast_test::state_space_shapes;
  auto const h100 = device_named("h100");
  time_setting const with{.rates = kernels_for(h100)};
  auto const of = [&](transformer const& model, std::int64_t layer, std::int64_t length = 8192, model_setting const& by = {}) {
    return parts_of_layer(model, layer, by, h100, with, {16384, 16384 * length, 0});
  };
  for (auto const* model : {&nemotron.model, &jamba.model, &lfm2.model}) CHECK(of(*model, 0) == of(*model, 0, 512));
  auto const mamba = of(nemotron.model, 0), block = of(nemotron.model, 1), attention = of(nemotron.model, 14);
  CHECK((mamba.mixer && !mamba.ffn && block.attention == pass_time{} && block.ffn && !block.mixer && attention.scan == 0));
  CHECK((mamba.scan == mamba.attention.forward && 2 * mamba.scan < mamba.gemm.forward && mamba.scan > mamba.gemm.forward / 20));
  using enum recompute_module;
  CHECK(recompute_time(mamba, overlapped(mamba, nemotron.model, {}, with), again::modules, {core_attention, mlp}) == 0);
  // Falcon-H1: matrices and scans of both
  auto without = falcon.model, alone = falcon.model;
  without.space.layers = {};
  alone.attention_layers = {};
  CHECK(of(falcon.model, 0).attention == of(without, 0).attention + of(alone, 0).attention);
  CHECK(of(falcon.model, 0).gemm.forward > of(without, 0).gemm.forward);
  // heads are shared by tensor-parallel devices, and exchanged under context parallelism
  auto const split = of(nemotron.model, 0, 8192, {.spread = {.tensor = 2, .data = 2, .sequence_parallel = true}});
  CHECK(split.scan * 2 - mamba.scan <= 2);
  CHECK(of(nemotron.model, 0, 8192, {.spread = {.context = 2, .data = 2}}).context.forward > 0);
  // chosen keys make long samples cheaper, but not short ones, which pay the indexer
  auto const& dense = transformer_preset("deepseek-v3");
  CHECK(of(sparse.model, 0, 131'072).attention.forward < of(dense, 0, 131'072).attention.forward);
  CHECK(of(sparse.model, 0, 1024).attention.forward > of(dense, 0, 1024).attention.forward);
}

TEST_CASE("linear_layer_time: close to the full evaluation from 4K to 64K tokens") {
  struct row {
    char const* model;
    char const* rates;
    model_setting by;
    double a_us, b_ns, c_ps, within;  // both passes; the host's wait for the tokens of experts, 3.8 ms, is in a
  };
  row const rows[] = {
      {"llama-3.1-8b", "h100-te-bf16", {}, 391, 2136, 56.3, 0.0120},
      {"llama-3.1-8b", "h100-te-fp8", {}, 555, 1369, 56.5, 0.0110},
      {"llama-3.1-70b", "h100-te-bf16", {.spread = {.tensor = 4, .data = 4, .sequence_parallel = true}}, 0, 0, 0, 0.003},
      {"qwen3-235b-a22b", "h100-te-bf16", {.spread = {.data = 8}, .expert = 8, .expert_tensor = 1}, 619 + 3812.5, 3373, 113, 0.003},
      {"qwen3-30b-a3b", "h100-te-bf16", {.spread = {.data = 8}, .expert = 8, .expert_tensor = 1}, 0, 0, 0, 0.005}};
  constexpr std::int64_t units = 16;
  auto const on = device_named("h100");
  for (auto const& r : rows) {
    CAPTURE(r.model, r.rates);
    auto const model = transformer_preset(r.model);
    time_setting with{.rates = kernels_named(r.rates)};
    std::array const modules{module_set{recompute_module::core_attention}, module_set{recompute_module::mlp}};
    auto const linear = linear_layer_time(model, 0, r.by, on, with, modules, {}, units);
    ballast::detail::known_matrices known;
    CHECK(linear_layer_time(model, 0, r.by, on, with, modules, {}, units, &known) == linear);
    CHECK(linear_layer_time(model, 0, r.by, on, with, modules, {}, units, &known) == linear);  // of known times
    ballast::detail::known_sizes sizes;
    for (std::int64_t const least : {512, 1024, 1024, 4096}) {  // ranges that share sizes
      batch_range const within{.least = least, .most = 8 * least, .length = 2048};
      CHECK(linear_layer_time(model, 0, r.by, on, with, modules, within, units, &known, &sizes) ==
            linear_layer_time(model, 0, r.by, on, with, modules, within, units));
    }
    auto const forward = linear.forward + linear.forward_exchange, backward = linear.backward + linear.backward_exchange;
    auto const both = [&](auto field) { return static_cast<double>(forward.*field + backward.*field) / units; };
    if (r.a_us > 0) {
      CHECK(std::fabs(both(&batch_cost::per_batch) / 1e6 - r.a_us) < 45);
      CHECK(std::fabs(both(&batch_cost::per_token) / 1e3 / r.b_ns - 1) < 0.01);
      CHECK(std::fabs(both(&batch_cost::per_square) / r.c_ps - 1) < 0.01);
    }
    auto const host = with.rates;
    with.rates.host = with.rates.host_experts = 0;
    auto const error = [](std::int64_t is, std::int64_t should) {
      return std::fabs(static_cast<double>(is) / units / static_cast<double>(should) - 1);
    };
    for (std::int64_t tokens : {4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152, 65536})
      for (std::int64_t length = 1024; length <= (std::min)(tokens, std::int64_t{32768}); length *= 2) {
        if (tokens % length != 0) continue;
        batch_shape const batch{.tokens = tokens, .squares = tokens * length, .tiles = 0};
        auto const parts = parts_of_layer(model, 0, r.by, on, with, batch);
        auto const pass = overlapped(parts, model, r.by, with);
        CAPTURE(tokens, length);
        CHECK(error(forward(batch) + backward(batch), pass.time.both()) < r.within);
        CHECK(error(forward(batch), recompute_time(parts, pass, again::full)) < r.within);
        CHECK(error(linear.products(batch), recompute_time(parts, pass, again::products)) < 2 * r.within);
        for (std::size_t i = 0; i < modules.size(); ++i)
          if (auto const exact = recompute_time(parts, pass, again::modules, modules[i]); exact > 0)
            CHECK(error(linear.modules[i](batch), exact) < 2 * r.within);
      }
    CHECK(linear.least.forward >=
          units *
              (host.host_forward * (parts_of_layer(model, 0, r.by, on, with, {1, 1, 0}).routed ? host.host_experts : host.host) / 1000));
  }
}

}  // namespace test_footprint_layer_time
