// SPDX-License-Identifier: Apache-2.0
#include "readers/model_config.hpp"

#include "errors.hpp"
#include "readers/json_document.hpp"

#include <ballast/core/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace ballast_cli {

namespace {

/// The fields of one JSON object, each under the names that families of models give it.
class fields {
 public:
  using names = std::initializer_list<char const*>;
  fields(nlohmann::json const& object, std::string const& file) : object_(object), file_(file) {}

  [[nodiscard]] std::optional<std::int64_t> number(names keys) const {
    for (auto const* key : keys) {
      auto const found = object_.find(key);
      if (found == object_.end() || found->is_null()) continue;
      if (!found->is_number_unsigned() || found->get<std::uint64_t>() > (std::uint64_t{1} << 31))
        refuse(key, "must be a whole number up to 2^31");
      return found->get<std::int64_t>();
    }
    return std::nullopt;
  }
  [[nodiscard]] std::int64_t required(names keys) const {
    if (auto const value = number(keys)) return *value;
    throw bad_input(file_ + ": the field " + *keys.begin() + " is missing: not the configuration of a transformer");
  }
  [[nodiscard]] bool flag(char const* key, bool otherwise) const {
    auto const found = object_.find(key);
    if (found == object_.end() || found->is_null()) return otherwise;
    if (!found->is_boolean()) refuse(key, "must be true or false");
    return found->get<bool>();
  }
  [[nodiscard]] std::string text(char const* key) const {
    auto const found = object_.find(key);
    return found != object_.end() && found->is_string() ? found->get<std::string>() : std::string();
  }
  [[nodiscard]] nlohmann::json const* array(char const* key) const {
    auto const found = object_.find(key);
    return found != object_.end() && found->is_array() && !found->empty() ? &*found : nullptr;
  }
  [[noreturn]] void refuse(char const* key, std::string const& why) const {
    throw bad_input(file_ + ": the field " + key + " = " + printable(object_.at(key).dump()) + " " + why);
  }

 private:
  nlohmann::json const& object_;
  std::string const& file_;
};

[[nodiscard]] bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  for (auto const prefix : prefixes)
    if (text.starts_with(prefix)) return true;
  return false;
}

/// Which layers see everything: `layer_types` lists them, older files give a period.
void read_windows(ballast::transformer& model, fields const& in) {
  if (!in.flag("use_sliding_window", true)) return;
  model.window = in.number({"sliding_window"}).value_or(0);
  if (model.window == 0) return;
  model.windowed = ~ballast::layer_set::every(
      in.number({"sliding_window_pattern", "_sliding_window_pattern"}).value_or(in.text("model_type") == "gemma2" ? 2 : 0));
  auto const* const types = in.array("layer_types");
  if (types == nullptr) {
    auto const from = in.number({"max_window_layers"}).value_or(0);  // Qwen2: the layers from there on have windows
    if (from >= model.layers) model.window = 0;
    if (from > 0 && from < model.layers) in.refuse("max_window_layers", "is not supported: windows in some of the layers need layer_types");
    return;
  }
  ballast::layer_set full;
  for (std::size_t l = 0; l < types->size(); ++l)
    if ((*types)[l] == "full_attention") full.add(static_cast<std::int64_t>(l));
  model.windowed = ~full;
}

void read_experts(ballast::transformer& model, fields const& in) {
  model.experts = in.number({"n_routed_experts", "num_local_experts", "num_experts"}).value_or(0);
  if (model.experts <= 1) {
    model.experts = 0;
    return;
  }
  model.active_experts = in.required({"num_experts_per_tok", "experts_per_token"});
  model.expert_ffn = in.number({"moe_intermediate_size"}).value_or(model.ffn);
  model.shared_ffn =
      in.number({"shared_expert_intermediate_size"}).value_or(in.number({"n_shared_experts"}).value_or(0) * model.expert_ffn);
  model.expert_layers = ballast::layer_set::from(in.number({"first_k_dense_replace"}).value_or(0));
  model.router_bias = in.text("topk_method") == "noaux_tc";
  for (auto const* period : {"decoder_sparse_step", "moe_layer_freq"})
    if (in.number({period}).value_or(1) != 1) in.refuse(period, "is not supported: experts in every layer are");
  if (in.array("mlp_only_layers") != nullptr) in.refuse("mlp_only_layers", "is not supported");
}

[[nodiscard]] ballast::transformer read(fields const& in) {
  auto const family = in.text("model_type");
  auto const is = [&](std::initializer_list<std::string_view> prefixes) { return starts_with_any(family, prefixes); };
  auto const gpt2 = is({"gpt2"});
  ballast::transformer model{.layers = in.required({"num_hidden_layers", "n_layer"}),
                             .hidden = in.required({"hidden_size", "n_embd"}),
                             .query_heads = in.required({"num_attention_heads", "n_head"})};
  model.kv_heads = in.number({"num_key_value_heads"}).value_or(model.query_heads);
  model.head_width = in.number({"head_dim"}).value_or(model.hidden / (std::max)(std::int64_t{1}, model.query_heads));
  model.ffn = gpt2 ? in.number({"n_inner"}).value_or(4 * model.hidden) : in.required({"intermediate_size"});
  model.vocabulary = in.required({"vocab_size"});
  model.tied = in.flag("tie_word_embeddings", gpt2 || is({"gemma"}));
  model.gated = !gpt2;
  if (gpt2) {
    model.positions = in.required({"n_positions"});
    model.qkv_bias = model.output_bias = model.ffn_bias = model.norm_bias = true;
  }
  auto const attention_bias = in.flag("attention_bias", false) || (is({"internlm2"}) && in.flag("bias", false));
  model.qkv_bias |= attention_bias || is({"qwen2"});
  model.output_bias |= attention_bias;
  model.ffn_bias |= in.flag("mlp_bias", false);
  if (is({"qwen3", "gemma3"})) model.qk_norm = 2 * model.head_width;
  if (is({"gemma2", "gemma3"})) model.norms = 4;
  if (auto const rank = in.number({"kv_lora_rank"})) {
    model.kv_rank = *rank;
    model.q_rank = in.number({"q_lora_rank"}).value_or(0);
    model.rope_width = in.required({"qk_rope_head_dim"});
    model.head_width = in.required({"qk_nope_head_dim"}) + model.rope_width;
    model.v_width = in.required({"v_head_dim"});
    model.kv_heads = model.query_heads;
  }
  read_experts(model, in);
  read_windows(model, in);
  return model;
}

}  // namespace

model_shape read_model_config(std::string_view text, std::string const& name) {
  auto const json = parse_document(text, name);
  if (!json.is_object()) throw bad_input(name + ": not a JSON object");
  auto const* config = &json;
  for (auto const* part : {"text_config", "llm_config", "language_config"})
    if (auto const found = json.find(part); found != json.end() && found->is_object()) config = &*found;
  fields const in(*config, name);
  auto const model = read(in);
  try {
    require_valid(model);
  } catch (ballast::invalid_input const& e) {
    throw bad_input(name + ": " + e.what());
  }
  return {.family = in.text("model_type"), .language = model, .notes = {}};
}

}  // namespace ballast_cli
