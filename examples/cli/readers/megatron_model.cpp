// SPDX-License-Identifier: Apache-2.0
#include "readers/megatron_model.hpp"

#include "errors.hpp"
#include "readers/megatron_pattern.hpp"

#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/layer_set.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace ballast_cli {

namespace {

/// The layers that a pattern leaves out: a number N, for which `leaves_out(layer, N)` tells, or a list such as ([0]*3+[1]*58) of which it
/// leaves out the zeros.
template <class LeavesOut>
[[nodiscard]] ballast::layer_set left_out(setting_table& in, char const* key, std::int64_t layers, LeavesOut const& leaves_out) {
  auto const text = in.word(key);
  auto const unclear = [&] { in.refuse(key, "is neither a number nor a list such as ([0]*3+[1]*58)"); };
  auto const number = [&](std::size_t& at) {
    std::int64_t value = 0;
    auto const [stop, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error != std::errc{} || value < 1 || value > 4096) unclear();
    at = static_cast<std::size_t>(stop - text.data());
    return value;
  };
  ballast::layer_set out;
  std::size_t at = 0;
  if (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    auto const period = number(at);
    if (at != text.size()) unclear();
    for (std::int64_t i = 0; i < layers; ++i)
      if (leaves_out(i, period)) out.add(i);
    return out;
  }
  std::vector<bool> has, piece;
  std::size_t group = 0;  // where a bracket around pieces opened
  while (at < text.size()) {
    auto const c = text[at++];
    if (c == '[' || c == '+') piece.clear();
    if (c == '(') group = has.size();
    if (c == ')') piece.assign(has.begin() + static_cast<std::ptrdiff_t>(group), has.end());
    if (c == '0' || c == '1') {
      piece.push_back(c == '1');
      has.push_back(c == '1');
    } else if (c == '*') {
      auto const times = number(at);
      if (piece.empty() || static_cast<std::size_t>(times) * piece.size() + has.size() > 8192) unclear();
      for (std::int64_t k = 1; k < times; ++k) has.insert(has.end(), piece.begin(), piece.end());
    } else if (std::string_view("[]()+, '\"").find(c) == std::string_view::npos) {
      unclear();
    }
  }
  if (std::cmp_not_equal(has.size(), layers)) in.refuse(key, "does not have one entry for each layer");
  for (std::int64_t i = 0; i < layers; ++i)
    if (!has[static_cast<std::size_t>(i)]) out.add(i);
  return out;
}

/// `hybrid`: a pattern says the layers with linear attention.
void read_attention(setting_table& in, ballast::transformer& model, bool hybrid) {
  if (in.flag("multi_latent_attention")) {
    model.q_rank = in.number_or("q_lora_rank", 0);
    model.kv_rank = in.number_or("kv_lora_rank", 32);
    model.rope_width = in.number_or("qk_pos_emb_head_dim", 64);
    model.head_width = in.number_or("qk_head_dim", 128) + model.rope_width;
    model.v_width = in.number_or("v_head_dim", 128);
    model.kv_heads = model.query_heads;
    model.qk_norm = 0;  // qk_layernorm then means the norms of the latent vectors, which are counted with them
  }
  auto const window = in.list("window_size");
  if (!window.empty() && window[0] != "-1") {
    std::int64_t left = 0;
    auto const& text = window[0];
    auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), left);
    if (error != std::errc{} || stop != text.data() + text.size() || left < 0) in.refuse("window_size", "is not a window");
    model.window = left + 1;                        // the token itself, and those to its left
    if (!in.word("window_attn_skip_freq").empty())  // a full layer after N - 1 with windows
      model.windowed = ~left_out(in, "window_attn_skip_freq", model.layers, [](auto i, auto n) { return (i + 1) % n == 0; });
  }
  model.output_gate = in.flag("attention_output_gate");
  auto const variant = in.word("experimental_attention_variant"), every = in.word("linear_attention_freq");
  if (variant == "gdn" || variant == "gated_delta_net") {
    if (hybrid) return;
    if (every.empty()) in.refuse("experimental_attention_variant", "needs linear_attention_freq");
    read_linear_attention(in, model);
    model.linear.layers = ~left_out(in, "linear_attention_freq", model.layers, [](auto i, auto n) { return (i + 1) % n == 0; });
  } else if (!variant.empty() || !every.empty()) {
    in.refuse(variant.empty() ? "linear_attention_freq" : "experimental_attention_variant", "is not modelled");
  }
}

