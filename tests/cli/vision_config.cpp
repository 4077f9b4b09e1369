// SPDX-License-Identifier: Apache-2.0
#include "readers/vision_config.hpp"
#include "planning/model_words.hpp"
#include "program.hpp"
#include "readers/model_config.hpp"

#include <ballast/cost/presets.hpp>

#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace test_cli_vision_config {

namespace {

using namespace ballast_test;
using ballast_cli::model_shape;
using ballast_cli::read_model_config;

/// The fields of a published file on which the shape depends, and its number of parameters.
struct published {
  std::string name;
  std::int64_t parameters;
  std::string fields;
};

/// Language models as their fields say them, without the braces.
std::string const qwen_7b = R"("hidden_size": 3584, "intermediate_size": 18944, "num_attention_heads": 28, "num_hidden_layers": 28,
                               "num_key_value_heads": 4, "vocab_size": 152064, "use_sliding_window": false)",
                  qwen_32b = R"("hidden_size": 5120, "intermediate_size": 27648, "num_attention_heads": 40, "num_hidden_layers": 64,
                                "num_key_value_heads": 8, "vocab_size": 152064)",
                  qwen_72b = R"("hidden_size": 8192, "intermediate_size": 29568, "num_attention_heads": 64, "num_hidden_layers": 80,
                                "num_key_value_heads": 8, "vocab_size": 152064)",
                  qwen_3b = R"("hidden_size": 2048, "intermediate_size": 11008, "num_attention_heads": 16, "num_hidden_layers": 36,
                               "num_key_value_heads": 2, "vocab_size": 151936, "tie_word_embeddings": true)",
                  qwen_1_5b = R"("hidden_size": 1536, "intermediate_size": 8960, "num_attention_heads": 12, "num_hidden_layers": 28,
                                 "num_key_value_heads": 2, "vocab_size": 151936, "tie_word_embeddings": true)";
std::string object(std::string const& type, std::string const& fields) {
  return R"({"model_type": ")" + type + "\"" + (fields.empty() ? "" : ", ") + fields + "}";
}
std::string qwen2_vl(std::string const& language, std::string const& width) {
  return R"("model_type": "qwen2_vl", )" + language +
         R"(, "vision_config": {"depth": 32, "embed_dim": 1280, "mlp_ratio": 4, "num_heads": 16, "in_chans": 3, "hidden_size": )" + width +
         R"(, "patch_size": 14, "spatial_merge_size": 2, "spatial_patch_size": 14, "temporal_patch_size": 2})";
}
std::string qwen2_5_vl(std::string const& language, std::string const& width, std::string const& ffn = "3420") {
  return R"("model_type": "qwen2_5_vl", )" + language +
         R"(, "vision_config": {"depth": 32, "hidden_act": "silu", "hidden_size": 1280, "intermediate_size": )" + ffn +
         R"(, "num_heads": 16, "in_chans": 3, "out_hidden_size": )" + width +
         R"(, "patch_size": 14, "spatial_merge_size": 2, "spatial_patch_size": 14, "window_size": 112,
             "fullatt_block_indexes": [7, 15, 23, 31], "tokens_per_second": 2, "temporal_patch_size": 2})";
}
std::string qwen3_vl(std::string const& family, std::string const& language, std::string const& width, bool small = false,
                     std::string const& outer = {}) {
  auto const tower = small ? R"("depth": 24, "hidden_size": 1024, "intermediate_size": 4096, "deepstack_visual_indexes": [5, 11, 17])"
                           : R"("depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "deepstack_visual_indexes": [8, 16, 24])";
  return R"("model_type": ")" + family + R"(", "text_config": )" + object(family + "_text", language) + R"(, "vision_config": {)" + tower +
         R"(, "num_heads": 16, "num_position_embeddings": 2304, "patch_size": 16, "out_hidden_size": )" + width + "}" + outer;
}
std::string const tied = R"(, "tie_word_embeddings": true)";
std::string const intern_300m = R"("hidden_size": 1024, "image_size": 448, "intermediate_size": 4096, "norm_type": "layer_norm",
    "num_attention_heads": 16, "num_hidden_layers": 24, "patch_size": 14, "qk_normalization": false, "qkv_bias": true)",
                  intern_6b = R"("hidden_size": 3200, "image_size": 448, "intermediate_size": 12800, "norm_type": "rms_norm",
    "num_attention_heads": 25, "num_hidden_layers": 45, "patch_size": 14, "qk_normalization": true, "qkv_bias": false)";
