// SPDX-License-Identifier: Apache-2.0
#include "readers/sound_config.hpp"

#include "errors.hpp"
#include "readers/config_fields.hpp"

#include <ballast/core/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

// Encoders of sound. Defaults are those of the classes in Hugging Face transformers 5.24.

namespace ballast_cli {

namespace {

constexpr std::array<std::string_view, 2> clip_families{"qwen2_audio", "voxtral"};

/// An encoder of Whisper. Its two convolutions see three steps each, and the second makes one step of two: all their weights count as those
/// of a patch, which leaves out the first convolution's second step, below 0.1 % of the FLOPs. Keys have no bias.
[[nodiscard]] ballast::vision_transformer whisper(config_fields& in) {
  auto const d = in.number({"d_model", "hidden_size"}, 1280), layers = in.number({"encoder_layers", "num_hidden_layers"}, 32);
  auto const heads = in.number({"encoder_attention_heads", "num_attention_heads"}, 20), bins = in.number({"num_mel_bins"}, 128);
  if (heads == 0 || d % heads != 0) in.refuse("d_model", "is no multiple of its " + std::to_string(heads) + " heads");
  if ((d + bins) % 16 != 0) in.refuse("num_mel_bins", "and d_model are no multiple of 16 together, which is not modelled");
  return {.body = {.layers = layers,
                   .hidden = d,
                   .query_heads = heads,
                   .kv_heads = heads,
                   .head_width = d / heads,
                   .ffn = in.number({"encoder_ffn_dim", "intermediate_size"}, 5120),
                   .gated = false,
                   .positions = in.number({"max_source_positions"}, 1500),
                   .other_weights = 2 * layers * d + d,
                   .causal = false,
                   .output_bias = true,
                   .ffn_bias = true,
                   .norm_bias = true},
          .patch = 4,
          .channels = 3 * (d + bins) / 16,
          .extra_tokens = 0};
}

void refuse_large(config_fields& in, config_fields::names keys) {
  for (auto const* const key : keys)
    if (in.number({key}).value_or(0) > 1 << 16) in.refuse(key, "is too large");
}

}  // namespace

bool is_sound_family(std::string_view family) {
  return std::find(clip_families.begin(), clip_families.end(), family) != clip_families.end();
}
std::string sound_families() {
  std::string words;
  for (auto const family : clip_families) words += (words.empty() ? "" : ", ") + std::string(family);
  return words;
}

vision_part read_sound_config(nlohmann::json const& whole, std::string_view family, std::int64_t hidden, std::string const& file,
                              std::vector<std::string>& notes) {
  auto const found = whole.find("audio_config");
  nlohmann::json const none = nlohmann::json::object();
  config_fields in(found != whole.end() && found->is_object() ? *found : none, file);
  vision_part out{.tower = whisper(in), .projector = {}, .of_sound = true};
  auto const d = out.tower.body.hidden, steps = out.tower.body.positions;
  if (family == "voxtral") {  // steps side by side, as wide as a feed-forward block
    auto const width = out.tower.body.ffn;
    if (width == 0 || d * steps % width != 0) in.refuse("intermediate_size", "does not divide the features of a clip");
    out.projector = {.input = width, .output = hidden, .tokens = d * steps / width, .bias = false};
  } else {  // the mean of two steps
    out.projector = {.input = d, .output = hidden, .tokens = steps / 2, .matrices = 1};
  }
  try {
    require_valid(out.tower);
    require_valid(out.projector);
  } catch (ballast::invalid_input const& e) {
    throw bad_input(file + ": audio_config: " + e.what());
  }
  std::string defaults;
  for (auto const& field : in.defaults()) defaults += (defaults.empty() ? "" : ", ") + field;
  if (!defaults.empty()) notes.push_back("The file leaves these fields to the class of the encoder of sound: " + defaults + ".");
  notes.push_back("The encoder of sound counts as a tower: where images are named, a tile is a clip of " + std::to_string(steps / 50) +
                  " s, of which " + std::to_string(out.projector.tokens) + " tokens reach the language model.");
  return out;
}

std::int64_t omni_encoder_parameters(nlohmann::json const& sound, std::string const& file) {
  config_fields in(sound, file);
  auto const type = in.text("model_type");
  if (type != "qwen2_5_omni_audio_encoder" && type != "qwen3_omni_moe_audio_encoder") return 0;
  refuse_large(in, {"d_model", "encoder_layers", "encoder_ffn_dim", "num_mel_bins", "output_dim", "downsample_hidden_size"});
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

std::int64_t conformer_parameters(nlohmann::json const& sound, std::int64_t hidden, std::string const& file) {
  config_fields in(sound, file);
  refuse_large(in, {"attention_dim", "hidden_size", "linear_units", "intermediate_size", "num_blocks", "attention_heads",
                    "num_attention_heads", "ext_pw_out_channel", "kernel_size", "input_size", "nemo_conv_channels", "bias_max_distance"});
  auto const d = in.number({"attention_dim", "hidden_size"}, 1024), ffn = in.number({"linear_units", "intermediate_size"}, 1536);
  auto const heads = in.number({"attention_heads", "num_attention_heads"}, 16), outer = in.number({"ext_pw_out_channel"}, 1024);
  auto const kernel = in.number({"kernel_size"}, 3), bins = in.number({"input_size"}, 80), c = in.number({"nemo_conv_channels"}, 1024);
  auto distances = in.number({"bias_max_distance"}, 500) * (in.flag("bias_symmetric", false) ? 1 : 2);
  if (auto bias = in.part("relative_attention_bias_args")) {
    refuse_large(*bias, {"t5_bias_max_distance"});
    distances = bias->number({"t5_bias_max_distance"}, 500) * 2;
  }
  auto const square = [](std::int64_t width) { return width * width + width; };
  // a block: two gated feed-forward blocks, attention, a gated convolution, two norms
  auto const gated = 2 * d + d * 2 * ffn + 2 * ffn + ffn * d + d;
  auto const convolution =
      2 * d + 2 * outer + d * 2 * outer + 2 * outer + d * kernel + d + square(d) + d * outer + outer;  // two learned shifts
  auto const block = 2 * gated + 4 * square(d) + convolution + 4 * d;
  // three convolutions, each of which halves time and bins; the fixed mean and deviation of each bin are in the file, too
  auto const front = 10 * c + 2 * (10 * c + square(c)) + c * ((bins + 7) / 8) * d + d + distances * heads + 2 * bins;
  return front + in.number({"num_blocks"}, 24) * block + 2 * (d * hidden + hidden + square(hidden));
}

}  // namespace ballast_cli