void read_routing(setting_table& in, ballast::transformer& model) {
  auto const experts = in.number("num_experts"), too = in.number("num_moe_experts");
  model.experts = experts ? *experts : too.value_or(0);
  auto const width = in.number_or("moe_ffn_hidden_size", model.ffn), active = in.number_or("moe_router_topk", 2),
             shared = in.number_or("moe_shared_expert_intermediate_size", 0);
  auto const everywhere = in.word("moe_layer_freq").empty();
  auto const gate = in.flag("moe_shared_expert_gate");
  if (model.experts == 0) return;
  model.expert_ffn = width;
  model.active_experts = active;
  model.shared_ffn = shared;
  model.shared_gate = gate && shared > 0;
  if (!everywhere) model.expert_layers = ~left_out(in, "moe_layer_freq", model.layers, [](auto i, auto n) { return i % n != 0; });
  model.router_bias = in.flag("moe_router_enable_expert_bias");
}

/// A word that decides nothing where a variable stands for it.
[[nodiscard]] std::string word_if_known(setting_table& in, char const* key) {
  auto const words = in.list(key);
  return words.size() == 1 && words[0].find('$') == std::string::npos ? words[0] : std::string();
}

/// The words that the tokenizer has, by its kind, its name or what is asked for; 0 if nobody knows.
[[nodiscard]] std::int64_t read_vocabulary(setting_table& in, setting_request const& asked, imported_setting& out) {
  auto const given = in.number_or("vocab_size", 0);
  auto const kind = word_if_known(in, "tokenizer_type"), name = word_if_known(in, "tokenizer_model");
  auto const merges = in.has("merge_file") && in.has("vocab_file");
  auto const extra = in.number_or("vocab_extra_ids", 0, 0);
  if (auto const file = in.list("vocab_file"); file.size() == 1 && file[0].ends_with("vocab.txt"))
    in.refuse("vocab_file", "is one of BERT or T5, which are not modelled");
  auto words = given > 0 ? given : asked.vocabulary.value_or(0);
  if (words > 0) return words + (kind == "NullTokenizer" ? 1 : 0) + extra;  // for the end of a document
  if (kind == "GPT2BPETokenizer" || (kind.empty() && merges)) words = 50'257;
  if (kind == "BertWordPieceLowerCase") words = 30'522;
  if (kind == "BertWordPieceCase") words = 28'996;
  if (kind == "Llama2Tokenizer") words = 32'000;
  if (kind == "TikTokenizer") words = std::int64_t{1} << 17;
  if (words > 0) return words + extra;
  if (!name.empty() && asked.find_model)
    if (auto const known = asked.find_model(name)) {
      out.notes.push_back("the vocabulary is that of " + printable(name) + ", as tokenizer_model says");
      return known->language.vocabulary;
    }
  return 0;
}

/// Refuses models of which flags say that they are none that is modelled here.
void refuse_other_models(setting_table& in) {
  for (auto const& [key, what] : {std::pair{"encoder_num_layers", "belongs to an encoder with a decoder (T5), or to one alone (BERT)"},
                                  {"decoder_num_layers", "belongs to an encoder with a decoder (T5)"},
                                  {"bert_load", "belongs to BERT"},
                                  {"retro_num_neighbors", "belongs to a model with retrieval"},
                                  {"retro_add_retriever", "belongs to a model with retrieval"},
                                  {"moe_latent_size", "narrows the input of experts"},
                                  {"flextron", "trains several widths of a model at once"}})
    if (in.has(key)) in.refuse(key, std::string(what) + ", which is not modelled");
  if (word_if_known(in, "tokenizer_type").starts_with("BertWordPiece"))
    in.refuse("tokenizer_type", "belongs to BERT or T5, which are not modelled");
  for (auto const* const key : {"num_tokens_to_generate", "prompts", "prompt_file", "incoming_requests_per_sec", "inference_repeat_n"})
    if (in.has(key)) in.refuse(key, "belongs to a program that draws answers: judged are trainings");
}

}  // namespace

