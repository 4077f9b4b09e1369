// SPDX-License-Identifier: Apache-2.0
#include "readers/hybrid_config.hpp"
#include "errors.hpp"
#include "readers/model_config.hpp"

#include <ballast/cost/polynomial.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/plan.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace test_cli_hybrid_config {

namespace {

using namespace ballast_cli;
using ballast::layer_set;

ballast::transformer config(std::string const& text) { return read_model_config(text, "config.json").language; }
std::string refused(std::string const& text) {
  try {
    (void)config(text);
  } catch (bad_input const& e) {
    return e.what();
  }
  return "accepted";
}
/// A list of words with one for each letter: * attention, M mamba, c conv.
std::string words(std::string const& key, std::string const& letters) {
  std::string list;
  for (auto const c : letters)
    list += std::string(list.empty() ? "" : ", ") + (c == '*' ? "\"full_attention\"" : c == 'M' ? "\"mamba\"" : "\"conv\"");
  return "\"" + key + "\": [" + list + "]";
}
/// The letters of a model.
std::string letters(ballast::transformer const& m) {
  std::string out;
  for (std::int64_t l = 0; l < m.layers; ++l) {
    auto const attention = m.attention_layers.contains(l), space = m.space.layers.contains(l);
    out += attention && space                             ? 'h'
           : attention                                    ? '*'
           : space                                        ? 'M'
           : m.conv.layers.contains(l)                    ? 'c'
           : m.expert_layers.contains(l) && m.experts > 0 ? 'E'
                                                          : '-';
  }
  return out;
}

std::string const mamba2 =
    R"({"model_type": "mamba2", "expand": 2, "head_dim": 64, "hidden_size": 2560, "n_groups": 1, "num_heads": 80, "num_hidden_layers": 64,
        "state_size": 128, "tie_word_embeddings": true, "use_bias": false, "use_conv_bias": true, "vocab_size": 50288})";
std::string const nemotron =
    R"({"model_type": "nemotron_h", "hidden_size": 4480, "intermediate_size": 15680, "num_attention_heads": 40, "num_key_value_heads": 8,
        "head_dim": 128, "vocab_size": 131072, "ssm_state_size": 128, "conv_kernel": 4, "n_groups": 8, "mamba_num_heads": 128,
        "mamba_head_dim": 80, "hybrid_override_pattern": "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-")";

}  // namespace

