// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/communication.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/footprint/trainable.hpp>
#include <ballast/plan/export/flags.hpp>
#include <ballast/plan/judge_setting.hpp>
#include <ballast/plan/training_setting.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// @file
/// @brief `deepspeed_json` and `deepspeed_stages`: a training setting as the file of DeepSpeed, and a cut as its class.
///
/// The keys are those of deepspeedai/DeepSpeed edaa7221. They were compared with the list of keys there; the file was not run there.

namespace ballast::inline v0_2 {

/// @brief Writes a training setting as the JSON file of DeepSpeed: every key that the plan depends on.
///
/// DeepSpeed takes the cut and the recomputation in code, not from the file: `deepspeed_stages` writes the cut; checkpoint layers as the
/// plan says.
///
/// @param model  the shape
/// @param by     the setting
/// @return the file
/// @throws invalid_input as `require_valid` of the setting
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// deepspeedai/DeepSpeed, deepspeed/runtime/config.py and zero/config.py, at edaa7221.
template <class = when_called>
[[nodiscard]] inline exported_setting deepspeed_json(transformer const& model, training_setting const& by) {
  require_valid(by, model);
  exported_setting out;
  auto const lack = [&](std::string what) { out.without.push_back(std::move(what)); };
  auto const& spread = by.model.spread;
  auto const number = [](char const* key, std::int64_t value) { return sentence("  \"", key, "\": ", value, ",\n"); };
  auto& text = out.text;
  text = "{\n" + number("train_batch_size", by.global_batch()) + number("train_micro_batch_size_per_gpu", by.micro_batch) +
         number("gradient_accumulation_steps", by.micro_batches);
  if (spread.tensor > 1) text += sentence("  \"tensor_parallel\": {\"autotp_size\": ", spread.tensor, "},\n");
  if (spread.tensor > 1 && spread.sequence_parallel) lack("sequence parallelism beside tensor parallelism");
  if (spread.context > 1 && by.model.method == context_method::ulysses) text += number("sequence_parallel_size", spread.context);
  if (spread.context > 1 && by.model.method == context_method::ring) lack("context parallelism in a ring");
  if (by.model.expert > 1) lack("expert parallelism");  // a degree of the model's code
  auto const again = by.recompute.what != recompute_setting::kind::none;
  if (by.pipeline.stages > 1) {
    auto const units = again && by.recompute.what == recompute_setting::kind::uniform;
    text += sentence("  \"pipeline\": {\"stages\": ", by.pipeline.stages,
                     ", \"activation_checkpoint_interval\": ", units ? by.recompute.layers : 0, "},\n");
    if (!std::holds_alternative<one_f_one_b_schedule>(by.pipeline.schedule)) lack(detail::schedule_in_words(by.pipeline.schedule));
    if (again && !units) lack("recompute " + detail::recompute_in_words(by.recompute));
    if (spread.zero > 1) lack(sentence("ZeRO stage ", spread.zero, " with a pipeline"));
    lack("the cut, for which PipelineModule has no argument (deepspeed_stages writes a class that has it)");
  } else if (again) {
    lack("recompute " + detail::recompute_in_words(by.recompute));
  }
  auto const name = by.model.optimizer.name;
  auto const sgd = name == "sgd" || name == "sgd-momentum";
  auto const bf16_gradients = name == "adam-bf16-gradients", floats = by.model.kernels.value > 2;
  if (floats ? name != "adam-fp32" : name != "adam" && !bf16_gradients && !sgd) lack("optimizer " + std::string(name));
  text += sentence("  \"optimizer\": {\"type\": \"", sgd ? "SGD" : "AdamW", "\"",
                   name == "sgd" ? ", \"params\": {\"momentum\": 0}"
                   : sgd         ? ", \"params\": {\"momentum\": 0.9}"
                                 : "",
                   "},\n");
  text += sentence("  \"bf16\": {\"enabled\": ", floats ? "false" : "true", "},\n  \"data_types\": {\"grad_accum_dtype\": \"",
                   bf16_gradients ? "bf16" : "fp32", "\"},\n  \"zero_optimization\": {\"stage\": ", spread.zero);
  auto const& moved = by.model.moved;
  if (moved == offload::gradients || moved == offload::parameters) text += ", \"offload_optimizer\": {\"device\": \"cpu\"}";
  if (moved == offload::parameters) text += ", \"offload_param\": {\"device\": \"cpu\"}";
  if (moved == offload::optimizer) lack("offload optimizer without gradients");
  if (moved != offload::none && spread.zero < (moved == offload::parameters ? 3 : 1))
    lack(sentence("offload ", detail::offload_in_words(moved), " under ZeRO stage ", spread.zero));
  text += "}\n}\n";
  auto const& m = by.model;
  if (m.loss.how != head_loss::kind::plain) lack("head loss " + to_string(m.loss));
  if (m.attention != attention_kernel::fused) lack("attention with stored scores");
  if (m.fp8_experts) lack("experts in 8 bits");
  if (m.expert_capacity > 0) lack("expert capacity " + detail::thousandths_in_words(m.expert_capacity));
  if (m.language.what != trained::all) lack(detail::trained_in_words(m.language));
  return out;
}

/// @brief Writes stages as Python for DeepSpeed: a `PipelineModule` whose `parts` they are.
///
/// Its argument `partition_method` cuts by number, by parameters or by the type of layers, and takes no list.
///
/// @tparam Index  type of the boundaries
/// @param boundaries  stages + 1 entries from 0 to the number of entries in `layers`, the list that the class is made with
/// @return the class
/// @par Source
/// deepspeedai/DeepSpeed, deepspeed/runtime/pipe/module.py, at edaa7221.
template <index_type Index>
[[nodiscard]] std::string deepspeed_stages(std::span<Index const> boundaries) {
  std::string parts;
  for (auto const b : boundaries) parts += (parts.empty() ? "" : ", ") + std::to_string(b);
  return "class PlannedStages(PipelineModule):\n    def _partition_layers(self, method=None):\n        self.parts = [" + parts +
         "]\n        stage = self._topo.get_coord(self.global_rank).pipe\n"
         "        self._set_bounds(start=self.parts[stage], stop=self.parts[stage + 1])\n";
}

}  // namespace ballast::inline v0_2
