// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/moe.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/activations.hpp>
#include <ballast/footprint/model_layers.hpp>

#include "support/catch.hpp"
#include "support/hybrid_shapes.hpp"
#include "support/refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace test_footprint_activations {

using namespace ballast;
using ballast_test::refusal;
using enum recompute_module;

constexpr module_set every_module{core_attention, layernorm, mla_up_projection, mlp, moe_activation, experts, shared_experts, moe};

/// The shape of a layer of Korthikanti et al.: plain attention, a feed-forward width of 4 h, LayerNorm.
transformer plain(std::int64_t heads, std::int64_t hidden) {
  return {.layers = 1,
          .hidden = hidden,
          .query_heads = heads,
          .kv_heads = heads,
          .head_width = hidden / heads,
          .ffn = 4 * hidden,
          .gated = false,
          .causal = false,
          .norm_bias = true};
}

/// Calls `check(model, layer)` for the first and the last layer of each preset, vision encoders included.
template <class Check>
void for_each_shape(Check const& check) {
  auto const both = [&](transformer const& model) {
    check(model, std::int64_t{0});
    check(model, model.layers - 1);
  };
  for (auto const& p : transformer_presets) both(p.model);
  for (auto const& p : ballast_test::hybrid_shapes) both(p.model);
  for (auto const& p : vision_presets) both(p.model.body);
}

TEST_CASE("activations: the parts of a layer add up to the layer") {
  for_each_shape([](transformer const& model, std::int64_t layer) {
    for (std::int64_t const t : {1, 2, 8})
      for (bool const sp : {false, true}) {
        if (model.query_heads % t != 0 || model.kv_heads % t != 0) continue;  // shares would be rounded
        parallelism const spread{.tensor = t, .sequence_parallel = sp};
        CAPTURE(model.hidden, layer, t, sp);
        auto sum = kept_bytes(model, layer, spread, every_module).per_token;
        for (auto const m : {core_attention, layernorm, mla_up_projection, mlp, moe})  // no two of these overlap
          sum += module_activations(model, layer, spread, m).saved.per_token;
        CHECK(sum == activation_bytes_per_token(model, layer, spread, recomputation::none));
        CHECK(kept_bytes(model, layer, spread, {}).per_square == 0);
        CHECK(module_activations(model, layer, spread, core_attention).saved == batch_cost{});  // fused kernels store no scores
      }
  });
}

TEST_CASE("activations: the feed-forward modules are selective recomputation") {
  for_each_shape([](transformer const& model, std::int64_t layer) {
    for (std::int64_t const t : {1, 3, 8, 64})
      for (bool const sp : {false, true}) {
        parallelism const spread{.tensor = t, .sequence_parallel = sp};
        CAPTURE(model.hidden, layer, t, sp);
        CHECK(kept_bytes(model, layer, spread, {}).per_token == activation_bytes_per_token(model, layer, spread, recomputation::none));
        CHECK(kept_bytes(model, layer, spread, feed_forward_modules).per_token ==
              activation_bytes_per_token(model, layer, spread, recomputation::selective));
        CHECK(repeated_flops(model, layer, spread, feed_forward_modules) ==
              batch_cost{.per_token = recomputed_flops_per_token(model, layer, spread, recomputation::selective)});
      }
  });
}

