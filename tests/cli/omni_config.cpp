// SPDX-License-Identifier: Apache-2.0
#include "readers/omni_config.hpp"
#include "errors.hpp"
#include "readers/model_config.hpp"

#include <ballast/cost/vision.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace test_cli_omni_config {

namespace {

using ballast_cli::model_shape;
using ballast_cli::read_model_config;

std::string model(std::string const& type, std::string const& text, std::string const& vision, std::string const& more = {}) {
  return R"({"model_type": ")" + type + R"(", "text_config": {)" + text + R"(}, "vision_config": {)" + vision + "}" + more + "}";
}
std::string glm4v(std::string const& type, std::string const& text, std::string const& ffn, std::string const& width = "4096") {
  return model(type, R"("model_type": ")" + type + R"(_text", "attention_bias": true, "vocab_size": 151552, )" + text,
               R"("hidden_size": 1536, "depth": 24, "num_heads": 12, "image_size": 336, "in_channels": 3, "patch_size": 14,
                  "spatial_merge_size": 2, "temporal_patch_size": 2, "intermediate_size": )" +
                   ffn + R"(, "out_hidden_size": )" + width);
}
std::string mistral(std::string const& ffn) {
  return R"("model_type": "mistral", "head_dim": 128, "hidden_size": 5120, "num_hidden_layers": 40, "num_key_value_heads": 8,
            "sliding_window": null, "vocab_size": 131072, "intermediate_size": )" +
         ffn;
}
std::string const glm_9b = glm4v("glm4v", R"("num_hidden_layers": 40)", "13696"),
                  glm_106b = glm4v("glm4v_moe", R"("head_dim": 128, "num_hidden_layers": 46, "use_qk_norm": false)", "10944"),
                  small_31 = model("mistral3", mistral("32768"),
                                   R"("model_type": "pixtral", "head_dim": 64, "image_size": 1540, "patch_size": 14)",
                                   R"(, "multimodal_projector_bias": false, "spatial_merge_size": 2, "vision_feature_layer": -1)"),
                  pixtral = model("llava", mistral("14336"), R"("model_type": "pixtral", "image_size": 1024, "patch_size": 16)",
                                  R"(, "vision_feature_layer": -1, "vision_feature_select_strategy": "full")"),
                  kimi = model("kimi_vl",
                               R"("model_type": "deepseek_v3", "vocab_size": 163840, "hidden_size": 2048, "intermediate_size": 11264,
      "moe_intermediate_size": 1408, "num_hidden_layers": 27, "num_attention_heads": 16, "n_shared_experts": 2, "n_routed_experts": 64,
      "q_lora_rank": null, "num_experts_per_tok": 6, "first_k_dense_replace": 1)",
                               R"("model_type": "moonvit", "hidden_size": 1152, "intermediate_size": 4304, "merge_kernel_size": [2, 2],
      "init_pos_emb_height": 64, "init_pos_emb_width": 64)"),
                  paligemma = model("paligemma", R"("model_type": "gemma2", "num_hidden_layers": 26, "vocab_size": 257216)",
                                    R"("model_type": "siglip_vision_model", "hidden_size": 1152, "intermediate_size": 4304,
      "num_attention_heads": 16, "num_hidden_layers": 27, "patch_size": 14, "vision_use_head": false, "image_size": 224)"),
                  smolvlm = model("smolvlm",
                                  R"("model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 24,
      "vocab_size": 49280)",
                                  R"("model_type": "smolvlm_vision", "hidden_size": 1152, "image_size": 384, "intermediate_size": 4304,
      "num_hidden_layers": 27, "patch_size": 14)",
                                  R"(, "scale_factor": 3, "tie_word_embeddings": false)"),
                  internvl_35 = R"({"model_type": "internvl_chat", "downsample_ratio": 0.5, "force_image_size": 448, "llm_config":
      {"model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "num_key_value_heads": 8},
      "vision_config": {"hidden_size": 1024, "image_size": 448, "intermediate_size": 4096, "norm_type": "layer_norm",
      "num_attention_heads": 16, "num_hidden_layers": 24, "patch_size": 14, "qk_normalization": false, "qkv_bias": true}})";

