// SPDX-License-Identifier: Apache-2.0
#include "readers/model_config.hpp"
#include "errors.hpp"

#include <ballast/cost/presets.hpp>

#include "support/catch.hpp"

#include <string>

namespace test_cli_model_config {

namespace {

using namespace ballast_cli;

ballast::transformer config(std::string const& text) { return read_model_config(text, "config.json").language; }
std::string refused(std::string const& text) {
  try {
    (void)config(text);
  } catch (bad_input const& e) {
    return e.what();
  }
  return "accepted";
}

std::string const llama =
    R"("hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256)";
std::string const tiny = R"("hidden_size": 8, "intermediate_size": 16, "num_attention_heads": 2, "num_hidden_layers": 6, "vocab_size": 10)";

}  // namespace

// The fields as the published files spell them, those without a bearing on the shape left out.
TEST_CASE("model_config: published files give the presets") {
  CHECK(
      config(
          R"({"model_type": "llama", "attention_bias": false, "mlp_bias": false, "rope_theta": 500000.0, "tie_word_embeddings": false, )" +
          llama + "}") == ballast::transformer_preset("llama-3.1-8b"));
  CHECK(
      config(
          R"({"model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864, "max_window_layers": 21, "num_attention_heads": 14, "num_hidden_layers": 24,
    "num_key_value_heads": 2, "sliding_window": 32768, "tie_word_embeddings": true, "use_sliding_window": false, "vocab_size": 151936})") ==
      ballast::transformer_preset("qwen2.5-0.5b"));
  CHECK(
      config(
          R"({"model_type": "gpt2", "n_ctx": 1024, "n_embd": 1600, "n_head": 25, "n_layer": 48, "n_positions": 1024, "vocab_size": 50257})") ==
      ballast::transformer_preset("gpt2-xl"));
  CHECK(
      config(
          R"({"model_type": "internlm2", "bias": false, "hidden_size": 6144, "intermediate_size": 16384, "num_attention_heads": 48, "num_hidden_layers": 48,
    "num_key_value_heads": 8, "tie_word_embeddings": false, "vocab_size": 92544})") == ballast::transformer_preset("internlm2-20b"));
  CHECK(
      config(
          R"({"model_type": "deepseek_v3", "attention_bias": false, "first_k_dense_replace": 3, "hidden_size": 7168, "intermediate_size": 18432, "kv_lora_rank": 512,
    "moe_intermediate_size": 2048, "moe_layer_freq": 1, "n_routed_experts": 256, "n_shared_experts": 1, "num_attention_heads": 128, "num_experts_per_tok": 8,
    "num_hidden_layers": 61, "num_key_value_heads": 128, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "tie_word_embeddings": false,
    "topk_method": "noaux_tc", "v_head_dim": 128, "vocab_size": 129280})") == ballast::transformer_preset("deepseek-v3"));
}

TEST_CASE("model_config: other families have the parameters they publish") {
  auto const mixtral =
      config(R"({"model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2, "hidden_size": 4096, "intermediate_size": 14336,
    "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "sliding_window": null, "vocab_size": 32000})");
  CHECK(parameters(mixtral) == 46'702'792'704);
  auto const qwen3 = config(
      R"({"model_type": "qwen3_moe", "decoder_sparse_step": 1, "head_dim": 128, "hidden_size": 2048, "intermediate_size": 6144, "mlp_only_layers": [],
    "moe_intermediate_size": 768, "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48, "num_key_value_heads": 4,
    "tie_word_embeddings": false, "vocab_size": 151936})");
  CHECK(parameters(qwen3) == 30'532'122'624);
  auto const gemma3 = config(
      R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "head_dim": 256, "hidden_size": 2560, "intermediate_size": 10240,
    "num_attention_heads": 8, "num_hidden_layers": 34, "num_key_value_heads": 4, "sliding_window": 1024, "sliding_window_pattern": 6, "vocab_size": 262208}})");
  CHECK(parameters(gemma3) == 3'880'263'168);
  CHECK((gemma3.window == 1024 && gemma3.windowed == ~ballast::layer_set::every(6)));
  auto const llava =
      config(R"({"model_type": "llava", "vision_config": {"hidden_size": 1024}, "text_config": {"model_type": "llama", )" + llama + "}}");
  CHECK(llava == ballast::transformer_preset("llama-3.1-8b"));
}