TEST_CASE("activations: modules that contain others drop them once") {
  auto const& v3 = transformer_preset("deepseek-v3");
  auto const saved = [&](module_set set, std::int64_t layer = 60) {
    return kept_bytes(v3, layer, {}, {}).per_token - kept_bytes(v3, layer, {}, set).per_token;
  };
  auto const work = [&](module_set set) { return repeated_flops(v3, 60, {}, set).per_token; };
  std::int64_t const h = 7168, f = 2048, k = 8;
  CHECK(saved({layernorm}) == 2 * 2 * h);
  CHECK(saved({moe_activation}) == 2 * k * f);
  CHECK(saved({experts}) == 2 * k * 3 * f);
  CHECK(saved({shared_experts}) == 2 * 3 * f);
  CHECK(saved({moe}) == 2 * (k * (h + 3 * f) + 3 * f));  // the copies that were sent to the experts, too
  CHECK(saved({moe, moe_activation, experts, shared_experts}) == saved({moe}));
  CHECK(saved({experts, moe_activation}) == saved({experts}));
  CHECK(saved({mlp}) == 0);
  CHECK(saved({mlp}, 0) == 2 * 3 * 18432);
  CHECK(saved({moe, experts, shared_experts, moe_activation}, 0) == 0);  // a dense layer
  CHECK(saved({mla_up_projection}) == 2 * (128 * (192 + 192 + 128) - 64));

  CHECK(work({layernorm, moe_activation}) == 0);
  CHECK(work({mla_up_projection}) == 2 * (1536 * 128 * 192 + 512 * 128 * (128 + 128)));
  CHECK(work({moe}) == 2 * 2 * h * f * (k + 1) + router_flops_per_token(v3));
  CHECK(work({moe, experts, shared_experts}) == work({moe}));
  CHECK(work({experts, shared_experts, mla_up_projection}) == work({experts}) + work({shared_experts}) + work({mla_up_projection}));

  auto v2_lite = v3;  // queries that are not compressed come from the input of the block
  v2_lite.q_rank = 0;
  CHECK(repeated_flops(v2_lite, 60, {}, {mla_up_projection}).per_token == 2 * (h * 128 * 192 + 512 * 128 * (128 + 128)));
  auto llama = transformer_preset("llama-3.1-8b");
  CHECK(module_activations(llama, 0, {}, mla_up_projection) == module_cost{});
  CHECK(module_activations(llama, 0, {.tensor = 4}, layernorm).saved.per_token == 4 * 4096);
  CHECK(module_activations(llama, 0, {.tensor = 4, .sequence_parallel = true}, layernorm).saved.per_token == 4096);
  llama.norms = 4;  // the output of a norm behind a block is added to the residual stream and not kept
  CHECK(module_activations(llama, 0, {}, layernorm).saved.per_token == 4 * 4096);
  llama.norms = 0;
  CHECK(module_activations(llama, 0, {}, layernorm).saved.per_token == 0);
}

TEST_CASE("activations: stored scores have the shares and formulas of Megatron's recomputation paper") {
  constexpr auto stored = attention_kernel::stored_scores;
  std::int64_t const s = 2048;
  struct row {
    std::int64_t heads, hidden, scores, tenths;  // 5 a s / h, and the published FLOPs of selective recomputation in tenths of a percent
  };
  for (auto const& [a, h, scores, tenths] : {row{96, 12288, 80, 27}, row{128, 20480, 64, 16}}) {
    CAPTURE(a, h);
    auto const model = plain(a, h);
    auto const all = kept_bytes(model, 0, {}, {}, stored);
    CHECK(s * all.per_square == scores * h);
    CHECK(activation_bytes_per_token(model, 0, true) == 34 * h);  // so scores are 80 of 114, and 64 of 98
    CHECK(all.per_token == 32 * h);                               // without dropout's masks of the two blocks
    CHECK(kept_bytes(model, 0, {}, {core_attention}, stored) == batch_cost{.per_token = 32 * h});
    // the published overhead is the repeated FLOPs over those of the forward pass, s / (6 h + s)
    auto const repeated = repeated_flops(model, 0, {}, {core_attention}, stored);
    CHECK(repeated.per_token == 0);
    CHECK(repeated.per_square == 4 * h);
    auto const forward = layer_flops(model, 0);
    auto const whole = forward.per_token + s * forward.per_pair;
    CHECK((2000 * s * repeated.per_square / whole + 1) / 2 == tenths);
    for (std::int64_t const t : {1, 8})
      for (bool const sp : {false, true}) {
        parallelism const spread{.tensor = t, .sequence_parallel = sp};
        megatron_layer const table{.sequence = s, .hidden = h, .heads = a, .ffn = 4 * h};
        auto const masks = 2 * s * h / (sp ? t : 1);
        batch_shape const sample{.tokens = s, .squares = s * s, .tiles = 0};
        CHECK(kept_bytes(model, 0, spread, {}, stored)(sample) == activation_bytes(table, spread, recomputation::none) - masks);
        CHECK(kept_bytes(model, 0, spread, {core_attention}, stored)(sample) ==
              activation_bytes(table, spread, recomputation::selective) - masks);
      }
  }
  auto const& llama = transformer_preset("llama-3.1-8b");  // causal: hidden pairs are stored and computed, too
  CHECK(module_activations(llama, 0, {.tensor = 4}, core_attention, stored) ==
        module_cost{.saved = {.per_square = 5 * 32 / 4}, .work = {.per_square = 4 * 4096 / 4}});
  CHECK(module_activations(llama, 0, {}, core_attention).work == batch_cost{.per_token = 2 * 4096, .per_square = 2 * 4096});
}

