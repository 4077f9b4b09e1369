// SPDX-License-Identifier: Apache-2.0
#include "readers/sound_config.hpp"
#include "errors.hpp"
#include "model_table.hpp"
#include "planning/model_words.hpp"
#include "program.hpp"
#include "readers/model_config.hpp"

#include <ballast/cost/transformer.hpp>
#include <ballast/cost/vision.hpp>

#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

// Models that hear, and models whose language part has layers or adapters for images.

namespace test_cli_sound_config {

namespace {

using ballast_cli::model_shape;
using ballast_cli::read_model_config;

std::string const qwen2_audio =
    R"({"model_type": "qwen2_audio", "audio_config": {"model_type": "qwen2_audio_encoder", "d_model": 1280, "encoder_layers": 32,
        "encoder_attention_heads": 20, "encoder_ffn_dim": 5120, "num_mel_bins": 128, "max_source_positions": 1500},
        "text_config": {"model_type": "qwen2", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 156032}})";
std::string voxtral(std::string const& language) {
  return R"({"model_type": "voxtral", "audio_config": {"model_type": "voxtral_encoder", "hidden_size": 1280, "num_hidden_layers": 32,
             "num_attention_heads": 20, "intermediate_size": 5120, "num_mel_bins": 128, "max_source_positions": 1500},
             "text_config": {"model_type": "llama", )" +
         language + "}}";
}
std::string mllama(std::string const& language) {
  return R"({"model_type": "mllama", "vision_config": {"model_type": "mllama_vision_model", "hidden_size": 1280, "num_hidden_layers": 32,
             "num_global_layers": 8, "attention_heads": 16, "intermediate_size": 5120, "image_size": 560, "patch_size": 14,
             "max_num_tiles": 4, "vision_output_dim": 7680, "intermediate_layers_indices": [3, 7, 15, 23, 30],
             "supported_aspect_ratios": [[1, 1], [1, 2], [1, 3], [1, 4], [2, 1], [2, 2], [3, 1], [4, 1]]},
             "text_config": {"model_type": "mllama_text_model", )" +
         language + "}}";
}
std::string const eleven = R"("hidden_size": 4096, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8,
    "intermediate_size": 14336, "vocab_size": 128256, "cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38])";
std::string const ninety =
    R"("hidden_size": 8192, "num_hidden_layers": 100, "num_attention_heads": 64, "num_key_value_heads": 8, "intermediate_size": 28672,
       "vocab_size": 128256, "cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38, 43, 48, 53, 58, 63, 68, 73, 78, 83, 88, 93, 98])";
std::string const small_24b = R"("hidden_size": 5120, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8,
    "head_dim": 128, "intermediate_size": 32768, "vocab_size": 131072)";
std::string const phi4mm =
    R"({"model_type": "phi4mm", "hidden_size": 3072, "num_hidden_layers": 32, "num_attention_heads": 24, "num_key_value_heads": 8,
        "intermediate_size": 8192, "vocab_size": 200064, "tie_word_embeddings": true, "sliding_window": 262144,
        "attention_bias": false, "mlp_bias": false, "lm_head_bias": false,
        "vision_lora": {"r": 256, "lora_alpha": 512}, "speech_lora": {"r": 320, "lora_alpha": 640},
        "audio_processor": {"name": "cascades", "config": {"attention_dim": 1024, "attention_heads": 16, "linear_units": 1536,
        "num_blocks": 24, "ext_pw_out_channel": 1024, "kernel_size": 3, "input_size": 80, "time_reduction": 8,
        "nemo_conv_settings": {"conv_channels": 1024},
        "relative_attention_bias_args": {"t5_bias_max_distance": 500, "type": "t5"}}}})";

model_shape read(std::string const& text) { return read_model_config(text, "config.json"); }
std::int64_t all(model_shape const& m) {
  REQUIRE(m.images);
  return parameters(m.language) + parameters(m.images->tower) + parameters(m.images->projector);
}
bool says(model_shape const& m, std::string const& part) {
  return std::any_of(m.notes.begin(), m.notes.end(), [&](auto const& n) { return n.find(part) != n.npos; });
}

}  // namespace

