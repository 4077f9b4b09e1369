// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "errors.hpp"
#include "readers/config_fields.hpp"

#include <ballast/cost/transformer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What several families of language models read alike: masks of layers, and experts.

namespace ballast_cli {

using ballast::layer_set;
using ballast::transformer;

// ---- masks

/// What a layer of a family sees unless `layer_types` says otherwise.
enum class mask : std::uint8_t { full, sliding, chunked, linear };

[[nodiscard]] inline std::string_view word_of(mask of) {
  constexpr std::string_view words[]{"full_attention", "sliding_attention", "chunked_attention", "linear_attention"};
  return words[static_cast<std::size_t>(of)];
}

[[nodiscard]] inline mask mask_of(config_fields const& in, std::string const& word) {
  for (auto const m : {mask::full, mask::sliding, mask::chunked, mask::linear})
    if (word == word_of(m)) return m;
  if (word == "attention") return mask::full;  // the word of older files
  in.refuse("layer_types", "says " + printable(word) + ", which cannot be priced");
}

/// Gives each layer its mask: that of `layer_types`, or else `otherwise(layer)`. `other` is the only kind that the family has beside full
/// attention; `reads` says whether its class reads the list, or only may agree with it.
template <class Rule>
void set_masks(transformer& model, config_fields& in, mask other, bool reads, Rule const& otherwise) {
  auto const types = in.words("layer_types");
  if (types && static_cast<std::int64_t>(types->size()) != model.layers)
    in.refuse("layer_types", "must have an entry for each of " + std::to_string(model.layers) + " layers");
  layer_set with, all;
  for (std::int64_t l = 0; l < (std::min)(model.layers, layer_set::most); ++l) {
    auto const usual = otherwise(l) ? other : mask::full;
    auto const is = types ? mask_of(in, (*types)[static_cast<std::size_t>(l)]) : usual;
    if (is != usual && !reads)
      in.refuse("layer_types", "says " + std::string(word_of(is)) + " where the class of this model, which does not read it, has " +
                                   std::string(word_of(usual)));
    if (is != mask::full && is != other) in.refuse("layer_types", "says " + std::string(word_of(is)) + ", which this family does not have");
    all.add(l);
    if (is != mask::full) with.add(l);
  }
  auto const none = with == layer_set();
  if (other == mask::linear) {
    model.linear.layers = with;
    return;
  }
  if (!none && model.window == 0)
    in.refuse("layer_types", std::string("needs ") + (other == mask::chunked ? "attention_chunk_size" : "sliding_window"));
  if (none) model.window = 0;
  model.windowed = none || with == all ? layer_set::all() : with;
  model.chunked = !none && other == mask::chunked;
}
inline constexpr auto never = [](std::int64_t) { return false; };
inline constexpr auto always = [](std::int64_t) { return true; };

/// A window of `sliding_window` tokens, the own one included; null is none.
template <class Rule>
void set_window(transformer& model, config_fields& in, std::int64_t usual, bool reads, Rule const& slides) {
  model.window = usual > 0 ? in.number({"sliding_window"}, usual, 0) : in.number({"sliding_window"}).value_or(0);
  auto const any = model.window > 0;
  set_masks(model, in, mask::sliding, reads, [&](std::int64_t l) { return any && slides(l); });
}
/// Qwen's `use_sliding_window`, without which the window is void.
template <class Rule>
void set_optional_window(transformer& model, config_fields& in, bool reads, std::int64_t usual_first, Rule const& slides) {
  if (in.flag("use_sliding_window", false)) {
    auto const first = in.number({"max_window_layers"}, usual_first);
    return set_window(model, in, 4096, reads, [&](std::int64_t l) { return slides(l, first); });
  }
  in.pass_over({"sliding_window", "max_window_layers"});
  set_masks(model, in, mask::sliding, reads, never);
}

// ---- blocks

/// One switch for the biases of queries, keys, values and the output.
inline void set_attention_bias(transformer& model, config_fields& in, bool usual = false) {
  model.qkv_bias = model.output_bias = in.flag("attention_bias", usual);
}
inline void add_head_norms(transformer& model) { model.qk_norm = 2 * model.head_width; }

/// Numbers of experts under the names that files give them. A class without a default for those that a token visits gives 0.
inline void set_experts(transformer& model, config_fields& in, std::int64_t experts, std::int64_t active) {
  model.experts = in.number({"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"}, experts, 0);
  auto const visited = in.number({"num_experts_per_tok", "experts_per_token", "moe_k", "moe_topk"});
  if (model.experts == 0) return;
  if (active == 0 && !visited) in.refuse("num_experts_per_tok", "has no default");
  model.active_experts = visited ? *visited : in.number({"num_experts_per_tok"}, active);
}
/// Mixtral and its like: every layer has experts, of the width of `intermediate_size`.
inline void set_experts_everywhere(transformer& model, config_fields& in, std::int64_t experts, std::int64_t active) {
  set_experts(model, in, experts, active);
  model.expert_ffn = std::exchange(model.ffn, 0);
}
/// Qwen: experts in every `decoder_sparse_step`-th layer that is not in `mlp_only_layers`.
inline void set_sparse_experts(transformer& model, config_fields& in, std::int64_t experts, std::int64_t active, std::int64_t width) {
  set_experts(model, in, experts, active);
  model.expert_ffn = in.number({"moe_intermediate_size"}, width);
  auto const step = in.number({"decoder_sparse_step"}).value_or(1);
  if (step == 0) in.refuse("decoder_sparse_step", "must be positive");
  auto dense = ~layer_set::every(step);
  for (auto const l : in.numbers("mlp_only_layers").value_or(std::vector<std::int64_t>{}))
    if (l < layer_set::most) dense.add(l);
  model.expert_layers = ~dense;
}
/// DeepSeek and GLM: experts from a layer on, and shared ones.
inline void set_late_experts(transformer& model, config_fields& in, std::int64_t experts, std::int64_t active, std::int64_t width,
                             std::int64_t shared, std::int64_t first) {
  set_experts(model, in, experts, active);
  model.expert_ffn = in.number({"moe_intermediate_size"}, width);
  model.shared_ffn = in.number({"n_shared_experts", "num_shared_experts", "moe_num_shared_experts"}, shared, 0) * model.expert_ffn;
  first = in.number({"first_k_dense_replace", "num_dense_layers", "moe_layer_start_index"}, first, 0);
  auto const period = in.number({"moe_layer_freq"}).value_or(1);
  if (period == 0) in.refuse("moe_layer_freq", "must be positive");
  model.expert_layers = layer_set::from(first);
  if (period > 1) {
    model.expert_layers = {};
    for (std::int64_t l = 0; l < layer_set::most; l += period)
      if (l >= first) model.expert_layers.add(l);
  }
  auto const types = in.words("mlp_layer_types");
  if (!types) return;
  if (static_cast<std::int64_t>(types->size()) != model.layers)
    in.refuse("mlp_layer_types", "must have an entry for each of " + std::to_string(model.layers) + " layers");
  model.expert_layers = {};
  for (std::size_t l = 0; l < types->size() && l < static_cast<std::size_t>(layer_set::most); ++l)
    if ((*types)[l] == "sparse") model.expert_layers.add(static_cast<std::int64_t>(l));
}
inline void set_shared_expert(transformer& model, config_fields& in, std::int64_t width) {
  model.shared_ffn = in.number({"shared_expert_intermediate_size"}, width, 0);
  model.shared_gate = true;
}

}  // namespace ballast_cli
