// SPDX-License-Identifier: Apache-2.0
#include "readers/language_table.hpp"

#include "readers/language_blocks.hpp"

#include <nlohmann/json.hpp>

#include <iterator>

// Defaults are those of the classes in Hugging Face transformers 5.24; Bailing, Baichuan, DeepSeek V1, InternLM, MiniCPM, Qwen and Yi have
// classes of their own beside their weights.

namespace ballast_cli {

namespace {

// ---- what columns do not say

/// Layers without positions have the window.
void add_smollm3(transformer& model, config_fields& in) {
  auto const interval = in.number({"no_rope_layer_interval"}).value_or(4);
  if (interval == 0) in.refuse("no_rope_layer_interval", "must be positive");
  auto const rope = in.numbers("no_rope_layers").value_or(std::vector<std::int64_t>{});  // 1 means that the layer has RoPE
  if (!rope.empty() && static_cast<std::int64_t>(rope.size()) != model.layers)
    in.refuse("no_rope_layers", "must have an entry for each of " + std::to_string(model.layers) + " layers");
  in.pass_over({"max_window_layers"});
  if (!in.flag("use_sliding_window", false)) {
    in.pass_over({"sliding_window"});
    return set_masks(model, in, mask::sliding, true, never);
  }
  set_window(model, in, 0, true,
             [&](std::int64_t l) { return rope.empty() ? (l + 1) % interval == 0 : rope[static_cast<std::size_t>(l)] == 0; });
}
/// A pattern is a number, or letters as in LLLG, the last layer being full.
void add_exaone4(transformer& model, config_fields& in) {
  auto const* const pattern = in.find("sliding_window_pattern");
  auto const letters = pattern != nullptr && pattern->is_string() ? pattern->get<std::string>() : std::string();
  auto const period = letters.empty() ? in.number({"sliding_window_pattern"}).value_or(4) : std::int64_t{0};
  auto const slides = [&](std::int64_t l) {
    if (letters.empty()) return period == 0 || (l + 1) % period != 0;
    return l != model.layers - 1 && letters[static_cast<std::size_t>(l) % letters.size()] == 'L';
  };
  set_window(model, in, 4096, true, slides);
}
/// The list is of the class that has linear attention too.
void add_minimax_m2(transformer&, config_fields& in) {
  auto const kinds = in.numbers("attn_type_list").value_or(std::vector<std::int64_t>{});
  if (std::any_of(kinds.begin(), kinds.end(), [](auto kind) { return kind != 1; }))
    in.refuse("attn_type_list", "has layers without full attention, which this family does not have");
}
void add_cwm(transformer& model, config_fields& in) {
  set_window(model, in, 8192, true, [](std::int64_t l) { return l % 4 != 0; });
}
void add_dots1(transformer& model, config_fields& in) {
  auto const first = in.number({"max_window_layers"}, 62);
  set_window(model, in, 4096, true, [&](std::int64_t l) { return l >= first; });
}
void add_ernie_moe(transformer& model, config_fields& in) {
  auto const* const end = in.find("moe_layer_end_index");  // -1 is the last layer
  auto const last = end != nullptr && *end != -1 ? in.number({"moe_layer_end_index"}).value_or(model.layers) : model.layers;
  auto const period = in.number({"moe_layer_interval"}).value_or(1);
  if (period == 0) in.refuse("moe_layer_interval", "must be positive");
  auto const from = model.expert_layers;
  model.expert_layers = {};
  for (std::int64_t l = 0; l < (std::min)(model.layers, layer_set::most); ++l)
    if (from.contains(l) && l <= last && (l + 1) % period == 0) model.expert_layers.add(l);
  if (model.expert_layers.count(model.layers) == model.layers) model.expert_layers = layer_set::all();
}
/// All experts of `intermediate_size`, the shared ones too.
void add_hunyuan_moe(transformer& model, config_fields& in) {
  model.shared_ffn = in.number({"num_shared_expert"}).value_or(1) * model.expert_ffn;
  in.pass_over({"moe_intermediate_size"});
}
void add_granite_shared(transformer& model, config_fields& in) { model.shared_ffn = in.number({"shared_intermediate_size"}).value_or(0); }
void add_bailing(transformer& model, config_fields& in) {
  in.pass_over({"moe_shared_expert_intermediate_size", "sliding_window", "max_window_layers"});
  if (in.flag("use_sliding_window", false)) in.refuse("use_sliding_window", "is not what the class of this model does");
  set_masks(model, in, mask::sliding, false, never);
}
/// Its gate and up matrices have half of `intermediate_size`.
void add_qwen(transformer& model, config_fields&) { model.ffn /= 2; }
/// A norm behind the embedding.
void add_bloom(transformer& model, config_fields&) { model.other_weights = 2 * model.hidden; }
/// Two weights of each layer's activation function.
void add_apertus(transformer& model, config_fields&) { model.other_weights = 2 * model.layers; }
void add_opt(transformer& model, config_fields& in) {
  model.positions = in.number({"max_position_embeddings"}, 2048) + 2;
  if (auto const width = in.number({"word_embed_proj_dim"}).value_or(model.hidden); width != model.hidden)
    in.refuse("word_embed_proj_dim", "is not hidden_size: an embedding of another width is not modelled");
  if (!in.flag("do_layer_norm_before", true) || in.flag("_remove_final_layer_norm", false)) model.final_norm = false;
}
void add_learned_positions(transformer& model, config_fields& in) {
  model.positions = in.number({"n_positions", "max_position_embeddings"}, 1024);
}
void add_gpt_bigcode(transformer& model, config_fields& in) {
  add_learned_positions(model, in);
  model.kv_heads = in.flag("multi_query", true) ? 1 : model.query_heads;
}
/// Attention is global and local by turns.
void add_gpt_neo(transformer& model, config_fields& in) {
  model.positions = in.number({"max_position_embeddings"}, 2048);
  auto const kinds = in.words("attention_layers");
  if (kinds && static_cast<std::int64_t>(kinds->size()) != model.layers)
    in.refuse("attention_layers", "must have an entry for each of " + std::to_string(model.layers) + " layers");
  in.pass_over({"attention_types"});
  model.window = in.number({"window_size"}, 256);
  model.windowed = {};
  for (std::int64_t l = 0; l < (std::min)(model.layers, layer_set::most); ++l)
    if (kinds ? (*kinds)[static_cast<std::size_t>(l)] == "local" : l % 2 == 1) model.windowed.add(l);
}
void add_mpt(transformer& model, config_fields& in) {
  if (!in.flag("no_bias", true)) in.refuse("no_bias", "is not modelled");
  model.ffn = in.number({"expansion_ratio"}, 4) * model.hidden;
  if (auto attention = in.part("attn_config")) {
    model.kv_heads = attention->number({"kv_n_heads"}).value_or(model.query_heads);
    if (attention->flag("qk_ln", false)) attention->refuse("qk_ln", "is not modelled");
    if (attention->has("alibi") && !attention->flag("alibi", true)) model.positions = in.number({"max_seq_len"}, 2048);
  }
}
void add_dbrx(transformer& model, config_fields& in) {
  model.kv_heads = model.experts = model.active_experts = 1;
  if (auto attention = in.part("attn_config")) model.kv_heads = attention->number({"kv_n_heads"}).value_or(1);
  auto experts = in.part("ffn_config");
  auto const of = [&](char const* field, std::int64_t usual) { return experts ? experts->number({field}).value_or(usual) : usual; };
  model.expert_ffn = of("ffn_hidden_size", 3584);
  model.experts = of("moe_num_experts", 4);
  model.active_experts = of("moe_top_k", 1);
}
/// A gate as wide as all heads, and norms on both sides of both blocks.
void add_afmoe(transformer& model, config_fields&) { model.output_gate = true; }
void add_mimo(transformer& model, config_fields& in) {
  in.pass_over({"use_sliding_window", "sliding_window", "max_window_layers"});
  if (in.flag("use_sliding_window", false)) in.refuse("use_sliding_window", "is not modelled");
  set_masks(model, in, mask::sliding, false, never);
}

constexpr family_switch switched_on{.usual = true}, attention_bias{.field = "attention_bias"}, mlp_bias{.field = "mlp_bias"},
    use_bias{.field = "use_bias"};

// ---- the table

constexpr plain_family plain_rows[]{
    // sizes: layers, hidden width, heads, heads of keys, width of a head, feed-forward width, vocabulary
    {.sizes = {"smollm3", 36, 2048, 16, 4, 0, 11008, 128256, add_smollm3, true}, .attention_biases = attention_bias, .ffn_bias = mlp_bias},
    {.sizes = {"seed_oss", 64, 4096, 80, 8, 128, 27648, 155136},
     .qkv_bias = {"attention_bias", true},
     .output_bias = {"attention_out_bias"},
     .ffn_bias = mlp_bias},
    {.sizes = {"granite", 32, 4096, 32, 0, 0, 11008, 32000}, .attention_biases = attention_bias, .ffn_bias = mlp_bias},
    {.sizes = {"granitemoe", 32, 4096, 32, 0, 0, 11008, 32000}, .attention_biases = attention_bias, .experts = {.count = 8, .active = 2}},
    {.sizes = {"granitemoeshared", 32, 4096, 32, 0, 0, 11008, 32000, add_granite_shared},
     .attention_biases = attention_bias,
     .experts = {.count = 8, .active = 2}},
    {.sizes = {"exaone", 32, 4096, 32, 8, 0, 14336, 102400}, .attention_biases = attention_bias, .ffn_bias = mlp_bias},
    {.sizes = {"exaone4", 32, 4096, 32, 32, 0, 16384, 102400, add_exaone4}, .head_norms = switched_on, .window = own_window},
    {.sizes = {"exaone_moe", 32, 4096, 32, 32, 0, 16384, 102400, add_exaone4},
     .head_norms = switched_on,
     .window = own_window,
     .experts = {.count = 64, .active = 8, .width = 1024, .shared = 1, .first = 1, .router_bias = switched_on}},
    {.sizes = {"cohere", 40, 8192, 64, 0, 0, 22528, 256000, nullptr, true},
     .attention_biases = attention_bias,
     .norms = 1,
     .parallel = switched_on,
     .all_norms = {"use_qk_norm"}},
    {.sizes = {"cohere2", 40, 8192, 64, 0, 0, 22528, 256000, nullptr, true},
     .attention_biases = attention_bias,
     .norms = 1,
     .parallel = switched_on,
     .window = 4096,
     .full = 4,
     .reads_types = true},
    {.sizes = {"minimax_m2", 62, 3072, 48, 8, 128, 1536, 200064, add_minimax_m2},
     .all_norms = {"use_qk_norm", true},
     .experts = {.count = 256, .active = 8, .router_bias = {"use_routing_bias", true}}},
    {.sizes = {"ernie4_5", 18, 1024, 16, 2, 128, 3072, 103424, nullptr, true},
     .attention_biases = use_bias,
     .ffn_bias = use_bias,
     .head_bias = use_bias},
    {.sizes = {"ernie4_5_moe", 28, 2560, 20, 4, 0, 12288, 103424, add_ernie_moe, true},
     .attention_biases = use_bias,
     .ffn_bias = use_bias,
     .head_bias = use_bias,
     .experts = {.count = 64, .active = 6, .width = 1536, .shared = 2, .first = 1, .router_bias = switched_on}},
    {.sizes = {"hunyuan_v1_dense", 32, 4096, 32, 0, 0, 11008, 290943},
     .attention_biases = attention_bias,
     .head_norms = {"use_qk_norm", true}},
    {.sizes = {"hunyuan_v1_moe", 32, 4096, 32, 0, 0, 11008, 290943, add_hunyuan_moe},
     .attention_biases = attention_bias,
     .head_norms = {"use_qk_norm", true},
     .experts = {.count = 1, .active = 1}},
    {.sizes = {"hy_v3", 80, 4096, 64, 8, 128, 13312, 120832},
     .attention_biases = attention_bias,
     .ffn_bias = mlp_bias,
     .head_norms = switched_on,
     .experts = {.count = 192, .active = 8, .width = 1536, .shared = 1, .first = 1, .router_bias = switched_on}},
    {.sizes = {"olmo", 32, 4096, 32, 0, 0, 11008, 50304}, .attention_biases = attention_bias, .norm_weights = false},
    {.sizes = {"nanochat", 12, 768, 6, 0, 0, 8192, 50304}, .gated = false, .attention_biases = attention_bias, .norm_weights = false},
    {.sizes = {"olmoe", 16, 2048, 16, 0, 0, 2048, 50304},
     .attention_biases = attention_bias,
     .all_norms = switched_on,
     .window = 0,
     .experts = {.count = 64, .active = 8}},
    {.sizes = {"flex_olmo", 32, 4096, 32, 0, 0, 11008, 100352},
     .attention_biases = attention_bias,
     .all_norms = switched_on,
     .experts = {.count = 7, .active = 5}},
    {.sizes = {"stablelm", 32, 2560, 32, 32, 0, 6912, 50304},
     .qkv_bias = {"use_qkv_bias"},
     .norm_bias = true,
     .parallel = {"use_parallel_residual"},
     .one_norm = true,
     .all_norms = {"qk_layernorm"}},
    {.sizes = {"Yi", 32, 4096, 32, 4, 0, 11008, 64000}},
    {.sizes = {"baichuan", 32, 4096, 32, 0, 0, 11008, 125696}},
    {.sizes = {"internlm", 32, 4096, 32, 0, 0, 11008, 103168}, .attention_biases = {"bias", true}},
    {.sizes = {"internlm3", 48, 4096, 32, 2, 128, 10240, 128512}, .qkv_bias = {"qkv_bias"}, .output_bias = {"bias"}, .ffn_bias = {"bias"}},
    {.sizes = {"qwen", 32, 4096, 32, 0, 0, 22016, 151936, add_qwen}, .qkv_bias = switched_on},
    {.sizes = {"minicpm", 32, 4096, 32, 0, 0, 11008, 32000, nullptr, true}, .attention_biases = attention_bias},
    {.sizes = {"gemma", 28, 3072, 16, 16, 256, 24576, 256000, nullptr, true}, .attention_biases = attention_bias},
    {.sizes = {"phi", 24, 2048, 32, 0, 0, 8192, 51200},
     .gated = false,
     .attention_biases = switched_on,
     .ffn_bias = switched_on,
     .head_bias = switched_on,
     .norm_bias = true,
     .norms = 1,
     .parallel = switched_on},
    {.sizes = {"gpt_neox", 44, 6144, 64, 0, 0, 24576, 50432},
     .gated = false,
     .attention_biases = {"attention_bias", true},
     .ffn_bias = switched_on,
     .norm_bias = true,
     .parallel = {"use_parallel_residual", true}},
    {.sizes = {"gptj", 28, 4096, 16, 0, 0, 0, 50400},
     .gated = false,
     .ffn_bias = switched_on,
     .head_bias = switched_on,
     .norm_bias = true,
     .norms = 1,
     .parallel = switched_on},
    {.sizes = {"gpt_neo", 24, 2048, 16, 0, 0, 0, 50257, add_gpt_neo, true},
     .gated = false,
     .output_bias = switched_on,
     .ffn_bias = switched_on,
     .norm_bias = true,
     .window = own_window},
    {.sizes = {"gpt_bigcode", 12, 768, 12, 0, 0, 0, 50257, add_gpt_bigcode, true},
     .gated = false,
     .attention_biases = switched_on,
     .ffn_bias = switched_on,
     .norm_bias = true},
    {.sizes = {"starcoder2", 30, 3072, 24, 2, 0, 12288, 49152, nullptr, true},
     .gated = false,
     .attention_biases = {"use_bias", true},
     .ffn_bias = {"use_bias", true},
     .norm_bias = true,
     .window = 0},
    {.sizes = {"mpt", 24, 2048, 16, 0, 0, 0, 50368, add_mpt, true}, .gated = false},
    {.sizes = {"dbrx", 24, 2048, 16, 0, 0, 0, 32000, add_dbrx}},
    {.sizes = {"opt", 12, 768, 12, 0, 0, 0, 50272, add_opt, true},
     .gated = false,
     .attention_biases = {"enable_bias", true},
     .ffn_bias = {"enable_bias", true},
     .norm_bias = true},
    {.sizes = {"bloom", 2, 64, 8, 0, 0, 0, 250880, add_bloom, true},
     .gated = false,
     .attention_biases = switched_on,
     .ffn_bias = switched_on,
     .norm_bias = true},
    {.sizes = {"deepseek", 30, 4096, 32, 32, 0, 11008, 102400},
     .attention_biases = attention_bias,
     .experts = {.count = 64, .width = 1407}},
    {.sizes = {"bailing_moe", 24, 1024, 16, 0, 0, 11008, 30592, add_bailing},
     .qkv_bias = {"use_qkv_bias"},
     .output_bias = use_bias,
     .ffn_bias = use_bias,
     .head_norms = {"use_qk_norm"},
     .window = own_window,
     .experts = {.count = 16, .active = 2, .width = 1408, .router_bias = {"moe_router_enable_expert_bias"}}},
    {.sizes = {"bailing_moe_v2", 20, 2048, 16, 4, 128, 5120, 157184, add_bailing},
     .qkv_bias = {"use_qkv_bias"},
     .output_bias = use_bias,
     .ffn_bias = use_bias,
     .head_norms = {"use_qk_norm", true},
     .window = own_window,
     .experts = {.count = 256, .active = 8, .width = 512, .shared = 1, .first = 1, .router_bias = {"moe_router_enable_expert_bias", true}}},
    {.sizes = {"dots1", 62, 4608, 32, 32, 0, 10944, 152064, add_dots1},
     .attention_biases = attention_bias,
     .head_norms = switched_on,
     .window = own_window,
     .experts = {.count = 128, .width = 1408, .router_bias = switched_on}},
    {.sizes = {"solar_open", 48, 4096, 64, 8, 128, 10240, 196608},
     .qkv_bias = attention_bias,
     .experts = {.count = 128, .active = 8, .width = 1280, .shared = 1, .router_bias = switched_on}},
    {.sizes = {"afmoe", 32, 2048, 16, 0, 128, 6144, 200192, add_afmoe},
     .attention_biases = attention_bias,
     .norms = 4,
     .head_norms = switched_on,
     .window = 1024,
     .full = 4,
     .reads_types = true,
     .experts = {.count = 64, .active = 6, .width = 1408, .shared = 2, .first = 1, .router_bias = switched_on}},
    {.sizes = {"arcee", 32, 2560, 32, 0, 0, 18432, 32000}, .gated = false, .attention_biases = attention_bias, .ffn_bias = mlp_bias},
    {.sizes = {"apertus", 32, 4096, 32, 0, 0, 14336, 131072, add_apertus},
     .gated = false,
     .attention_biases = attention_bias,
     .head_norms = switched_on},
    {.sizes = {"nemotron", 32, 6144, 48, 0, 0, 24576, 256000},
     .gated = false,
     .attention_biases = attention_bias,
     .ffn_bias = mlp_bias,
     .norm_bias = true},
    {.sizes = {"ministral3", 34, 4096, 32, 8, 128, 14336, 131072}, .window = 0},
    {.sizes = {"mimo", 36, 4096, 32, 8, 0, 11008, 151680, add_mimo}, .qkv_bias = {"attention_bias", true}, .window = own_window},
    {.sizes = {"cwm", 64, 6144, 48, 8, 128, 21504, 128256, add_cwm}, .ffn_bias = mlp_bias, .window = own_window},
    {.sizes = {"helium", 24, 2560, 20, 20, 128, 7040, 48000}, .qkv_bias = attention_bias, .ffn_bias = mlp_bias},
};

}  // namespace

std::span<plain_family const> plain_families() { return plain_rows; }

void add_columns(plain_family const& row, transformer& model, config_fields& in) {
  auto const on = [&](family_switch const& s) { return s.field == nullptr ? s.usual : in.flag(s.field, s.usual); };
  auto const& sizes = row.sizes;
  if (sizes.ffn == 0) model.ffn = in.number({"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"}).value_or(4 * model.hidden);
  model.gated = row.gated;
  auto const both = on(row.attention_biases);
  model.qkv_bias = both || on(row.qkv_bias);
  model.output_bias = both || on(row.output_bias);
  model.ffn_bias = on(row.ffn_bias);
  model.head_bias = on(row.head_bias);
  model.norm_bias = row.norm_bias;
  model.norm_weights = row.norm_weights;
  model.parallel = on(row.parallel);
  model.norms = row.one_norm && model.parallel ? 1 : row.norms;
  if (row.head_norms.usual || row.all_norms.usual) in.pass_over({"qk_norm", "use_qk_norm", "qk_layernorm"});
  if (on(row.head_norms)) model.qk_norm = 2 * model.head_width;
  if (on(row.all_norms)) model.qk_norm = (model.query_heads + model.kv_heads) * model.head_width;
  if (auto const& e = row.experts; e.count > 0 && e.width == 0)
    set_experts_everywhere(model, in, e.count, e.active);
  else if (e.count > 0)
    set_late_experts(model, in, e.count, e.active, e.width, e.shared, e.first);
  model.router_bias = on(row.experts.router_bias);
  if (row.window == no_window) set_masks(model, in, mask::sliding, row.reads_types, never);
  if (row.window >= 0) {
    auto const period = row.full > 0 ? in.number({"sliding_window_pattern", "global_attn_every_n_layers"}).value_or(row.full) : row.full;
    if (row.full > 0 && period == 0) in.refuse("sliding_window_pattern", "must be positive");
    set_window(model, in, row.window, row.reads_types, [&](std::int64_t l) { return period == 0 || (l + 1) % period != 0; });
  }
  if (sizes.add != nullptr) sizes.add(model, in);
}

}  // namespace ballast_cli
