// SPDX-License-Identifier: Apache-2.0
#include "readers/hybrid_config.hpp"

#include "errors.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

// Defaults are those of the classes in Hugging Face transformers 5.24.

namespace ballast_cli {

namespace {

using ballast::layer_set;
using ballast::transformer;

/// The letter of a layer in a list of words; 0 if there is none.
[[nodiscard]] char letter_of(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, char>, 8> words{{{"attention", '*'},
                                                                    {"full_attention", '*'},
                                                                    {"mamba", 'M'},
                                                                    {"linear_attention", 'M'},
                                                                    {"conv", 'c'},
                                                                    {"hybrid", 'h'},
                                                                    {"mlp", '-'},
                                                                    {"moe", 'E'}}};
  for (auto const& [is, letter] : words)
    if (is == word) return letter;
  return 0;
}

/// The letters of a list in the file, if it has one. `allowed` are those that the family has.
[[nodiscard]] std::string letters_in(config_fields& in, std::string_view allowed) {
  std::string letters;
  for (auto const* const key : {"layers_block_type", "layer_types"})
    if (auto const words = in.words(key); words && letters.empty())
      for (auto const& word : *words) {
        letters += letter_of(word);
        if (letters.back() == 0 || allowed.find(letters.back()) == std::string_view::npos)
          in.refuse(key, "says " + printable(word) + ", which this family does not have");
      }
  return letters;
}
/// Layers with a feed-forward block each: those of the list in the file, or of `otherwise(layer)`.
template <class Otherwise>
void set_mixers(transformer& model, config_fields& in, std::string_view allowed, Otherwise const& otherwise) {
  auto letters = letters_in(in, allowed);
  if (!letters.empty() && std::cmp_not_equal(letters.size(), model.layers))
    in.refuse(in.has("layers_block_type") ? "layers_block_type" : "layer_types",
              "must have an entry for each of " + std::to_string(model.layers) + " layers");
  if (letters.empty())
    for (std::int64_t l = 0; l < (std::min)(model.layers, layer_set::most + 1); ++l) letters += otherwise(l);
  set_layers(model, in, "num_hidden_layers", letters, false);
}

[[nodiscard]] bool is_listed(std::vector<std::int64_t> const& list, std::int64_t layer) {
  return std::find(list.begin(), list.end(), layer) != list.end();
}

/// Mamba-1, `inner` channels wide.
void set_channels(transformer& model, config_fields& in, char const* rank, std::int64_t inner) {
  auto& space = model.space;
  space.heads = inner;
  space.step_rank = in.says(rank, "auto") || !in.has(rank) ? (model.hidden + 15) / 16 : in.number({rank}).value_or(0);
  if (space.step_rank == 0) in.refuse(rank, "must be positive");
}
/// Mamba of `mamba` and `falcon_mamba`: layers have no other block.
void set_plain_mamba(transformer& model, config_fields& in) {
  auto& space = model.space;
  space.state = in.number({"state_size"}, 16);
  space.kernel = in.number({"conv_kernel"}, 4);
  space.bias = in.flag("use_bias", false);
  space.conv_bias = in.flag("use_conv_bias", true);
  space.norm = false;
  auto const inner = in.number({"intermediate_size"});
  set_channels(model, in, "time_step_rank", inner ? *inner : in.number({"expand"}, 2) * model.hidden);
  set_layers(model, in, "num_hidden_layers", std::string(static_cast<std::size_t>((std::min)(model.layers, layer_set::most + 1)), 'M'),
             true);
}

/// Heads of Mamba-2 in `inner` channels. The file may say the width of a head, too.
void set_heads(transformer& model, config_fields& in, char const* heads, char const* width, std::int64_t inner) {
  auto& space = model.space;
  space.heads = in.number({heads}, 128);
  if (space.heads == 0 || inner % space.heads != 0) in.refuse(heads, "does not divide the " + std::to_string(inner) + " channels");
  space.head_width = inner / space.heads;
  if (!in.says(width, "auto") && in.number({width}).value_or(space.head_width) != space.head_width)
    in.refuse(width, "is not the number of channels over that of heads, " + std::to_string(space.head_width));
}
/// Mamba-2 of Bamba, Falcon-H1 and Granite 4. `usual` channels are the default of `mamba_d_ssm`; 0: the family has no such field.
void set_mamba2(transformer& model, config_fields& in, std::int64_t usual = 0) {
  auto& space = model.space;
  auto const wide = in.number({"mamba_expand"}, 2) * model.hidden;
  set_heads(model, in, "mamba_n_heads", "mamba_d_head", usual > 0 ? in.number({"mamba_d_ssm"}, usual, wide) : wide);
  space.state = in.number({"mamba_d_state"}, 256);
  space.groups = in.number({"mamba_n_groups"}, 1);
  space.kernel = in.number({"mamba_d_conv"}, 4);
  space.chunk = in.number({"mamba_chunk_size"}, 256);
  space.conv_bias = in.flag("mamba_conv_bias", true);
  space.bias = in.flag("mamba_proj_bias", false);
}

void set_hybrid_biases(transformer& model, config_fields& in) {
  model.qkv_bias = model.output_bias = in.flag("attention_bias", false);
  model.ffn_bias = in.flag("mlp_bias", false);
}
void set_short_convolution(transformer& model, config_fields& in) {
  model.conv.kernel = in.number({"conv_L_cache"}, 3);
  model.conv.bias = in.flag("conv_bias", false);
  model.qk_norm = 2 * model.head_width;
  if (in.has("tie_embedding")) model.tied = in.flag("tie_embedding", true);
  auto const full = in.numbers("full_attn_idxs");
  set_mixers(model, in, "*c", [&](std::int64_t l) { return !full || is_listed(*full, l) ? '*' : 'c'; });
}

}  // namespace

void set_blocks(transformer& model, std::string_view letters, bool alone) {
  model.layers = static_cast<std::int64_t>(letters.size());
  layer_set attention, linear, space, conv, ffn, experts;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    auto const l = static_cast<std::int64_t>(i);
    auto const c = letters[i];
    if (c == '*' || c == 'h' || c == 'G') attention.add(l);
    if (c == 'G') linear.add(l);
    if (c == 'M' || c == 'h') space.add(l);
    if (c == 'c') conv.add(l);
    if (c == '-' || c == 'E') ffn.add(l);
    if (c == 'E') experts.add(l);
  }
  auto const everywhere = [&](layer_set const& set) { return set.count(model.layers) == model.layers ? layer_set::all() : set; };
  model.attention_layers = everywhere(attention);
  model.linear.layers = everywhere(linear);
  model.space.layers = everywhere(space);
  model.conv.layers = everywhere(conv);
  if (!alone) return;
  model.ffn_layers = everywhere(ffn);
  model.expert_layers = everywhere(experts);
  model.norms = 1;
}

