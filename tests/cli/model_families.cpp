// SPDX-License-Identifier: Apache-2.0
#include "model_table.hpp"
#include "planning/model_words.hpp"
#include "program.hpp"
#include "readers/model_config.hpp"

#include "support/catch.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace test_cli_model_families {

namespace {

using ballast_cli::read_model_config;

/// The fields of a published file on which the shape depends, and its number of parameters.
struct published {
  char const* name;
  std::int64_t parameters;
  char const* fields;
};

// The counts of these models are found in public text: model cards, indices of weights, or the presets of this library.
constexpr published found[]{
    {"Llama 2 7B", 6'738'415'616, R"("model_type": "llama", "num_key_value_heads": 32, "vocab_size": 32000)"},
    {"Llama 3.1 8B", 8'030'261'248,
     R"("model_type": "llama", "intermediate_size": 14336, "num_key_value_heads": 8, "vocab_size": 128256, "mlp_bias": false)"},
    {"Qwen2.5 0.5B", 494'032'768,
     R"("model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864, "max_window_layers": 21, "num_attention_heads": 14,
        "num_hidden_layers": 24, "num_key_value_heads": 2, "sliding_window": 32768, "tie_word_embeddings": true, "use_sliding_window": false)"},
    {"Qwen2.5 3B", 3'085'938'688,
     R"("model_type": "qwen2", "hidden_size": 2048, "intermediate_size": 11008, "num_attention_heads": 16, "num_hidden_layers": 36,
        "num_key_value_heads": 2, "tie_word_embeddings": true)"},
    {"Qwen2.5 7B", 7'615'616'512,
     R"("model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_attention_heads": 28, "num_hidden_layers": 28,
        "num_key_value_heads": 4, "vocab_size": 152064)"},
    {"Qwen2.5 32B", 32'763'876'352,
     R"("model_type": "qwen2", "hidden_size": 5120, "intermediate_size": 27648, "num_attention_heads": 40, "num_hidden_layers": 64,
        "num_key_value_heads": 8, "vocab_size": 152064)"},
    {"Qwen2.5 72B", 72'706'203'648,
     R"("model_type": "qwen2", "hidden_size": 8192, "intermediate_size": 29568, "num_attention_heads": 64, "num_hidden_layers": 80,
        "num_key_value_heads": 8, "vocab_size": 152064)"},
    {"Qwen2 57B-A14B", 57'408'658'944,
     R"("model_type": "qwen2_moe", "decoder_sparse_step": 1, "hidden_size": 3584, "intermediate_size": 18944, "moe_intermediate_size": 2560,
        "num_attention_heads": 28, "num_experts": 64, "num_experts_per_tok": 8, "num_hidden_layers": 28, "num_key_value_heads": 4,
        "shared_expert_intermediate_size": 20480, "sliding_window": 65536, "use_sliding_window": false, "max_window_layers": 28)"},
    {"Qwen3 30B-A3B", 30'532'122'624,
     R"("model_type": "qwen3_moe", "decoder_sparse_step": 1, "head_dim": 128, "hidden_size": 2048, "intermediate_size": 6144,
        "max_window_layers": 48, "mlp_only_layers": [], "moe_intermediate_size": 768, "num_attention_heads": 32, "num_experts": 128,
        "num_experts_per_tok": 8, "num_hidden_layers": 48, "num_key_value_heads": 4, "sliding_window": null, "use_sliding_window": false)"},
    {"Qwen3 235B-A22B", 235'093'634'560,
     R"("model_type": "qwen3_moe", "head_dim": 128, "hidden_size": 4096, "intermediate_size": 12288, "moe_intermediate_size": 1536,
        "num_attention_heads": 64, "num_hidden_layers": 94, "num_key_value_heads": 4)"},
    {"Qwen3-Next 80B-A3B", 79'674'391'296,
     R"("model_type": "qwen3_next", "full_attention_interval": 4, "head_dim": 256, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
        "num_hidden_layers": 48, "shared_expert_intermediate_size": 512)"},
    {"Llama 4 Scout, text", 107'769'861'120,
     R"("model_type": "llama4_text", "interleave_moe_layer_step": 1, "num_local_experts": 16, "attention_chunk_size": 8192)"},
    {"Llama 4 Maverick, text", 400'711'848'960,
     R"("model_type": "llama4_text", "interleave_moe_layer_step": 2, "num_local_experts": 128, "intermediate_size_mlp": 16384)"},
    {"Mixtral 8x7B", 46'702'792'704,
     R"("model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": null)"},
    {"DeepSeek-V2-Lite", 15'706'484'224,
     R"("model_type": "deepseek_v2", "first_k_dense_replace": 1, "hidden_size": 2048, "intermediate_size": 10944, "moe_intermediate_size": 1408,
        "moe_layer_freq": 1, "n_routed_experts": 64, "n_shared_experts": 2, "num_attention_heads": 16, "num_experts_per_tok": 6,
        "num_hidden_layers": 27, "num_key_value_heads": 16, "q_lora_rank": null, "topk_method": "greedy")"},
    {"DeepSeek-V2", 235'741'434'880,
     R"("model_type": "deepseek_v2", "first_k_dense_replace": 1, "hidden_size": 5120, "intermediate_size": 12288, "moe_intermediate_size": 1536,
        "n_routed_experts": 160, "n_shared_experts": 2, "num_attention_heads": 128, "num_experts_per_tok": 6, "num_hidden_layers": 60,
        "num_key_value_heads": 128, "q_lora_rank": 1536, "topk_method": "group_limited_greedy")"},
    {"DeepSeek-V3", 671'026'419'200,
     R"("model_type": "deepseek_v3", "first_k_dense_replace": 3, "hidden_size": 7168, "moe_layer_freq": 1, "n_routed_experts": 256,
        "num_nextn_predict_layers": 1, "topk_method": "noaux_tc")"},
    {"Gemma 2 2B", 2'614'341'888, R"("model_type": "gemma2", "hidden_size": 2304, "num_hidden_layers": 26)"},
    {"phi-4", 14'659'507'200,
     R"("model_type": "phi3", "attention_bias": false, "hidden_size": 5120, "intermediate_size": 17920, "num_attention_heads": 40,
        "num_hidden_layers": 40, "num_key_value_heads": 10, "sliding_window": null, "vocab_size": 100352)"},
    {"GLM-4 9B 0414", 9'400'279'040, R"("model_type": "glm4", "attention_bias": true, "head_dim": 128, "num_key_value_heads": 2)"},
    {"GLM-4.5-Air", 106'852'251'264,
     R"("model_type": "glm4_moe", "attention_bias": true, "head_dim": 128, "use_qk_norm": false, "num_nextn_predict_layers": 1)"},
    {"GLM-4.5", 352'797'829'024,
     R"("model_type": "glm4_moe", "attention_bias": true, "first_k_dense_replace": 3, "head_dim": 128, "hidden_size": 5120,
        "intermediate_size": 12288, "moe_intermediate_size": 1536, "n_routed_experts": 160, "num_hidden_layers": 92, "use_qk_norm": true)"},
    {"gpt-oss 20b", 20'914'757'184, R"("model_type": "gpt_oss", "num_hidden_layers": 24, "num_local_experts": 32, "experts_per_token": 4)"},
    {"gpt-oss 120b", 116'829'156'672, R"("model_type": "gpt_oss", "num_hidden_layers": 36, "num_local_experts": 128)"},
    {"OLMo 2 7B", 7'298'617'344, R"("model_type": "olmo2", "num_key_value_heads": 32, "vocab_size": 100352)"},
    {"GPT-2 XL", 1'557'611'200, R"("model_type": "gpt2", "n_ctx": 1024, "n_embd": 1600, "n_head": 25, "n_layer": 48, "n_positions": 1024)"},
    {"InternLM2 20B", 19'861'149'696,
     R"("model_type": "internlm2", "bias": false, "hidden_size": 6144, "intermediate_size": 16384, "num_attention_heads": 48,
        "num_hidden_layers": 48, "num_key_value_heads": 8, "vocab_size": 92544)"},
    {"Qwen3 0.6B", 596'049'920,
     R"("model_type": "qwen3", "head_dim": 128, "hidden_size": 1024, "intermediate_size": 3072, "num_attention_heads": 16,
        "num_hidden_layers": 28, "num_key_value_heads": 8, "tie_word_embeddings": true)"},
    {"Qwen3 1.7B", 1'720'574'976,
     R"("model_type": "qwen3", "hidden_size": 2048, "intermediate_size": 6144, "num_attention_heads": 16, "num_hidden_layers": 28,
        "num_key_value_heads": 8, "tie_word_embeddings": true)"},
    {"Qwen3 4B", 4'022'468'096,
     R"("model_type": "qwen3", "hidden_size": 2560, "intermediate_size": 9728, "num_attention_heads": 32, "num_hidden_layers": 36,
        "num_key_value_heads": 8, "tie_word_embeddings": true)"},
    {"Qwen3 8B", 8'190'735'360, R"("model_type": "qwen3", "intermediate_size": 12288, "num_hidden_layers": 36, "num_key_value_heads": 8)"},
    {"Qwen3 14B", 14'768'307'200,
     R"("model_type": "qwen3", "hidden_size": 5120, "intermediate_size": 17408, "num_attention_heads": 40, "num_hidden_layers": 40,
        "num_key_value_heads": 8)"},
    {"Gemma 3 1B", 999'885'952,
     R"("model_type": "gemma3_text", "hidden_size": 1152, "intermediate_size": 6912, "num_attention_heads": 4, "num_key_value_heads": 1,
        "sliding_window": 512, "sliding_window_pattern": 6, "vocab_size": 262144)"},
    {"Gemma 3 270M", 268'098'176,
     R"("model_type": "gemma3_text", "hidden_size": 640, "intermediate_size": 2048, "num_attention_heads": 4, "num_hidden_layers": 18,
        "num_key_value_heads": 1, "sliding_window": 512, "vocab_size": 262144)"},
    // with a tower of 416,866,032 and a projector of 1,152 (h + 1) these are 4,300,079,472, 12,187,325,040 and 27,432,406,640
    {"Gemma 3 4B, text", 3'880'263'168,
     R"("model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34, "sliding_window": 1024)"},
    {"Gemma 3 12B, text", 11'766'034'176,
     R"("model_type": "gemma3_text", "hidden_size": 3840, "intermediate_size": 15360, "num_attention_heads": 16, "num_hidden_layers": 48,
        "num_key_value_heads": 8, "sliding_window": 1024)"},
    {"Gemma 3 27B, text", 27'009'346'304,
     R"("model_type": "gemma3_text", "head_dim": 128, "hidden_size": 5376, "intermediate_size": 21504, "num_attention_heads": 32,
        "num_hidden_layers": 62, "num_key_value_heads": 16, "sliding_window": 1024)"},
    {"OLMo 3 7B", 7'298'011'136, R"("model_type": "olmo3", "sliding_window": 4096, "vocab_size": 100278)"},
    {"OLMo 3 32B", 32'233'522'176,
     R"("model_type": "olmo3", "hidden_size": 5120, "intermediate_size": 27648, "num_attention_heads": 40, "num_hidden_layers": 64,
        "num_key_value_heads": 8, "sliding_window": 4096, "vocab_size": 100278)"},
    {"Qwen3.5 9B, text", 8'953'803'264,
     R"("model_type": "qwen3_5_text", "full_attention_interval": 4, "linear_num_value_heads": 32, "attn_output_gate": true,
        "mtp_num_hidden_layers": 1)"},
    {"Qwen3.5 27B, text", 26'895'998'464,
     R"("model_type": "qwen3_5_text", "hidden_size": 5120, "intermediate_size": 17408, "linear_num_value_heads": 48,
        "num_attention_heads": 24, "num_hidden_layers": 64)"},
    {"Qwen3.5 35B-A3B, text", 34'660'610'688, R"("model_type": "qwen3_5_moe_text", "num_experts": 256, "num_experts_per_tok": 8)"},
};

// For these the shape is the source: the count follows from the published fields, and no text with its digits was found.
constexpr published computed[]{
    {"Llama 2 70B", 68'976'648'192,
     R"("model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_attention_heads": 64, "num_hidden_layers": 80,
        "num_key_value_heads": 8)"},
    {"Llama 3.1 405B", 405'853'388'800,
     R"("model_type": "llama", "hidden_size": 16384, "intermediate_size": 53248, "num_attention_heads": 128, "num_hidden_layers": 126,
        "num_key_value_heads": 8, "vocab_size": 128256)"},
    {"Llama 3.2 1B", 1'235'814'400,
     R"("model_type": "llama", "head_dim": 64, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
        "num_key_value_heads": 8, "tie_word_embeddings": true, "vocab_size": 128256)"},
    {"Llama 3.2 3B", 3'212'749'824,
     R"("model_type": "llama", "head_dim": 128, "hidden_size": 3072, "intermediate_size": 8192, "num_attention_heads": 24,
        "num_hidden_layers": 28, "num_key_value_heads": 8, "tie_word_embeddings": true, "vocab_size": 128256)"},
    {"Mistral 7B v0.1", 7'241'732'096, R"("model_type": "mistral", "sliding_window": 4096)"},
    {"Mistral 7B v0.3", 7'248'023'552, R"("model_type": "mistral", "sliding_window": null, "vocab_size": 32768)"},
    {"Mistral Nemo", 12'247'782'400,
     R"("model_type": "mistral", "head_dim": 128, "hidden_size": 5120, "num_hidden_layers": 40, "sliding_window": null, "vocab_size": 131072)"},
    {"Mistral Small 24B", 23'572'403'200,
     R"("model_type": "mistral", "head_dim": 128, "hidden_size": 5120, "intermediate_size": 32768, "num_hidden_layers": 40,
        "sliding_window": null, "vocab_size": 131072)"},
    {"Mixtral 8x22B", 140'620'634'112,
     R"("model_type": "mixtral", "hidden_size": 6144, "intermediate_size": 16384, "num_attention_heads": 48, "num_hidden_layers": 56)"},
    {"Mixtral 8x22B v0.3", 140'630'071'296,
     R"("model_type": "mixtral", "hidden_size": 6144, "intermediate_size": 16384, "num_attention_heads": 48, "num_hidden_layers": 56,
        "vocab_size": 32768)"},
    {"Qwen2.5 1.5B", 1'543'714'304,
     R"("model_type": "qwen2", "hidden_size": 1536, "intermediate_size": 8960, "num_attention_heads": 12, "num_hidden_layers": 28,
        "num_key_value_heads": 2, "tie_word_embeddings": true)"},
    {"Qwen1.5-MoE A2.7B", 14'315'784'192, R"("model_type": "qwen2_moe", "shared_expert_intermediate_size": 5632)"},
    {"Qwen3 32B", 32'762'123'264,
     R"("model_type": "qwen3", "hidden_size": 5120, "intermediate_size": 25600, "num_attention_heads": 64, "num_hidden_layers": 64,
        "num_key_value_heads": 8)"},
    {"Moonlight 16B-A3B", 15'960'110'208,
     R"("model_type": "deepseek_v3", "first_k_dense_replace": 1, "hidden_size": 2048, "intermediate_size": 11264,
        "moe_intermediate_size": 1408, "n_routed_experts": 64, "n_shared_experts": 2, "num_attention_heads": 16, "num_experts_per_tok": 6,
        "num_hidden_layers": 27, "num_key_value_heads": 16, "num_nextn_predict_layers": 0, "q_lora_rank": null, "vocab_size": 163840)"},
    {"Kimi K2", 1'026'408'232'448,
     R"("model_type": "kimi_k2", "first_k_dense_replace": 1, "n_routed_experts": 384, "num_attention_heads": 64, "num_key_value_heads": 64,
        "num_nextn_predict_layers": 0, "vocab_size": 163840)"},
    {"Gemma 2 9B", 9'241'705'984,
     R"("model_type": "gemma2", "hidden_size": 3584, "intermediate_size": 14336, "num_attention_heads": 16, "num_hidden_layers": 42,
        "num_key_value_heads": 8)"},
    {"Gemma 2 27B", 27'227'128'320,
     R"("model_type": "gemma2", "head_dim": 128, "hidden_size": 4608, "intermediate_size": 36864, "num_attention_heads": 32,
        "num_hidden_layers": 46, "num_key_value_heads": 16, "query_pre_attn_scalar": 144)"},
    {"Phi-3-mini", 3'821'079'552, R"("model_type": "phi3", "num_key_value_heads": 32, "sliding_window": 2047)"},
    {"phi-4-mini", 3'836'021'760,
     R"("model_type": "phi3", "num_attention_heads": 24, "num_key_value_heads": 8, "partial_rotary_factor": 0.75, "sliding_window": 262144,
        "tie_word_embeddings": true, "vocab_size": 200064, "lm_head_bias": false, "mlp_bias": false)"},
    {"Phi-3.5-MoE", 41'873'153'344, R"("model_type": "phimoe", "attention_bias": true, "lm_head_bias": true, "sliding_window": 131072)"},
    {"GLM-4 32B 0414", 32'566'081'536,
     R"("model_type": "glm4", "attention_bias": false, "hidden_size": 6144, "intermediate_size": 23040, "num_attention_heads": 48,
        "num_hidden_layers": 61)"},
    {"GLM-4 9B", 9'399'951'360,
     R"("model_type": "chatglm", "add_bias_linear": false, "add_qkv_bias": true, "ffn_hidden_size": 13696, "kv_channels": 128,
        "multi_query_attention": true, "multi_query_group_num": 2, "num_layers": 40, "padded_vocab_size": 151552, "vocab_size": 151552)"},
    {"GLM-4 9B, newer class", 9'399'951'360, R"("model_type": "glm", "attention_bias": true, "num_key_value_heads": 2)"},
    {"OLMo 2 13B", 13'716'198'400,
     R"("model_type": "olmo2", "hidden_size": 5120, "intermediate_size": 13824, "num_attention_heads": 40, "num_hidden_layers": 40,
        "vocab_size": 100352)"},
    {"OLMo 2 32B", 32'234'279'936,
     R"("model_type": "olmo2", "hidden_size": 5120, "intermediate_size": 27648, "num_attention_heads": 40, "num_hidden_layers": 64,
        "num_key_value_heads": 8, "vocab_size": 100352)"},
    {"Falcon 7B", 6'921'720'704, R"("model_type": "falcon", "multi_query": true, "num_kv_heads": 71, "parallel_attn": true)"},
    {"Falcon 40B", 41'303'293'952,
     R"("model_type": "falcon", "hidden_size": 8192, "new_decoder_architecture": true, "num_attention_heads": 128, "num_hidden_layers": 60,
        "num_kv_heads": 8)"},
};

ballast::transformer model_of(std::string_view name) {
  for (auto const& m : found)
    if (name == m.name) return read_model_config("{" + std::string(m.fields) + "}", "config.json").language;
  for (auto const& m : computed)
    if (name == m.name) return read_model_config("{" + std::string(m.fields) + "}", "config.json").language;
  FAIL(name);
  return {};
}

}  // namespace

TEST_CASE("model_families: the parameters of each are the published ones, to the last", "[published]") {
  for (auto const& m : found) {
    CAPTURE(m.name);
    CHECK(parameters(model_of(m.name)) == m.parameters);
  }
  for (auto const& m : computed) {
    CAPTURE(m.name);
    CHECK(parameters(model_of(m.name)) == m.parameters);
  }
}

TEST_CASE("model_families: masks of layers, and their pairs counted one by one", "[published]") {
  enum kind { full, sliding, chunked, linear };
  struct {
    char const* name;
    std::int64_t window;
    kind (*of)(std::int64_t);
  } const masks[]{
      {"Llama 3.1 8B", 0, [](std::int64_t) { return full; }},
      {"Mistral 7B v0.1", 4096, [](std::int64_t) { return sliding; }},
      {"Mistral 7B v0.3", 0, [](std::int64_t) { return full; }},
      {"Qwen2.5 0.5B", 0, [](std::int64_t) { return full; }},
      {"Gemma 2 2B", 4096, [](std::int64_t l) { return l % 2 == 0 ? sliding : full; }},
      {"Gemma 3 1B", 512, [](std::int64_t l) { return l % 6 == 5 ? full : sliding; }},
      {"gpt-oss 20b", 128, [](std::int64_t l) { return l % 2 == 0 ? sliding : full; }},
      {"Phi-3-mini", 2047, [](std::int64_t) { return sliding; }},
      {"Llama 4 Scout, text", 8192, [](std::int64_t l) { return l % 4 == 3 ? full : chunked; }},
      {"Qwen3-Next 80B-A3B", 0, [](std::int64_t l) { return l % 4 == 3 ? full : linear; }},
  };
  for (auto const& m : masks) {
    auto model = model_of(m.name);
    CAPTURE(m.name);
    CHECK(model.window == m.window);
    if (m.window > 100) model.window = m.window / 32;  // the same masks, small enough to count
    std::int64_t const n = 300;
    for (std::int64_t l = 0; l < model.layers; ++l) {
      std::int64_t pairs = 0;
      for (std::int64_t query = 0; query < n; ++query)
        for (std::int64_t key = 0; key <= query; ++key) {
          auto const is = m.of(l);
          pairs +=
              is == full || (is == sliding && query - key < model.window) || (is == chunked && query / model.window == key / model.window);
        }
      auto const flops = layer_flops(model, l);
      auto const v = model.v_width > 0 ? model.v_width : model.head_width;
      REQUIRE(flops(n) - flops.per_token * n == 2 * model.query_heads * (model.head_width + v) * pairs);
    }
  }
}

TEST_CASE("model_families: layers with experts") {
  auto const maverick = model_of("Llama 4 Maverick, text"), deepseek = model_of("DeepSeek-V3");
  for (std::int64_t l = 0; l < 48; ++l) REQUIRE(maverick.expert_layers.contains(l) == (l % 2 == 1));
  for (std::int64_t l = 0; l < 61; ++l) REQUIRE(deepseek.expert_layers.contains(l) == (l >= 3));
  CHECK(active_parameters(model_of("Qwen3-Next 80B-A3B")) < 4'000'000'000);
  CHECK(active_parameters(model_of("gpt-oss 120b")) < 6'000'000'000);
}

TEST_CASE("model_families: commands say what they read of a config.json") {
  auto const said = [](std::string const& fields) { return ballast_cli::in_words(read_model_config("{" + fields + "}", "c"), "c"); };
  std::string const all = R"("num_hidden_layers": 6, "hidden_size": 8, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 4,
                             "intermediate_size": 16, "vocab_size": 10, "model_type": )";
  // a layer: four matrices of 8 x 8, three of 8 x 16, two norms; then the final norm, and 8 x 10 twice or once
  CHECK(said(all + R"("llama")") == "c: llama of 4,104 parameters, 3,944 without embedding and head; 6 layers: 6 full.\n");
  CHECK(said(all + R"("llama", "tie_word_embeddings": true)") ==
        "c: llama of 4,024 parameters, 3,944 without embedding and head, which are one matrix; 6 layers: 6 full.\n");
  CHECK(said(all + R"("phi3", "sliding_window": 2047)").find("; 6 layers: 6 sliding 2,047.\n") != std::string::npos);
  CHECK(said(all + R"("llama4_text", "num_local_experts": 4, "num_experts_per_tok": 1, "intermediate_size_mlp": 32,
                      "interleave_moe_layer_step": 2, "attention_chunk_size": 8192)") ==
        "c: llama4_text of 9,960 parameters, 9,800 without embedding and head; a token uses 6,504; "
        "6 layers: 1 full, 5 chunked 8,192.\n");
  auto const next = said(all + R"("qwen3_next", "num_experts": 4, "num_experts_per_tok": 1)");
  CHECK(next.find("; 6 layers: 1 full, 5 linear.\nThe file leaves these fields to the class of qwen3_next: ") != std::string::npos);

  ballast_test::scratch const in;
  in.file("config.json", "{" + all + R"("llama"})");
  in.file("f", "5\n6\n7\n8\n");
  std::string const line = "config.json: llama of 4,104 parameters, 3,944 without embedding and head; 6 layers: 6 full.\n";
  for (auto const* command :
       {"plan f --capacity 8 --ranks 2 --model config.json", "pack f --capacity 8 --ranks 2 --model config.json",
        "plan f --capacity 8 --ranks 2 --stages 2 --model config.json", "levels f --max-length 4096 --gpus 2 --model config.json",
        "plan f --capacity 4096 --levels auto --gpus 2 --model config.json"}) {
    auto const o = in.ballast(command);
    CAPTURE(command, o.out, o.err);
    CHECK((o.code == 0 && o.out.starts_with(line)));
  }
  CHECK(in.ballast("plan f --capacity 8 --ranks 2").out.find("parameters") == std::string::npos);
  in.file("config.json", R"({"model_type": "mamba3"})");
  auto const o = in.ballast("plan f --capacity 8 --ranks 2 --model config.json");
  CHECK(
      (o.code == 2 && o.err.starts_with("config.json: the model_type mamba3 is not known; if the model is built like one of these, name it "
                                        "in a copy of the file: llama, ")));
}

}  // namespace test_cli_model_families

std::vector<ballast_test::listed_model> ballast_test::models_of_families() {
  std::vector<listed_model> all;
  for (auto const& m : test_cli_model_families::found) all.push_back({.name = m.name, .fields = m.fields});
  for (auto const& m : test_cli_model_families::computed) all.push_back({.name = m.name, .fields = m.fields, .exact = false});
  return all;
}