// Totals of the safetensors files on huggingface.co; those of the state-spaces files are sums of their tensors' sizes.
TEST_CASE("hybrid_config: published files have the published parameters", "[published]") {
  auto const is = [](std::string const& text, std::int64_t parameters) {
    CAPTURE(text);
    CHECK(ballast::parameters(config(text)) == parameters);
  };
  is(R"({"model_type": "mamba", "hidden_size": 768, "num_hidden_layers": 24, "intermediate_size": 1536, "time_step_rank": 48})",
     129'135'360);
  is(R"({"model_type": "falcon_mamba", "hidden_size": 4096, "num_hidden_layers": 64, "expand": 16, "intermediate_size": 8192,
         "tie_word_embeddings": false, "vocab_size": 65024})",
     7'272'665'088);
  is(mamba2, 2'702'599'680);
  is(R"({"model_type": "mamba2"})", 7'285'403'648);  // Mamba-Codestral 7B
  is(nemotron + "}", 8'888'227'328);                 // Nemotron Nano 9B v2
  // Nemotron 3 Nano 30B-A3B, its 23 biases of 128 experts included
  is(R"({"model_type": "nemotron_h", "hidden_size": 2688, "intermediate_size": 1856, "num_attention_heads": 32, "num_key_value_heads": 2,
         "head_dim": 128, "vocab_size": 131072, "ssm_state_size": 128, "n_groups": 8, "mamba_num_heads": 64, "mamba_head_dim": 64,
         "n_routed_experts": 128, "num_experts_per_tok": 6, "moe_intermediate_size": 1856, "moe_shared_expert_intermediate_size": 3712,
         "n_shared_experts": 1, "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"})",
     31'577'937'344 + 23 * 128);
  is(R"({"model_type": "falcon_h1", "attn_layer_indices": null, "hidden_size": 1024, "intermediate_size": 2048, "num_attention_heads": 8,
         "num_hidden_layers": 36, "num_key_value_heads": 2, "head_dim": 64, "mamba_d_head": 64, "mamba_d_ssm": 1536, "mamba_d_state": 128,
         "mamba_n_heads": 24, "mamba_rms_norm": false, "vocab_size": 32784})",
     521'411'104);
  is(R"({"model_type": "falcon_h1", "hidden_size": 3072, "intermediate_size": 12288, "num_attention_heads": 12, "num_hidden_layers": 44,
         "num_key_value_heads": 2, "head_dim": 128, "mamba_d_head": 128, "mamba_d_ssm": 3072, "mamba_d_state": 256, "mamba_n_heads": 24,
         "mamba_rms_norm": true, "vocab_size": 130048})",
     7'585'648'736);
  is(R"({"model_type": "granitemoehybrid", "hidden_size": 4096, "intermediate_size": 768, "num_attention_heads": 32, "num_hidden_layers": 40,
         "num_key_value_heads": 8, "num_local_experts": 72, "num_experts_per_tok": 10, "shared_intermediate_size": 1536, "mamba_d_head": 64,
         "mamba_d_state": 128, "mamba_n_heads": 128, "tie_word_embeddings": true, "vocab_size": 100352, )" +
         words("layer_types", "MMMMM*MMMMMMMMM*MMMMMMMMM*MMMMMMMMM*MMMM") + "}",
     32'207'337'984);
  is(R"({"model_type": "jamba"})", 51'570'323'328);  // v0.1
  is(R"({"model_type": "bamba", "attn_layer_indices": [9, 18, 27], "mamba_d_state": 128, "mamba_d_head": "auto", "vocab_size": 128256})",
     9'780'235'392);
  is(R"({"model_type": "lfm2", "block_auto_adjust_ff_dim": true, "block_ffn_dim_multiplier": 1.0, "block_multiple_of": 256, "conv_L_cache": 3,
         "hidden_size": 1024, "intermediate_size": 6656, "num_attention_heads": 16, "num_hidden_layers": 16, "num_key_value_heads": 8,
         "full_attn_idxs": [2, 5, 8, 10, 12, 14]})",
     354'483'968);
  is(R"({"model_type": "lfm2", "block_ff_dim": 12288, "hidden_size": 2048, "num_hidden_layers": 16, )" +
         words("layer_types", "cc*cc*cc*c*c*c*c") + "}",
     1'170'340'608);
  is(R"({"model_type": "lfm2_moe", "num_hidden_layers": 24, )" + words("layer_types", "cc*ccc*ccc*ccc*ccc*cc*cc") + "}",
     8'339'929'856 + 22 * 32);  // the biases of the experts included
  // DeepSeek-V3.2-Exp has 865,535,376 numbers more than DeepSeek-V3: indexers of 61 layers and of one for multi-token prediction, each with
  // 824 scales of its 8-bit weights
  auto const v3 = config(R"({"model_type": "deepseek_v3"})"), v32 = config(R"({"model_type": "deepseek_v32"})");
  CHECK(ballast::layer_parameters(v32, 5) - ballast::layer_parameters(v3, 5) == 13'959'424);
  CHECK(ballast::parameters(v32) - ballast::parameters(v3) == 61 * 13'959'424);
  CHECK(62 * (13'959'424 + 824) == 685'396'921'376 - 684'531'386'000);
}

TEST_CASE("hybrid_config: layers are those of the file's list, or of the class") {
  auto const jamba = config(R"({"model_type": "jamba", "num_hidden_layers": 10})");
  CHECK(letters(jamba) == "MMMM*MMMMM");
  CHECK((jamba.expert_layers.count(10) == 5 && jamba.expert_layers.contains(1) && jamba.space.step_rank == 256));
  auto const dense = config(R"({"model_type": "jamba", "num_experts": 1, "attn_layer_period": 2, "attn_layer_offset": 0})");
  CHECK((dense.experts == 0 && dense.ffn == 14336 && letters(dense).starts_with("*M*M")));
  CHECK(letters(config(R"({"model_type": "bamba", "num_hidden_layers": 4, "attn_layer_indices": [2]})")) == "MM*M");
  CHECK(letters(config(R"({"model_type": "falcon_h1", "num_hidden_layers": 3})")) == "hhh");
  CHECK(letters(config(R"({"model_type": "lfm2", "num_hidden_layers": 3})")) == "***");
  CHECK(letters(config(R"({"model_type": "granitemoehybrid", "num_hidden_layers": 2, "num_key_value_heads": 8})")) == "MM");
  auto const small = config(
      R"({"model_type": "nemotron_h", "layers_block_type": ["linear_attention", "moe", "full_attention", "mlp"], "num_hidden_layers": 9})");
  CHECK((letters(small) == "ME*-" && small.norms == 1 && !small.gated && small.ffn == 21504 && small.shared_ffn == 7688));
  // a dense Granite 4 has the block that every token visits alone
  auto const micro = config(R"({"model_type": "granitemoehybrid", "num_local_experts": 0, "shared_intermediate_size": 8192})");
  CHECK((micro.experts == 0 && micro.ffn == 8192 && micro.shared_ffn == 0));
  CHECK(config(R"({"model_type": "falcon_h1", "mamba_d_ssm": null})").space.inner() == 8192);
  auto const listed = config(R"({"model_type": "deepseek_v32", "num_hidden_layers": 3, "mlp_layer_types": ["dense", "sparse", "sparse"],
      "layer_types": ["indexed_attention", "indexed_attention", "indexed_attention"], "index_topk": 512})");
  CHECK((listed.expert_layers == layer_set{1, 2} && listed.window == 512 && listed.index.heads == 64));
}

