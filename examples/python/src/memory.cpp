// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <ballast/core/error.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/layer_tensors.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/plan/memory_of.hpp>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "binders.hpp"
#include "costs.hpp"

namespace ballast_python {

using ballast::transformer;

namespace {

/// A model, or the name of one.
transformer model_of(nb::handle argument) {
  if (nb::isinstance<transformer>(argument)) return nb::cast<transformer const&>(argument);
  return ballast::transformer_preset(nb::cast<std::string>(argument));
}

/// "all", "none", "lora:8" or "qlora:8".
ballast::trainable trained_of(std::string const& name) {
  if (name == "all") return {};
  if (name == "none") return {.what = ballast::trained::none};
  auto const colon = name.find(':');
  auto const kind = name.substr(0, colon);
  ballast::trainable out{.what = ballast::trained::low_rank, .quantised = kind == "qlora"};
  auto const* const end = name.data() + name.size();
  auto const read = colon == std::string::npos ? std::from_chars_result{nullptr, std::errc::invalid_argument}
                                               : std::from_chars(name.data() + colon + 1, end, out.rank);
  ballast::require((kind == "lora" || kind == "qlora") && read.ec == std::errc() && read.ptr == end,
                   [&] { return "train = \"" + name + "\": expected all, none, lora:RANK or qlora:RANK, as in lora:8"; });
  return out;
}

/// "plain", "in-place" and so on, or "chunked:8".
ballast::head_loss loss_of(std::string const& name) {
  auto const colon = name.find(':');
  ballast::head_loss out{.how = ballast::find_named(ballast::head_losses, std::string_view(name).substr(0, colon), "loss").how};
  if (colon == std::string::npos) return out;
  auto const* const end = name.data() + name.size();
  auto const [at, error] = std::from_chars(name.data() + colon + 1, end, out.chunks);
  ballast::require(out.how == ballast::head_loss::kind::chunked && error == std::errc() && at == end,
                   [&] { return "loss = \"" + name + "\": a number of chunks is written as in chunked:8"; });
  return out;
}

/// "none", "full", or modules such as "core_attn,mlp".
ballast::recompute_setting recompute_of(std::string const& name) {
  if (name == "none") return {};
  if (name == "full") return {.what = ballast::recompute_setting::kind::uniform};
  return {.what = ballast::recompute_setting::kind::modules, .modules = ballast::module_set_named(name)};
}

ballast::attention_kernel attention_of(bool stored_scores) {
  return stored_scores ? ballast::attention_kernel::stored_scores : ballast::attention_kernel::fused;
}

nb::dict layer_tensors(nb::handle model, std::int64_t layer, std::string const& framework, bool stored_scores, std::int64_t value,
                       bool repeated_keys, bool composed_activation, std::string const& train, std::int64_t adapter_value,
                       bool adapter_dropout) {
  nb::dict out;
  ballast::activation_setting const by{.count = ballast::framework_named(framework).count,
                                       .attention = attention_of(stored_scores),
                                       .kernels = {.value = value,
                                                   .repeated_keys = repeated_keys,
                                                   .composed_activation = composed_activation,
                                                   .adapter_value = adapter_value,
                                                   .adapter_dropout = adapter_dropout},
                                       .is = trained_of(train)};
  for (auto const& t : ballast::layer_tensors_of(model_of(model), layer, by)) {
    if (!t.instead.empty()) continue;
    auto const bytes = t.bytes.on({});
    out[std::string(t.name).c_str()] = nb::make_tuple(bytes.per_token, bytes.per_square);
  }
  return out;
}

nb::list memory(nb::handle model, std::string const& framework, std::int64_t sequence, std::int64_t micro_batch, std::int64_t micro_batches,
                std::int64_t tensor, std::int64_t context, std::int64_t data, std::uint64_t stages, std::int64_t expert,
                std::int64_t expert_tensor, int zero, std::string const& optimizer, std::string const& recompute, std::string const& loss,
                std::string const& train, bool stored_scores, bool hopper) {
  auto const shape = model_of(model);
  ballast::training_setting by;
  by.model = {.spread = {.tensor = tensor, .context = context, .data = data * context, .sequence_parallel = tensor > 1, .zero = zero},
              .expert = expert,
              .expert_tensor = expert_tensor,
              .optimizer = ballast::optimizer_named(optimizer),
              .framework = ballast::framework_named(framework),
              .loss = loss_of(loss),
              .attention = attention_of(stored_scores),
              .language = trained_of(train)};
  by.pipeline.stages = stages;
  by.recompute = recompute_of(recompute);
  by.sequence = sequence;
  by.micro_batch = micro_batch;
  by.micro_batches = micro_batches;
  nb::list out;
  for (auto const& stage : ballast::memory_of(shape, by, hopper)) {
    using enum ballast::memory_moment;
    nb::dict extra, parts;
    for (auto const at : {head, layer_backward, overlap, step})
      extra[std::string(to_string(at)).c_str()] = stage.extra[static_cast<std::size_t>(at)];
    parts["states"] = stage.states;
    parts["workspace"] = stage.workspace;
    parts["kept"] = stage.kept;
    parts["inputs"] = stage.inputs;
    parts["gathered"] = stage.gathered;
    parts["extra"] = extra;
    parts["moment"] = std::string(to_string(stage.moment));
    parts["peak"] = stage.peak();
    out.append(parts);
  }
  return out;
}

}  // namespace

void bind_memory(nb::module_& m) {
  m.def("layer_tensors", &layer_tensors, "model"_a, "layer"_a = 0, nb::kw_only(), "framework"_a = "eager", "stored_scores"_a = false,
        "value"_a = 2, "repeated_keys"_a = false, "composed_activation"_a = false, "train"_a = "all", "adapter_value"_a = 2,
        "adapter_dropout"_a = false,
        "What a layer keeps from its forward to its backward pass: bytes per token and per squared token, by the name of the tensor.\n\n"
        "`value` is the number of bytes of a value, `adapter_value` that of adapters; `train` is all, none or lora:RANK.");
  m.def(
      "memory", &memory, "model"_a, nb::kw_only(), "framework"_a = "eager", "sequence"_a, "micro_batch"_a = 1, "micro_batches"_a = 1,
      "tensor"_a = 1, "context"_a = 1, "data"_a = 1, "stages"_a = 1, "expert"_a = 1, "expert_tensor"_a = 0, "zero"_a = 0,
      "optimizer"_a = "adam", "recompute"_a = "none", "loss"_a = "plain", "train"_a = "all", "stored_scores"_a = false, "hopper"_a = true,
      "What each pipeline stage of a training holds on a device, in bytes, part by part.\n\n"
      "A list with a dict for each stage: states, workspace, kept, inputs, gathered, `extra` at each moment, the moment of the peak, and\n"
      "the peak. `recompute` is none, full, or modules such as \"core_attn,mlp\". docs/memory-model.md describes all terms.");
}

}  // namespace ballast_python
