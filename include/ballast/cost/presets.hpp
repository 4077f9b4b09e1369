// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/cost/detail/preset_shapes.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/vision.hpp>

#include <array>
#include <string>
#include <string_view>

/// @file
/// @brief Published architectures by name. Tests check that the computed parameter count of each equals the published one.

namespace ballast::inline v0_2 {

/// @brief An architecture with its name.
/// @tparam Model  `transformer`, `vision_transformer` or `vision_language_model`
template <class Model>
struct preset {
  std::string_view name;  ///< name in lower case, as in "llama-3.1-8b"
  Model model;            ///< the shape
};

/// @brief Language models. Where a paper is named, its tables have the shape; else the `config.json` beside the weights has it.
inline constexpr std::array transformer_presets{
    // Grattafiori et al., "The Llama 3 herd of models", arXiv 2407.21783; Touvron et al., "Llama 2", arXiv 2307.09288
    preset<transformer>{"llama-3.1-8b", detail::llama_shape(32, 4096, 32, 8, 128, 14336, 128256)},
    preset<transformer>{"llama-3.1-70b", detail::llama_shape(80, 8192, 64, 8, 128, 28672, 128256)},
    preset<transformer>{"llama-3.1-405b", detail::llama_shape(126, 16384, 128, 8, 128, 53248, 128256)},
    preset<transformer>{"llama-3.2-1b", detail::llama_shape(16, 2048, 32, 8, 64, 8192, 128256, true)},
    preset<transformer>{"llama-3.2-3b", detail::llama_shape(28, 3072, 24, 8, 128, 8192, 128256, true)},
    preset<transformer>{"llama-2-7b", detail::llama_shape(32, 4096, 32, 32, 128, 11008, 32000)},
    preset<transformer>{"llama-2-13b", detail::llama_shape(40, 5120, 40, 40, 128, 13824, 32000)},
    preset<transformer>{"llama-2-70b", detail::llama_shape(80, 8192, 64, 8, 128, 28672, 32000)},
    // Yang et al., "Qwen2.5 technical report", arXiv 2412.15115; Yang et al., "Qwen3 technical report", arXiv 2505.09388
    preset<transformer>{"qwen2.5-0.5b", detail::qwen2_shape(detail::llama_shape(24, 896, 14, 2, 64, 4864, 151936, true))},
    preset<transformer>{"qwen2.5-1.5b", detail::qwen2_shape(detail::llama_shape(28, 1536, 12, 2, 128, 8960, 151936, true))},
    preset<transformer>{"qwen2.5-3b", detail::qwen2_shape(detail::llama_shape(36, 2048, 16, 2, 128, 11008, 151936, true))},
    preset<transformer>{"qwen2.5-7b", detail::qwen2_shape(detail::llama_shape(28, 3584, 28, 4, 128, 18944, 152064))},
    preset<transformer>{"qwen2.5-14b", detail::qwen2_shape(detail::llama_shape(48, 5120, 40, 8, 128, 13824, 152064))},
    preset<transformer>{"qwen2.5-32b", detail::qwen2_shape(detail::llama_shape(64, 5120, 40, 8, 128, 27648, 152064))},
    preset<transformer>{"qwen2.5-72b", detail::qwen2_shape(detail::llama_shape(80, 8192, 64, 8, 128, 29568, 152064))},
    preset<transformer>{"qwen3-0.6b", detail::qwen3_shape(detail::llama_shape(28, 1024, 16, 8, 128, 3072, 151936, true))},
    preset<transformer>{"qwen3-1.7b", detail::qwen3_shape(detail::llama_shape(28, 2048, 16, 8, 128, 6144, 151936, true))},
    preset<transformer>{"qwen3-4b", detail::qwen3_shape(detail::llama_shape(36, 2560, 32, 8, 128, 9728, 151936, true))},
    preset<transformer>{"qwen3-8b", detail::qwen3_shape(detail::llama_shape(36, 4096, 32, 8, 128, 12288, 151936))},
    preset<transformer>{"qwen3-14b", detail::qwen3_shape(detail::llama_shape(40, 5120, 40, 8, 128, 17408, 151936))},
    preset<transformer>{"qwen3-32b", detail::qwen3_shape(detail::llama_shape(64, 5120, 64, 8, 128, 25600, 151936))},
    preset<transformer>{"qwen3-30b-a3b",
                        detail::with_experts(detail::qwen3_shape(detail::llama_shape(48, 2048, 32, 4, 128, 0, 151936)), 128, 8, 768)},
    preset<transformer>{"qwen3-235b-a22b",
                        detail::with_experts(detail::qwen3_shape(detail::llama_shape(94, 4096, 64, 4, 128, 0, 151936)), 128, 8, 1536)},
    preset<transformer>{"qwen3-coder-480b-a35b",
                        detail::with_experts(detail::qwen3_shape(detail::llama_shape(62, 6144, 96, 8, 128, 0, 151936)), 160, 8, 2560)},
    // Jiang et al., "Mistral 7B", arXiv 2310.06825 (the first version has a window), and "Mixtral of experts", arXiv 2401.04088
    preset<transformer>{"mistral-7b-v0.1", detail::windowed_shape(detail::llama_shape(32, 4096, 32, 8, 128, 14336, 32000), 4096)},
    preset<transformer>{"mistral-7b-v0.2", detail::llama_shape(32, 4096, 32, 8, 128, 14336, 32000)},
    preset<transformer>{"mistral-7b-v0.3", detail::llama_shape(32, 4096, 32, 8, 128, 14336, 32768)},
    preset<transformer>{"mistral-nemo", detail::llama_shape(40, 5120, 32, 8, 128, 14336, 131072)},
    preset<transformer>{"mistral-small-24b", detail::llama_shape(40, 5120, 32, 8, 128, 32768, 131072)},
    preset<transformer>{"mixtral-8x7b", detail::with_experts(detail::llama_shape(32, 4096, 32, 8, 128, 0, 32000), 8, 2, 14336)},
    preset<transformer>{"mixtral-8x22b", detail::with_experts(detail::llama_shape(56, 6144, 48, 8, 128, 0, 32000), 8, 2, 16384)},
    // Gemma Team, "Gemma 2", arXiv 2408.00118, and "Gemma 3 technical report", arXiv 2503.19786: the language models alone
    preset<transformer>{"gemma-2-2b", detail::gemma_shape(detail::llama_shape(26, 2304, 8, 4, 256, 9216, 256000), 4096, 2)},
    preset<transformer>{"gemma-2-9b", detail::gemma_shape(detail::llama_shape(42, 3584, 16, 8, 256, 14336, 256000), 4096, 2)},
    preset<transformer>{"gemma-2-27b", detail::gemma_shape(detail::llama_shape(46, 4608, 32, 16, 128, 36864, 256000), 4096, 2)},
    preset<transformer>{"gemma-3-270m",
                        detail::gemma_shape(detail::qwen3_shape(detail::llama_shape(18, 640, 4, 1, 256, 2048, 262144)), 512, 6)},
    preset<transformer>{"gemma-3-1b",
                        detail::gemma_shape(detail::qwen3_shape(detail::llama_shape(26, 1152, 4, 1, 256, 6912, 262144)), 512, 6)},
    // Abdin et al., "Phi-3 technical report", arXiv 2404.14219, and "Phi-4 technical report", arXiv 2412.08905
    preset<transformer>{"phi-3-mini-4k", detail::windowed_shape(detail::llama_shape(32, 3072, 32, 32, 96, 8192, 32064), 2047)},
    preset<transformer>{"phi-3-mini-128k", detail::llama_shape(32, 3072, 32, 32, 96, 8192, 32064)},
    preset<transformer>{"phi-3-medium-4k", detail::windowed_shape(detail::llama_shape(40, 5120, 40, 10, 128, 17920, 32064), 2047)},
    preset<transformer>{"phi-3-medium-128k", detail::llama_shape(40, 5120, 40, 10, 128, 17920, 32064)},
    preset<transformer>{"phi-4", detail::llama_shape(40, 5120, 40, 10, 128, 17920, 100352)},
    preset<transformer>{"phi-4-mini", detail::llama_shape(32, 3072, 24, 8, 128, 8192, 200064, true)},
    // DeepSeek-AI, arXiv 2405.04434 (V2), 2412.19437 (V3) and 2501.12948 (R1); Liu et al., "Muon is scalable", arXiv 2502.16982
    preset<transformer>{
        "deepseek-v2",
        detail::latent_shape(detail::with_experts(detail::llama_shape(60, 5120, 128, 128, 192, 12288, 102400), 160, 6, 1536, 3072, 1), 1536,
                             false)},
    preset<transformer>{
        "deepseek-v2-lite",
        detail::latent_shape(detail::with_experts(detail::llama_shape(27, 2048, 16, 16, 192, 10944, 102400), 64, 6, 1408, 2816, 1), 0,
                             false)},
    preset<transformer>{
        "deepseek-v3",
        detail::latent_shape(detail::with_experts(detail::llama_shape(61, 7168, 128, 128, 192, 18432, 129280), 256, 8, 2048, 2048, 3), 1536,
                             true)},
    preset<transformer>{"deepseek-r1-distill-qwen-1.5b", detail::qwen2_shape(detail::llama_shape(28, 1536, 12, 2, 128, 8960, 151936))},
    preset<transformer>{
        "moonlight-16b-a3b",
        detail::latent_shape(detail::with_experts(detail::llama_shape(27, 2048, 16, 16, 192, 11264, 163840), 64, 6, 1408, 2816, 1), 0,
                             true)},
    // OpenAI, "gpt-oss-120b & gpt-oss-20b model card", arXiv 2508.10925
    preset<transformer>{"gpt-oss-20b", detail::gpt_oss_shape(24, 32)},
    preset<transformer>{"gpt-oss-120b", detail::gpt_oss_shape(36, 128)},
    // Zeng et al., "GLM-4.5", arXiv 2508.06471; Kimi Team, "Kimi K2", arXiv 2507.20534
    preset<transformer>{
        "glm-4.5-air",
        detail::glm_shape(detail::with_experts(detail::llama_shape(46, 4096, 96, 8, 128, 10944, 151552), 128, 8, 1408, 1408, 1), false)},
    preset<transformer>{
        "glm-4.5",
        detail::glm_shape(detail::with_experts(detail::llama_shape(92, 5120, 96, 8, 128, 12288, 151552), 160, 8, 1536, 1536, 3), true)},
    preset<transformer>{
        "kimi-k2", detail::latent_shape(
                       detail::with_experts(detail::llama_shape(61, 7168, 64, 64, 192, 18432, 163840), 384, 8, 2048, 2048, 1), 1536, true)},
    // Bai et al., arXiv 2309.16609; Cai et al., arXiv 2403.17297; Chiang et al., "Vicuna"; Radford et al., "GPT-2"; Zhang et al., arXiv
    // 2401.02385 (TinyLlama); Ben Allal et al., "SmolLM2", arXiv 2502.02737, and SmolLM3
    preset<transformer>{"qwen-7b-chat", detail::qwen2_shape(detail::llama_shape(32, 4096, 32, 32, 128, 11008, 151936))},
    preset<transformer>{"internlm2-20b", detail::llama_shape(48, 6144, 48, 8, 128, 16384, 92544)},
    preset<transformer>{"vicuna-7b", detail::llama_shape(32, 4096, 32, 32, 128, 11008, 32000)},
    preset<transformer>{"gpt2", detail::gpt2_shape(12, 768)},
    preset<transformer>{"gpt2-medium", detail::gpt2_shape(24, 1024)},
    preset<transformer>{"gpt2-large", detail::gpt2_shape(36, 1280)},
    preset<transformer>{"gpt2-xl", detail::gpt2_shape(48, 1600)},
    preset<transformer>{"tinyllama-1.1b", detail::llama_shape(22, 2048, 32, 4, 64, 5632, 32000)},
    preset<transformer>{"smollm2-135m", detail::llama_shape(30, 576, 9, 3, 64, 1536, 49152, true)},
    preset<transformer>{"smollm2-360m", detail::llama_shape(32, 960, 15, 5, 64, 2560, 49152, true)},
    preset<transformer>{"smollm2-1.7b", detail::llama_shape(24, 2048, 32, 32, 64, 8192, 49152, true)},
    preset<transformer>{"smollm3-3b", detail::llama_shape(36, 2048, 16, 4, 128, 11008, 128256, true)},
};

/// @brief Vision transformers.
inline constexpr std::array vision_presets{
    preset<vision_transformer>{"clip-l-14-336",
                               {.body = detail::encoder_shape(24, 1024, 16, 4096, 577), .patch_bias = false, .pre_norm = true}},
    preset<vision_transformer>{"internvit-6b-448", detail::internvit_tower(45, 3200, 25, false)},
    // for an image of 448 x 448 pixels, in windows of 112 x 112; an image is two equal frames
    preset<vision_transformer>{"qwen2.5-vl-vit", detail::qwen2_5_vl_tower()},
    preset<vision_transformer>{"internvit-300m-448", detail::internvit_tower(24, 1024, 16, true)},
    preset<vision_transformer>{"siglip-so400m-14-896", {.body = detail::encoder_shape(27, 1152, 16, 4304, 4096), .extra_tokens = 0}},
    // for an image of 448 x 448 pixels, and those of Qwen3-VL for one of 512 x 512
    preset<vision_transformer>{"qwen2-vl-vit", detail::qwen_vl_tower(detail::encoder_shape(32, 1280, 16, 5120, 0), 14)},
    preset<vision_transformer>{"qwen3-vl-vit", detail::qwen_vl_tower(detail::encoder_shape(27, 1152, 16, 4304, 2304), 16)},
    preset<vision_transformer>{"qwen3-vl-vit-300m", detail::qwen_vl_tower(detail::encoder_shape(24, 1024, 16, 4096, 2304), 16)},
};

/// @brief Finds a language model by name.
/// @param name  one of `transformer_presets`, as in "llama-3.1-8b"
/// @return its shape
/// @throws invalid_input, with a list of the names, if there is no such preset
[[nodiscard]] constexpr transformer const& transformer_preset(std::string_view name) {
  return find_named(transformer_presets, name, "transformer preset").model;
}

/// @brief Finds a vision transformer by name.
/// @param name  one of `vision_presets`, as in "internvit-6b-448"
/// @return its shape
/// @throws invalid_input, with a list of the names, if there is no such preset
[[nodiscard]] constexpr vision_transformer const& vision_preset(std::string_view name) {
  return find_named(vision_presets, name, "vision preset").model;
}

namespace detail {

/// A tower whose tiles of 1,024 patches become 256 tokens, behind a norm of the tower's width that has some weights.
[[nodiscard]] constexpr vision_language_model qwen_vl(vision_transformer const& tower, std::int64_t norm_weights, layer_set const& deep,
                                                      std::string_view language) {
  auto const& model = transformer_preset(language);
  auto const merged = 4 * tower.body.hidden;
  return {.vision = tower,
          .projector = {.input = merged,
                        .output = model.hidden,
                        .tokens = 256,
                        .norm = true,
                        .inner = merged,
                        .norm_weights = norm_weights,
                        .deep = deep},
          .language = model};
}
[[nodiscard]] constexpr vision_language_model qwen2_vl(std::string_view language) {
  return qwen_vl(vision_preset("qwen2-vl-vit"), 2560, {}, language);
}
[[nodiscard]] constexpr vision_language_model qwen2_5_vl(std::string_view language, std::int64_t ffn = 3420) {
  auto tower = vision_preset("qwen2.5-vl-vit");
  tower.body.ffn = ffn;
  return qwen_vl(tower, 1280, {}, language);
}
[[nodiscard]] constexpr vision_language_model qwen3_vl(std::string_view language) {
  return qwen_vl(vision_preset("qwen3-vl-vit"), 2304, {8, 16, 24}, language);
}
[[nodiscard]] constexpr vision_language_model small_qwen3_vl(std::string_view language) {
  return qwen_vl(vision_preset("qwen3-vl-vit-300m"), 2048, {5, 11, 17}, language);
}
/// InternVL3: Qwen2.5 with a vocabulary of its own and a head of its own.
[[nodiscard]] constexpr vision_language_model internvl3(std::string_view tower, std::string_view language) {
  vision_language_model out{.vision = vision_preset(tower), .projector = {}, .language = transformer_preset(language)};
  out.language.vocabulary = 151674;
  out.language.tied = false;
  out.projector = {.input = 4 * out.vision.body.hidden, .output = out.language.hidden, .tokens = 256, .norm = true};
  return out;
}
[[nodiscard]] constexpr vision_language_model gemma3_vl(transformer const& language) {
  return {.vision = vision_preset("siglip-so400m-14-896"),
          .projector =
              {.input = 1152, .output = language.hidden, .tokens = 256, .norm = true, .norm_weights = 1152, .matrices = 1, .bias = false},
          .language = gemma_shape(qwen3_shape(language), 1024, 6)};
}

}  // namespace detail

/// @brief Vision-language models: a vision transformer, a projector and a language model.
inline constexpr std::array vision_language_presets{
    preset<vision_language_model>{"llava-1.5-7b",
                                  {.vision =
                                       [] {
                                         auto tower = vision_preset("clip-l-14-336");
                                         tower.unused_layers = 1;  // the features are those of the last layer but one
                                         return tower;
                                       }(),
                                   .projector = {.input = 1024, .output = 4096, .tokens = 576},
                                   .language = transformer_preset("vicuna-7b")}},
    preset<vision_language_model>{"internvl-chat-1.5",
                                  {.vision = vision_preset("internvit-6b-448"),
                                   .projector = {.input = 12800, .output = 6144, .tokens = 256, .norm = true},
                                   .language = transformer_preset("internlm2-20b")}},
    // Bai et al., "Qwen2.5-VL technical report", arXiv 2502.13923; Wang et al., "Qwen2-VL", arXiv 2409.12191; Qwen3-VL, arXiv 2511.21631
    preset<vision_language_model>{"qwen2.5-vl-7b", detail::qwen2_5_vl("qwen2.5-7b")},
    preset<vision_language_model>{"qwen2.5-vl-3b", detail::qwen2_5_vl("qwen2.5-3b")},
    preset<vision_language_model>{"qwen2.5-vl-32b", detail::qwen2_5_vl("qwen2.5-32b", 3456)},
    preset<vision_language_model>{"qwen2.5-vl-72b", detail::qwen2_5_vl("qwen2.5-72b", 3456)},
    preset<vision_language_model>{"qwen2-vl-2b", detail::qwen2_vl("qwen2.5-1.5b")},
    preset<vision_language_model>{"qwen2-vl-7b", detail::qwen2_vl("qwen2.5-7b")},
    preset<vision_language_model>{"qwen2-vl-72b", detail::qwen2_vl("qwen2.5-72b")},
    preset<vision_language_model>{"qwen3-vl-2b", detail::small_qwen3_vl("qwen3-1.7b")},
    preset<vision_language_model>{"qwen3-vl-4b", detail::small_qwen3_vl("qwen3-4b")},
    preset<vision_language_model>{"qwen3-vl-8b", detail::qwen3_vl("qwen3-8b")},
    preset<vision_language_model>{"qwen3-vl-32b", detail::qwen3_vl("qwen3-32b")},
    preset<vision_language_model>{"qwen3-vl-30b-a3b", detail::qwen3_vl("qwen3-30b-a3b")},
    preset<vision_language_model>{"qwen3-vl-235b-a22b", detail::qwen3_vl("qwen3-235b-a22b")},
    // Zhu et al., "InternVL3", arXiv 2504.10479
    preset<vision_language_model>{"internvl3-1b", detail::internvl3("internvit-300m-448", "qwen2.5-0.5b")},
    preset<vision_language_model>{"internvl3-2b", detail::internvl3("internvit-300m-448", "qwen2.5-1.5b")},
    preset<vision_language_model>{"internvl3-8b", detail::internvl3("internvit-300m-448", "qwen2.5-7b")},
    preset<vision_language_model>{"internvl3-14b", detail::internvl3("internvit-300m-448", "qwen2.5-14b")},
    preset<vision_language_model>{"internvl3-38b", detail::internvl3("internvit-6b-448", "qwen2.5-32b")},
    preset<vision_language_model>{"internvl3-78b", detail::internvl3("internvit-6b-448", "qwen2.5-72b")},
    // Gemma Team, "Gemma 3 technical report", arXiv 2503.19786
    preset<vision_language_model>{"gemma-3-4b", detail::gemma3_vl(detail::llama_shape(34, 2560, 8, 4, 256, 10240, 262208))},
    preset<vision_language_model>{"gemma-3-12b", detail::gemma3_vl(detail::llama_shape(48, 3840, 16, 8, 256, 15360, 262208))},
    preset<vision_language_model>{"gemma-3-27b", detail::gemma3_vl(detail::llama_shape(62, 5376, 32, 16, 128, 21504, 262208))},
};

/// @brief Finds a vision-language model by name.
/// @param name  one of `vision_language_presets`, as in "internvl-chat-1.5"
/// @return its shape
/// @throws invalid_input, with a list of the names, if there is no such preset
[[nodiscard]] constexpr vision_language_model const& vision_language_preset(std::string_view name) {
  return find_named(vision_language_presets, name, "vision-language preset").model;
}

}  // namespace ballast::inline v0_2
