// SPDX-License-Identifier: Apache-2.0
#include "readers/language_config.hpp"

#include "errors.hpp"
#include "readers/hybrid_config.hpp"
#include "readers/language_blocks.hpp"
#include "readers/language_table.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

// Families of language models, by `model_type`. Defaults are those of the classes in Hugging Face transformers 5.24; InternLM2, Kimi K2 and
// the first ChatGLM have classes of their own beside their weights.

namespace ballast_cli {

namespace {

// ---- families

void add_llama(transformer& model, config_fields& in) {
  set_attention_bias(model, in);
  model.ffn_bias = in.flag("mlp_bias", false);
  set_masks(model, in, mask::sliding, false, never);
}
void add_llama4(transformer& model, config_fields& in) {
  set_attention_bias(model, in);
  set_experts(model, in, 16, 1);
  model.expert_ffn = model.shared_ffn = model.ffn;
  model.ffn = in.number({"intermediate_size_mlp"}, 16384);
  auto const step = in.number({"interleave_moe_layer_step"}, 1);
  if (step == 0) in.refuse("interleave_moe_layer_step", "must be positive");
  model.expert_layers = layer_set::every(step);
  if (auto const listed = in.numbers("moe_layers")) {
    model.expert_layers = {};
    for (auto const l : *listed)
      if (l < model.layers && l < layer_set::most) model.expert_layers.add(l);
    if (model.expert_layers.count(model.layers) == model.layers) model.expert_layers = layer_set::all();
  }
  in.pass_over({"use_qk_norm"});  // without weights
  model.window = in.number({"attention_chunk_size"}, 8192, 0);
  auto const interval = in.number({"no_rope_layer_interval"}).value_or(4);
  if (interval == 0) in.refuse("no_rope_layer_interval", "must be positive");
  auto const rope = in.numbers("no_rope_layers").value_or(std::vector<std::int64_t>{});  // 1 means that the layer has RoPE
  if (!rope.empty() && static_cast<std::int64_t>(rope.size()) != model.layers)
    in.refuse("no_rope_layers", "must have an entry for each of " + std::to_string(model.layers) + " layers");
  auto const any = model.window > 0;
  set_masks(model, in, mask::chunked, true,
            [&](std::int64_t l) { return any && (rope.empty() ? (l + 1) % interval != 0 : rope[static_cast<std::size_t>(l)] != 0); });
}
void add_mistral(transformer& model, config_fields& in) { set_window(model, in, 4096, false, always); }
void add_ministral(transformer& model, config_fields& in) { set_window(model, in, 4096, true, always); }
void add_mixtral(transformer& model, config_fields& in) {
  set_experts_everywhere(model, in, 8, 2);
  set_window(model, in, 0, false, always);
}
void add_qwen2(transformer& model, config_fields& in) {
  model.qkv_bias = true;  // there is no field for it
  set_optional_window(model, in, true, 28, [](std::int64_t l, std::int64_t first) { return l >= first; });
}
void add_qwen2_vl(transformer& model, config_fields& in) {
  model.qkv_bias = true;
  set_optional_window(model, in, true, 80, [](std::int64_t l, std::int64_t first) { return l >= first; });
}
void add_qwen2_moe(transformer& model, config_fields& in) {
  model.qkv_bias = in.flag("qkv_bias", true);
  set_sparse_experts(model, in, 60, 4, 1408);
  set_shared_expert(model, in, 5632);
  set_optional_window(model, in, true, 28, [](std::int64_t l, std::int64_t first) { return l % 2 == 0 && l < first; });
}
void add_qwen3(transformer& model, config_fields& in) {
  set_attention_bias(model, in);
  add_head_norms(model);
  set_optional_window(model, in, true, 28, [](std::int64_t l, std::int64_t first) { return l >= first; });
}
void add_qwen3_moe(transformer& model, config_fields& in) {
  set_attention_bias(model, in);
  add_head_norms(model);
  set_sparse_experts(model, in, 128, 8, 768);
  in.pass_over({"max_window_layers"});
  set_optional_window(model, in, false, 0, [](std::int64_t l, std::int64_t) { return l >= 0; });
}
void add_qwen3_vl_moe(transformer& model, config_fields& in) {
  set_attention_bias(model, in);
  add_head_norms(model);
  set_sparse_experts(model, in, 60, 4, 1408);
  set_masks(model, in, mask::sliding, false, never);
}
/// Qwen3-Next and Qwen3.5: three layers with linear attention, and one with a gate.
void add_gated_delta(transformer& model, config_fields& in) {
  set_attention_bias(model, in);
  add_head_norms(model);
  model.output_gate = true;
  if (in.has("attn_output_gate") && !in.flag("attn_output_gate", false))
    in.refuse("attn_output_gate", "is not what the class of this model does");
  auto& linear = model.linear;
  linear.key_heads = in.number({"linear_num_key_heads"}, 16);
  linear.key_width = in.number({"linear_key_head_dim"}, 128);
  linear.value_heads = in.number({"linear_num_value_heads"}, 32);
  linear.value_width = in.number({"linear_value_head_dim"}, 128);
  linear.kernel = in.number({"linear_conv_kernel_dim"}, 4);
  auto const period = in.number({"full_attention_interval"}).value_or(4);
  if (period == 0) in.refuse("full_attention_interval", "must be positive");
  set_masks(model, in, mask::linear, true, [&](std::int64_t l) { return (l + 1) % period != 0; });
}
void add_qwen3_next(transformer& model, config_fields& in) {
  add_gated_delta(model, in);
  set_sparse_experts(model, in, 512, 10, 512);
  set_shared_expert(model, in, 512);
}
void add_qwen3_5_moe(transformer& model, config_fields& in) {
  add_gated_delta(model, in);
  set_experts(model, in, 256, 8);
  model.expert_ffn = in.number({"moe_intermediate_size"}, 512);
  set_shared_expert(model, in, 512);
}
/// Defaults of a class with latent attention; those of DeepSeek.
struct latent_widths {
  std::int64_t kv_rank = 512, q_rank = 1536, rope = 64, other = 128, value = 128;
};
void set_latent_widths(transformer& model, config_fields& in, latent_widths const& usual = {}) {
  if (in.flag("attention_bias", false)) in.refuse("attention_bias", "is not modelled with latent attention");
  model.kv_rank = in.number({"kv_lora_rank"}, usual.kv_rank);
  model.q_rank = in.number({"q_lora_rank"}, usual.q_rank, 0);
  model.rope_width = in.number({"qk_rope_head_dim"}, usual.rope);
  model.head_width = in.number({"qk_nope_head_dim"}, usual.other) + model.rope_width;
  model.v_width = in.number({"v_head_dim"}, usual.value);
  model.kv_heads = model.query_heads;
  if (model.kv_rank == 0) in.refuse("kv_lora_rank", "must be positive");
}
void set_latent_attention(transformer& model, config_fields& in, latent_widths const& usual = {}) {
  set_latent_widths(model, in, usual);
  set_masks(model, in, mask::sliding, false, never);
}
void add_deepseek_v2(transformer& model, config_fields& in) {
  set_latent_attention(model, in);
  model.ffn_bias = in.flag("mlp_bias", false);
  set_late_experts(model, in, 64, 0, 1407, 2, 0);
}
void set_deepseek_experts(transformer& model, config_fields& in) {
  set_late_experts(model, in, 256, 8, 2048, 1, 3);
  auto const how = in.text("topk_method");
  model.router_bias = how.empty() || how == "noaux_tc";
}
void add_deepseek_v3(transformer& model, config_fields& in) {
  set_latent_attention(model, in);
  set_deepseek_experts(model, in);
}
void add_deepseek_v32(transformer& model, config_fields& in) {
  set_latent_widths(model, in);
  set_deepseek_experts(model, in);
  for (auto const& word : in.words("layer_types").value_or(std::vector<std::string>{}))
    if (word != "indexed_attention") in.refuse("layer_types", "says " + printable(word) + ", which this family does not have");
  add_index(model, in);
}
void add_glm4_moe_lite(transformer& model, config_fields& in) {
  set_latent_attention(model, in, {.q_rank = 768, .other = 192, .value = 256});
  set_late_experts(model, in, 64, 4, 1536, 1, 1);
  model.router_bias = true;
}
void add_mistral4(transformer& model, config_fields& in) {
  set_latent_attention(model, in, {.kv_rank = 256, .q_rank = 1024, .other = 64});
  set_late_experts(model, in, 128, 4, 2048, 1, 0);
}
void add_minicpm3(transformer& model, config_fields& in) {
  set_latent_attention(
      model, in,
      {.kv_rank = 256, .q_rank = 768, .rope = 32, .other = 64, .value = model.hidden / (std::max)(std::int64_t{1}, model.query_heads)});
  model.ffn_bias = in.flag("mlp_bias", false);
}
void refuse_both_ways(config_fields& in) {
  if (in.flag("use_bidirectional_attention", false)) in.refuse("use_bidirectional_attention", "is not modelled");
}
void add_gemma2(transformer& model, config_fields& in) {
  refuse_both_ways(in);
  set_attention_bias(model, in);
  model.norms = 4;
  set_window(model, in, 4096, true, [](std::int64_t l) { return l % 2 == 0; });
}
void add_gemma3(transformer& model, config_fields& in) {
  refuse_both_ways(in);
  set_attention_bias(model, in);
  add_head_norms(model);
  model.norms = 4;
  auto const period = in.number({"sliding_window_pattern", "_sliding_window_pattern"}).value_or(6);
  if (period == 0) in.refuse(in.has("sliding_window_pattern") ? "sliding_window_pattern" : "_sliding_window_pattern", "must be positive");
  set_window(model, in, 4096, true, [&](std::int64_t l) { return (l + 1) % period != 0; });
}
void add_phi3(transformer& model, config_fields& in) { set_window(model, in, 0, false, always); }
/// Phi-4-multimodal: every layer has an adapter for images and one for speech on each matrix.
void add_phi4mm(transformer& model, config_fields& in) {
  add_phi3(model, in);
  auto const attention = model.query_heads * model.head_width;
  auto const widths = 4 * model.hidden + 2 * attention + 2 * model.kv_heads * model.head_width + 3 * model.ffn;  // inputs and outputs
  for (auto const* const key : {"vision_lora", "speech_lora"})
    if (auto adapter = in.part(key)) {
      auto const rank = adapter->number({"r"}).value_or(0);
      if (rank > 1 << 16) adapter->refuse("r", "is too large");
      if (model.layers <= layer_set::most && widths < 1 << 24)
        model.other_weights += model.layers * rank * widths;  // else it is refused later
    }
}
void add_phimoe(transformer& model, config_fields& in) {
  set_attention_bias(model, in);
  model.norm_bias = true;
  model.head_bias = in.flag("lm_head_bias", false);
  set_experts_everywhere(model, in, 16, 2);
  set_window(model, in, 0, false, always);
}
/// Layers of a list see features of an image instead of tokens. Here their tokens see themselves alone, and a note says what is left out.
/// They have a gate for each block, and norms of queries and keys; the embedding has eight more rows than the head.
void add_mllama(transformer& model, config_fields& in) {
  model.windowed = {};
  auto const listed = in.numbers("cross_attention_layers");
  for (auto const l : listed ? *listed : std::vector<std::int64_t>{3, 8, 13, 18, 23, 28, 33, 38})
    if (l < model.layers && l < layer_set::most) model.windowed.add(l);
  auto const crossing = model.windowed.count(model.layers);
  model.window = crossing > 0 ? 1 : 0;
  model.other_weights = 8 * model.hidden + crossing * (2 + 2 * model.head_width);
}
void add_glm(transformer& model, config_fields& in) {
  model.qkv_bias = in.flag("attention_bias", true);
  set_masks(model, in, mask::sliding, false, never);
}
void add_glm4(transformer& model, config_fields& in) {
  add_glm(model, in);
  model.norms = 4;
}
void add_glm4v(transformer& model, config_fields& in) {
  model.qkv_bias = true;  // there is no field for it
  in.pass_over({"attention_bias"});
  model.norms = 4;
  set_masks(model, in, mask::sliding, false, never);
}
void add_glm4_moe_of(transformer& model, config_fields& in, bool bias) {
  model.qkv_bias = in.flag("attention_bias", bias);
  if (in.flag("use_qk_norm", false)) add_head_norms(model);
  set_late_experts(model, in, 128, 8, 1408, 1, 1);
  model.router_bias = true;
  set_masks(model, in, mask::sliding, false, never);
}
void add_glm4_moe(transformer& model, config_fields& in) { add_glm4_moe_of(model, in, false); }
void add_glm4v_moe(transformer& model, config_fields& in) { add_glm4_moe_of(model, in, true); }
void add_chatglm(transformer& model, config_fields& in) {
  model.vocabulary = in.number({"padded_vocab_size"}).value_or(model.vocabulary);
  model.qkv_bias = in.flag("add_qkv_bias", false);
  if (in.flag("add_bias_linear", false)) model.qkv_bias = model.output_bias = model.ffn_bias = true;
  model.norm_bias = !in.flag("rmsnorm", true);
  model.final_norm = in.flag("post_layer_norm", true);
  if (!in.flag("multi_query_attention", false)) {
    model.kv_heads = model.query_heads;
    in.pass_over({"multi_query_group_num"});
  }
  if (in.flag("apply_residual_connection_post_layernorm", false)) in.refuse("apply_residual_connection_post_layernorm", "is not modelled");
}
void add_gpt_oss(transformer& model, config_fields& in) {
  set_attention_bias(model, in, true);
  set_experts_everywhere(model, in, 128, 4);
  model.sinks = model.router_bias = model.ffn_bias = true;
  set_window(model, in, 128, true, [](std::int64_t l) { return l % 2 == 0; });
}
void add_olmo2(transformer& model, config_fields& in) {
  set_attention_bias(model, in);
  model.qk_norm = (model.query_heads + model.kv_heads) * model.head_width;
  set_masks(model, in, mask::sliding, false, never);
}
void add_olmo3(transformer& model, config_fields& in) {
  set_attention_bias(model, in);
  model.qk_norm = (model.query_heads + model.kv_heads) * model.head_width;
  set_window(model, in, 4096, true, [](std::int64_t l) { return (l + 1) % 4 != 0; });
}
void add_falcon(transformer& model, config_fields& in) {
  model.gated = false;
  model.ffn = in.number({"ffn_hidden_size"}).value_or(4 * model.hidden);
  model.norm_bias = true;
  model.qkv_bias = model.output_bias = model.ffn_bias = in.flag("bias", false);
  auto const grouped = in.flag("new_decoder_architecture", false);
  if (in.flag("multi_query", true) && !grouped) model.kv_heads = 1;  // whatever num_kv_heads is
  model.parallel = in.flag("parallel_attn", true);
  auto const norms = in.number({"num_ln_in_parallel_attn"}).value_or(grouped ? 2 : 1);
  model.norms = !model.parallel || norms == 2 ? 2 : 1;
}
void add_gpt2(transformer& model, config_fields& in) {
  model.gated = false;
  model.ffn = in.number({"n_inner"}).value_or(4 * model.hidden);
  model.positions = in.number({"n_positions", "max_position_embeddings"}, 1024);
  model.qkv_bias = model.output_bias = model.ffn_bias = model.norm_bias = true;
}
void add_internlm2(transformer& model, config_fields& in) {
  model.qkv_bias = model.output_bias = in.flag("bias", true);
  set_masks(model, in, mask::sliding, false, never);
}

constexpr language_family families[]{
    {"llama", 32, 4096, 32, 0, 0, 11008, 32000, add_llama},
    {"llama4_text", 48, 5120, 40, 8, 128, 8192, 202048, add_llama4},
    {"mistral", 32, 4096, 32, 8, 0, 14336, 32000, add_mistral},
    {"ministral", 32, 4096, 32, 8, 0, 14336, 32000, add_ministral},
    {"mixtral", 32, 4096, 32, 8, 0, 14336, 32000, add_mixtral},
    {"qwen2", 32, 4096, 32, 32, 0, 22016, 151936, add_qwen2},
    {"qwen2_moe", 24, 2048, 16, 16, 0, 5632, 151936, add_qwen2_moe},
    {"qwen2_vl_text", 80, 8192, 64, 8, 0, 29568, 152064, add_qwen2_vl},
    {"qwen2_5_vl_text", 80, 8192, 64, 8, 0, 29568, 152064, add_qwen2_vl},
    {"qwen3", 32, 4096, 32, 32, 128, 22016, 151936, add_qwen3},
    {"qwen3_moe", 24, 2048, 32, 4, 0, 6144, 151936, add_qwen3_moe},
    {"qwen3_next", 48, 2048, 16, 2, 256, 5632, 151936, add_qwen3_next},
    {"qwen3_5_text", 32, 4096, 16, 4, 256, 12288, 248320, add_gated_delta},
    {"qwen3_5_moe_text", 40, 2048, 16, 2, 256, 0, 248320, add_qwen3_5_moe},
    {"qwen3_vl_text", 32, 4096, 32, 32, 128, 22016, 151936, add_qwen3},
    {"qwen3_vl_moe_text", 24, 2048, 16, 16, 0, 5632, 151936, add_qwen3_vl_moe, true},
    {"qwen2_5_omni_text", 28, 3584, 28, 4, 0, 18944, 152064, add_qwen2_vl},
    {"qwen3_omni_moe_text", 28, 2048, 28, 4, 0, 18944, 3584, add_qwen3_moe},
    {"deepseek_v2", 32, 4096, 32, 0, 0, 11008, 102400, add_deepseek_v2},
    {"deepseek_v3", 61, 7168, 128, 128, 0, 18432, 129280, add_deepseek_v3},
    {"deepseek_v32", 61, 7168, 128, 128, 0, 18432, 129280, add_deepseek_v32},
    {"kimi_k2", 61, 7168, 128, 128, 0, 18432, 129280, add_deepseek_v3},
    {"glm4_moe_lite", 47, 2048, 20, 20, 0, 10240, 154880, add_glm4_moe_lite},
    {"mistral4", 36, 4096, 32, 32, 0, 12288, 131072, add_mistral4},
    {"minicpm3", 62, 2560, 40, 40, 0, 6400, 73448, add_minicpm3, true},
    {"gemma2", 26, 2304, 8, 4, 256, 9216, 256000, add_gemma2, true},
    {"gemma3_text", 26, 2304, 8, 4, 256, 9216, 262208, add_gemma3, true},
    {"phi3", 32, 3072, 32, 0, 0, 8192, 32064, add_phi3},
    {"phi4mm", 32, 3072, 24, 8, 0, 8192, 200064, add_phi4mm, true},
    {"phi4_multimodal", 32, 3072, 32, 8, 0, 8192, 200064, add_phi4mm},
    {"mllama_text_model", 40, 4096, 32, 8, 0, 14336, 128256, add_mllama},
    {"phimoe", 32, 4096, 32, 8, 0, 6400, 32064, add_phimoe},
    {"glm", 40, 4096, 32, 2, 128, 13696, 151552, add_glm},
    {"glm4", 40, 4096, 32, 2, 128, 13696, 151552, add_glm4},
    {"glm4_moe", 46, 4096, 96, 8, 0, 10944, 151552, add_glm4_moe},
    {"glm4v_text", 40, 4096, 32, 2, 0, 13696, 151552, add_glm4v},
    {"glm4v_moe_text", 46, 4096, 96, 8, 0, 10944, 151424, add_glm4v_moe},
    {"chatglm", 28, 4096, 32, 1, 128, 13696, 65024, add_chatglm},
    {"gpt_oss", 36, 2880, 64, 8, 64, 2880, 201088, add_gpt_oss},
    {"olmo2", 32, 4096, 32, 0, 0, 11008, 50304, add_olmo2},
    {"olmo3", 32, 4096, 32, 0, 0, 11008, 50304, add_olmo3},
    {"falcon", 32, 4544, 71, 0, 0, 0, 65024, add_falcon, true},
    {"gpt2", 12, 768, 12, 0, 0, 0, 50257, add_gpt2, true},
    {"internlm2", 32, 4096, 32, 0, 0, 11008, 103168, add_internlm2},
    {"mamba", 32, 768, 0, 0, 0, 0, 50280, add_mamba, true},
    {"falcon_mamba", 32, 768, 0, 0, 0, 0, 50280, add_falcon_mamba, true},
    {"mamba2", 64, 4096, 0, 0, 0, 0, 32768, add_mamba2},
    {"bamba", 32, 4096, 32, 8, 0, 14336, 128000, add_bamba},
    {"falcon_h1", 32, 4096, 32, 8, 0, 14336, 128000, add_falcon_h1},
    {"granitemoehybrid", 32, 4096, 32, 0, 0, 11008, 32000, add_granite_hybrid},
    {"nemotron_h", 0, 4096, 32, 8, 0, 21504, 131072, add_nemotron_h},
    {"jamba", 32, 4096, 32, 8, 0, 14336, 65536, add_jamba},
    {"lfm2", 32, 2560, 32, 8, 0, 12288, 65536, add_lfm2, true},
    {"lfm2_moe", 32, 2048, 32, 8, 0, 7168, 65536, add_lfm2_moe, true},
};

[[nodiscard]] language_family const* family_named(std::string_view name) {
  auto const at = std::find_if(std::begin(families), std::end(families), [&](auto const& f) { return f.name == name; });
  return at == std::end(families) ? nullptr : &*at;
}
[[nodiscard]] plain_family const* plain_family_named(std::string_view name) {
  auto const rows = plain_families();
  auto const at = std::find_if(rows.begin(), rows.end(), [&](auto const& f) { return f.sizes.name == name; });
  return at == rows.end() ? nullptr : &*at;
}

}  // namespace

bool is_language_family(std::string_view family) { return family_named(family) != nullptr || plain_family_named(family) != nullptr; }

std::string language_families() {
  std::string words;
  for (auto const& f : families) words += (words.empty() ? "" : ", ") + std::string(f.name);
  for (auto const& f : plain_families()) words += ", " + std::string(f.sizes.name);
  return words;
}

transformer read_language_config(config_fields& in, std::string_view name, std::optional<bool> tied) {
  auto const* const row = plain_family_named(name);
  auto const& family = row != nullptr ? row->sizes : *family_named(name);
  transformer model{
      .layers = family.layers > 0 ? in.number({"num_hidden_layers", "n_layer", "num_layers", "n_layers"}, family.layers) : 1,
      .hidden = in.number({"hidden_size", "n_embd", "n_embed", "d_model"}, family.hidden),
      .query_heads = family.query_heads > 0 ? in.number({"num_attention_heads", "n_head", "n_heads", "num_heads"}, family.query_heads) : 1};
  config_fields::names const kv_heads{"num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num"};
  model.kv_heads =
      family.kv_heads > 0 ? in.number(kv_heads, family.kv_heads, model.query_heads) : in.number(kv_heads).value_or(model.query_heads);
  config_fields::names const widths{"head_dim", "kv_channels"};
  auto const share = model.hidden / (std::max)(std::int64_t{1}, model.query_heads);
  model.head_width = family.head_width > 0 ? in.number(widths, family.head_width, share) : in.number(widths).value_or(share);
  if (family.ffn > 0) model.ffn = in.number({"intermediate_size", "ffn_hidden_size"}, family.ffn);
  model.vocabulary = in.number({"vocab_size"}, family.vocabulary);
  if (tied)
    in.pass_over({"tie_word_embeddings"});
  else
    tied = in.flag("tie_word_embeddings", family.tied);
  model.tied = *tied;
  in.pass_over({"num_nextn_predict_layers", "num_mtp_layers", "mtp_num_hidden_layers"});  // weights of training, not of the class
  if (row != nullptr)
    add_columns(*row, model, in);
  else
    family.add(model, in);
  if (model.experts > 0 && model.expert_layers.count(model.layers) == model.layers) model.ffn = 0;  // no layer uses it
  if (model.experts == 0) model.expert_layers = layer_set::all();
  in.refuse_others(name);
  return model;
}

}  // namespace ballast_cli
