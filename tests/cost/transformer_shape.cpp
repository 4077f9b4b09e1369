// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/transformer_shape.hpp>

#include <ballast/cost/presets.hpp>
#include <ballast/cost/transformer.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>

namespace test_cost_transformer_shape {

using namespace ballast;
using ballast_test::refusal;

TEST_CASE("transformer: a shape that makes no sense is named") {
  auto const of = [](auto const& change) {
    auto model = transformer_preset("llama-3.1-8b");
    change(model);
    return refusal([&] { return parameters(model); });
  };
  CHECK(of([](transformer&) {}) == "accepted");
  CHECK(of([](transformer& m) { m.layers = 0; }) == "layers = 0 must be in [1, 1024]");
  CHECK(of([](transformer& m) { m.kv_heads = 5; }) == "kv_heads = 5 must divide query_heads = 32");
  CHECK(of([](transformer& m) { m.kv_heads = 64; }) == "kv_heads = 64 must be in [1, 32]");
  CHECK(of([](transformer& m) { m.head_width = 1 << 30; }) == "head_width = 1073741824 must be in [1, 16384]");
  CHECK(of([](transformer& m) { m.q_rank = 4; }) == "q_rank = 4 must be in [0, 0]");
  CHECK(of([](transformer& m) { m.experts = 8; }) == "active_experts = 0 must be in [1, 8]");
  CHECK(of([](transformer& m) { m.ffn = -1; }) == "ffn = -1 must be in [0, 524288]");
  CHECK(of([](transformer& m) { m.mtp_layers = 17; }) == "mtp_layers = 17 must be in [0, 16]");
  CHECK(of([](transformer& m) { m.causal = false, m.window = 9; }) == "accepted");
  CHECK(of([](transformer& m) { m.linear.layers = {1}; }) == "linear.value_heads = 0, but there are layers with linear attention");
  CHECK(of([](transformer& m) { m.linear.kernel = 8193; }) == "linear.kernel = 8193 must be in [0, 8192]");
  CHECK(of([](transformer& m) { m.linear = {.key_heads = 64, .key_width = 8192}; }) ==
        "the width of linear attention = 1048576 must be in [0, 524288]");
  CHECK(of([](transformer& m) { m.space.layers = {1}; }) == "space.heads or space.state is 0, but there are state-space layers");
  CHECK(of([](transformer& m) { m.space = {.heads = 6, .groups = 4}; }) == "space.groups = 4 must divide space.heads = 6");
  CHECK(of([](transformer& m) { m.space = {.heads = 1, .head_width = 2, .step_rank = 1}; }) == "space.head_width = 2 must be in [1, 1]");
  CHECK(of([](transformer& m) { m.space = {.heads = 1 << 19, .head_width = 2}; }) ==
        "the width of state-space layers = 1048576 must be in [0, 524288]");
  CHECK(of([](transformer& m) { m.space.chunk = 0; }) == "space.chunk = 0 must be in [1, 8192]");
  CHECK(of([](transformer& m) { m.conv.kernel = 8193; }) == "conv.kernel = 8193 must be in [0, 8192]");
  CHECK(of([](transformer& m) { m.index = {.heads = 1, .width = 1}; }) ==
        "index.heads needs latent attention with compressed queries, and a window, which is the number of chosen keys");
  auto const& model = transformer_preset("llama-3.1-8b");
  CHECK(refusal([&] { return layer_parameters(model, 32); }) == "layer = 32 must be in [0, 32)");
  CHECK(refusal([&] { return layer_flops(model, -1); }) == "layer = -1 must be in [0, 32)");
  // the largest that is accepted does not overflow: the sums grow with every field
  transformer const huge{
      .layers = 1024,
      .hidden = 1 << 18,
      .query_heads = 8192,
      .kv_heads = 8192,
      .head_width = 64,
      .ffn = 1 << 19,
      .vocabulary = 1 << 24,
      .window = 1 << 28,
      .linear = {.layers = layer_set::every(2), .key_heads = 1, .key_width = 8192, .value_heads = 62, .value_width = 8192, .kernel = 8192},
      .experts = 2048,
      .active_experts = 2048,
      .expert_ffn = 1 << 19,
      .shared_ffn = 1 << 19,
      .mtp_layers = 16};
  CHECK(static_cast<double>(parameters(huge)) > 0.99 * 1024 * 2048 * 3 * (1 << 18) * static_cast<double>(1 << 19));
  CHECK(sample_cost(huge).quadratic().linear > 0);
}

}  // namespace test_cost_transformer_shape
