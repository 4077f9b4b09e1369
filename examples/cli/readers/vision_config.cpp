// SPDX-License-Identifier: Apache-2.0
#include "readers/vision_config.hpp"

#include "errors.hpp"

#include <ballast/core/error.hpp>
#include <ballast/cost/layer_set.hpp>
#include <ballast/cost/presets.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

// Vision parts by `model_type`. Defaults are those of the classes in Hugging Face transformers 5.23; internvl_chat has classes of its own
// beside its weights, and the first LLaVA names its tower instead of describing it.

namespace ballast_cli {

namespace {

using ballast::layer_set;
using ballast::transformer;

/// The fields of both objects: the file, and its `vision_config`.
struct vision_fields {
  nlohmann::json const& json;
  nlohmann::json const& part;
  config_fields whole, in;
  std::int64_t hidden;  ///< width of the language model
  std::vector<std::string>& notes;

  vision_fields(nlohmann::json const& file, nlohmann::json const& of_tower, std::string const& name, std::int64_t language,
                std::vector<std::string>& said)
      : json(file), part(of_tower), whole(file, name), in(of_tower, name), hidden(language), notes(said) {}
};

/// The edge of something square, a number or a list of two equal ones.
[[nodiscard]] std::int64_t edge(vision_fields& f, char const* key, std::int64_t usual) {
  if (auto const found = f.part.find(key); found == f.part.end() || !found->is_array()) return f.in.number({key}, usual);
  auto const both = *f.in.numbers(key);
  if (both.size() != 2 || both[0] != both[1]) f.in.refuse(key, "is not square");
  return both[0];
}

/// The number of layers that are computed for the features of layer `key`: those behind it count from the end, and 0 is the embedding.
[[nodiscard]] std::int64_t layers_for(vision_fields& f, char const* key, std::int64_t usual, std::int64_t layers) {
  f.whole.pass_over({key});
  auto const found = f.json.find(key);
  auto which = usual;
  if (found != f.json.end() && !found->is_null()) {
    if (!found->is_number_integer()) f.whole.refuse(key, "must be one layer");
    which = found->get<std::int64_t>();
  }
  auto const computed = which < 0 ? layers + 1 + which : which;
  if (computed < 1 || computed > layers) f.whole.refuse(key, "is no layer of the vision tower, which has " + std::to_string(layers));
  return computed;
}

/// Tokens that are merged into one, along an edge, of a share of tokens along it, as in 0.5.
[[nodiscard]] std::int64_t merged(nlohmann::json const& object, config_fields& fields, char const* key) {
  auto const found = object.find(key);
  auto const share = found == object.end() || found->is_null() ? 0.5 : found->is_number() ? found->get<double>() : 0.0;
  auto const times = share >= 1.0 / 64 && share <= 1 ? std::lround(1 / share) : 0;
  if (times == 0 || static_cast<double>(times) * share != 1.0) fields.refuse(key, "must be one over a whole number");
  return times;
}

/// A bidirectional transformer with biases and LayerNorms and without a gate, as most towers are.
[[nodiscard]] transformer encoder(vision_fields& f, std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t ffn) {
  if (heads == 0 || hidden % heads != 0) f.in.refuse("hidden_size", "is no multiple of its " + std::to_string(heads) + " heads");
  return {.layers = layers,
          .hidden = hidden,
          .query_heads = heads,
          .kv_heads = heads,
          .head_width = hidden / heads,
          .ffn = ffn,
          .gated = false,
          .causal = false,
          .qkv_bias = true,
          .output_bias = true,
          .ffn_bias = true,
          .norm_bias = true};
}
[[nodiscard]] transformer encoder_of(vision_fields& f, std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t ffn) {
  auto const n = f.in.number({"num_hidden_layers"}, layers), h = f.in.number({"hidden_size"}, hidden);
  return encoder(f, n, h, f.in.number({"num_attention_heads"}, heads), f.in.number({"intermediate_size"}, ffn));
}

/// Patches of an image, and learned positions for them and for the class token. Pixels beyond the last full patch are not read.
void set_patches(ballast::vision_transformer& tower, vision_fields& f, std::int64_t image, std::int64_t patch, std::int64_t extra) {
  tower.patch = edge(f, "patch_size", patch);
  auto const pixels = edge(f, "image_size", image);
  if (tower.patch == 0 || pixels < tower.patch) f.in.refuse("image_size", "is smaller than its patch_size");
  tower.channels = f.in.number({"num_channels", "in_channels", "in_chans"}, 3);
  tower.extra_tokens = extra;
  tower.body.positions = pixels / tower.patch * (pixels / tower.patch) + extra;
}

// ---- towers

[[nodiscard]] ballast::vision_transformer clip(vision_fields& f) {
  ballast::vision_transformer tower{.body = encoder_of(f, 12, 768, 12, 3072)};
  set_patches(tower, f, 224, 32, 1);
  tower.patch_bias = false;
  tower.pre_norm = true;
  return tower;
}
[[nodiscard]] ballast::vision_transformer siglip(vision_fields& f) {
  ballast::vision_transformer tower{.body = encoder_of(f, 12, 768, 12, 3072)};
  set_patches(tower, f, 224, 16, 0);
  if (f.in.flag("vision_use_head", true))
    f.in.refuse("vision_use_head", "is not modelled: a head behind the tower, which false leaves out");
  return tower;
}
/// A tower that takes images of any size: a tile has 32 x 32 patches, whatever learned positions there are.
[[nodiscard]] ballast::vision_transformer of_any_size(vision_fields& f, transformer body, std::int64_t patch, std::int64_t channels) {
  ballast::vision_transformer tower{.body = std::move(body)};
  tower.patch = f.in.number({"patch_size"}, patch);
  if (tower.patch == 0) f.in.refuse("patch_size", "must be positive");
  tower.channels = channels;
  tower.extra_tokens = 0;
  auto const pixels = std::to_string(32 * tower.patch);
  tower.tile_tokens = 1024;
  f.notes.push_back("A tile is an image of " + pixels + " x " + pixels + " pixels, 1,024 patches; count larger images as several.");
  return tower;
}
/// Pixtral: no biases, RMSNorm, a gate, and no learned positions.
[[nodiscard]] ballast::vision_transformer pixtral(vision_fields& f) {
  auto body = encoder_of(f, 24, 1024, 16, 4096);
  body.gated = true;
  body.qkv_bias = body.output_bias = body.ffn_bias = body.norm_bias = body.final_norm = false;
  f.in.pass_over({"head_dim"});  // the class divides the width by the heads
  auto tower = of_any_size(f, body, 16, f.in.number({"num_channels"}, 3));
  tower.patch_bias = false;
  tower.pre_norm = true;
  return tower;
}
/// The tower of a LLaVA by the `model_type` of its object.
[[nodiscard]] ballast::vision_transformer named_tower(vision_fields& f, char const* usual) {
  auto type = f.in.text("model_type");
  if (type.empty()) {
    type = usual;
    f.notes.push_back("The file does not name the class of its vision tower, which is then " + type + ".");
  }
  if (type == "clip_vision_model") return clip(f);
  if (type == "siglip_vision_model") return siglip(f);
  if (type == "pixtral") return pixtral(f);
  f.in.refuse("model_type", "is not a vision tower that is known; known are clip_vision_model, siglip_vision_model, pixtral");
}

/// The tower of Qwen2-VL and of its followers: no learned positions but in Qwen3-VL.
[[nodiscard]] ballast::vision_transformer qwen(vision_fields& f, transformer body, std::int64_t patch) {
  body.final_norm = false;
  auto tower =
      of_any_size(f, std::move(body), patch, f.in.number({"in_channels", "in_chans"}, 3) * f.in.number({"temporal_patch_size"}, 2));
  tower.patch_bias = false;
  return tower;
}
/// Patches along an edge that are merged into one token.
[[nodiscard]] std::int64_t merged_along(config_fields& in, ballast::vision_transformer const& tower) {
  auto const along = in.number({"spatial_merge_size"}, 2);
  if (along == 0 || tower.tile_tokens % (along * along) != 0) in.refuse("spatial_merge_size", "does not divide a tile's 32 x 32 patches");
  return along;
}
/// Its merger, which makes one token of some patches: a norm of the tower's width and two matrices.
[[nodiscard]] ballast::projector qwen_merger(vision_fields& f, ballast::vision_transformer const& tower, std::int64_t norm_weights) {
  auto const along = merged_along(f.in, tower);
  auto const width = tower.body.hidden * along * along;
  return {.input = width,
          .output = f.hidden,
          .tokens = tower.tile_tokens / (along * along),
          .norm = true,
          .inner = width,
          .norm_weights = norm_weights};
}
void require_output(vision_fields& f, char const* key) {
  if (auto const width = f.in.number({key}); width && *width != f.hidden)
    f.in.refuse(key, "must be the width of the language model, " + std::to_string(f.hidden));
}

// ---- families

[[nodiscard]] vision_part qwen2_vl(vision_fields& f) {
  auto const depth = f.in.number({"depth"}, 32), width = f.in.number({"embed_dim"}, 1280), heads = f.in.number({"num_heads"}, 16);
  auto tower = qwen(f, encoder(f, depth, width, heads, width * f.in.number({"mlp_ratio"}, 4)), 14);
  require_output(f, "hidden_size");
  return {tower, qwen_merger(f, tower, 2 * width)};
}
[[nodiscard]] vision_part qwen2_5_vl(vision_fields& f) {
  auto const depth = f.in.number({"depth"}, 32), width = f.in.number({"hidden_size"}, 3584), heads = f.in.number({"num_heads"}, 16);
  auto body = encoder(f, depth, width, heads, f.in.number({"intermediate_size"}, 3420));
  body.gated = true;
  body.norm_bias = false;
  auto tower = qwen(f, body, 14);
  require_output(f, "out_hidden_size");
  auto const merge = f.in.number({"spatial_merge_size"}, 2), window = f.in.number({"window_size"}, 112);
  if (merge == 0 || window < merge * tower.patch) f.in.refuse("window_size", "is smaller than a merged patch");
  auto const along = window / merge / tower.patch * merge;  // patches
  tower.body.window = along * along;
  layer_set full;
  for (auto const l : f.in.numbers("fullatt_block_indexes").value_or(std::vector<std::int64_t>{7, 15, 23, 31}))
    if (l < layer_set::most) full.add(l);
  tower.body.windowed = ~full;
  return {tower, qwen_merger(f, tower, width)};
}
[[nodiscard]] vision_part qwen3(vision_fields& f, std::vector<std::int64_t> const& usual_deep) {
  auto const depth = f.in.number({"depth"}, 27), width = f.in.number({"hidden_size"}, 1152), heads = f.in.number({"num_heads"}, 16);
  auto tower = qwen(f, encoder(f, depth, width, heads, f.in.number({"intermediate_size"}, 4304)), 16);
  tower.patch_bias = true;
  tower.body.positions = f.in.number({"num_position_embeddings"}, 2304);
  require_output(f, "out_hidden_size");
  auto merger = qwen_merger(f, tower, 2 * width);
  for (auto const l : f.in.numbers("deepstack_visual_indexes").value_or(usual_deep)) {
    if (l >= depth) f.in.refuse("deepstack_visual_indexes", "has a layer that the tower has not");
    merger.deep.add(l);
  }
  return {tower, merger};
}
[[nodiscard]] vision_part qwen3_vl(vision_fields& f) { return qwen3(f, {8, 16, 24}); }
[[nodiscard]] vision_part qwen3_5(vision_fields& f) { return qwen3(f, {}); }

/// GLM-4.1V and 4.5V: a norm behind the patches, learned positions, and a merger that ends with a gated block.
[[nodiscard]] vision_part glm4v(vision_fields& f) {
  auto const depth = f.in.number({"depth"}, 24), width = f.in.number({"hidden_size"}, 1536), heads = f.in.number({"num_heads"}, 12);
  auto const out = f.in.number({"out_hidden_size"}, 4096);  // also the inner width of the tower's feed-forward blocks
  if (out != f.hidden) f.in.refuse("out_hidden_size", "must be the width of the language model, " + std::to_string(f.hidden));
  auto body = encoder(f, depth, width, heads, out);
  body.gated = true;
  body.qkv_bias = f.in.flag("attention_bias", false);
  body.output_bias = body.ffn_bias = body.norm_bias = false;
  auto const pixels = edge(f, "image_size", 336);
  auto tower = of_any_size(f, body, 14, f.in.number({"in_channels"}, 3) * f.in.number({"temporal_patch_size"}, 2));
  tower.body.positions = pixels / tower.patch * (pixels / tower.patch);
  tower.pre_norm = true;
  auto const along = merged_along(f.in, tower);
  return {tower,
          {.input = width * along * along,
           .output = out,
           .tokens = tower.tile_tokens / (along * along),
           .norm = true,
           .norm_weights = 2 * out,
           .matrices = 1,
           .bias = false,
           .merged = out,
           .merged_bias = true,
           .gated = f.in.number({"intermediate_size"}, 13696)}};
}
/// MoonViT: learned positions of a grid, and the merger of Qwen2-VL.
[[nodiscard]] vision_part kimi_vl(vision_fields& f) {
  auto tower = of_any_size(f, encoder_of(f, 27, 1152, 16, 4304), 14, 3);
  tower.body.positions = f.in.number({"init_pos_emb_height"}, 64) * f.in.number({"init_pos_emb_width"}, 64);
  auto const along = edge(f, "merge_kernel_size", 2);
  if (along == 0 || tower.tile_tokens % (along * along) != 0) f.in.refuse("merge_kernel_size", "does not divide a tile's 32 x 32 patches");
  auto const width = tower.body.hidden * along * along;
  return {tower,
          {.input = width,
           .output = f.hidden,
           .tokens = tower.tile_tokens / (along * along),
           .norm = true,
           .inner = width,
           .norm_weights = 2 * tower.body.hidden}};
}
/// Mistral Small 3.1 and 3.2: Pixtral, whose patches are merged behind a norm.
[[nodiscard]] vision_part mistral3(vision_fields& f) {
  vision_part out{.tower = pixtral(f), .projector = {}};
  auto& tower = out.tower;
  auto& projector = out.projector;
  tower.unused_layers = tower.body.layers - layers_for(f, "vision_feature_layer", -1, tower.body.layers);
  auto const along = merged_along(f.whole, tower);
  projector = {.input = tower.body.hidden * along * along,
               .output = f.hidden,
               .tokens = tower.tile_tokens / (along * along),
               .norm = true,
               .norm_weights = tower.body.hidden,
               .bias = f.whole.flag("multimodal_projector_bias", false),
               .merged = tower.body.hidden};
  return out;
}
/// Idefics3 and SmolVLM: SigLIP, whose patches are merged by one matrix.
[[nodiscard]] vision_part idefics3(vision_fields& f) {
  vision_part out{.tower = {.body = encoder_of(f, 12, 1152, 16, 3072)}, .projector = {}};
  auto& tower = out.tower;
  auto& projector = out.projector;
  set_patches(tower, f, 224, 32, 0);
  auto const merge = f.whole.number({"scale_factor"}, 2);
  if (merge == 0 || merge > 64 || tower.tokens() % (merge * merge) != 0)
    f.whole.refuse("scale_factor", "does not divide the patches of an image");
  projector = {.input = tower.body.hidden * merge * merge,
               .output = f.hidden,
               .tokens = tower.tokens() / (merge * merge),
               .matrices = 1,
               .bias = false};
  return out;
}
[[nodiscard]] vision_part paligemma(vision_fields& f) {
  vision_part out{.tower = siglip(f), .projector = {}};
  out.projector = {.input = out.tower.body.hidden, .output = f.hidden, .tokens = out.tower.tokens(), .matrices = 1};
  f.notes.push_back("Image and prompt see all of each other; pairs are counted as if no token saw later ones, so attention takes more.");
  return out;
}

/// InternViT, with the names of both classes.
[[nodiscard]] vision_part internvl(vision_fields& f, bool original) {
  vision_part out;
  auto& tower = out.tower;
  auto& projector = out.projector;
  auto& body = tower.body;
  body = original ? encoder_of(f, 48, 3200, 25, 12800) : encoder_of(f, 24, 1024, 16, 4096);
  set_patches(tower, f, 224, 14, 1);
  body.qkv_bias = f.in.flag(original ? "qkv_bias" : "attention_bias", false);
  auto const norm = f.in.text("norm_type");
  if (!norm.empty() && norm != "rms_norm" && norm != "layer_norm") f.in.refuse("norm_type", "is neither rms_norm nor layer_norm");
  body.norm_bias = norm == "layer_norm" || (norm.empty() && !original);
  if (f.in.flag(original ? "qk_normalization" : "use_qk_norm", original)) body.qk_norm = 2 * body.hidden;
  body.final_norm = false;
  body.layer_scale = true;
  if (!original) {
    if (!f.in.flag("use_mean_pooling", true)) f.in.refuse("use_mean_pooling", "is not modelled: it adds a norm");
    if (f.in.flag("use_mask_token", false)) f.in.refuse("use_mask_token", "is not modelled");
    if (!f.in.flag("use_absolute_position_embeddings", true)) body.positions = 0;
  }
  auto along = (tower.body.positions > 0 ? tower.body.positions : tower.tokens()) - 1;
  if (original)
    if (auto const pixels = f.whole.number({"force_image_size"})) {
      if (*pixels < tower.patch) f.whole.refuse("force_image_size", "is smaller than the patch_size");
      along = *pixels / tower.patch * (*pixels / tower.patch);
      tower.tile_tokens = along + 1;
    }
  tower.unused_layers = body.layers - layers_for(f, original ? "select_layer" : "vision_feature_layer", -1, body.layers);
  auto const merge = merged(f.json, f.whole, "downsample_ratio");
  if (along % (merge * merge) != 0) f.whole.refuse("downsample_ratio", "does not divide the patches of a tile");
  projector = {.input = body.hidden * merge * merge, .output = f.hidden, .tokens = along / (merge * merge), .norm = true};
  return out;
}
[[nodiscard]] vision_part internvl_chat(vision_fields& f) { return internvl(f, true); }
[[nodiscard]] vision_part internvl_hf(vision_fields& f) { return internvl(f, false); }

[[nodiscard]] vision_part llava_of(vision_fields& f, std::int64_t layer, std::string_view tokens, std::int64_t newline) {
  vision_part out{.tower = named_tower(f, tokens == "full" ? "siglip_vision_model" : "clip_vision_model"), .projector = {}};
  auto& tower = out.tower;
  auto& projector = out.projector;
  tower.unused_layers = tower.body.layers - layers_for(f, "vision_feature_layer", layer, tower.body.layers);
  auto how = f.whole.text("vision_feature_select_strategy");
  if (how.empty()) how = tokens;
  if (how != "default" && how != "full") f.whole.refuse("vision_feature_select_strategy", "is neither default nor full");
  projector = {.input = tower.body.hidden,
               .output = f.hidden,
               .tokens = tower.tokens() - (how == "default" ? 1 : 0),
               .bias = f.whole.flag("multimodal_projector_bias", true),
               .vectors = newline};
  return out;
}
[[nodiscard]] vision_part llava(vision_fields& f) { return llava_of(f, -2, "default", 0); }
[[nodiscard]] vision_part llava_next(vision_fields& f) { return llava_of(f, -2, "default", 1); }
[[nodiscard]] vision_part llava_onevision(vision_fields& f) { return llava_of(f, -1, "full", 1); }
/// The first LLaVA names its tower.
[[nodiscard]] vision_part llava_original(vision_fields& f) {
  vision_part out{.tower = ballast::vision_preset("clip-l-14-336"), .projector = {}};
  if (!f.whole.text("mm_vision_tower").ends_with("clip-vit-large-patch14-336"))
    f.whole.refuse("mm_vision_tower", "names a tower whose shape is not known; known is openai/clip-vit-large-patch14-336");
  if (f.whole.text("mm_projector_type") != "mlp2x_gelu") f.whole.refuse("mm_projector_type", "is not modelled; mlp2x_gelu is");
  out.tower.unused_layers = out.tower.body.layers - layers_for(f, "mm_vision_select_layer", -2, out.tower.body.layers);
  out.projector = {.input = out.tower.body.hidden, .output = f.hidden, .tokens = out.tower.tokens() - 1};
  return out;
}

[[nodiscard]] vision_part gemma3(vision_fields& f) {
  vision_part out{.tower = siglip(f), .projector = {}};
  auto const width = out.tower.body.hidden;
  out.projector = {.input = width,
                   .output = f.hidden,
                   .tokens = f.whole.number({"mm_tokens_per_image"}, 256),
                   .norm = true,
                   .norm_weights = width,
                   .matrices = 1,
                   .bias = false};
  return out;
}
[[nodiscard]] vision_part llama4(vision_fields& f) {
  vision_part out{.tower = {.body = encoder_of(f, 34, 768, 16, 5632)}, .projector = {}};
  auto& tower = out.tower;
  auto& projector = out.projector;
  set_patches(tower, f, 448, 14, 1);
  tower.patch_bias = false;
  tower.pre_norm = true;
  auto const merge = merged(f.part, f.in, "pixel_shuffle_ratio");
  auto const input = tower.body.hidden * merge * merge, inner = f.in.number({"projector_input_dim"}, 4096);
  if (tower.body.ffn != input) f.in.refuse("intermediate_size", "must be the width of merged patches, " + std::to_string(input));
  if (f.in.number({"projector_output_dim"}, 4096) != inner || f.in.number({"vision_output_dim"}, 7680) != inner)
    f.in.refuse("projector_output_dim", "must be projector_input_dim and vision_output_dim, " + std::to_string(inner));
  if (f.in.flag("multi_modal_projector_bias", false)) f.in.refuse("multi_modal_projector_bias", "is not modelled");
  projector = {
      .input = input, .output = f.hidden, .tokens = (tower.tokens() - 1) / (merge * merge), .inner = inner, .matrices = 3, .bias = false};
  return out;
}

/// Llama 3.2 Vision: all parts of an image pass the tower together; the outputs of some layers go on beside the last one.
[[nodiscard]] vision_part mllama(vision_fields& f) {
  auto const local = f.in.number({"num_hidden_layers"}, 32), global = f.in.number({"num_global_layers"}, 8);
  auto const h = f.in.number({"hidden_size"}, 1280), heads = f.in.number({"attention_heads"}, 16);
  vision_part out{.tower = {.body = encoder(f, local + global, h, heads, f.in.number({"intermediate_size"}, 5120))}, .projector = {}};
  auto& tower = out.tower;
  auto& projector = out.projector;
  set_patches(tower, f, 448, 14, 1);
  tower.body.qkv_bias = tower.body.output_bias = tower.patch_bias = false;
  tower.pre_norm = true;
  auto const parts = f.in.number({"max_num_tiles"}, 4), patches = tower.body.positions;
  if (patches > 1 << 20 || h > 1 << 18) f.in.refuse(h > 1 << 18 ? "hidden_size" : "image_size", "is too large");
  auto const* const listed = f.in.find("supported_aspect_ratios");
  auto const ratios = static_cast<std::int64_t>(listed != nullptr && listed->is_array() ? listed->size() : 8) + 1;  // and none
  if (parts == 0 || parts > 64 || ratios > 1024) f.in.refuse("max_num_tiles", "is not modelled");
  tower.tile_tokens = parts * ((patches + 7) / 8 * 8);  // the class fills parts to a multiple of eight
  // positions of patches and, twice, of parts in each ratio; gates of all three and of the global layers' blocks
  tower.body.other_weights = ratios * parts * (patches + 2) * h + 3 + 2 * global;
  projector = {.input = f.in.number({"vision_output_dim"}, 7680), .output = f.hidden, .tokens = parts * patches, .matrices = 1};
  f.notes.push_back("A tile is an image, which has " + std::to_string(parts) + " parts, filled or not; its features are no tokens.");
  return out;
}
/// Phi-4-multimodal: SigLIP with a head that is not used, of whose patches the mean of four is projected.
[[nodiscard]] vision_part phi4mm(vision_fields& f) {
  vision_part out{.tower = {.body = encoder_of(f, 27, 1152, 16, 4304)}, .projector = {}};
  auto& tower = out.tower;
  auto& projector = out.projector;
  set_patches(tower, f, 448, 14, 0);
  f.in.pass_over({"crop_size"});
  auto const h = tower.body.hidden, ffn = tower.body.ffn, patches = tower.body.positions;
  if (patches % 4 != 0) f.in.refuse("image_size", "has an odd number of patches");
  tower.unused_layers = 1;
  auto const head = h + 4 * h * h + 4 * h + 2 * h + 2 * h * ffn + ffn + h;
  tower.body.other_weights = head + 2 * h;  // and the features that end rows and images
  projector = {.input = h, .output = f.hidden, .tokens = patches / 4};
  return out;
}

struct vision_family {
  std::string_view name;
  vision_part (*read)(vision_fields&);
};
constexpr vision_family vision_classes[]{{"qwen2_vl", qwen2_vl},
                                         {"qwen2_5_vl", qwen2_5_vl},
                                         {"qwen3_vl", qwen3_vl},
                                         {"qwen3_vl_moe", qwen3_vl},
                                         {"qwen3_5", qwen3_5},
                                         {"qwen3_5_moe", qwen3_5},
                                         {"qwen2_5_omni", qwen2_5_vl},
                                         {"qwen2_5_omni_thinker", qwen2_5_vl},
                                         {"qwen3_omni_moe", qwen3_vl},
                                         {"qwen3_omni_moe_thinker", qwen3_vl},
                                         {"glm4v", glm4v},
                                         {"glm4v_moe", glm4v},
                                         {"kimi_vl", kimi_vl},
                                         {"mistral3", mistral3},
                                         {"idefics3", idefics3},
                                         {"smolvlm", idefics3},
                                         {"paligemma", paligemma},
                                         {"internvl_chat", internvl_chat},
                                         {"internvl", internvl_hf},
                                         {"llava", llava},
                                         {"llava_next", llava_next},
                                         {"llava_onevision", llava_onevision},
                                         {"llava_llama", llava_original},
                                         {"gemma3", gemma3},
                                         {"llama4", llama4},
                                         {"mllama", mllama},
                                         {"phi4mm", phi4mm},
                                         {"phi4_multimodal", phi4mm}};

[[nodiscard]] vision_family const* vision_class(std::string_view name) {
  auto const at = std::find_if(std::begin(vision_classes), std::end(vision_classes), [&](auto const& v) { return v.name == name; });
  return at == std::end(vision_classes) ? nullptr : &*at;
}

}  // namespace

bool has_vision(nlohmann::json const& whole) {
  auto const found = whole.find("vision_config");
  return (found != whole.end() && found->is_object()) || whole.contains("mm_vision_tower") || whole.contains("vision_lora");
}
bool is_vision_family(std::string_view family) { return vision_class(family) != nullptr; }
std::string vision_families() {
  std::string words;
  for (auto const& v : vision_classes) words += (words.empty() ? "" : ", ") + std::string(v.name);
  return words;
}

vision_part read_vision_config(nlohmann::json const& whole, std::string_view family, std::int64_t hidden, std::string const& file,
                               std::vector<std::string>& notes) {
  auto const found = whole.find("vision_config");
  nlohmann::json const none = nlohmann::json::object();
  vision_fields fields(whole, found != whole.end() && found->is_object() ? *found : none, file, hidden, notes);
  auto const original = whole.contains("mm_vision_tower");  // a file of the first LLaVA, whatever its class is called now
  vision_part out;
  try {
    out = original ? llava_original(fields) : vision_class(family)->read(fields);
    require_valid(out.tower);
    require_valid(out.projector);
  } catch (ballast::invalid_input const& e) {
    throw bad_input(file + ": vision_config: " + e.what());
  }
  fields.in.pass_over({"tie_word_embeddings"});
  fields.in.refuse_others(std::string(family) + "'s vision tower");
  std::string defaults;
  for (auto const& field : fields.in.defaults()) defaults += (defaults.empty() ? "" : ", ") + field;
  if (!defaults.empty()) notes.push_back("The file leaves these fields to the class of the vision tower: " + defaults + ".");
  return out;
}

}  // namespace ballast_cli