TEST_CASE("sound_config: parameters of models that hear are the published ones", "[published]") {
  auto const qwen = read(qwen2_audio);
  CHECK(all(qwen) == 8'397'094'912);  // Qwen2-Audio 7B
  CHECK(parameters(qwen.images->tower) == 636'968'960);
  auto const small = read(voxtral(small_24b));
  CHECK(all(small) == 24'261'800'960);  // Voxtral Small 24B: 24.3B
  CHECK(says(qwen, "The encoder of sound counts as a tower: where images are named, a tile is a clip of 30 s, of which 750 tokens reach"));
  CHECK(says(small, "of which 375 tokens reach the language model."));
  CHECK_FALSE(says(qwen, "is not modelled"));
  CHECK(ballast_cli::in_words(qwen, "c").starts_with(
      "c: qwen2_audio of 8,397,094,912 parameters: encoder of sound 636,968,960, projector 5,246,976, language model 7,754,878,976"));
}

TEST_CASE("sound_config: FLOPs of a clip are those of the equations, counted by hand") {
  auto const qwen = read(qwen2_audio);
  std::int64_t const n = 1500, d = 1280;
  auto const layer = n * (4 * d * d + 2 * d * 5120) + 2 * n * n * d;  // four matrices, two; scores and values
  auto const convolutions = 2 * n * 3 * 128 * d + n * 3 * d * d;      // the first makes 3,000 steps, the second 1,500
  auto const projection = n / 2 * d * 4096;
  auto const by_hand = 2 * (32 * layer + convolutions + projection);
  auto const counted = tile_flops(qwen.images->tower) + tile_flops(qwen.images->projector);
  CHECK(by_hand - counted == 2 * n * 3 * 128 * d);  // the first convolution's second step
  CHECK(static_cast<double>(by_hand - counted) < 0.001 * static_cast<double>(by_hand));
}

TEST_CASE("sound_config: commands read a model that hears") {
  ballast_test::scratch const in;
  in.file("config.json", qwen2_audio);
  auto const json = nlohmann::json::parse(in.ballast("models config.json --json").out);
  CHECK((json["kind"] == "audio-language" && json["parameters"] == 8'397'094'912 && json["tower_parameters"] == 636'968'960));
  in.file("f", "1000 1\n2000 2\n500 1\n800 0\n");
  auto const o = in.ballast("plan f --columns 2,1 --capacity 8,4096 --ranks 2 --model config.json");
  CAPTURE(o.out, o.err);
  CHECK(o.code == 0);
}

TEST_CASE("sound_config: Llama 3.2 Vision has the published parameters, and FLOPs counted by hand", "[published]") {
  auto const m = read(mllama(eleven));
  CHECK(all(m) == 10'670'220'835);
  CHECK(parameters(m.images->tower) == 863'567'379);
  CHECK(parameters(m.language) == 9'775'192'080);
  CHECK(all(read(mllama(ninety))) == 88'593'355'323);  // 88.6B
  auto const flops = forward_flops(m.language);
  std::int64_t const layer = 4096 * (4096 + 2 * 1024) + 4096 * 4096 + 3 * 4096 * 14336, head = 128256 * 4096;
  CHECK(flops.per_token == 2 * (head + 40 * layer));
  CHECK((flops.per_pair == 32 * 4 * 4096 && flops.per_windowed_pair == 8 * 4 * 4096 && flops.window == 1));
  auto const& tower = m.images->tower;
  std::int64_t const n = 4 * 1608, d = 1280;
  CHECK(tile_flops(tower) == 2 * (40 * (n * (4 * d * d + 2 * d * 5120) + 2 * n * n * d) + (n - 1) * 3 * 14 * 14 * d));
  CHECK(tile_flops(m.images->projector) == 2LL * 4 * 1601 * 7680 * 4096);
  // 8 layers, each with 2 x 2 x 4,096 FLOPs for each of 6,404 features
  CHECK(says(m, "with the 6,404 features of an image the FLOPs of a token are 4.54 % more, without an image 18.86 % less"));
  CHECK(says(m, "A tile is an image, which has 4 parts"));
}

TEST_CASE("sound_config: Phi-4-multimodal has the published parameters, adapters and encoder of sound included", "[published]") {
  auto const m = read(phi4mm);
  CHECK(parameters(m.language) == 3'836'021'760 + 369'098'752 + 461'373'440);
  // beside them the encoder of sound, which is noted
  CHECK(all(m) + 466'416'416 == 5'574'460'384);
  CHECK(says(m, "The encoder of sound (466,416,416 parameters) is not modelled: memory is higher"));
  CHECK(says(m, "Adapters count in memory, and not in time: with images the FLOPs of a token are 9.62 % more, with speech alone 12.03 %."));
  CHECK(m.images->projector.tokens == 256);
  auto const other = read(R"({"model_type": "phi4_multimodal", "num_attention_heads": 24, "tie_word_embeddings": true,
                              "vision_config": {"image_size": 448}, "audio_config": {"bias_max_distance": 500}})");
  CHECK((parameters(other.language) == 3'836'021'760 && all(other) + 369'098'752 + 461'373'440 == all(m)));
  CHECK(says(other, "The encoder of sound (466,416,416 parameters) is not modelled"));
}

TEST_CASE("sound_config: what cannot be read is refused by its field") {
  auto const refused = [](std::string text, std::string const& from, std::string const& to) {
    auto const at = text.find(from);
    REQUIRE(at != text.npos);
    text.replace(at, from.size(), to);
    try {
      (void)read(text);
    } catch (ballast_cli::bad_input const& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  CHECK(refused(qwen2_audio, "\"encoder_attention_heads\": 20", "\"encoder_attention_heads\": 7").find("d_model") != std::string::npos);
  CHECK(refused(qwen2_audio, "\"num_mel_bins\": 128", "\"num_mel_bins\": 100").find("num_mel_bins") != std::string::npos);
  CHECK(refused(qwen2_audio, "\"max_source_positions\": 1500", "\"max_source_positions\": 0").find("audio_config: ") != std::string::npos);
  CHECK(refused(phi4mm, "\"hidden_size\": 3072", "\"hidden_size\": 1000000000").find("hidden_size") != std::string::npos);
  auto large = mllama(eleven);
  large.replace(large.find("560"), 3, "1000000");
  CHECK(read(large).no_images.find("image_size = 1000000 is too large") != std::string::npos);
  // a language model of another family, without a layer that has the window
  CHECK_FALSE(says(read(R"({"model_type": "mllama", "text_config": {"model_type": "gpt_neo", "num_hidden_layers": 2,
                            "attention_layers": ["global", "global"]}})"),
                   "cross-attention"));
  CHECK(refused(phi4mm, "\"r\": 256", "\"r\": 0") == "accepted");
  CHECK_FALSE(says(read(R"({"model_type": "phi4mm", "text_config": {"model_type": "bloom"}})"), "Adapters"));
  CHECK(refused(phi4mm, "\"attention_dim\": 1024", "\"attention_dim\": 99999999").find("attention_dim = 99999999 is too large") !=
        std::string::npos);
}

}  // namespace test_cli_sound_config

std::vector<ballast_test::listed_model> ballast_test::models_of_sound() {
  using namespace test_cli_sound_config;
  return {{.name = "Qwen2-Audio 7B", .fields = qwen2_audio},
          {.name = "Voxtral Small 24B", .fields = voxtral(small_24b), .exact = false},
          {.name = "Llama 3.2 11B Vision", .fields = mllama(eleven)},
          {.name = "Llama 3.2 90B Vision", .fields = mllama(ninety), .exact = false},
          {.name = "Phi-4-multimodal", .fields = phi4mm}};
}
