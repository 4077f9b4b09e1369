// SPDX-License-Identifier: Apache-2.0
#include "readers/omni_config.hpp"

#include "readers/config_fields.hpp"
#include "readers/sound_config.hpp"
#include "report/output.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace ballast_cli {

namespace {

[[nodiscard]] nlohmann::json const* object_named(nlohmann::json const& of, char const* key) {
  auto const found = of.find(key);
  return found != of.end() && found->is_object() ? &*found : nullptr;
}

struct unread_family {
  std::string_view name, why;
};
constexpr unread_family unread[]{
    {"gemma3n",
     "its layers have several residual streams (AltUp), learned low-rank paths (LAuReL), embeddings of their own and keys that "
     "layers share"},
    {"gemma3n_text",
     "its layers have several residual streams (AltUp), learned low-rank paths (LAuReL), embeddings of their own and keys "
     "that layers share"},
    {"zamba", "its layers share blocks of attention, which read the embedding beside the residual stream"},
    {"zamba2", "its layers share blocks of attention, with adapters of their own, which read the embedding beside the residual stream"},
    {"deberta", "its attention has scores of relative positions (disentangled attention)"},
    {"deberta-v2", "its attention has scores of relative positions (disentangled attention)"},
    {"albert", "its layers share weights"},
    {"electra", "it is trained with a second model that makes its inputs"},
    {"t5", "it is an encoder with a decoder"},
    {"mt5", "it is an encoder with a decoder"},
    {"bart", "it is an encoder with a decoder"},
    {"mbart", "it is an encoder with a decoder"},
    {"whisper", "it is an encoder with a decoder"},
    {"t5gemma", "it is an encoder with a decoder"},
    {"minimax", "its lightning attention has a fixed decay for each head, which is not the linear attention that is modelled"},
    {"minimax_text_01", "its lightning attention has a fixed decay for each head, which is not the linear attention that is modelled"},
    {"minimax_m1", "its lightning attention has a fixed decay for each head, which is not the linear attention that is modelled"},
    {"longcat_flash", "a layer has two attentions beside its experts, some of which do nothing"},
    {"jetmoe", "its attention is a mixture of experts"},
    {"openelm", "its layers differ in heads and widths"},
    {"deci", "its layers differ in heads and widths"},
    {"nemotron-nas", "its layers differ in heads and widths"},
    {"mimo_v2_flash", "its layers with a window have other heads than those without"},
    {"gemma4_text", "its layers with a window have other heads than those without"},
    {"step3_text", "its queries are products of two matrices, and their keys are shared"},
    {"arctic", "a layer has a dense block beside its experts, with a norm of its own"},
    {"phi3small", "its attention is sparse in blocks"},
    {"bitnet", "its weights have three values, and norms stand inside its blocks"},
};

}  // namespace

nlohmann::json const& thinker_of(nlohmann::json const& whole) {
  auto const* const thinker = object_named(whole, "thinker_config");
  return thinker == nullptr ? whole : *thinker;
}

void note_unmodelled_parts(nlohmann::json const& whole, std::string const& file, std::vector<std::string>& notes) {
  if (whole.contains("talker_config")) notes.push_back("The thinker alone was read, which is what is trained: not the talker behind it.");
  auto const type = whole.value("model_type", nlohmann::json());
  if (type.is_string() && is_sound_family(type.get<std::string>())) return;
  auto const* const sound = object_named(thinker_of(whole), "audio_config");
  auto const speaks = type == "phi4mm" || type == "phi4_multimodal";
  if (sound == nullptr && !speaks) return;
  auto count = sound == nullptr ? std::int64_t{0} : omni_encoder_parameters(*sound, file);
  if (speaks) {
    config_fields in(whole, file);
    auto const* const processor = object_named(whole, "audio_processor");
    auto const* const of_processor = processor == nullptr ? nullptr : object_named(*processor, "config");
    auto const none = nlohmann::json::object();
    auto const hidden = in.number({"hidden_size"}).value_or(3072);
    if (hidden > 1 << 18) in.refuse("hidden_size", "is too large");
    count = conformer_parameters(sound != nullptr ? *sound : of_processor != nullptr ? *of_processor : none, hidden, file);
  }
  notes.push_back("The encoder of sound" +
                  (count > 0 ? " (" + grouped(static_cast<std::uint64_t>(count)) + " parameters)" : std::string()) +
                  " is not modelled: memory is higher than is said, and so is the time of samples with sound.");
}

std::string_view why_not_read(std::string_view family) {
  auto const at = std::find_if(std::begin(unread), std::end(unread), [&](auto const& f) { return f.name == family; });
  return at == std::end(unread) ? std::string_view() : at->why;
}

std::vector<std::string_view> unread_families() {
  std::vector<std::string_view> names;
  for (auto const& f : unread) names.push_back(f.name);
  return names;
}

}  // namespace ballast_cli
