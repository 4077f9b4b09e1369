// SPDX-License-Identifier: Apache-2.0
#include "readers/encoder_config.hpp"

#include <ballast/cost/layer_set.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

// Encoders by `model_type`. Defaults are those of the classes in Hugging Face transformers 5.23. Norms behind blocks are as many as norms
// in front of them: the norm behind the embedding takes the place of the final one. Kinds of segments are counted with learned positions.

namespace ballast_cli {

namespace {

using ballast::transformer;

/// What stands behind the last layer.
enum class encoder_end : std::uint8_t { tokens, sentences_and_tokens, classes, classes_of_tokens, nothing };

[[nodiscard]] encoder_end end_of(config_fields& in) {
  auto const words = in.words("architectures");
  if (!words || words->empty()) return encoder_end::tokens;
  auto const& word = words->front();
  if (word.find("For") == word.npos ? !word.ends_with("Model") || word.ends_with("LMHeadModel") : word.ends_with("ForCausalLM"))
    in.refuse("architectures", "is no encoder that is known");
  if (word.ends_with("ForPreTraining")) return encoder_end::sentences_and_tokens;
  if (word.ends_with("ForMaskedLM")) return encoder_end::tokens;
  if (word.ends_with("Model")) return encoder_end::nothing;
  return word.ends_with("ForSequenceClassification") || word.ends_with("ForMultipleChoice") ? encoder_end::classes
                                                                                            : encoder_end::classes_of_tokens;
}

/// The labels of a classifier: two unless the file names them.
[[nodiscard]] std::int64_t labels_of(config_fields& in) {
  if (auto const named = in.members("id2label")) return *named;
  return in.number({"num_labels"}).value_or(2);
}

/// One class: its defaults.
struct encoder_family {
  std::string_view name;
  std::int64_t layers, hidden, heads, ffn, vocabulary, positions;
  std::int64_t segments;  ///< kinds of segments; 0: the class has none
  bool pooler;            ///< whether it ends in a matrix of the first token
};
constexpr encoder_family encoders[]{
    {"bert", 12, 768, 12, 3072, 30522, 512, 2, true},        {"roberta", 12, 768, 12, 3072, 50265, 512, 2, true},
    {"xlm-roberta", 12, 768, 12, 3072, 30522, 512, 2, true}, {"camembert", 12, 768, 12, 3072, 30522, 512, 2, true},
    {"distilbert", 6, 768, 12, 3072, 30522, 512, 0, false},  {"modernbert", 22, 768, 12, 1152, 50368, 0, 0, false},
};
[[nodiscard]] encoder_family const* encoder_named(std::string_view name) {
  auto const at = std::find_if(std::begin(encoders), std::end(encoders), [&](auto const& e) { return e.name == name; });
  return at == std::end(encoders) ? nullptr : &*at;
}

/// Layers that see a window of tokens on both sides, and every few layers one that sees all.
void set_local_layers(transformer& model, config_fields& in, std::vector<std::string>& notes) {
  auto const local = in.number({"local_attention"}, 128), period = in.number({"global_attn_every_n_layers"}, 3);
  if (period == 0) in.refuse("global_attn_every_n_layers", "must be positive");
  if (local == 0) in.refuse("local_attention", "must be positive");
  auto const types = in.words("layer_types");
  if (types && static_cast<std::int64_t>(types->size()) != model.layers)
    in.refuse("layer_types", "must have an entry for each of " + std::to_string(model.layers) + " layers");
  model.window = 2 * (local / 2) + 1;
  model.windowed = {};
  for (std::int64_t l = 0; l < (std::min)(model.layers, ballast::layer_set::most); ++l) {
    auto const slides = types ? (*types)[static_cast<std::size_t>(l)] == "sliding_attention" : l % period != 0;
    if (types && !slides && (*types)[static_cast<std::size_t>(l)] != "full_attention")
      in.refuse("layer_types", "says something else than sliding_attention and full_attention");
    if (slides) model.windowed.add(l);
  }
  notes.push_back("Layers in which a token sees " + std::to_string(local / 2) + " others on both sides are counted in blocks of " +
                  std::to_string(model.window) + ".");
}

}  // namespace

bool is_encoder_family(std::string_view family) { return encoder_named(family) != nullptr; }

std::string encoder_families() {
  std::string words;
  for (auto const& e : encoders) words += (words.empty() ? "" : ", ") + std::string(e.name);
  return words;
}

transformer read_encoder_config(config_fields& in, std::string_view name, std::vector<std::string>& notes) {
  auto const& family = *encoder_named(name);
  auto const modern = family.name == "modernbert";
  auto const h = in.number({"hidden_size", "dim"}, family.hidden), heads = in.number({"num_attention_heads", "n_heads"}, family.heads);
  if (heads == 0 || h % heads != 0) in.refuse("hidden_size", "is no multiple of its " + std::to_string(heads) + " heads");
  transformer model{.layers = in.number({"num_hidden_layers", "n_layers"}, family.layers),
                    .hidden = h,
                    .query_heads = heads,
                    .kv_heads = heads,
                    .head_width = h / heads,
                    .ffn = in.number({"intermediate_size", "hidden_dim"}, family.ffn),
                    .gated = modern,
                    .vocabulary = in.number({"vocab_size"}, family.vocabulary),
                    .tied = in.flag("tie_word_embeddings", true),
                    .causal = false};
  for (auto const* const field : {"is_decoder", "add_cross_attention", "is_encoder_decoder"})
    if (in.flag(field, false)) in.refuse(field, "is not modelled: a decoder");
  if (family.positions > 0) model.positions = in.number({"max_position_embeddings"}, family.positions);
  if (family.segments > 0) model.positions += in.number({"type_vocab_size"}, family.segments);
  if (auto const type = in.text("position_embedding_type"); family.positions > 0 && !type.empty() && type != "absolute")
    in.refuse("position_embedding_type", "is not modelled");
  if (modern) {
    model.qkv_bias = model.output_bias = in.flag("attention_bias", false);
    model.ffn_bias = in.flag("mlp_bias", false);
    model.norm_bias = in.flag("norm_bias", false);
    set_local_layers(model, in, notes);
  } else {
    model.qkv_bias = model.output_bias = model.ffn_bias = model.norm_bias = true;
  }
  auto const norm = h * (model.norm_bias ? 2 : 1);
  auto const end = end_of(in);
  auto const predicts = end == encoder_end::tokens || end == encoder_end::sentences_and_tokens;
  auto const classes = !predicts && end != encoder_end::nothing ? (h + 1) * labels_of(in) : 0;
  if (modern) {
    auto const head = h * h + (in.flag("classifier_bias", false) ? h : 0) + norm;
    model.head_bias = predicts && in.flag("decoder_bias", true);
    model.other_weights = (end == encoder_end::nothing ? 0 : head) + classes;
  } else {
    auto const square = h * h + h;  // with its bias
    // classes of a sample have a matrix before them: the pooler, or one that takes its place
    auto const pooled = family.pooler && (end == encoder_end::nothing || end == encoder_end::sentences_and_tokens);
    model.head_bias = predicts;
    model.other_weights = (predicts ? square + norm : 0) + (pooled || end == encoder_end::classes ? square : 0) + classes +
                          (end == encoder_end::sentences_and_tokens ? 2 * h + 2 : 0);
  }
  if (!predicts)
    notes.push_back("The model does not predict tokens; figures are those of a head over the vocabulary, so time and memory are lower.");
  in.refuse_others(name);
  return model;
}

}  // namespace ballast_cli