std::string omni(std::string const& type, std::string const& text, std::string const& vision, std::string const& sound) {
  return R"({"model_type": ")" + type + R"(", "talker_config": {}, "thinker_config": )" +
         model(type + "_thinker", R"("model_type": ")" + type + R"(_text", "vocab_size": 152064, )" + text, vision,
               R"(, "audio_config": {"model_type": ")" + type + R"(_audio_encoder", "d_model": 1280, "encoder_layers": 32,
                  "encoder_ffn_dim": 5120, "num_mel_bins": 128, )" +
                   sound + "}") +
         "}";
}
std::string const omni_25 = omni("qwen2_5_omni", R"("hidden_size": 3584, "num_hidden_layers": 28)",
                                 R"("depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16, "out_hidden_size": 3584)",
                                 R"("output_dim": 3584)"),
                  omni_3 = omni("qwen3_omni_moe", R"("head_dim": 128, "num_hidden_layers": 48, "num_attention_heads": 32)",
                                R"("depth": 27, "hidden_size": 1152, "out_hidden_size": 2048)",
                                R"("output_dim": 2048, "downsample_hidden_size": 480)");

model_shape read(std::string const& text) { return read_model_config(text, "config.json"); }
std::string refused(std::string const& text) {
  try {
    (void)read(text);
  } catch (ballast_cli::bad_input const& e) {
    return e.what();
  }
  return "accepted";
}
std::int64_t all(std::string const& text) {
  auto const shape = read(text);
  CAPTURE(shape.no_images);
  REQUIRE(shape.images.has_value());
  return parameters(shape.language) + parameters(shape.images->tower) + parameters(shape.images->projector);
}
std::string changed(std::string text, std::string const& from, std::string const& to) {
  auto const at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}
bool says(model_shape const& shape, std::string const& what) {
  return std::any_of(shape.notes.begin(), shape.notes.end(), [&](auto const& n) { return n.find(what) != n.npos; });
}

}  // namespace