std::string internvl(std::string const& type, std::string const& language, std::string const& tower) {
  return R"("model_type": "internvl_chat", "downsample_ratio": 0.5, "force_image_size": 448, "select_layer": -1, "llm_config": )" +
         object(type, language) + R"(, "vision_config": )" + object("intern_vit_6b", tower);
}
std::string const siglip = R"("hidden_size": 1152, "intermediate_size": 4304, "num_attention_heads": 16, "patch_size": 14,
    "vision_use_head": false)";
std::string gemma3(std::string const& language) {
  return R"("model_type": "gemma3", "mm_tokens_per_image": 256, "text_config": )" + object("gemma3_text", language) +
         R"(, "vision_config": {"model_type": "siglip_vision_model", "image_size": 896, "num_hidden_layers": 27, )" + siglip + "}";
}
std::string llama4(std::string const& experts, std::string const& step) {
  return R"("model_type": "llama4", "text_config": )" +
         object("llama4_text", R"("num_local_experts": )" + experts + R"(, "interleave_moe_layer_step": )" + step) +
         R"(, "vision_config": {"model_type": "llama4_vision_model", "hidden_size": 1408, "image_size": 336, "intermediate_size": 5632,
             "num_attention_heads": 16, "num_hidden_layers": 34, "patch_size": 14, "pixel_shuffle_ratio": 0.5, "projector_input_dim": 4096,
             "projector_output_dim": 4096, "vision_output_dim": 4096, "multi_modal_projector_bias": false})";
}
std::string const clip = R"("model_type": "clip_vision_model", "hidden_size": 1024, "image_size": 336, "intermediate_size": 4096,
    "num_attention_heads": 16, "num_hidden_layers": 24, "patch_size": 14, "projection_dim": 768)";

