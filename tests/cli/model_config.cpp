// SPDX-License-Identifier: Apache-2.0
#include "readers/model_config.hpp"
#include "errors.hpp"

#include <ballast/cost/presets.hpp>

#include "support/catch.hpp"

#include <string>

namespace test_cli_model_config {

namespace {

using namespace ballast_cli;
using ballast::layer_set;

model_shape shape(std::string const& text) { return read_model_config(text, "config.json"); }
ballast::transformer config(std::string const& text) { return shape(text).language; }
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

/// A model of six layers of a family.
std::string small(std::string const& type, std::string const& more = {}) {
  return R"({"model_type": ")" + type + R"(", "hidden_size": 8, "intermediate_size": 16, "num_attention_heads": 2, "num_hidden_layers": 6,
             "num_key_value_heads": 2, "vocab_size": 10)" +
         (more.empty() ? "" : ", ") + more + "}";
}
/// `layer_types` of six layers: f, s, c and l are full, sliding, chunked and linear.
std::string types(std::string const& letters) {
  std::string list;
  for (auto const c : letters)
    list += std::string(list.empty() ? "\"" : ", \"") +
            (c == 'f'   ? "full"
             : c == 's' ? "sliding"
             : c == 'c' ? "chunked"
                        : "linear") +
            "_attention\"";
  return "\"layer_types\": [" + list + "]";
}
/// The same letters of a model.
std::string masks(ballast::transformer const& m) {
  std::string letters;
  for (std::int64_t l = 0; l < m.layers; ++l)
    letters += m.linear.layers.contains(l) ? 'l' : m.window == 0 || !m.windowed.contains(l) ? 'f' : m.chunked ? 'c' : 's';
  return letters;
}

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
  CHECK(config(R"({"model_type": "mixtral"})") == ballast::transformer_preset("mixtral-8x7b"));
  CHECK(config(R"({"model_type": "qwen3_moe", "head_dim": 128, "hidden_size": 2048, "intermediate_size": 6144, "moe_intermediate_size": 768,
    "num_attention_heads": 32, "num_hidden_layers": 48, "num_key_value_heads": 4})") == ballast::transformer_preset("qwen3-30b-a3b"));
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
  CHECK(config(R"({"model_type": "llava", "vision_config": {"hidden_size": 1024}, "text_config": {"model_type": "llama", )" + llama +
               "}}") == ballast::transformer_preset("llama-3.1-8b"));
  // LLaVA-1.5's file leaves almost everything to the class of its language model
  auto const llava = shape(R"({"model_type": "llava", "text_config": {"model_type": "llama", "vocab_size": 32064}})");
  CHECK((llava.family == "llava" && parameters(llava.language) == 6'738'415'616 + 2 * 64 * 4096));
  CHECK(llava.notes ==
        std::vector<std::string>{"The file leaves these fields to the class of llama: num_hidden_layers = 32, hidden_size = 4096, "
                                 "num_attention_heads = 32, intermediate_size = 11008."});
}

TEST_CASE("model_config: an absent field is the class's default, and is said; null may be something else") {
  auto const mistral = shape(R"({"model_type": "mistral"})");
  CHECK((mistral.language.window == 4096 && mistral.language.kv_heads == 8 && mistral.language.head_width == 128));
  CHECK(mistral.notes.at(0).ends_with("num_key_value_heads = 8, intermediate_size = 14336, vocab_size = 32000, sliding_window = 4096."));
  auto const nulls = config(R"({"model_type": "mistral", "sliding_window": null, "num_key_value_heads": null, "head_dim": null})");
  CHECK((nulls.window == 0 && nulls.kv_heads == 32 && nulls.head_width == 128));
  CHECK(config(R"({"model_type": "llama"})").kv_heads == 32);
  CHECK(config(R"({"model_type": "qwen3", "hidden_size": 1024, "num_attention_heads": 32})").head_width == 128);
  CHECK(config(R"({"model_type": "glm4_moe"})").head_width == 42);
  CHECK(config(R"({"model_type": "falcon", "num_kv_heads": 71})").kv_heads == 1);
  CHECK(config(R"({"model_type": "falcon", "num_kv_heads": 8, "new_decoder_architecture": true, "num_attention_heads": 64})").kv_heads ==
        8);
  CHECK((config(R"({"model_type": "gemma2"})").tied && !config(R"({"model_type": "gemma2", "tie_word_embeddings": false})").tied));
  CHECK((config(R"({"model_type": "qwen2"})").qkv_bias && !config(R"({"model_type": "qwen2"})").output_bias));
  CHECK(config(R"({"model_type": "deepseek_v3"})").q_rank == 1536);
  CHECK(config(R"({"model_type": "deepseek_v3", "q_lora_rank": null})").q_rank == 0);
  auto const mtp = shape(small("deepseek_v3", R"("num_nextn_predict_layers": 1)"));
  CHECK((mtp.language.mtp_layers == 0 && mtp.notes.back() == "Layers for multi-token prediction are not counted: the file has 1."));
}

TEST_CASE("model_config: an outer file decides whether the embedding is tied") {
  auto const tied = [](std::string const& type, std::string const& outer, std::string const& inner) {
    return config(R"({"model_type": ")" + type + "\"" + outer + R"(, "text_config": {"model_type": "qwen2")" + inner + "}}").tied;
  };
  std::string const yes = R"(, "tie_word_embeddings": true)", no = R"(, "tie_word_embeddings": false)";
  CHECK((tied("some_vlm", yes, no) && !tied("some_vlm", no, yes) && tied("some_vlm", "", yes) && !tied("some_vlm", "", "")));
  CHECK((tied("llava", no, yes) && tied("qwen2_5_vl", no, yes) && !tied("llava", no, no)));
  CHECK(tied("internvl", "", ""));
  CHECK(!tied("mistral3", "", ""));  // its class ties them, but published files hold two matrices, and the loader keeps both
}

TEST_CASE("model_config: windows and other masks of layers, by family") {
  auto const of = [](std::string const& type, std::string const& more = {}) { return masks(config(small(type, more))); };
  std::string const window = R"("sliding_window": 64)", used = window + R"(, "use_sliding_window": true, "max_window_layers": 4)";
  CHECK(of("llama") == "ffffff");
  CHECK(of("llama", types("ffffff")) == "ffffff");
  CHECK(of("mistral", window) == "ssssss");
  CHECK(of("mistral", window + ", " + types("ssssss")) == "ssssss");
  CHECK(of("ministral", window + ", " + types("sffsss")) == "sffsss");
  CHECK(of("mixtral") == "ffffff");
  CHECK(of("mixtral", window) == "ssssss");
  CHECK(of("qwen2", window) == "ffffff");
  CHECK(of("qwen2", used) == "ffffss");
  CHECK(of("qwen3", used) == "ffffss");
  CHECK(of("qwen2_moe", used) == "sfsfff");  // the opposite of qwen2, and every other layer
  CHECK(of("qwen3_moe", used) == "ssssss");
  CHECK(of("qwen2", used + ", " + types("fsfsfs")) == "fsfsfs");
  CHECK(of("gemma2") == "sfsfsf");
  CHECK(of("gemma3_text") == "sssssf");
  CHECK(of("gemma3_text", R"("_sliding_window_pattern": 3)") == "ssfssf");
  CHECK(of("gpt_oss") == "sfsfsf");
  CHECK(of("olmo3") == "sssfss");
  CHECK(of("phi3") == "ffffff");
  CHECK(of("phi3", window) == "ssssss");
  CHECK(of("llama4_text") == "cccfcc");
  CHECK(of("llama4_text", R"("no_rope_layers": [1, 0, 1, 1, 0, 1])") == "cfccfc");
  CHECK(of("llama4_text", R"("attention_chunk_size": null)") == "ffffff");
  CHECK(of("qwen3_next") == "lllfll");
  CHECK(of("qwen3_next", R"("full_attention_interval": 2)") == "lflflf");
  CHECK(of("qwen3_next", types("ffllll")) == "ffllll");
  CHECK(config(small("gpt_oss", types("ssssss"))).windowed == layer_set::all());
  CHECK(of("smollm3", window) == "ffffff");
  CHECK(of("smollm3", window + R"(, "use_sliding_window": true)") == "fffsff");  // the layers without positions
  CHECK(of("smollm3", window + R"(, "use_sliding_window": true, "no_rope_layers": [0, 1, 1, 1, 1, 0])") == "sffffs");
  CHECK(of("exaone4", window) == "sssfss");
  CHECK(of("exaone4", window + R"(, "sliding_window_pattern": "LG")") == "sfsfsf");
  CHECK(of("exaone4", window + R"(, "sliding_window_pattern": "LLLG")") == "sssfsf");  // the last layer sees all
  CHECK(of("exaone4", R"("sliding_window": null)") == "ffffff");
  CHECK(of("cohere2", R"("sliding_window_pattern": 3)") == "ssfssf");
  CHECK(of("cohere2", types("fsfsfs")) == "fsfsfs");
  CHECK(of("cohere") == "ffffff");
  CHECK(of("afmoe", R"("global_attn_every_n_layers": 2)") == "sfsfsf");
  CHECK(of("dots1", R"("num_experts_per_tok": 2)") == "ffffff");
  CHECK(of("dots1", R"("num_experts_per_tok": 2, "max_window_layers": 4)") == "ffffss");
  CHECK(of("cwm") == "fsssfs");
  CHECK(of("starcoder2", window) == "ssssss");
  CHECK(of("gpt_neo") == "fsfsfs");
  CHECK(of("gpt_neo", R"("attention_layers": ["local", "global", "global", "global", "global", "local"])") == "sffffs");
}

TEST_CASE("model_config: layers with experts, by family") {
  auto const of = [](std::string const& type, std::string const& more) {
    auto const m = config(small(type, R"("num_experts": 4, "num_experts_per_tok": 2)" + std::string(more.empty() ? "" : ", ") + more));
    std::string letters;
    for (std::int64_t l = 0; l < m.layers; ++l) letters += m.experts > 0 && m.expert_layers.contains(l) ? 'e' : 'd';
    return letters;
  };
  CHECK(of("qwen3_moe", "") == "eeeeee");
  CHECK(of("qwen3_moe", R"("decoder_sparse_step": 2)") == "dedede");
  CHECK(of("qwen2_moe", R"("decoder_sparse_step": 2, "mlp_only_layers": [1, 2])") == "dddede");
  CHECK(of("deepseek_v3", R"("first_k_dense_replace": 1)") == "deeeee");
  CHECK(of("deepseek_v2", R"("first_k_dense_replace": 1, "moe_layer_freq": 2)") == "ddeded");
  CHECK(of("llama4_text", R"("interleave_moe_layer_step": 3)") == "ddedde");
  CHECK(of("llama4_text", R"("moe_layers": [0, 5])") == "edddde");
  CHECK(of("ernie4_5_moe", R"("moe_layer_start_index": 2, "moe_layer_end_index": 4)") == "ddeeed");
  CHECK(of("ernie4_5_moe", R"("moe_layer_start_index": 0, "moe_layer_end_index": -1, "moe_layer_interval": 2)") == "dedede");
  CHECK(of("afmoe", R"("num_dense_layers": 3)") == "dddeee");
  CHECK(of("exaone_moe", R"("mlp_layer_types": ["dense", "sparse", "sparse", "dense", "sparse", "sparse"])") == "deedee");
  auto const dbrx =
      config(small("dbrx", R"("attn_config": {"kv_n_heads": 1}, "ffn_config": {"ffn_hidden_size": 8, "moe_num_experts": 6})"));
  CHECK((dbrx.kv_heads == 1 && dbrx.experts == 6 && dbrx.expert_ffn == 8 && dbrx.expert_layers == layer_set::all() && dbrx.ffn == 0));
  CHECK(of("granitemoe", "") == "eeeeee");
  auto const lists =
      config(small("hunyuan_v1_moe", R"("num_experts": 4, "moe_topk": [2, 2, 2, 2, 2, 2], "num_shared_expert": [1, 1, 1, 1, 1, 1])"));
  CHECK((lists.active_experts == 2 && lists.shared_ffn == 16));
  CHECK(config(small("qwen3_moe")).ffn == 0);  // no layer has it
  CHECK(config(small("qwen3_moe", R"("mlp_only_layers": [0])")).ffn == 16);
  CHECK(config(small("qwen3_moe", R"("num_experts": 0)")).experts == 0);
}

TEST_CASE("model_config: what cannot be used is refused, with its field") {
  CHECK(refused("[1") == "config.json: not a JSON object: it ends in the middle");
  CHECK(refused("{\"a\": 1,\n\"b\": 2,\n}") == "config.json: not a JSON object: line 3 closes behind a comma, which JSON does not allow");
  CHECK(refused("{\n\"a\" 1}") == "config.json: not a JSON object: there is a fault in line 2");
  CHECK(refused("[]") == "config.json: not a JSON object");
  CHECK(refused("{}") == "config.json: the field model_type is missing: not a Hugging Face config.json");
  CHECK(refused(R"({"model_type": 3})") == "config.json: the field model_type = 3 must be a word");
  CHECK(
      refused(small("mamba3"))
          .starts_with("config.json: the model_type mamba3 is not known; if the model is built like one of these, name it in a copy of the "
                       "file: llama, llama4_text, mistral, "));
  CHECK(refused(R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": "big"})") ==
        "config.json: the field hidden_size = \"big\" must be a whole number up to 2^30");
  CHECK(refused(R"({"model_type": "llama", "num_hidden_layers": -2})") ==
        "config.json: the field num_hidden_layers = -2 must be a whole number up to 2^30");
  CHECK(refused(small("llama", R"("tie_word_embeddings": 1)")) == "config.json: the field tie_word_embeddings = 1 must be true or false");
  CHECK(refused(R"({"model_type": "llama", "num_attention_heads": 2, "num_key_value_heads": 3})") ==
        "config.json: kv_heads = 3 must be in [1, 2]");
  CHECK(refused(R"({"model_type": "llama", "num_attention_heads": 0})") == "config.json: query_heads = 0 must be in [1, 8192]");
  CHECK(refused(small("gemma3_text", R"("use_bidirectional_attention": true)"))
            .ends_with("use_bidirectional_attention = true is not modelled"));
  CHECK(refused(small("deepseek_v2")) == "config.json: the field num_experts_per_tok is missing, and has no default");
  CHECK(refused(small("llama", R"("quantization_config": 8)")) == "config.json: the field quantization_config = 8 must be an object");
  CHECK(refused(small("hunyuan_v1_moe", R"("num_experts": 4, "moe_topk": [2, 2, 2, 2, 2, 1])"))
            .ends_with("moe_topk = [2,2,2,2,2,1] differs between layers, which is not modelled"));
  CHECK(refused(small("hunyuan_v1_dense", R"("use_cla": true)")).ends_with("but it is not a field of hunyuan_v1_dense"));
  CHECK(refused(small("minimax_m2", R"("attn_type_list": [1, 1, 1, 1, 1, 1])")) == "accepted");
  CHECK(refused(small("minimax_m2", R"("attn_type_list": [0, 1, 1, 1, 1, 1])"))
            .ends_with("attn_type_list = [0,1,1,1,1,1] has layers without full attention, which this family does not have"));
  CHECK(refused(small("opt", R"("word_embed_proj_dim": 4)"))
            .ends_with("word_embed_proj_dim = 4 is not hidden_size: an embedding of another width is not modelled"));
  CHECK(refused(small("bailing_moe", R"("use_sliding_window": true)"))
            .ends_with("use_sliding_window = true is not what the class of this model does"));
  CHECK(refused(small("deepseek")) == "config.json: the field num_experts_per_tok is missing, and has no default");
  CHECK(refused(small("exaone_moe", R"("mlp_layer_types": ["dense"])")).ends_with(" must have an entry for each of 6 layers"));
  CHECK(
      refused(small("deepseek_v3", R"("attention_bias": true)")).ends_with("attention_bias = true is not modelled with latent attention"));
}

TEST_CASE("model_config: a field that says something of a shape is never passed over") {
  for (auto const* field : {"sliding_window", "attention_chunk_size", "full_attention_interval", "interleave_moe_layer_step", "num_experts",
                            "kv_lora_rank", "decoder_sparse_step", "first_k_dense_replace", "linear_num_key_heads", "index_topk"}) {
    auto const with = [&](char const* value) { return refused(small("llama", "\"" + std::string(field) + "\": " + value)); };
    CHECK(with("4") ==
          "config.json: the field " + std::string(field) + " = 4 changes the shape of some models, but it is not a field of llama");
    CHECK((with("null") == "accepted" && with("0") == "accepted" && with("false") == "accepted" && with("[]") == "accepted"));
  }
  CHECK(refused(small("llama", R"("rope_scaling": {"factor": 8.0}, "torch_dtype": "bfloat16", "use_cache": true)")) == "accepted");
  // words of layer_types that cannot be priced, or that the class does not read
  CHECK(refused(small("qwen2", R"("layer_types": ["mamba", "mamba", "mamba", "mamba", "mamba", "attention"])"))
            .ends_with(" says mamba, which cannot be priced"));
  CHECK(refused(small("qwen2", types("fff"))).ends_with(" must have an entry for each of 6 layers"));
  CHECK(refused(small("qwen2", types("ffffsf"))).ends_with(" needs sliding_window"));
  CHECK(refused(small("qwen2", types("fffflf"))).ends_with(" says linear_attention, which this family does not have"));
  CHECK(refused(small("llama", types("sfffff")))
            .ends_with(" says sliding_attention where the class of this model, which does not read it, has full_attention"));
  CHECK(refused(small("mistral", types("ffffff"))).ends_with(" has sliding_attention"));
}

}  // namespace test_cli_model_config