void read_megatron_model(setting_table& in, setting_request const& asked, std::int64_t tensor, imported_setting& out) {
  refuse_other_models(in);
  auto const pattern = read_megatron_pattern(in, out);
  auto const layers = pattern ? std::optional(static_cast<std::int64_t>(pattern->letters.size())) : in.number("num_layers");
  auto const hidden = in.number("hidden_size"), heads = in.number("num_attention_heads");
  auto const shaped = layers && hidden && heads;
  auto const images = in.has("img_h") || in.has("patch_dim") || in.has("vision_model_type");
  in.ignore({"img_*", "patch_dim", "vision_*", "prompt_path", "language_model_type", "tokenizer_prompt_format"});
  auto given = asked.model;
  if (!shaped || given) {
    take_model(in, asked, {"model", "hf_model", "hf_path"}, out);
    given = out.model;
  }
  if (layers.value_or(1) > ballast::layer_set::most) in.refuse("num_layers", "is above " + std::to_string(ballast::layer_set::most));
  ballast::transformer model;
  model.layers = layers.value_or(1);
  model.hidden = hidden.value_or(1);
  model.query_heads = heads.value_or(1);
  auto const groups = in.number_or("num_query_groups", 1);
  model.kv_heads = in.flag("group_query_attention") ? groups : model.query_heads;  // without the flag the number is not read
  if (!in.number("kv_channels") && model.hidden % model.query_heads != 0)
    in.refuse("hidden_size",
              "is no multiple of num_attention_heads, " + std::to_string(model.query_heads) + ", and kv_channels is not there");
  model.head_width = in.number_or("kv_channels", (std::max)(model.hidden / model.query_heads, std::int64_t{1}));
  auto const swiglu = in.flag("swiglu"), gated_gelu = in.flag("quick_geglu") || in.flag("gated_linear_unit");
  in.ignore({"squared_relu"});
  model.gated = swiglu || gated_gelu;
  model.ffn = in.number_or("ffn_hidden_size", swiglu ? 8 * model.hidden / 3 / 64 * 64 : 4 * model.hidden);
  auto const biases = in.flag("add_bias_linear", true) && !in.flag("disable_bias_linear");
  model.qkv_bias = in.flag("add_qkv_bias") || biases;
  model.output_bias = model.ffn_bias = biases;
  model.norm_bias = in.one_of("normalization", {"LayerNorm", "RMSNorm", "L2Norm"}) == "LayerNorm";
  if (in.flag("qk_layernorm")) model.qk_norm = 2 * model.head_width * (model.norm_bias ? 2 : 1);
  model.tied = !in.flag("untie_embeddings_and_output_weights");
  auto const positions = in.number_or("max_position_embeddings", 0);
  auto const embedding = in.one_of("position_embedding_type", {"learned_absolute", "rope", "yarn", "mrope", "relative", "none"});
  if (embedding == "learned_absolute" && !in.flag("no_position_embedding")) model.positions = positions;
  auto const padding = in.number_or("make_vocab_size_divisible_by", 128), padded = in.number_or("padded_vocab_size", 0);
  auto const vocabulary = read_vocabulary(in, asked, out);
  if (!given && vocabulary == 0 && padded == 0)
    throw bad_input(in.file() + ": vocab_size is missing: the tokenizer decides it, and --vocab-size says it");
  if (padding > 1 << 20) in.refuse("make_vocab_size_divisible_by", "is above 2^20");
  auto const multiple = padding * tensor;
  model.vocabulary = padded > 0 ? padded : ballast::divide_up(vocabulary, multiple) * multiple;
  model.mtp_layers = in.number_or("mtp_num_layers", 0, 0);
  if (pattern && pattern->depths) model.mtp_layers = *pattern->depths;
  read_attention(in, model, pattern.has_value());
  read_routing(in, model);
  if (given) in.ignore({"mamba_*"});
  if (pattern && !given) set_megatron_pattern(in, *pattern, model);
  if (given) {
    for (auto const& [key, mine, theirs] : {std::tuple{"num_layers", layers, given->layers}, {"hidden_size", hidden, given->hidden}})
      if (mine && *mine != theirs) in.refuse(key, "is not that of --model, " + std::to_string(theirs));
    out.model = *given;
    if (in.has("mtp_num_layers") || (pattern && pattern->depths)) out.model.mtp_layers = model.mtp_layers;
    return;
  }
  out.reads_images = images;
  try {
    require_valid(model);
  } catch (ballast::invalid_input const& e) {
    throw bad_input(in.file() + ": the model: " + e.what());
  }
  out.model = model;
}

}  // namespace ballast_cli
