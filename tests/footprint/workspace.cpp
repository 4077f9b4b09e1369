// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/workspace.hpp>

#include "support/catch.hpp"
#include "support/hybrid_shapes.hpp"
#include "support/refusal.hpp"

#include <cstdint>

namespace test_footprint_workspace {

using namespace ballast;
using ballast_test::refusal;

namespace {

constexpr std::int64_t mib = 1 << 20;

model_setting with(kernel_setting const& kernels, parallelism const& spread = {}) {
  return {.spread = spread, .framework = framework_named("megatron"), .kernels = kernels};
}

}  // namespace

TEST_CASE("workspace_bytes: cuBLAS and Transformer Engine, by device") {
  auto const& model = transformer_preset("llama-3.1-8b");
  batch_shape const batch{.tokens = 8192, .squares = 8192 * 8192};
  auto const of = [&](kernel_setting const& kernels, bool hopper = true) { return workspace_bytes(model, with(kernels), batch, hopper); };
  CHECK(of({}) == 96 * mib + 1024);
  CHECK(of({.large_cublas = true}) == 96 * mib + 1024);
  CHECK(of({.large_cublas = true}) - of({.large_cublas = true}, false) == 28 * mib + 1024);  // as one test measured on H100 and A100
  CHECK(of({}, false) == 2 * 8'519'680 + 4 * mib);
  CHECK(of({.tensor_overlap = true}) == of({}) + 96 * mib);
  CHECK(of({.expert_overlap = true}) == of({}) + 64 * mib);
  CHECK(of({.grouped_gemm = true}) == of({}));  // there are no experts
  CHECK(of({.engine = false}) == 64 * mib + 2 * 32 * batch.squares);
  CHECK(workspace_bytes(model, {}, batch) == 0);  // other frameworks
}

TEST_CASE("workspace_bytes: experts, sequence parallelism, dummy gradients") {
  auto const& model = transformer_preset("deepseek-v3");
  batch_shape const batch{.tokens = 4096, .squares = 4096 * 4096};
  auto const of = [&](kernel_setting const& kernels, stage_content const& has = {}, parallelism const& spread = {}) {
    return workspace_bytes(model, with(kernels, spread), batch, true, has);
  };
  stage_content const dense{.experts = false};
  CHECK(of({.grouped_gemm = true}) == of({}) + 4 * (32 * mib + 1024));
  CHECK(of({.grouped_gemm = true}, dense) == of({}, dense));
  parallelism const spread{.tensor = 4, .context = 2, .data = 2, .sequence_parallel = true};
  CHECK(of({}, {}, spread) == of({}) + 2 * 7168 * 2048);
  CHECK(of({}, {.head = false}, spread) == of({}));
  auto const gradients = of({.dummy_gradients = true}, dense) - of({}, dense);
  CHECK(gradients ==
        2 * (1536 * 7168 + 24576 * 1536 + (512 + 64) * 7168 + 128 * 256 * 512 + 7168 * 16384 + 2 * 18432 * 7168 + 18432 * 7168));
  stage_content const routed{.dense = false};
  // an expert has the width of the shared ones, so both have the same shapes
  CHECK(of({.dummy_gradients = true}, routed) - of({}, routed) == gradients - 2 * 3 * 18432 * 7168 + 2 * 3 * 2048 * 7168);
  auto model_with_wide = model;
  model_with_wide.shared_ffn = 4096;
  CHECK(workspace_bytes(model_with_wide, with({.dummy_gradients = true}), batch, true, routed) - of({}, routed) ==
        gradients - 2 * 3 * 18432 * 7168 + 2 * 3 * (2048 + 4096) * 7168);
  batch_shape const large{.tokens = std::int64_t{1} << 31, .squares = std::int64_t{1} << 62};
  CHECK(refusal([&] { return workspace_bytes(model, with({.engine = false}), large); }) == "the workspace reaches 2^63 bytes");
}

TEST_CASE("workspace_bytes: dummy gradients of linear attention") {
  auto const& model = ballast_test::hybrid_shapes[0].model;  // Qwen3-Next: three of four layers have linear attention
  auto const& l = model.linear;
  batch_shape const batch{.tokens = 4096, .squares = 4096 * 4096};
  auto const of = [&](stage_content const& has, std::int64_t tensor = 1) {
    parallelism const spread{.tensor = tensor};
    return workspace_bytes(model, with({.dummy_gradients = true}, spread), batch, true, has) -
           workspace_bytes(model, with({}, spread), batch, true, has);
  };
  auto const values = l.value_heads * l.value_width;
  auto const both = of({}), scored = of({.linear = false}), linear = of({.scored = false});
  auto const inputs = 2 * l.key_heads * l.key_width + 2 * values + 2 * l.value_heads;
  CHECK(both - scored == 2 * model.hidden * inputs);  // both kinds have an output matrix of one shape
  CHECK(of({}, 4) - of({.linear = false}, 4) == 2 * model.hidden * inputs / 4);
  // queries and their gate, keys and values
  auto const heads = model.query_heads * model.head_width;
  CHECK(model.output_gate);
  CHECK(values == heads);
  CHECK(both - linear == 2 * model.hidden * (2 * heads + 2 * model.kv_heads * model.head_width));
}

TEST_CASE("memory_for_stages: what workspace and inputs leave, and 0 where they leave nothing") {
  auto const& model = transformer_preset("llama-3.1-8b");
  batch_shape const batch{.tokens = 8192, .squares = 8192 * 8192};
  auto by = with({.loader_mask = true}, {.context = 2, .data = 2});
  CHECK(input_bytes(by, batch).value == (28 * 8192 + 8192 * 8192) / 2);
  auto const aside = workspace_bytes(model, by, batch) + input_bytes(by, batch).value;
  CHECK(memory_for_stages(aside + 1000, model, by, batch) == 1000);
  CHECK(memory_for_stages(aside, model, by, batch) == 0);
  CHECK(memory_for_stages(0, model, by, batch) == 0);
  CHECK(memory_for_stages(aside + 1000, model, by, batch, false) > 1000);  // smaller workspaces before Hopper
  by.framework = ballast::framework_named("eager");
  CHECK(input_bytes(by, batch).value == 16 * 8192 / 2);  // no mask
  CHECK(memory_for_stages(1000, model, {}, batch) == 1000);
  CHECK_FALSE(input_bytes(with({.loader_mask = true}), {.tokens = std::int64_t{1} << 62, .squares = 0}).fits());
}

}  // namespace test_footprint_workspace