TEST_CASE("model_config: windows") {
  auto const of = [](std::string const& more) {
    auto const m = config("{" + tiny + more + "}");
    return std::pair(m.window, m.layers - m.windowed.count(m.layers));
  };
  CHECK(of("") == std::pair<std::int64_t, std::int64_t>(0, 0));
  CHECK(of(R"(, "sliding_window": 64)") == std::pair<std::int64_t, std::int64_t>(64, 0));
  CHECK(of(R"(, "sliding_window": 64, "use_sliding_window": false)") == std::pair<std::int64_t, std::int64_t>(0, 0));
  CHECK(of(R"(, "sliding_window": 64, "sliding_window_pattern": 6)") == std::pair<std::int64_t, std::int64_t>(64, 1));
  CHECK(of(R"(, "sliding_window": 64, "model_type": "gemma2")") == std::pair<std::int64_t, std::int64_t>(64, 3));
  std::string const s = "\"sliding_attention\"", f = "\"full_attention\"";
  CHECK(of(R"(, "sliding_window": 64, "layer_types": [)" + s + "," + f + "," + s + "," + f + "," + s + "," + f + "]") ==
        std::pair<std::int64_t, std::int64_t>(64, 3));
}

TEST_CASE("model_config: what cannot be used is refused, with its field") {
  CHECK(refused("[1") == "config.json: not a JSON object");
  CHECK(refused("[]") == "config.json: not a JSON object");
  CHECK(refused("{}") == "config.json: the field num_hidden_layers is missing: not the configuration of a transformer");
  CHECK(refused(R"({"num_hidden_layers": 2, "hidden_size": "big"})") ==
        "config.json: the field hidden_size = \"big\" must be a whole number up to 2^31");
  CHECK(refused(R"({"num_hidden_layers": -2})") == "config.json: the field num_hidden_layers = -2 must be a whole number up to 2^31");
  CHECK(refused("{" + tiny + R"(, "tie_word_embeddings": 1})") == "config.json: the field tie_word_embeddings = 1 must be true or false");
  CHECK(refused("{" + tiny + R"(, "num_key_value_heads": 3})") == "config.json: kv_heads = 3 must be in [1, 2]");
  CHECK(refused(R"({"num_hidden_layers": 2, "hidden_size": 8, "num_attention_heads": 0, "intermediate_size": 1, "vocab_size": 1})") ==
        "config.json: query_heads = 0 must be in [1, 8192]");
  CHECK(refused("{" + tiny + R"(, "num_experts": 4, "num_experts_per_tok": 2, "decoder_sparse_step": 2})") ==
        "config.json: the field decoder_sparse_step = 2 is not supported: experts in every layer are");
  CHECK(refused("{" + tiny + R"(, "num_experts": 4, "num_experts_per_tok": 2, "mlp_only_layers": [1]})") ==
        "config.json: the field mlp_only_layers = [1] is not supported");
  CHECK(refused("{" + tiny + R"(, "num_experts": 4, "num_experts_per_tok": 2, "moe_layer_freq": 2})")
            .starts_with("config.json: the field moe_layer_freq = 2"));
  CHECK(refused("{" + tiny + R"(, "sliding_window": 64, "max_window_layers": 3})")
            .starts_with("config.json: the field max_window_layers = 3"));
  CHECK(refused("{" + tiny + R"(, "num_experts": 4})") ==
        "config.json: the field num_experts_per_tok is missing: not the configuration of a transformer");
}

}  // namespace test_cli_model_config