// Totals of the weights on the hub (safetensors), but for Pixtral, which is counted by hand below. Kimi-VL's file holds 1,728 numbers more,
// as that of Moonlight does.
TEST_CASE("omni_config: the parameters of models that read images are the published ones, to the last", "[published]") {
  CHECK(all(glm_9b) == 10'292'777'472);
  CHECK(all(glm_106b) == 107'710'933'120);
  CHECK(all(small_31) == 24'011'361'280);
  CHECK(all(kimi) + 1728 == 16'407'657'776);
  CHECK(all(paligemma) == 3'032'242'416);
  CHECK(all(smolvlm) == 2'246'784'880);
  CHECK(all(internvl_35) == 8'528'318'464);
  // 24 layers of 1,024 with a gate and no biases, patches of 16 x 16, the norm in front, and two matrices to 5,120
  std::int64_t const layer = 4 * 1024 * 1024 + 3 * 1024 * 4096 + 2 * 1024;
  CHECK(all(pixtral) == 12'247'782'400 + 24 * layer + 768 * 1024 + 1024 + (1024 * 5120 + 5120) + (5120 * 5120 + 5120));
}

TEST_CASE("omni_config: thinkers are read, and what is not modelled of them is said with its parameters", "[published]") {
  auto const two = read(omni_25), three = read(omni_3);
  CHECK(all(omni_25) == 8'292'166'656);  // that of Qwen2.5-VL 7B
  CHECK(says(two, "The encoder of sound (639,647,232 parameters) is not modelled: memory is higher than is said"));
  CHECK(says(two, "not the talker behind it"));
  CHECK(says(three, "The encoder of sound (647,927,168 parameters)"));
  CHECK(all(omni_3) + 647'927'168 == 31'719'205'488);  // the file of Qwen3-Omni-30B-A3B-Thinking, which is the thinker alone
  // Whisper's layers: keys have no bias; the spectrum passes through two convolutions of three steps
  std::int64_t const d = 1280, f = 5120, layer = 4 * d * d + 3 * d + 2 * d * f + f + d + 4 * d;
  CHECK(639'647'232 == 32 * layer + (3 * 128 * d + d) + (3 * d * d + d) + 2 * d + (d * 3584 + 3584) + 2 * 3584);
  CHECK(refused(changed(omni_25, R"("d_model": 1280)", R"("d_model": 1000000)")).find("is too large") != std::string::npos);
}

TEST_CASE("omni_config: FLOPs of a tile against hand counts") {
  auto const layer = [](std::int64_t h, std::int64_t f, std::int64_t matrices, std::int64_t tokens) {
    return 2 * tokens * (4 * h * h + matrices * h * f) + 4 * h * tokens * tokens;
  };
  auto const tower = [](std::string const& text) { return tile_flops(read(text).images->tower); };
  auto const bridge = [](std::string const& text) { return tile_flops(read(text).images->projector); };
  CHECK(tower(glm_9b) == 24 * layer(1536, 4096, 3, 1024) + std::int64_t{2} * 1024 * 1176 * 1536);
  CHECK(bridge(glm_9b) == std::int64_t{2} * 256 * (6144 * 4096 + 4096 * 4096 + 3 * 4096 * 13696));
  CHECK(tower(small_31) == 24 * layer(1024, 4096, 3, 1024) + std::int64_t{2} * 1024 * 588 * 1024);
  CHECK(bridge(small_31) == std::int64_t{2} * 256 * (4096 * 1024 + 1024 * 5120 + 5120 * 5120));
  CHECK(tower(kimi) == 27 * layer(1152, 4304, 2, 1024) + std::int64_t{2} * 1024 * 588 * 1152);
  CHECK(bridge(kimi) == std::int64_t{2} * 256 * (4608 * 4608 + 4608 * 2048));
  CHECK(bridge(pixtral) == std::int64_t{2} * 1024 * (1024 * 5120 + 5120 * 5120));
  CHECK(tower(smolvlm) == 27 * layer(1152, 4304, 2, 729) + std::int64_t{2} * 729 * 588 * 1152);
  CHECK(bridge(smolvlm) == std::int64_t{2} * 81 * 9 * 1152 * 2048);
}

TEST_CASE("omni_config: what cannot be read is refused by its family or its field") {
  for (auto const family : ballast_cli::unread_families()) {
    CAPTURE(family);
    CHECK(refused(R"({"model_type": ")" + std::string(family) + "\"}").find(" cannot be modelled: ") != std::string::npos);
  }
  CHECK(
      refused(model("gemma3n", R"("model_type": "gemma3n_text")", ""))
          .starts_with("config.json: the model_type gemma3n_text cannot be modelled: its layers have several residual streams (AltUp), "));
  auto const no_images = [](std::string const& text) { return read(text).no_images; };
  CHECK(no_images(changed(glm_9b, R"("out_hidden_size": 4096)", R"("out_hidden_size": 512)")).find("must be the width of the language") !=
        std::string::npos);
  CHECK(no_images(changed(kimi, "[2, 2]", "[3, 3]")).find("merge_kernel_size = [3,3] does not divide") != std::string::npos);
  CHECK(no_images(changed(small_31, R"("spatial_merge_size": 2)", R"("spatial_merge_size": 3)")).find("does not divide") !=
        std::string::npos);
  CHECK(no_images(changed(smolvlm, R"("scale_factor": 3)", R"("scale_factor": 4)")).find("scale_factor = 4 does not divide") !=
        std::string::npos);
  CHECK(no_images(changed(paligemma, R"("vision_use_head": false)", R"("vision_use_head": true)")).find("is not modelled") !=
        std::string::npos);
  // MiniCPM-V: the language model by the version, not the tower, whose output passes through cross-attention
  auto const minicpm = read(R"({"model_type": "minicpmv", "version": 2.6, "hidden_size": 3584, "intermediate_size": 18944,
      "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4, "vocab_size": 151666, "vision_config": {}})");
  CHECK((!minicpm.images && parameters(minicpm.language) == 7'615'616'512 - 2 * 398 * 3584));
  CHECK(minicpm.no_images.find("the vision tower of minicpmv is not known") != std::string::npos);
  CHECK(refused(R"({"model_type": "minicpmv", "version": 1})").find("the model_type minicpmv is not known") != std::string::npos);
}

TEST_CASE("omni_config: a tower whose class the file does not name is that of the model's default, and that is said") {
  auto const unnamed = read(R"({"model_type": "llava", "text_config": {"model_type": "llama"}, "vision_config": {}})");
  CHECK(says(unnamed, "The file does not name the class of its vision tower, which is then clip_vision_model."));
  auto const siglip = read(R"({"model_type": "llava_onevision", "text_config": {"model_type": "qwen2"}, "vision_config":
      {"hidden_size": 1152, "num_attention_heads": 16, "vision_use_head": false}})");
  CHECK(says(siglip, "which is then siglip_vision_model."));
  CHECK(siglip.images->tower.body.hidden == 1152);
}

}  // namespace test_cli_omni_config