void set_layers(transformer& model, config_fields const& in, char const* key, std::string_view letters, bool alone) {
  if (letters.empty() || std::cmp_greater(letters.size(), layer_set::most))
    in.refuse(key, "must say 1 to " + std::to_string(layer_set::most) + " layers");
  set_blocks(model, letters, alone);
}

void add_mamba(transformer& model, config_fields& in) { set_plain_mamba(model, in); }
void add_falcon_mamba(transformer& model, config_fields& in) { set_plain_mamba(model, in); }  // its norms of steps, B and C have no weights
void add_mamba2(transformer& model, config_fields& in) {
  auto& space = model.space;
  set_heads(model, in, "num_heads", "head_dim", in.number({"expand"}, 2) * model.hidden);
  model.head_width = 1;
  space.state = in.number({"state_size"}, 128);
  space.groups = in.number({"n_groups"}, 8);
  space.kernel = in.number({"conv_kernel"}, 4);
  space.chunk = in.number({"chunk_size"}, 256);
  space.bias = in.flag("use_bias", false);
  space.conv_bias = in.flag("use_conv_bias", true);
  set_layers(model, in, "num_hidden_layers", std::string(static_cast<std::size_t>((std::min)(model.layers, layer_set::most + 1)), 'M'),
             true);
}
void add_bamba(transformer& model, config_fields& in) {
  set_hybrid_biases(model, in);
  set_mamba2(model, in);
  auto const full = in.numbers("attn_layer_indices").value_or(std::vector<std::int64_t>{});
  set_mixers(model, in, "*M", [&](std::int64_t l) { return is_listed(full, l) ? '*' : 'M'; });
}
void add_falcon_h1(transformer& model, config_fields& in) {
  set_hybrid_biases(model, in);
  set_mamba2(model, in, 1024);
  model.space.norm = in.flag("mamba_rms_norm", false);
  if (in.flag("projectors_bias", false) != model.space.bias) in.refuse("projectors_bias", "is not modelled unless it is mamba_proj_bias");
  set_mixers(model, in, "h", [](std::int64_t) { return 'h'; });
}
void add_granite_hybrid(transformer& model, config_fields& in) {
  model.qkv_bias = model.output_bias = in.flag("attention_bias", false);
  set_mamba2(model, in);
  model.experts = in.number({"num_local_experts"}, 8, 0);
  model.shared_ffn = in.number({"shared_intermediate_size"}, 1024);
  if (model.experts > 0) {
    model.active_experts = in.number({"num_experts_per_tok"}, 2);
    model.expert_ffn = std::exchange(model.ffn, 0);
  } else {
    in.pass_over({"num_experts_per_tok"});
    model.ffn = std::exchange(model.shared_ffn, 0);  // every token's expert alone
  }
  set_mixers(model, in, "*M", [](std::int64_t) { return 'M'; });
}
void add_nemotron_h(transformer& model, config_fields& in) {
  auto& space = model.space;
  if (in.flag("attention_bias", false)) in.refuse("attention_bias", "is not what the class of this model does");
  model.gated = false;
  model.head_width = in.number({"head_dim", "attention_head_dim"}, 128);
  model.ffn_bias = in.flag("mlp_bias", false);
  space.heads = in.number({"mamba_num_heads"}, 128);
  space.head_width = in.number({"mamba_head_dim"}, 64);
  space.state = in.number({"ssm_state_size"}, 128);
  space.groups = in.number({"n_groups", "mamba_n_groups"}, 8);
  space.kernel = in.number({"conv_kernel", "mamba_d_conv"}, 4);
  space.chunk = in.number({"chunk_size", "mamba_chunk_size"}, 128);
  space.bias = in.flag("use_bias", false);
  space.conv_bias = in.flag("use_conv_bias", true);
  in.pass_over({"mamba_expand", "n_shared_experts"});  // the class does not read them
  auto letters = letters_in(in, "*M-E");
  auto const* key = in.has("layers_block_type") ? "layers_block_type" : "layer_types";
  if (auto const pattern = in.text("hybrid_override_pattern"); letters.empty()) {
    key = "hybrid_override_pattern";
    letters = pattern;
    if (letters.find_first_not_of("*M-E") != std::string::npos) in.refuse(key, "has a letter other than M, *, - and E");
    if (auto const layers = in.number({"num_hidden_layers"}); layers && std::cmp_not_equal(*layers, letters.size()))
      in.refuse(key, "says " + std::to_string(letters.size()) + " layers, and num_hidden_layers " + std::to_string(*layers));
  }
  set_layers(model, in, key, letters, true);
  config_fields::names const of_experts{"n_routed_experts", "num_experts_per_tok", "moe_intermediate_size", "moe_latent_size",
                                        "moe_shared_expert_intermediate_size"};
  if (letters.find('E') == std::string::npos) return in.pass_over(of_experts);
  if (in.number({"moe_latent_size"}).value_or(0) > 0) in.refuse("moe_latent_size", "is not modelled");
  model.experts = in.number({"n_routed_experts"}, 8);
  model.active_experts = in.number({"num_experts_per_tok"}, 2);
  model.expert_ffn = in.number({"moe_intermediate_size"}, 7688);
  model.shared_ffn = in.number({"moe_shared_expert_intermediate_size"}, 7688);
  model.router_bias = true;
  if (letters.find('-') == std::string::npos) model.ffn = 0;
}
void add_jamba(transformer& model, config_fields& in) {
  auto& space = model.space;
  space.state = in.number({"mamba_d_state"}, 16);
  space.kernel = in.number({"mamba_d_conv"}, 4);
  space.conv_bias = in.flag("mamba_conv_bias", true);
  space.bias = in.flag("mamba_proj_bias", false);
  set_channels(model, in, "mamba_dt_rank", in.number({"mamba_expand"}, 2) * model.hidden);
  auto const every = [&](char const* period, std::int64_t usual, char const* offset, std::int64_t usual_offset) {
    auto const n = in.number({period}, usual), at = in.number({offset}, usual_offset);
    if (at >= n) in.refuse(offset, std::string("must be below ") + period);
    return std::pair(n, at);
  };
  auto const [n, at] = every("attn_layer_period", 8, "attn_layer_offset", 4);
  set_mixers(model, in, "*M", [period = n, offset = at](std::int64_t l) { return l % period == offset ? '*' : 'M'; });
  auto const [m, first] = every("expert_layer_period", 2, "expert_layer_offset", 1);
  model.experts = in.number({"num_experts", "num_local_experts"}, 16);
  if (model.experts <= 1) {  // one expert is a dense block
    model.experts = 0;
    return in.pass_over({"num_experts_per_tok"});
  }
  model.active_experts = in.number({"num_experts_per_tok"}, 2);
  model.expert_ffn = model.ffn;
  model.expert_layers = {};
  for (auto l = first; l < (std::min)(model.layers, layer_set::most); l += m) model.expert_layers.add(l);
}
void add_lfm2(transformer& model, config_fields& in) {
  model.ffn = in.number({"block_ff_dim"}).value_or(model.ffn);
  auto const multiplier = in.real("block_ffn_dim_multiplier", 1);
  auto const multiple = in.number({"block_multiple_of"}).value_or(256);
  if (multiplier <= 0 || multiplier > 1024) in.refuse("block_ffn_dim_multiplier", "must be above 0 and at most 1024");
  if (multiple == 0) in.refuse("block_multiple_of", "must be positive");
  if (in.flag("block_auto_adjust_ff_dim", true)) {
    auto const width = static_cast<std::int64_t>(multiplier * static_cast<double>(2 * model.ffn / 3));
    model.ffn = (width + multiple - 1) / multiple * multiple;
  }
  set_short_convolution(model, in);
}
void add_lfm2_moe(transformer& model, config_fields& in) {
  set_short_convolution(model, in);
  model.experts = in.number({"num_experts"}, 32);
  model.active_experts = in.number({"num_experts_per_tok"}, 4);
  model.expert_ffn = in.number({"moe_intermediate_size"}, 1792);
  model.router_bias = in.flag("use_expert_bias", true);
  model.expert_layers = layer_set::from(in.number({"num_dense_layers"}, 2));
}
void add_index(transformer& model, config_fields& in) {
  if (model.q_rank == 0) in.refuse("q_lora_rank", "must be positive: the indexer's queries are made of the compressed ones");
  model.window = in.number({"index_topk"}, 2048);
  model.index = {.heads = in.number({"index_n_heads"}, 64), .width = in.number({"index_head_dim"}, 128)};
  if (auto const types = in.words("mlp_layer_types")) {
    model.expert_layers = {};
    for (std::size_t i = 0; i < (std::min)(types->size(), static_cast<std::size_t>(layer_set::most)); ++i)
      if ((*types)[i] == "sparse") model.expert_layers.add(static_cast<std::int64_t>(i));
  }
  if (model.window == 0 || model.index.heads == 0) in.refuse(model.window == 0 ? "index_topk" : "index_n_heads", "must be positive");
}

}  // namespace ballast_cli