TEST_CASE("activations: by default the choices are those of the layers of a model") {
  for (auto const& p : transformer_presets)
    for (parallelism const& spread : {parallelism{}, parallelism{.tensor = 8, .sequence_parallel = true}, parallelism{.tensor = 3}}) {
      CAPTURE(p.name, spread.tensor);
      auto const layers = layers_of(p.model, {.spread = spread});
      for (std::int64_t l = 0; l < p.model.layers; ++l) {
        auto const& options = layers[static_cast<std::size_t>(l + 1)].options;  // behind the embedding
        auto const choices = recompute_options(p.model, l, spread);
        REQUIRE(choices.size() == options.size());
        for (std::size_t i = 0; i < choices.size(); ++i) {
          CHECK(choices[i].bytes == options[i].bytes);
          CHECK(choices[i].work == options[i].work);
          CHECK(choices[i].full == (options[i].recomputed == recomputation::full));
          CHECK(choices[i].modules.empty() == (options[i].recomputed != recomputation::selective));
        }
      }
    }
}

TEST_CASE("activations: each choice keeps less than the one before, costs no less, and is what its modules say") {
  for_each_shape([](transformer const& model, std::int64_t layer) {
    for (auto const kernel : {attention_kernel::fused, attention_kernel::stored_scores})
      for (parallelism const& spread : {parallelism{}, parallelism{.tensor = 4}, parallelism{.tensor = 4, .sequence_parallel = true}})
        for (unsigned bits = 0; bits < 256; bits += 5) {
          module_set allowed;
          allowed.bits = static_cast<std::uint8_t>(bits);
          auto const choices = recompute_options(model, layer, spread, allowed, kernel);
          CAPTURE(model.hidden, layer, to_string(allowed), choices.size());
          REQUIRE(choices.size() >= 2);
          bool right = choices.front().modules.empty() && choices.front().work == batch_cost{} && choices.back().full;
          for (std::size_t i = 0; i < choices.size(); ++i) {
            auto const& c = choices[i];
            right = right && c.full == (i + 1 == choices.size()) && c.modules.without(allowed).empty();
            if (!c.full)
              right = right && c.bytes == kept_bytes(model, layer, spread, c.modules, kernel) &&
                      c.work == repeated_flops(model, layer, spread, c.modules, kernel);
            if (i == 0) continue;
            auto const& before = choices[i - 1];
            right = right && c.bytes.per_token <= before.bytes.per_token && c.bytes.per_square <= before.bytes.per_square &&
                    c.bytes != before.bytes && c.work.per_token >= before.work.per_token && c.work.per_square >= before.work.per_square;
          }
          CHECK(right);
        }
  });
}

TEST_CASE("activations: modules are added in the order of bytes saved per FLOP") {
  auto const& v3 = transformer_preset("deepseek-v3");
  std::vector<std::string> names;
  for (auto const& c : recompute_options(v3, 60, {.tensor = 4}, every_module, attention_kernel::stored_scores))
    names.push_back(c.full ? "full" : to_string(c.modules));
  CHECK(names == std::vector<std::string>{"", "layernorm,moe_act", "core_attn,layernorm,moe_act", "core_attn,layernorm,mla_up_proj,moe_act",
                                          "core_attn,layernorm,mla_up_proj,moe", "full"});
  CHECK(recompute_options(v3, 60, {}, {}).size() == 2);
  CHECK(recompute_options(v3, 60, {}, {core_attention, mlp}).size() == 2);  // neither saves anything in this layer
}

TEST_CASE("activations: what makes no sense is refused") {
  auto const& v3 = transformer_preset("deepseek-v3");
  CHECK(refusal([&] { return kept_bytes(v3, 61, {}, {}).per_token; }) == "layer = 61 must be in [0, 61)");
  CHECK(refusal([&] { return repeated_flops(v3, -1, {}, {}).per_token; }) == "layer = -1 must be in [0, 61)");
  CHECK(refusal([&] { return recompute_options(v3, 0, {.tensor = 0}).size(); }) == "tensor = 0 must be in [1, 65536]");
}

TEST_CASE("kept_bytes: routed experts in 8 bits keep half of what they keep") {
  auto const& model = transformer_preset("deepseek-v3");
  auto const kept = [&](module_set modules, bool fp8) {
    return kept_bytes(model, 40, {}, modules, attention_kernel::fused, fp8).per_token;
  };
  using enum recompute_module;
  std::int64_t const copies = 8 * 7168, inner = 8 * 3 * 2048;  // elements that the experts of a token keep
  CHECK(kept({}, false) - kept({}, true) == copies + inner);
  CHECK(kept({moe_activation}, false) - kept({moe_activation}, true) == copies + inner - 8 * 2048);
  CHECK(kept({experts}, false) - kept({experts}, true) == copies);
  CHECK(kept({moe}, false) == kept({moe}, true));
  CHECK(kept_bytes(model, 1, {}, {}, attention_kernel::fused, true) == kept_bytes(model, 1, {}, {}));  // a dense layer
}

}  // namespace test_footprint_activations