TEST_CASE("hybrid_config: what cannot be is refused by its name") {
  CHECK(refused(R"({"model_type": "bamba", "num_hidden_layers": 2, )" + words("layer_types", "Mc") + "}")
            .ends_with("says conv, which this family does not have"));
  CHECK(refused(R"({"model_type": "lfm2", "num_hidden_layers": 3, )" + words("layer_types", "*c") + "}")
            .ends_with("must have an entry for each of 3 layers"));
  CHECK(refused(R"({"model_type": "mamba2", "num_heads": 100})").find("the field num_heads = 100 does not divide the 8192 channels") !=
        std::string::npos);
  CHECK(refused(R"({"model_type": "bamba", "mamba_d_head": 32})").find("over that of heads, 64") != std::string::npos);
  CHECK(refused(nemotron + R"(, "moe_latent_size": 4})") == "accepted");  // without experts it is not read
  CHECK(refused(R"({"model_type": "nemotron_h", "hybrid_override_pattern": "ME", "moe_latent_size": 1024})")
            .ends_with("moe_latent_size = 1024 is not modelled"));
  CHECK(refused(R"({"model_type": "nemotron_h", "hybrid_override_pattern": "MX"})").ends_with("has a letter other than M, *, - and E"));
  CHECK(refused(R"({"model_type": "nemotron_h"})").ends_with("is missing, and must say 1 to 1024 layers"));
  CHECK(refused(R"({"model_type": "mamba2", "num_hidden_layers": 2000})").ends_with("must say 1 to 1024 layers"));
  CHECK(refused(R"({"model_type": "jamba", "attn_layer_offset": 8})").ends_with("must be below attn_layer_period"));
  CHECK(refused(R"({"model_type": "jamba", "mamba_dt_rank": 0})").ends_with("mamba_dt_rank = 0 must be positive"));
  CHECK(refused(R"({"model_type": "falcon_h1", "projectors_bias": true})").ends_with("is not modelled unless it is mamba_proj_bias"));
  CHECK(refused(R"({"model_type": "deepseek_v32", "q_lora_rank": null})").find("q_lora_rank = null must be positive") != std::string::npos);
  CHECK(refused(nemotron + R"(, "num_hidden_layers": 50})").ends_with("says 56 layers, and num_hidden_layers 50"));
  CHECK(refused(nemotron + R"(, "num_hidden_layers": 56})") == "accepted");
  CHECK(refused(R"({"model_type": "lfm2", "block_multiple_of": 0})").ends_with("must be positive"));
  CHECK(refused(R"({"model_type": "lfm2", "block_ffn_dim_multiplier": "1"})").ends_with("must be a number"));
  CHECK(refused(R"({"model_type": "zamba3"})").find("is not known") != std::string::npos);
}

TEST_CASE("hybrid_config: a pure Mamba model costs by tokens, and packs as by tokens") {
  auto const cost = ballast::sample_cost(config(mamba2));
  CHECK(cost.quadratic() == ballast::quadratic_cost{.linear = 1, .quadratic = 0});
  for (std::int64_t const n : {0, 1, 100, 4096, 1 << 20}) CHECK(cost(n) == n * cost(1));
  std::vector<int> lengths;
  for (int i = 0; i < 500; ++i) lengths.push_back(1 + i * i * 7919 % 8000);
  ballast::data_plan_options const options{.steps = {.capacity = 8192, .ranks = 4}};
  CHECK(hash(ballast::plan_data(lengths, options, cost).steps) == hash(ballast::plan_data(lengths, options, ballast::token_cost{}).steps));
  // with attention in four of 56 layers, long samples cost more than tokens, but less than if all mixed by attention
  auto hybrid = config(nemotron + "}"), dense = hybrid;
  dense.space.layers = {};
  dense.attention_layers = layer_set::all();
  CHECK(ballast::sample_cost(hybrid).quadratic().linear > 10 * ballast::sample_cost(dense).quadratic().linear);
}

}  // namespace test_cli_hybrid_config