// The counts of Llama 4, Qwen2.5-VL 7B and 32B, Qwen3-VL 8B, InternVL2.5 8B, LLaVA-1.5 and Gemma 3 27B are found in public text; those of
// the others are computed from the same shapes.
std::vector<published> all() {
  return {
      {"Qwen2-VL 2B", 2'208'985'600, qwen2_vl(qwen_1_5b, "1536")},
      {"Qwen2-VL 7B", 8'291'375'616, qwen2_vl(qwen_7b, "3584")},
      {"Qwen2-VL 72B", 73'405'560'320, qwen2_vl(qwen_72b, "8192")},
      {"Qwen2.5-VL 3B", 3'754'622'976, qwen2_5_vl(qwen_3b, "2048")},
      {"Qwen2.5-VL 7B", 8'292'166'656, qwen2_5_vl(qwen_7b, "3584")},
      {"Qwen2.5-VL 32B", 33'452'718'336, qwen2_5_vl(qwen_32b, "5120", "3456")},
      {"Qwen2.5-VL 72B", 73'410'777'344, qwen2_5_vl(qwen_72b, "8192", "3456")},
      {"Qwen3-VL 2B", 2'127'532'032,
       qwen3_vl("qwen3_vl", R"("hidden_size": 2048, "intermediate_size": 6144, "num_attention_heads": 16, "num_hidden_layers": 28,
                               "num_key_value_heads": 8, "head_dim": 128)",
                "2048", true, tied)},
      {"Qwen3-VL 4B", 4'437'815'808,
       qwen3_vl("qwen3_vl", R"("hidden_size": 2560, "intermediate_size": 9728, "num_attention_heads": 32, "num_hidden_layers": 36,
                               "num_key_value_heads": 8, "head_dim": 128)",
                "2560", true, tied)},
      {"Qwen3-VL 8B", 8'767'123'696,
       qwen3_vl("qwen3_vl", R"("hidden_size": 4096, "intermediate_size": 12288, "num_attention_heads": 32, "num_hidden_layers": 36,
                               "num_key_value_heads": 8, "head_dim": 128)",
                "4096")},
      {"Qwen3-VL 32B", 33'357'390'064,
       qwen3_vl("qwen3_vl", R"("hidden_size": 5120, "intermediate_size": 25600, "num_attention_heads": 64, "num_hidden_layers": 64,
                               "num_key_value_heads": 8, "head_dim": 128)",
                "5120")},
      {"Qwen3-VL 30B-A3B", 31'070'754'032,
       qwen3_vl("qwen3_vl_moe", R"("hidden_size": 2048, "moe_intermediate_size": 768, "num_attention_heads": 32, "num_hidden_layers": 48,
                                   "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8,
                                   "vocab_size": 151936, "mlp_only_layers": [], "decoder_sparse_step": 1)",
                "2048", false, R"(, "tie_word_embeddings": false)")},
      {"Qwen3-VL 235B-A22B", 235'670'022'896,
       qwen3_vl("qwen3_vl_moe", R"("hidden_size": 4096, "moe_intermediate_size": 1536, "num_attention_heads": 64, "num_hidden_layers": 94,
                                   "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8)",
                "4096", false, R"(, "tie_word_embeddings": false)")},
      {"InternVL2 and 2.5 8B", 8'075'365'376,
       internvl("internlm2", R"("hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_hidden_layers": 32,
                                "num_key_value_heads": 8, "vocab_size": 92553, "bias": false)",
                intern_300m)},
      {"InternVL3 8B", 7'944'373'760,
       internvl("qwen2", R"("hidden_size": 3584, "intermediate_size": 18944, "num_attention_heads": 28, "num_hidden_layers": 28,
                            "num_key_value_heads": 4, "vocab_size": 151674)",
                intern_300m)},
      {"InternVL3 14B", 15'117'256'704,
       internvl("qwen2", R"("hidden_size": 5120, "intermediate_size": 13824, "num_attention_heads": 40, "num_hidden_layers": 48,
                            "num_key_value_heads": 8, "vocab_size": 151674)",
                intern_300m)},
      {"InternVL3 38B", 38'388'164'992,
       internvl("qwen2", R"("hidden_size": 5120, "intermediate_size": 27648, "num_attention_heads": 40, "num_hidden_layers": 64,
                            "num_key_value_heads": 8, "vocab_size": 151674)",
                intern_6b)},
      {"InternVL3 78B", 78'408'318'336,
       internvl("qwen2", R"("hidden_size": 8192, "intermediate_size": 29568, "num_attention_heads": 64, "num_hidden_layers": 80,
                            "num_key_value_heads": 8, "vocab_size": 151674)",
                intern_6b)},
      {"InternVL3 8B, class of transformers", 7'944'373'760,
       R"("model_type": "internvl", "tie_word_embeddings": false, "vision_feature_layer": -1, "text_config": )" +
           object("qwen2", R"("hidden_size": 3584, "intermediate_size": 18944, "num_attention_heads": 28, "num_hidden_layers": 28,
                              "num_key_value_heads": 4, "vocab_size": 151674)") +
           R"(, "vision_config": {"model_type": "internvl_vision", "attention_bias": true, "image_size": [448, 448], "patch_size": [14, 14],
               "norm_type": "layer_norm", "use_mean_pooling": true, "use_mask_token": false})"},
      {"LLaVA-1.5-7B, class of transformers", 7'063'427'072,
       R"("model_type": "llava", "vision_feature_layer": -2, "vision_feature_select_strategy": "default", "text_config": )" +
           object("llama", R"("vocab_size": 32064)") + R"(, "vision_config": {)" + clip + "}"},
      {"LLaVA-1.5-7B", 7'062'902'784,
       R"("model_type": "llava_llama", "mm_hidden_size": 1024, "mm_projector_type": "mlp2x_gelu", "mm_vision_select_layer": -2,
          "mm_vision_tower": "openai/clip-vit-large-patch14-336", "vocab_size": 32000)"},
      {"LLaVA-OneVision-7B", 8'030'348'832,
       R"("model_type": "llava_onevision", "vision_feature_layer": -1, "vision_feature_select_strategy": "full", "text_config": )" +
           object("qwen2", qwen_7b) +
           R"(, "vision_config": {"model_type": "siglip_vision_model", "image_size": 384, "num_hidden_layers": 26, )" + siglip + "}"},
      {"Gemma 3 4B", 4'300'079'472, gemma3(R"("hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34)")},
      {"Gemma 3 12B", 12'187'325'040,
       gemma3(
           R"("hidden_size": 3840, "intermediate_size": 15360, "num_attention_heads": 16, "num_hidden_layers": 48, "num_key_value_heads": 8)")},
      {"Gemma 3 27B", 27'432'406'640,
       gemma3(
           R"("hidden_size": 5376, "intermediate_size": 21504, "num_attention_heads": 32, "num_hidden_layers": 62, "num_key_value_heads": 16,
                 "head_dim": 128)")},
      {"Llama 4 Scout", 108'641'793'536, llama4("16", "1")},
      {"Llama 4 Maverick", 401'583'781'376, llama4("128", "2")},
  };
}

model_shape shape_of(std::string const& fields) { return read_model_config("{" + fields + "}", "config.json"); }
model_shape named(std::string const& name) {
  for (auto const& m : all())
    if (m.name == name) return shape_of(m.fields);
  return {};
}
ballast::vision_language_model whole(model_shape const& shape) {
  return {.vision = shape.images->tower, .projector = shape.images->projector, .language = shape.language};
}
/// Why a file has no images.
std::string refused(std::string const& fields) { return shape_of(fields).no_images; }

}  // namespace

TEST_CASE("vision_config: the parameters of each model are the published ones, to the last", "[published]") {
  for (auto const& m : all()) {
    auto const shape = shape_of(m.fields);
    CAPTURE(m.name, shape.no_images);
    REQUIRE(shape.images.has_value());
    CHECK(parameters(whole(shape)) == m.parameters);
    require_valid(whole(shape));
  }
}

TEST_CASE("vision_config: towers have the published parameters, and the presets are found again") {
  auto const tower = [](std::string const& name) {
    auto const shape = named(name);
    return parameters(shape.images->tower) + parameters(shape.images->projector);
  };
  CHECK(tower("Qwen2-VL 7B") == 675'759'104);
  CHECK(tower("Qwen2.5-VL 7B") == 676'550'144);
  CHECK(parameters(named("InternVL3 8B").images->tower) == 304'012'288);
  CHECK(parameters(named("InternVL3 78B").images->tower) == 5'536'496'000);
  CHECK(parameters(named("LLaVA-1.5-7B").images->tower) == 303'507'456);
  CHECK(whole(named("LLaVA-1.5-7B")) == ballast::vision_language_preset("llava-1.5-7b"));
  auto const read = whole(named("Qwen2.5-VL 7B")), preset = ballast::vision_language_preset("qwen2.5-vl-7b");
  CHECK(tile_flops(read.vision) == tile_flops(preset.vision));
  CHECK(read.projector == preset.projector);
  CHECK(read.language == preset.language);
}

// Every product of two matrices, 2 FLOPs a multiplication with addition.
TEST_CASE("vision_config: FLOPs of a tile against hand counts") {
  auto const flops = [](std::string const& name) { return tile_flops(named(name).images->tower); };
  auto const layer = [](std::int64_t h, std::int64_t f, std::int64_t matrices, std::int64_t tokens, std::int64_t seen) {
    return 2 * tokens * (4 * h * h + matrices * h * f) + 4 * h * tokens * seen;
  };
  auto const patches = [](std::int64_t count, std::int64_t values, std::int64_t h) { return 2 * count * values * h; };
  // 448 x 448 pixels: 1,024 patches see all; in Qwen2.5-VL four layers do, and 28 see the 64 of a window
  CHECK(flops("Qwen2-VL 7B") == 32 * layer(1280, 5120, 2, 1024, 1024) + patches(1024, 1176, 1280));
  CHECK(flops("Qwen2.5-VL 7B") == 4 * layer(1280, 3420, 3, 1024, 1024) + 28 * layer(1280, 3420, 3, 1024, 64) + patches(1024, 1176, 1280));
  CHECK(flops("Qwen3-VL 8B") == 27 * layer(1152, 4304, 2, 1024, 1024) + patches(1024, 1536, 1152));
  CHECK(flops("InternVL3 8B") == 24 * layer(1024, 4096, 2, 1025, 1025) + patches(1024, 588, 1024));
  CHECK(flops("LLaVA-1.5-7B") == 23 * layer(1024, 4096, 2, 577, 577) + patches(576, 588, 1024));  // not the last layer
  CHECK(flops("LLaVA-OneVision-7B") == 26 * layer(1152, 4304, 2, 729, 729) + patches(729, 588, 1152));
  CHECK(flops("Gemma 3 4B") == 27 * layer(1152, 4304, 2, 4096, 4096) + patches(4096, 588, 1152));
  CHECK(flops("Llama 4 Scout") == 34 * layer(1408, 5632, 2, 577, 577) + patches(576, 588, 1408));
  auto const passed = [](std::string const& name) { return named(name).images->projector.tokens; };
  CHECK(passed("Qwen2.5-VL 7B") == 256);
  CHECK(passed("InternVL3 8B") == 256);
  CHECK(passed("LLaVA-1.5-7B") == 576);
  CHECK(passed("LLaVA-OneVision-7B") == 729);
  CHECK(passed("Gemma 3 4B") == 256);
  CHECK(passed("Llama 4 Scout") == 144);
}

TEST_CASE("vision_config: what a tower cannot be is refused by its field, where images are wanted") {
  auto const of = [](std::string const& name, std::string const& from, std::string const& to) {
    for (auto const& m : all())
      if (m.name == name) {
        auto fields = m.fields;
        auto const at = fields.find(from);
        REQUIRE(at != std::string::npos);
        return refused(fields.replace(at, from.size(), to));
      }
    return std::string("no such model");
  };
  CHECK(of("Gemma 3 4B", R"("vision_use_head": false)", R"("vision_use_head": true)").find("the field vision_use_head = true is not mod") !=
        std::string::npos);
  CHECK(of("Qwen2-VL 7B", R"("spatial_merge_size": 2)", R"("spatial_merge_size": 3)").find("spatial_merge_size = 3 does not divide") !=
        std::string::npos);
  CHECK(of("Qwen2.5-VL 7B", R"("out_hidden_size": 3584)", R"("out_hidden_size": 3585)").find("must be the width of the language model") !=
        std::string::npos);
  CHECK(of("LLaVA-1.5-7B, class of transformers", "clip_vision_model", "dino").find("model_type = \"dino\" is not a vision tower") !=
        std::string::npos);
  CHECK(of("LLaVA-1.5-7B, class of transformers", R"("vision_feature_layer": -2)", R"("vision_feature_layer": [-2, -5])")
            .find("vision_feature_layer = [-2,-5] must be one layer") != std::string::npos);
  CHECK(of("LLaVA-1.5-7B, class of transformers", R"("vision_feature_layer": -2)", R"("vision_feature_layer": -25)")
            .find("is no layer of the vision tower, which has 24") != std::string::npos);
  CHECK(
      of("LLaVA-1.5-7B", "openai/clip-vit-large-patch14-336", "google/siglip").find("mm_vision_tower = \"google/siglip\" names a tower") !=
      std::string::npos);
  CHECK(of("InternVL3 8B", R"("downsample_ratio": 0.5)", R"("downsample_ratio": 0.3)").find("downsample_ratio = 0.3 must be one over") !=
        std::string::npos);
  CHECK(of("InternVL3 8B", R"("norm_type": "layer_norm")", R"("norm_type": "none")").find("norm_type = \"none\" is neither") !=
        std::string::npos);
  CHECK(of("InternVL3 8B, class of transformers", "[448, 448]", "[448, 224]").find("image_size = [448,224] is not square") !=
        std::string::npos);
  CHECK(of("InternVL3 8B, class of transformers", R"("use_mean_pooling": true)", R"("use_mean_pooling": false)")
            .find("use_mean_pooling = false is not modelled") != std::string::npos);
  CHECK(of("Llama 4 Scout", R"("vision_output_dim": 4096)", R"("vision_output_dim": 512)").find("projector_output_dim = 4096 must be") !=
        std::string::npos);
  CHECK(of("Llama 4 Scout", R"("num_attention_heads": 16)", R"("num_attention_heads": 15)").find("hidden_size = 1408 is no multiple of") !=
        std::string::npos);
  CHECK(of("Qwen3-VL 8B", "[8, 16, 24]", "[8, 16, 27]").find("deepstack_visual_indexes = [8,16,27] has a layer") != std::string::npos);
  CHECK(of("Qwen3-VL 8B", R"("depth": 27)", R"("depth": 2000)").find("vision_config: layers = 2000 must be in [1, 1024]") !=
        std::string::npos);
  CHECK(of("Qwen2.5-VL 7B", R"("patch_size": 14)", R"("patch_size": 0)").find("patch_size = 0 must be positive") != std::string::npos);
  CHECK(of("InternVL3 8B", R"("downsample_ratio": 0.5)", R"("downsample_ratio": 1e-310)").find("must be one over") != std::string::npos);
  CHECK(of("Qwen3-VL 8B", R"("num_heads": 16)", R"("num_heads": 16, "sliding_window": 7)").find("sliding_window = 7 changes the shape") !=
        std::string::npos);
  CHECK(refused(R"("model_type": "aya_vision", "vision_config": {}, "text_config": {"model_type": "mistral"})")
            .starts_with("config.json: the vision tower of aya_vision is not known; known are those of qwen2_vl, qwen2_5_vl, "));
  CHECK(refused(R"("model_type": "llama")").empty());
}

TEST_CASE("vision_config: commands say what they read, and plan tiles with it", "[cli]") {
  scratch const in;
  in.file("qwen.json", "{" + all()[4].fields + "}");
  in.file("aya.json", R"({"model_type": "aya_vision", "vision_config": {}, "text_config": {"model_type": "mistral"}})");
  in.file("f", "700 2\n130 0\n300 1\n300 1\n");
  auto const both = in.ballast("plan f --columns 2,1 --capacity 9,4096 --ranks 1 --model qwen.json");
  CHECK(both.out.starts_with(
      "qwen.json: qwen2_5_vl of 8,292,166,656 parameters: vision tower 631,975,680, projector 44,574,464, language model 7,615,616,512, "
      "6,525,621,760 without embedding and head; 28 layers: 28 full.\nA tile is an image of 448 x 448 pixels, 1,024 patches; count larger "
      "images as several.\n"));
  CHECK(both.out.find("; qwen.json on h100") != std::string::npos);
  CHECK(in.ballast("plan f --columns 1 --capacity 4096 --ranks 1 --model qwen.json").out.find("qwen.json (its language model) on") !=
        std::string::npos);
  auto const preset = in.ballast("plan f --columns 2,1 --capacity 9,4096 --ranks 1 --json --model qwen2.5-vl-7b"),
             read = in.ballast("plan f --columns 2,1 --capacity 9,4096 --ranks 1 --json --model qwen.json");
  CHECK(figures(preset.out) == figures(read.out));
  auto const unknown = in.ballast("plan f --columns 2,1 --capacity 9,4096 --ranks 1 --model aya.json");
  CHECK(unknown.code == 2);
  CHECK(unknown.err.starts_with("aya.json: the vision tower of aya_vision is not known; known are those of qwen2_vl, "));
  CHECK(in.ballast("plan f --columns 1 --capacity 4096 --ranks 1 --model aya.json").out.find("; the language model alone was read.\n") !=
        std::string::npos);
}

}  // namespace test_cli_vision_config
