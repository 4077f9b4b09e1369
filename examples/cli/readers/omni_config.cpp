// SPDX-License-Identifier: Apache-2.0
#include "readers/omni_config.hpp"

#include "readers/config_fields.hpp"
#include "report/output.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

namespace ballast_cli {

namespace {

[[nodiscard]] nlohmann::json const* object_named(nlohmann::json const& of, char const* key) {
  auto const found = of.find(key);
  return found != of.end() && found->is_object() ? &*found : nullptr;
}

/// The encoders of Qwen2.5-Omni and Qwen3-Omni: convolutions over a spectrum, layers of Whisper, and matrices to the language model.
[[nodiscard]] std::int64_t sound_encoder_parameters(config_fields& in) {
  for (auto const* const key : {"d_model", "encoder_layers", "encoder_ffn_dim", "num_mel_bins", "output_dim", "downsample_hidden_size"})
    if (in.number({key}).value_or(0) > 1 << 16) in.refuse(key, "is too large");
  auto const d = in.number({"d_model"}, 1280), layers = in.number({"encoder_layers"}, 32), ffn = in.number({"encoder_ffn_dim"}, 5120);
  auto const bins = in.number({"num_mel_bins"}, 128), out = in.number({"output_dim"}, 3584);
  auto const halved = in.number({"downsample_hidden_size"});  // Qwen3-Omni
  auto const layer = 4 * d * d + (halved ? 4 : 3) * d + 2 * d * ffn + ffn + d + 4 * d;
  auto front = 3 * d * (bins + d) + 2 * d, back = d * out + out + 2 * out;  // 2 learned tokens of the output width
  if (halved) {
    auto const c = *halved, rows = ((((bins + 1) / 2 + 1) / 2) + 1) / 2;
    front = 9 * c + c + 2 * (9 * c * c + c) + c * rows * d;
    back = d * d + d + d * out + out;
  }
  return front + layers * layer + 2 * d + back;
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
    {"mllama", "some of its layers have cross-attention to image features"},
    {"mllama_text_model", "some of its layers have cross-attention to image features"},
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
    {"phi4mm", "it has adapters of images and speech in every layer"},
    {"phi4_multimodal", "it has adapters of images and speech in every layer"},
    {"bitnet", "its weights have three values, and norms stand inside its blocks"},
};

}  // namespace

nlohmann::json const& thinker_of(nlohmann::json const& whole) {
  auto const* const thinker = object_named(whole, "thinker_config");
  return thinker == nullptr ? whole : *thinker;
}

void note_unmodelled_parts(nlohmann::json const& whole, std::string const& file, std::vector<std::string>& notes) {
  if (whole.contains("talker_config")) notes.push_back("The thinker alone was read, which is what is trained: not the talker behind it.");
  auto const* const sound = object_named(thinker_of(whole), "audio_config");
  if (sound == nullptr) return;
  config_fields in(*sound, file);
  auto const type = in.text("model_type");
  auto const counted = type == "qwen2_5_omni_audio_encoder" || type == "qwen3_omni_moe_audio_encoder";
  notes.push_back("The encoder of sound" +
                  (counted ? " (" + grouped(static_cast<std::uint64_t>(sound_encoder_parameters(in))) + " parameters)" : std::string()) +
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
