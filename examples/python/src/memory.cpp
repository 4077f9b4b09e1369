// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <ballast/core/error.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/vision.hpp>
#include <ballast/footprint/layer_tensors.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/trainers.hpp>
#include <ballast/plan/longest_sequence.hpp>
#include <ballast/plan/memory_of.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "binders.hpp"
#include "costs.hpp"
#include "report/output.hpp"
#include "words.hpp"

namespace ballast_python {

using ballast::transformer;
using ballast::vision_language_model;

namespace {

transformer model_of(nb::handle argument) {
  auto const model = shape_of(argument, false);
  ballast::require(model.has_value(), [] { return "model is no name of a model, no config of one, and no Transformer"; });
  return *model;
}

/// A vision-language model, if it is one or the name of one.
std::optional<vision_language_model> vision_model_of(nb::handle argument) {
  if (nb::isinstance<vision_language_model>(argument)) return nb::cast<vision_language_model const&>(argument);
  if (!nb::isinstance<nb::str>(argument)) return {};
  auto const name = nb::cast<std::string>(argument);
  for (auto const& preset : ballast::vision_language_presets)
    if (preset.name == name) return preset.model;
  return {};
}

/// "all", "none", "lora:8" or "qlora:8".
ballast::trainable trained_of(std::string const& name) {
  if (name == "all") return {};
  if (name == "none") return {.what = ballast::trained::none};
  auto const colon = name.find(':');
  auto const kind = name.substr(0, colon);
  ballast::trainable out{.what = ballast::trained::low_rank, .quantised = kind == "qlora"};
  auto const few = name.ends_with(":qv");
  if (few) out.matrices = ballast::adapted_matrices::queries_and_values;
  auto const* const end = name.data() + name.size() - (few ? 3 : 0);
  auto const read = colon == std::string::npos ? std::from_chars_result{nullptr, std::errc::invalid_argument}
                                               : std::from_chars(name.data() + colon + 1, end, out.rank);
  ballast::require((kind == "lora" || kind == "qlora") && read.ec == std::errc() && read.ptr == end,
                   [&] { return "train = \"" + name + "\": expected all, none, lora:RANK or qlora:RANK, as in lora:8"; });
  return out;
}

/// "plain", "in-place" and so on, or "chunked:8".
ballast::head_loss loss_of(std::string const& name) {
  auto const colon = name.find(':');
  ballast::head_loss out{.how = entry_named(ballast::head_losses, std::string_view(name).substr(0, colon), "loss").how};
  if (colon == std::string::npos) return out;
  auto const* const end = name.data() + name.size();
  auto const [at, error] = std::from_chars(name.data() + colon + 1, end, out.chunks);
  using enum ballast::head_loss::kind;
  auto const in_chunks = out.how == chunked || out.how == sixteen_bits || out.how == plain || out.how == parallel;
  ballast::require(in_chunks && error == std::errc() && at == end,
                   [&] { return "loss = \"" + name + "\": a number of chunks is written as in chunked:8"; });
  return out;
}

/// "none", "full", or modules such as "core_attn,mlp".
ballast::recompute_setting recompute_of(std::string const& name) {
  auto const word = ballast_cli::lower_case(name);
  if (word == "none") return {};
  if (word == "full") return {.what = ballast::recompute_setting::kind::uniform};
  return {.what = ballast::recompute_setting::kind::modules, .modules = ballast::module_set_named(word)};
}

ballast::attention_kernel attention_of(bool stored_scores) {
  return stored_scores ? ballast::attention_kernel::stored_scores : ballast::attention_kernel::fused;
}

vision_language_model vision_model(transformer body, transformer const& language, std::int64_t tile_tokens, std::int64_t merged_tokens,
                                   std::int64_t patch, std::int64_t channels, std::int64_t extra_tokens, bool pre_norm, bool final_norm,
                                   std::int64_t unused_layers, bool layer_scale, std::int64_t merge, bool projector_norm,
                                   std::int64_t norm_weights, std::int64_t inner) {
  body.causal = false;
  body.final_norm = final_norm;
  body.layer_scale = layer_scale;
  vision_language_model const out{.vision = {.body = body,
                                             .patch = patch,
                                             .channels = channels,
                                             .extra_tokens = extra_tokens,
                                             .pre_norm = pre_norm,
                                             .tile_tokens = tile_tokens,
                                             .unused_layers = unused_layers},
                                  .projector = {.input = merge * body.hidden,
                                                .output = language.hidden,
                                                .tokens = merged_tokens,
                                                .norm = projector_norm,
                                                .inner = inner,
                                                .norm_weights = norm_weights},
                                  .language = language};
  ballast::require_valid(out);
  return out;
}

nb::dict layer_tensors(nb::handle model, std::int64_t layer, std::string const& framework, bool stored_scores, std::int64_t value,
                       bool repeated_keys, bool composed_activation, std::string const& train, std::int64_t adapter_value,
                       bool adapter_dropout, bool fused_queries, bool float_norms, bool short_softmax) {
  nb::dict out;
  ballast::activation_setting const by{.count = entry_named(ballast::frameworks, framework, "framework").count,
                                       .attention = attention_of(stored_scores),
                                       .kernels = {.value = value,
                                                   .repeated_keys = repeated_keys,
                                                   .short_softmax = short_softmax,
                                                   .float_norms = float_norms,
                                                   .fused_queries = fused_queries,
                                                   .composed_activation = composed_activation,
                                                   .adapter_value = adapter_value,
                                                   .adapter_dropout = adapter_dropout},
                                       .is = trained_of(train)};
  ballast::detail::require_within("value", value, 1, 8);
  ballast::detail::require_within("adapter_value", adapter_value, 1, 8);
  for (auto const& t : ballast::layer_tensors_of(model_of(model), layer, by)) {
    if (!t.instead.empty()) continue;
    auto const bytes = t.bytes.on({});
    out[std::string(t.name).c_str()] = nb::make_tuple(bytes.per_token, bytes.per_square);
  }
  return out;
}

/// What a training is beside its model and its micro-batches. What is None is what the trainer does, or else the usual.
ballast::training_setting setting_of(transformer const& model, std::optional<std::string> const& trainer,
                                     std::optional<std::string> const& framework, std::int64_t micro_batches, std::int64_t tensor,
                                     std::int64_t context, std::int64_t data, std::uint64_t stages, std::int64_t expert,
                                     std::int64_t expert_tensor, std::optional<int> zero, std::optional<std::string> const& optimizer,
                                     std::string const& recompute, std::optional<std::string> const& loss, std::string const& train,
                                     bool stored_scores, bool dropout, std::optional<std::int64_t> value, std::optional<bool> repeated_keys,
                                     std::optional<bool> composed_activation, std::optional<std::int64_t> adapter_value,
                                     std::optional<bool> adapter_dropout, std::optional<bool> stream_pools) {
  auto const usual = trainer ? entry_named(ballast::trainers, *trainer, "trainer") : ballast::trainer{.framework = "eager"};
  auto kernels = trainer ? kernels_of(usual, model) : usual.kernels;
  kernels.hidden_dropout = kernels.attention_dropout = dropout;
  kernels.value = value.value_or(kernels.value);
  kernels.repeated_keys = repeated_keys.value_or(kernels.repeated_keys);
  kernels.composed_activation = composed_activation.value_or(kernels.composed_activation);
  kernels.adapter_value = adapter_value.value_or(kernels.adapter_value);
  kernels.adapter_dropout = adapter_dropout.value_or(kernels.adapter_dropout);
  kernels.stream_pools = stream_pools.value_or(kernels.stream_pools);
  ballast::training_setting by;
  by.model = {.spread = {.tensor = tensor,
                         .context = context,
                         .data = data * context,
                         .sequence_parallel = tensor > 1,
                         .zero = zero.value_or(usual.zero)},
              .expert = expert,
              .expert_tensor = expert_tensor,
              .optimizer = entry_named(ballast::optimizers, optimizer ? *optimizer : usual.optimizer, "optimizer"),
              .framework = entry_named(ballast::frameworks, framework ? *framework : usual.framework, "framework"),
              .loss = loss ? loss_of(*loss) : usual.loss,
              .attention = attention_of(stored_scores),
              .kernels = kernels,
              .language = trained_of(train)};
  by.pipeline.stages = stages;
  by.recompute = recompute_of(recompute);
  by.micro_batches = micro_batches;
  return by;
}

nb::dict parts_of(ballast::memory_parts const& of) {
  nb::dict extra, parts;
  for (std::size_t at = 0; at < of.extra.size(); ++at)
    extra[std::string(to_string(static_cast<ballast::memory_moment>(at))).c_str()] = of.extra[at];
  parts["states"] = of.states;
  parts["workspace"] = of.workspace;
  parts["kept"] = of.kept;
  parts["inputs"] = of.inputs;
  parts["gathered"] = of.gathered;
  parts["extra"] = extra;
  parts["moment"] = std::string(to_string(of.moment));
  parts["peak"] = of.peak();
  return parts;
}

/// The functions that take a setting, with its arguments behind their own.
template <class... Arguments>
struct functions_of_setting {
  static nb::list memory(nb::handle model, std::int64_t sequence, std::int64_t micro_batch, bool hopper, std::int64_t tiles,
                         std::string const& train_vision, std::string const& train_projector, std::int64_t vision_tensor,
                         Arguments... arguments) {
    auto const whole = vision_model_of(model);
    auto const shape = whole ? whole->language : model_of(model);
    auto const only_with_images = [&](char const* name, std::int64_t value) {
      ballast::require(whole || value == 0, [&] { return ballast::sentence(name, " = ", value, ": the model reads no images"); });
    };
    only_with_images("tiles", tiles);
    only_with_images("vision_tensor", vision_tensor);
    auto by = setting_of(shape, arguments...);
    by.model.vision = trained_of(train_vision);
    by.model.projector = trained_of(train_projector);
    by.model.vision_tensor = vision_tensor;
    by.sequence = sequence;
    by.micro_batch = micro_batch;
    auto const stages_of = [&] {
      if (!whole) return ballast::memory_of(shape, by, hopper);
      ballast::require_valid(by, shape);
      auto const tokens = micro_batch * sequence;
      return ballast::memory_of(*whole, by, {.tokens = tokens, .squares = tokens * sequence, .tiles = tiles}, hopper);
    };
    nb::list out;
    for (auto const& stage : stages_of()) out.append(parts_of(stage));
    return out;
  }
  static nb::dict longest_sequence(nb::handle model, std::int64_t memory, std::int64_t unit, bool packed, std::int64_t micro_batch,
                                   bool hopper, Arguments... arguments) {
    auto const shape = model_of(model);
    auto by = setting_of(shape, arguments...);
    by.pipeline.memory = memory;
    by.micro_batch = micro_batch;
    auto const found = ballast::longest_sequence(shape, by, {.unit = unit, .packed = packed, .hopper = hopper});
    nb::dict out;
    out["tokens"] = found.tokens;
    out["stage"] = found.stage;
    out["next"] = found.next.peak() > 0 ? nb::object(parts_of(found.next)) : nb::none();
    return out;
  }
};
template <class... Arguments>
functions_of_setting<Arguments...> functions_of(ballast::training_setting (*)(transformer const&, Arguments...));
using functions = decltype(functions_of(&setting_of));

/// Binds one of them: `own` are the arguments in front of the setting's.
template <class Function, class... Own>
void bind_with_setting(nb::module_& m, char const* name, Function function, char const* what, Own const&... own) {
  m.def(name, function, "model"_a, nb::kw_only(), own..., "trainer"_a = nb::none(), "framework"_a = nb::none(), "micro_batches"_a = 1,
        "tensor"_a = 1, "context"_a = 1, "data"_a = 1, "stages"_a = 1, "expert"_a = 1, "expert_tensor"_a = 0, "zero"_a = nb::none(),
        "optimizer"_a = nb::none(), "recompute"_a = "none", "loss"_a = nb::none(), "train"_a = "all", "stored_scores"_a = false,
        "dropout"_a = false, "value"_a = nb::none(), "repeated_keys"_a = nb::none(), "composed_activation"_a = nb::none(),
        "adapter_value"_a = nb::none(), "adapter_dropout"_a = nb::none(), "stream_pools"_a = nb::none(), what);
}

}  // namespace

void bind_memory(nb::module_& m) {
  nb::class_<vision_language_model>(m, "VisionLanguageModel",
                                    "The shape of a vision-language model. Make it by ballast.vision_language_model(...), or by name.")
      .def("__repr__", [](vision_language_model const& v) {
        return "<VisionLanguageModel: " + in_a_line(v.vision.body) + "; language model: " + in_a_line(v.language) + ">";
      });
  m.def(
      "vision_language_model", [](std::string const& name) { return ballast::vision_language_preset(name); }, "name"_a,
      "The shape of a published model, as in \"qwen2.5-vl-7b\".");
  m.def("vision_language_model", &vision_model, nb::kw_only(), "body"_a, "language"_a, "tile_tokens"_a, "merged_tokens"_a, "patch"_a = 14,
        "channels"_a = 3, "extra_tokens"_a = 0, "pre_norm"_a = false, "final_norm"_a = false, "unused_layers"_a = 0,
        "layer_scale"_a = false, "merge"_a = 1, "projector_norm"_a = false, "norm_weights"_a = 0, "inner"_a = 0,
        "The shape of a model: `body` and `language` are Transformers, the former for tiles of `tile_tokens` tokens.\n\n"
        "`merge` neighbours are joined in front of the projector, which passes `merged_tokens` per tile to the language model. `inner` is\n"
        "the width inside the projector (0: that of the language model), `norm_weights` the weights of its norm (0: two a value).");
  m.def("layer_tensors", &layer_tensors, "model"_a, "layer"_a = 0, nb::kw_only(), "framework"_a = "eager", "stored_scores"_a = false,
        "value"_a = 2, "repeated_keys"_a = false, "composed_activation"_a = false, "train"_a = "all", "adapter_value"_a = 2,
        "adapter_dropout"_a = false, "fused_queries"_a = false, "float_norms"_a = false, "short_softmax"_a = false,
        "What a layer keeps from its forward to its backward pass: bytes per token and per squared token, by the name of the tensor.\n\n"
        "`value` is the number of bytes of a value, `adapter_value` that of adapters; `train` is all, none, lora:RANK, or lora:RANK:qv\n"
        "for adapters of queries and values alone.");
  bind_with_setting(
      m, "memory", &functions::memory,
      "What each pipeline stage of a training holds on a device, in bytes, part by part.\n\n"
      "A list with a dict for each stage: states, workspace, kept, inputs, gathered, `extra` at each moment, the moment of the peak, and\n"
      "the peak. `recompute` is none, full, or modules such as \"core_attn,mlp\". `trainer` is megatron, torchtitan, torchtune,\n"
      "transformers, axolotl or deepspeed: what is None is then what it does by default; else the framework is eager, the optimizer adam,\n"
      "ZeRO 0. With `stream_pools`, reserved bytes are counted rather than allocated ones. docs/memory-model.md describes all terms.\n\n"
      "`model` may be a vision-language model: then `tiles` is the number of image tiles of a micro-batch, and `train_vision` and\n"
      "`train_projector` say what is trained beside the language model. Of the `tensor` devices that share a layer, `vision_tensor`, a\n"
      "divisor, share the tower and the projector, and the others take other tiles; 0 stands for all.",
      "sequence"_a, "micro_batch"_a = 1, "hopper"_a = true, "tiles"_a = 0, "train_vision"_a = "none", "train_projector"_a = "all",
      "vision_tensor"_a = 0);
  m.def(
      "devices",
      [] {
        nb::dict out;
        for (auto const& d : ballast::devices) out[std::string(d.name).c_str()] = d.memory_bytes;
        return out;
      },
      nb::sig("def devices() -> dict[str, int]"), "The accelerators whose datasheets are known, with the bytes of their memory.");
  bind_with_setting(
      m, "longest_sequence", &functions::longest_sequence,
      "The most tokens that fit `memory` bytes a device, a multiple of `unit`: of a pack of any samples, or of each of `micro_batch`\n"
      "sequences if not `packed`. The other arguments are those of `memory`.\n\n"
      "A dict: tokens (0 if not even one unit fits), the fullest stage if it is one unit longer, and what that stage holds `next`, as in\n"
      "`memory`; None where more than 2^30 tokens are not looked at.",
      "memory"_a, "unit"_a = 64, "packed"_a = true, "micro_batch"_a = 1, "hopper"_a = true);
}

}  // namespace ballast_python
