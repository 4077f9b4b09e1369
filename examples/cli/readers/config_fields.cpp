// SPDX-License-Identifier: Apache-2.0
#include "readers/config_fields.hpp"

#include "errors.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace ballast_cli {

namespace {

/// Fields on which parameters, masks or FLOPs depend in some family of models.
constexpr std::array structural{
    // sizes
    "head_dim", "intermediate_size", "intermediate_size_mlp", "ffn_hidden_size", "n_inner", "num_key_value_heads", "num_kv_heads",
    "n_head_kv", "multi_query", "multi_query_group_num", "kv_channels", "num_decoder_layers", "num_encoder_layers", "embedding_size",
    "hidden_size_per_layer_input", "num_kv_shared_layers", "altup_num_inputs", "laurel_rank", "num_hash_layers", "num_memory_blocks",
    // masks
    "layer_types", "layers_block_type", "block_types", "hybrid_override_pattern", "hybrid_layer_ids", "sliding_window",
    "use_sliding_window", "max_window_layers", "sliding_window_pattern", "_sliding_window_pattern", "sliding_windows", "window_size",
    "local_window_size", "global_attn_every_n_layers", "attention_window_size", "local_attention", "attention_layers",
    "attention_chunk_size", "no_rope_layers", "full_attention_interval", "full_attn_idxs", "attn_type_list", "attn_layer_period",
    "attn_layer_offset", "attn_layer_indices", "attn_layers", "index_topk", "index_n_heads", "index_head_dim", "compress_ratios",
    "use_bidirectional_attention", "cross_attention_layers", "add_cross_attention", "is_encoder_decoder",
    // linear attention and state spaces
    "linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim", "linear_value_head_dim", "linear_conv_kernel_dim",
    "linear_attn_config", "mamba_d_ssm", "mamba_d_state", "mamba_d_conv", "mamba_n_heads", "mamba_num_heads", "mamba_expand",
    "ssm_state_size", "state_size", "conv_kernel", "conv_L_cache", "lru_width",
    // latent attention
    "kv_lora_rank", "q_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim",
    // experts
    "num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", "num_experts_per_tok", "experts_per_token",
    "n_shared_experts", "num_shared_experts", "moe_num_shared_experts", "moe_intermediate_size", "shared_intermediate_size",
    "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "first_k_dense_replace", "moe_layer_freq",
    "decoder_sparse_step", "mlp_only_layers", "mlp_layer_types", "moe_layers", "interleave_moe_layer_step", "moe_layer_interval",
    "moe_layer_start_index", "moe_layers_enum", "expert_layer_period", "expert_layer_offset", "use_moe", "zero_expert_num",
    "num_nextn_predict_layers", "num_mtp_layers", "mtp_num_hidden_layers",
    // blocks
    "attention_bias", "attention_out_bias", "qkv_bias", "add_qkv_bias", "add_bias_linear", "mlp_bias", "use_bias", "bias", "lm_head_bias",
    "use_qk_norm", "qk_layernorm", "qk_norm", "attn_output_gate", "use_gated_attention", "sandwich_norm", "post_layer_norm",
    "apply_residual_connection_post_layernorm", "parallel_attn", "use_parallel_residual", "num_ln_in_parallel_attn",
    "new_decoder_architecture", "pruned_heads", "tie_word_embeddings", "word_embed_proj_dim", "use_cla", "block_configs", "sparse_config",
    "num_loops"};

/// Whether a value says that a model has no such thing.
[[nodiscard]] bool is_none(nlohmann::json const& value) {
  return value.is_null() || value == false || value == 0 || value == "" || (value.is_structured() && value.empty());
}

}  // namespace

nlohmann::json const* config_fields::find(char const* key) {
  asked_.insert(key);
  auto const found = object_.find(key);
  return found == object_.end() ? nullptr : &*found;
}

std::optional<config_fields> config_fields::part(char const* key) {
  auto const* const found = find(key);
  if (found == nullptr || found->is_null()) return std::nullopt;
  if (!found->is_object()) refuse(key, "must be an object");
  return config_fields(*found, file_);
}

