// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/activations.hpp>
#include <ballast/footprint/layer_tensors.hpp>

#include "support/catch.hpp"
#include "support/hybrid_shapes.hpp"
#include "support/korthikanti.hpp"
#include "support/state_space_shapes.hpp"

#include <cstdint>
#include <set>
#include <string_view>

namespace test_footprint_layer_tensors {

using namespace ballast;
using enum recompute_module;

namespace {

constexpr activation_setting megatron(kernel_setting kernels = {}, attention_kernel attention = attention_kernel::fused,
                                      bool several = false) {
  return {.count = tensor_count::megatron, .attention = attention, .kernels = kernels, .several = several};
}
constexpr std::int64_t per_token(transformer const& model, activation_setting const& by, module_set modules = {}) {
  return kept_bytes(model, 0, {}, modules, by).per_token;
}
std::set<std::string_view> names(transformer const& model, std::int64_t layer, activation_setting const& by) {
  std::set<std::string_view> out;
  for (auto const& t : layer_tensors_of(model, layer, by)) out.insert(t.name);
  return out;
}

}  // namespace

TEST_CASE("layer_tensors: a GPT with dropout keeps what Korthikanti et al. count, and statistics") {
  kernel_setting const dropout{.hidden_dropout = true, .attention_dropout = true};
  for (auto const& run : ballast_test::korthikanti_runs) {
    auto const model = run.model();
    auto const h = run.hidden;
    auto const kept = kept_bytes(model, 0, {}, {}, megatron(dropout, attention_kernel::stored_scores));
    CHECK(kept.per_token == 34 * h + 2 * 8);  // mean and deviation of two norms
    CHECK(kept.per_square == 5 * run.heads);
    // the attention's scores go, and nothing else
    auto const selective = kept_bytes(model, 0, {}, {core_attention}, megatron(dropout, attention_kernel::stored_scores));
    CHECK(selective == batch_cost{34 * h + 16, 0, 0});
    // 10 of 34 are not split by tensor parallelism, but by sequence parallelism
    parallelism spread{.tensor = 8};
    auto const stored = megatron(dropout, attention_kernel::stored_scores);
    CHECK(kept_bytes(model, 0, spread, {}, stored).per_token == 10 * h + 16 + 24 * h / 8);
    spread.sequence_parallel = true;
    CHECK(kept_bytes(model, 0, spread, {}, stored).per_token == (34 * h + 16) / 8);
  }
}

TEST_CASE("layer_tensors: each flag adds its tensor") {
  auto const& model = transformer_preset("llama-3.1-8b");
  constexpr std::int64_t h = 4096, q = 4096, kv = 1024, f = 14336, heads = 32;
  auto const plain = per_token(model, megatron());
  CHECK(plain == 8 * h + 2 * 4 + 2 * (q + 2 * kv) + 4 * heads + 2 * q + 6 * f);
  CHECK(per_token(model, megatron({.hidden_dropout = true})) == plain + 2 * h);
  CHECK(per_token(model, megatron({.flash = true})) == plain);
  CHECK(per_token(model, megatron({.flash = true}, attention_kernel::fused, true)) == plain + 2 * q);
  CHECK(per_token(model, megatron({.fp8 = true})) == plain - 2 * h + q - f);  // two inputs of norms' width, the context twice, FC2's input
  auto const square = [&](kernel_setting const& k, attention_kernel kernel = attention_kernel::stored_scores) {
    return kept_bytes(model, 0, {}, {}, megatron(k, kernel)).per_square;
  };
  CHECK(square({}) == 2 * heads);
  CHECK(square({.attention_dropout = true}) == 5 * heads);
  CHECK(square({.float_softmax = true}) == 2 * heads);  // fused in Transformer Engine
  CHECK(square({.engine = false, .float_softmax = true}) == 4 * heads);
  CHECK(square({.engine = false}, attention_kernel::fused) == 2 * heads);  // local kernels store scores, whatever is asked for
  CHECK(square({}, attention_kernel::fused) == 0);
  auto normalised = model;
  normalised.qk_norm = 256;
  CHECK(per_token(normalised, megatron()) == plain + 2 * (q + kv) + 4 * (heads + 8));
  auto biased = model;
  biased.norm_bias = true;
  CHECK(per_token(biased, megatron()) == plain + 2 * 4);
}

TEST_CASE("layer_tensors: recomputed modules drop what they compute") {
  auto const& model = transformer_preset("llama-3.1-8b");
  constexpr std::int64_t h = 4096, f = 14336;
  auto const plain = per_token(model, megatron());
  CHECK(plain - per_token(model, megatron(), {layernorm}) == 4 * h);
  CHECK(plain - per_token(model, megatron(), {mlp}) == 2 * h + 6 * f);  // the block begins with its input
  CHECK(plain - per_token(model, megatron(), {mlp, layernorm}) == 4 * h + 6 * f);
  CHECK(plain == per_token(model, megatron(), {moe, mla_up_projection}));

  auto const& v3 = transformer_preset("deepseek-v3");
  auto const kept = [&](module_set modules, kernel_setting kernels = {}) {
    return kept_bytes(v3, 40, {}, modules, megatron(kernels)).per_token;
  };
  constexpr std::int64_t width = 7168, latents = 1536 + 512, qkv = 128 * (2 * 192 + 128);
  CHECK(kept({}) - kept({mla_up_projection}) == 2 * latents + 2 * qkv);
  CHECK(kept({}) - kept({moe_activation}) == 2 * 8 * 2048);
  CHECK(kept({}) - kept({experts}) == 6 * 8 * 2048);
  CHECK(kept({}) - kept({shared_experts}) == 6 * 2048);
  CHECK(kept({}) - kept({moe}) == 6 * 9 * 2048 + 2 * 8 * width + 12 * 256);
  CHECK(kept({}, {.fused_activation = false}) - kept({}) == 4 * 8 * 2048);
}

TEST_CASE("layer_tensors: an expert that devices share has the rows of all of them") {
  auto const& model = transformer_preset("qwen3-30b-a3b");
  parallelism const spread{.tensor = 4, .sequence_parallel = true};
  auto const kept = [&](std::int64_t expert_tensor) { return kept_bytes(model, 0, spread, {}, megatron(), expert_tensor).per_token; };
  CHECK(kept(4) - kept(1) == 3 * 2 * 8 * 2048 / 4);
  CHECK(kept(2) - kept(1) == 2 * 8 * 2048 / 4);
}

TEST_CASE("layer_tensors: offloaded modules leave the device") {
  auto const& model = transformer_preset("deepseek-v3");
  auto const kept = [&](std::string_view moved) {
    return kept_bytes(model, 40, {}, {}, megatron({.moved = offload_set_named(moved)})).per_token;
  };
  auto const all = kept("");
  constexpr std::int64_t h = 7168, latents = 1536 + 512;
  CHECK(all - kept("attn_norm") == 2 * h);
  CHECK(all - kept("attn_norm,mlp_norm") == 4 * h);
  CHECK(all - kept("qkv_linear") == 2 * h + 4 * latents + 4 * 64);
  CHECK(all - kept("core_attn") == 2 * 128 * (2 * 192 + 128) + 4 * 128);
  CHECK(all - kept("attn_proj") == 2 * 128 * 128);
  CHECK(all - kept("expert_fc1") == 2 * 8 * h);
  CHECK(all - kept("moe_act") == 4 * 8 * 2048);
}

TEST_CASE("layer_tensors: the table's sum is activation_bytes_per_token, and Megatron-Core's is close to it") {
  auto const check = [](transformer const& model, std::int64_t layer) {
    CAPTURE(model.hidden, layer);
    auto const table = activation_bytes_per_token(model, layer);
    CHECK(kept_bytes(model, layer, {}, {}, activation_setting{}).per_token == table);
    auto const counted = kept_bytes(model, layer, {}, {}, megatron()).per_token;
    if (model.norms == 2 && !model.parallel && model.qk_norm == 0) {
      CHECK(counted > table);
      CHECK(counted < table + table / 25);
    }
  };
  for (auto const& p : transformer_presets)
    for (auto const layer : {std::int64_t{0}, p.model.layers - 1}) check(p.model, layer);
  for (auto const& p : ballast_test::hybrid_shapes) check(p.model, 0);
  for (auto const& p : ballast_test::state_space_shapes)
    for (auto const layer : {std::int64_t{0}, std::int64_t{1}, std::int64_t{14}}) check(p.model, layer);
}

TEST_CASE("layer_tensors: Megatron-Core and eager PyTorch keep of state spaces what their kernels save") {
  auto const& [nemotron, falcon, jamba, lfm2, sparse] = ballast_test::state_space_shapes;
  std::int64_t const d = 10240, inputs = 2 * d + 2 * 8 * 128 + 128;
  // Megatron-Core norms and multiplies outside of the kernel: its output, the input of the norm and that of the last matrix
  CHECK(kept_bytes(nemotron.model, 0, {}, {}, megatron()).per_token == 2 * 4480 + 4 + 2 * 4480 + 2 * (inputs + 3 * d));
  CHECK(kept_bytes(nemotron.model, 1, {}, {}, megatron()).per_token == 2 * 4480 + 4 + 2 * 4480 + 2 * 2 * 15680);
  // in transformers one kernel does both; a norm keeps its input in 32 bits, the normalised values and its output
  activation_setting const eager{.count = tensor_count::eager};
  CHECK(kept_bytes(nemotron.model, 0, {}, {}, eager).per_token == 4 * 4480 + 2 * 4480 + 2 * 4480 + 4 + 2 * (inputs + d) + 4 * 8);
  // half on each of two devices; the index is whole
  parallelism const two{.tensor = 2};
  CHECK(kept_bytes(nemotron.model, 0, two, {}, megatron()).per_token == 2 * 4480 + 4 + 2 * 4480 + inputs + 3 * d);
  auto const& dense = transformer_preset("deepseek-v3");
  for (auto const& by : {eager, megatron(), activation_setting{}})
    CHECK(kept_bytes(sparse.model, 0, two, {}, by).per_token - kept_bytes(dense, 0, two, {}, by).per_token ==
          2 * (64 * 128 + 2 * 128 + 64) + 4 * 2048);
  CHECK(names(falcon.model, 0, eager).contains("state space"));
  CHECK((names(lfm2.model, 0, eager).contains("short convolution") && !names(lfm2.model, 2, eager).contains("short convolution")));
  CHECK(!names(jamba.model, 0, megatron()).contains("q, k, v"));
}

TEST_CASE("layer_tensors: names are distinct, and there is room for all") {
  kernel_setting const all{.engine = false,
                           .flash = true,
                           .hidden_dropout = true,
                           .attention_dropout = true,
                           .float_softmax = true,
                           .fused_activation = false,
                           .fp8 = true};
  auto model = transformer_preset("deepseek-v3");
  model.qk_norm = 256;
  model.output_gate = true;
  model.norms = 4;
  for (auto const attention : {attention_kernel::fused, attention_kernel::stored_scores}) {
    auto const by = megatron(all, attention, true);
    auto const tensors = layer_tensors_of(model, 40, by);
    CHECK(names(model, 40, by).size() == tensors.size());
    CHECK(tensors.size() < 32);
  }
}

TEST_CASE("layer_tensors: eager PyTorch keeps what its hooks count") {
  auto const eager = [](kernel_setting kernels = {}, trainable const& is = {}, attention_kernel attention = attention_kernel::fused) {
    return activation_setting{.count = tensor_count::eager, .attention = attention, .kernels = kernels, .is = is};
  };
  auto const& model = transformer_preset("llama-3.1-8b");
  constexpr std::int64_t h = 4096, a = 32, k = 8, d = 128, f = 14336, r = 16;
  CHECK(per_token(model, eager()) == 16 * h + 8 + 2 * (2 * a + 2 * k) * d + 4 * a + 8 * f);
  CHECK(per_token(model, eager({.value = 4})) == 24 * h + 8 + 4 * (2 * a + 2 * k) * d + 4 * a + 16 * f);
  CHECK(per_token(model, eager({.repeated_keys = true})) == 16 * h + 8 + 8 * a * d + 4 * a + 8 * f);
  auto const stored = kept_bytes(model, 0, {}, {}, eager({}, {}, attention_kernel::stored_scores));
  CHECK(stored == batch_cost{16 * h + 8 + 8 * a * d + 8 * f, 6 * a, 0});
  CHECK(kept_bytes(model, 0, {}, {}, eager({.value = 4}, {}, attention_kernel::stored_scores)).per_square == 4 * a);
  CHECK(kept_bytes(model, 0, {}, {}, eager({.short_softmax = true}, {}, attention_kernel::stored_scores)).per_square == 2 * a);
  // adapters: norms keep their float32 inputs, the feed-forward block all but the input of its last matrix
  trainable const lora{.what = trained::low_rank, .rank = r};
  auto const frozen = 2 * (4 * h + 4) + 2 * (2 * a + 2 * k) * d + 4 * a + 6 * f;
  CHECK(per_token(model, eager({}, lora)) == frozen + 2 * 7 * r + 2 * h + 2 * h + 2 * f);
  // in float32 each adapter has a copy of its input of its own
  CHECK(per_token(model, eager({.adapter_value = 4}, lora)) == frozen + 4 * 7 * r + 4 * (3 * h + a * d + 2 * h + f));
  CHECK(per_token(model, eager({.adapter_dropout = true}, lora)) == frozen + 2 * 7 * r + 3 * (3 * h + a * d + 2 * h + f));
  // adapters of queries and values alone: each with a copy of the norm's output, or one for both of a fused matrix
  auto few = lora;
  few.matrices = adapted_matrices::queries_and_values;
  CHECK(per_token(model, eager({}, few)) == frozen + 2 * 2 * r + 2 * h);
  CHECK(per_token(model, eager({.adapter_dropout = true}, few)) == frozen + 2 * 2 * r + 3 * 2 * h);
  CHECK(per_token(model, eager({.fused_queries = true, .adapter_dropout = true}, few)) == frozen + 2 * r + 3 * h);
  CHECK(per_token(model, eager({.fused_queries = true, .adapter_value = 4}, lora)) == frozen + 4 * 5 * r + 4 * (h + a * d + 2 * h + f));
  CHECK(per_token(model, eager({.float_norms = true})) == per_token(model, eager()) + 2 * 2 * h);
  CHECK(per_token(model, eager({.float_norms = true}, few)) == per_token(model, eager({}, few)));  // frozen weights keep no values

  auto const& gpt = transformer_preset("gpt2-xl");
  auto const width = gpt.hidden, inner = gpt.ffn;
  CHECK(per_token(gpt, eager({.composed_activation = true})) == 2 * (4 * width + 8) + 8 * width + 4 * gpt.query_heads + 10 * inner);
  CHECK(per_token(gpt, eager()) == 2 * (4 * width + 8) + 8 * width + 4 * gpt.query_heads + 4 * inner);

  auto const& mixture = transformer_preset("qwen3-30b-a3b");  // top-k weights are normalised
  auto const bytes = kept_bytes(mixture, 0, {}, {}, eager()).per_token;
  constexpr std::int64_t heads = 32 + 4, active = 8;
  CHECK(bytes == 16 * 2048 + 8 + heads * (6 * 128 + 4) + 2 * (2 * 32 + 2 * 4) * 128 + 4 * 32 + (4 * 128 + 8 * active + 4 + 4 * active) +
                     active * (4 * 2048 + 8 * 768 + 2 + 24));
  // compiled: 14 h + 6 f where keys are repeated, and log-sum-exps
  CHECK(per_token(model, {.count = tensor_count::compiled, .kernels = {.repeated_keys = true}}) == 14 * h + 4 * a + 6 * f);
}

}  // namespace test_footprint_layer_tensors