std::int64_t config_fields::whole(char const* key, nlohmann::json const& value) const {
  if (value.is_array() && !value.empty() && value.front().is_number()) {
    if (std::any_of(value.begin(), value.end(), [&](auto const& each) { return each != value.front(); }))
      refuse(key, "differs between layers, which is not modelled");
    return whole(key, value.front());
  }
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > (std::uint64_t{1} << 30))
    refuse(key, "must be a whole number up to 2^30");
  return value.get<std::int64_t>();
}

bool config_fields::has(char const* key) {
  auto const* const found = find(key);
  return found != nullptr && !found->is_null();
}

std::optional<std::int64_t> config_fields::number(names keys) {
  std::optional<std::int64_t> out;
  for (auto const* key : keys)
    if (auto const* const found = find(key); found != nullptr && !found->is_null() && !out) out = whole(key, *found);
  return out;
}

std::int64_t config_fields::number(names keys, std::int64_t otherwise, std::optional<std::int64_t> null) {
  if (auto const value = number(keys)) return *value;
  if (null)
    for (auto const* key : keys)
      if (find(key) != nullptr) return *null;
  defaults_.push_back(std::string(*keys.begin()) + " = " + std::to_string(otherwise));
  return otherwise;
}

double config_fields::real(char const* key, double otherwise) {
  auto const* const found = find(key);
  if (found == nullptr || found->is_null()) return otherwise;
  if (!found->is_number()) refuse(key, "must be a number");
  return found->get<double>();
}

bool config_fields::says(char const* key, std::string_view word) {
  auto const* const found = find(key);
  return found != nullptr && found->is_string() && *found == word;
}

bool config_fields::flag(char const* key, bool otherwise) {
  auto const* const found = find(key);
  if (found != nullptr && found->is_boolean()) return found->get<bool>();
  if (found != nullptr && !found->is_null()) refuse(key, "must be true or false");
  if (auto said = std::string(key) + " = true"; otherwise && std::find(defaults_.begin(), defaults_.end(), said) == defaults_.end())
    defaults_.push_back(std::move(said));
  return otherwise;
}

std::string config_fields::text(char const* key) {
  auto const* const found = find(key);
  if (found == nullptr || found->is_null()) return {};
  if (!found->is_string()) refuse(key, "must be a word");
  return found->get<std::string>();
}

std::optional<std::vector<std::int64_t>> config_fields::numbers(char const* key) {
  auto const* const found = find(key);
  if (found == nullptr || found->is_null()) return std::nullopt;
  if (!found->is_array()) refuse(key, "must be a list of numbers");
  std::vector<std::int64_t> out;
  for (auto const& value : *found) out.push_back(whole(key, value));
  return out;
}

std::optional<std::vector<std::string>> config_fields::words(char const* key) {
  auto const* const found = find(key);
  if (found == nullptr || found->is_null()) return std::nullopt;
  if (!found->is_array()) refuse(key, "must be a list of words");
  std::vector<std::string> out;
  for (auto const& value : *found) {
    if (!value.is_string()) refuse(key, "must be a list of words");
    out.push_back(value.get<std::string>());
  }
  return out;
}

std::optional<std::int64_t> config_fields::members(char const* key) {
  auto const* const found = find(key);
  if (found == nullptr || found->is_null()) return std::nullopt;
  if (!found->is_object()) refuse(key, "must be an object");
  return static_cast<std::int64_t>(found->size());
}

void config_fields::pass_over(names keys) {
  for (auto const* key : keys) asked_.insert(key);
}

void config_fields::refuse(char const* key, std::string const& why) const {
  auto const found = object_.find(key);
  auto const value = found == object_.end() ? std::string(" is missing, and") : " = " + printable(found->dump());
  throw bad_input(file_ + ": the field " + key + value + " " + why);
}

void config_fields::refuse_others(std::string_view family) const {
  for (auto const* key : structural)
    if (auto const found = object_.find(key); found != object_.end() && asked_.find(key) == asked_.end() && !is_none(*found))
      refuse(key, "changes the shape of some models, but it is not a field of " + std::string(family));
}

}  // namespace ballast_cli
