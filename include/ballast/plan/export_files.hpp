// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/cost/communication.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/footprint/trainable.hpp>
#include <ballast/plan/export_flags.hpp>
#include <ballast/plan/judge_setting.hpp>
#include <ballast/plan/training_setting.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// @file
/// @brief `deepspeed_json` and `torchtitan_toml`: a training setting as a file of DeepSpeed or torchtitan.
///
/// The keys are those of deepspeedai/DeepSpeed edaa7221, and of the last version of pytorch/torchtitan that read TOML (before 9810191b).
/// They were compared with the lists of keys there; the files were not run there.

namespace ballast::inline v0_2 {

namespace detail {

/// What neither DeepSpeed nor torchtitan has a key for.
template <class = when_called>
inline void lack_common(exported_setting& out, training_setting const& by) {
  auto const& m = by.model;
  auto const lack = [&](std::string what) { out.without.push_back(std::move(what)); };
  if (m.loss.how != head_loss::kind::plain) lack("head loss " + loss_in_words(m.loss));
  if (m.attention != attention_kernel::fused) lack("attention with stored scores");
  if (m.fp8_experts) lack("experts in 8 bits");
  if (m.expert_capacity > 0) lack("expert capacity " + thousandths_in_words(m.expert_capacity));
  if (m.language.what != trained::all)
    lack(m.language.what == trained::none ? std::string("train none")
                                          : (m.language.quantised ? "train qlora:" : "train lora:") + std::to_string(m.language.rank));
}

}  // namespace detail

/// @brief Writes a training setting as the JSON file of DeepSpeed: every key that the plan depends on.
///
/// DeepSpeed takes the cut and the recomputation in code, not from the file: pass `parts` and checkpoint layers as the plan says.
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
  auto const number = [](char const* key, std::int64_t value) {
    return "  \"" + std::string(key) + "\": " + std::to_string(value) + ",\n";
  };
  auto& text = out.text;
  text = "{\n" + number("train_batch_size", by.global_batch()) + number("train_micro_batch_size_per_gpu", by.micro_batch) +
         number("gradient_accumulation_steps", by.micro_batches);
  if (spread.tensor > 1) text += "  \"tensor_parallel\": {\"autotp_size\": " + std::to_string(spread.tensor) + "},\n";
  if (spread.tensor > 1 && spread.sequence_parallel) lack("sequence parallelism beside tensor parallelism");
  if (spread.context > 1 && by.model.method == context_method::ulysses) text += number("sequence_parallel_size", spread.context);
  if (spread.context > 1 && by.model.method == context_method::ring) lack("context parallelism in a ring");
  if (by.model.expert > 1) lack("expert parallelism");  // a degree of the model's code
  auto const again = by.recompute.what != recompute_setting::kind::none;
  if (by.pipeline.stages > 1) {
    auto const units = again && by.recompute.what == recompute_setting::kind::uniform;
    text += "  \"pipeline\": {\"stages\": " + std::to_string(by.pipeline.stages) +
            ", \"activation_checkpoint_interval\": " + std::to_string(units ? by.recompute.layers : 0) + "},\n";
    if (!std::holds_alternative<one_f_one_b_schedule>(by.pipeline.schedule))
      lack("schedule " + std::visit([](auto const& s) { return std::string(s.name); }, by.pipeline.schedule));
    if (again && !units) lack("recompute " + detail::recompute_in_words(by.recompute));
    if (spread.zero > 1) lack("ZeRO stage " + std::to_string(spread.zero) + " with a pipeline");
    lack("the cut, which is the argument `parts` of PipelineModule");
  } else if (again) {
    lack("recompute " + detail::recompute_in_words(by.recompute));
  }
  auto const name = by.model.optimizer.name;
  auto const sgd = name == "sgd" || name == "sgd-momentum";
  auto const bf16_gradients = name == "adam-bf16-gradients";
  if (name != "adam" && !bf16_gradients && !sgd) lack("optimizer " + std::string(name));
  text += "  \"optimizer\": {\"type\": \"" + std::string(sgd ? "SGD" : "AdamW") + "\"" +
          (sgd ? std::string(", \"params\": {\"momentum\": ") + (name == "sgd" ? "0" : "0.9") + "}" : std::string()) + "},\n";
  text += "  \"bf16\": {\"enabled\": true},\n  \"data_types\": {\"grad_accum_dtype\": \"" + std::string(bf16_gradients ? "bf16" : "fp32") +
          "\"},\n  \"zero_optimization\": {\"stage\": " + std::to_string(spread.zero);
  auto const& moved = by.model.moved;
  if (moved == offload::gradients || moved == offload::parameters) text += ", \"offload_optimizer\": {\"device\": \"cpu\"}";
  if (moved == offload::parameters) text += ", \"offload_param\": {\"device\": \"cpu\"}";
  if (moved == offload::optimizer) lack("offload optimizer without gradients");
  if (moved != offload::none && spread.zero < (moved == offload::parameters ? 3 : 1))
    lack("offload " + std::string(detail::offload_in_words(moved)) + " under ZeRO stage " + std::to_string(spread.zero));
  text += "}\n}\n";
  detail::lack_common(out, by);
  return out;
}

namespace detail {
/// The modules of each chunk, as torchtitan names them: lists in a list.
template <class = when_called>
[[nodiscard]] inline std::string torchtitan_parts(transformer const& model, std::vector<std::uint32_t> const& cuts) {
  std::string text;
  auto const first = std::uint32_t{model.vocabulary > 0 ? 1U : 0U}, last = first + static_cast<std::uint32_t>(model.layers);
  for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
    text += "\n  [";
    std::string parts;
    for (auto i = cuts[c]; i < cuts[c + 1]; ++i) {
      auto const name = i < first  ? std::string("tok_embeddings")
                        : i < last ? "layers." + std::to_string(i - first)
                                   : std::string("output");
      parts += (parts.empty() ? "\"" : ", \"") + (name == "output" ? "norm\", \"output" : name) + "\"";
      if (i >= last) break;
    }
    text += parts + "],";
  }
  return text;
}

}  // namespace detail

/// @brief Writes a training setting as a TOML file of torchtitan: every key that the plan depends on, but not the model.
///
/// States are float32 there and sharded: 16 bytes per parameter as with `adam-bf16-gradients` under ZeRO-3.
///
/// @param model  the shape
/// @param by     the setting
/// @return the file
/// @throws invalid_input as `require_valid` of the setting
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// pytorch/torchtitan, torchtitan/config/job_config.py, before 9810191b.
template <class = when_called>
[[nodiscard]] inline exported_setting torchtitan_toml(transformer const& model, training_setting const& by) {
  exported_setting out;
  auto const cuts = boundaries_of(by, model);
  auto const lack = [&](std::string what) { out.without.push_back(std::move(what)); };
  auto const& spread = by.model.spread;
  auto const stages = static_cast<std::int64_t>(by.pipeline.stages);
  auto const degree = [](char const* key, std::int64_t value) { return std::string(key) + " = " + std::to_string(value) + "\n"; };
  auto& text = out.text;
  text = "[training]\n" + degree("local_batch_size", by.micro_batch * (stages > 1 ? by.micro_batches : 1)) +
         degree("global_batch_size", by.global_batch()) + degree("seq_len", by.sequence) +
         "dtype = \"float32\"\nmixed_precision_param = \"bfloat16\"\nmixed_precision_reduce = \"float32\"\n";
  if (by.model.moved == offload::parameters) text += "enable_cpu_offload = true\n";
  if (by.model.moved != offload::parameters && by.model.moved != offload::none)
    lack("offload " + std::string(detail::offload_in_words(by.model.moved)));
  if (by.model.optimizer.name != "adam-bf16-gradients") lack("optimizer " + std::string(by.model.optimizer.name));

  text += "\n[parallelism]\n";
  auto const ranks = by.ranks();
  text += degree("data_parallel_replicate_degree", spread.zero == 0 ? ranks : 1) +
          degree("data_parallel_shard_degree", spread.zero == 0 ? 1 : ranks) + "fsdp_reshard_after_forward = \"" +
          (spread.zero == 2 ? "never" : "always") + "\"\n";
  if (spread.zero == 1 && spread.data > 1) lack("ZeRO stage 1");
  if (spread.zero == 0 && spread.context > 1) lack("ZeRO stage 0 with context parallelism");
  text += degree("tensor_parallel_degree", spread.tensor) + degree("context_parallel_degree", spread.context) +
          "disable_loss_parallel = false\n";
  if (spread.tensor > 1 && !spread.sequence_parallel) lack("tensor parallelism without sequence parallelism");
  if (spread.context > 1 && by.model.method != context_method::ring) lack("context parallelism by Ulysses");
  if (model.experts > 0)
    text += degree("expert_parallel_degree", by.model.expert) + degree("expert_tensor_parallel_degree", by.model.experts().expert_tensor);
  text += degree("pipeline_parallel_degree", stages);
  if (stages > 1) {
    constexpr std::string_view names[] = {"GPipe", "1F1B", "Interleaved1F1B", "", "", "ZBVZeroBubble"};  // as any_schedule
    auto const schedule = names[by.pipeline.schedule.index()];
    if (schedule.empty())
      lack("schedule " + std::visit([](auto const& s) { return std::string(s.name); }, by.pipeline.schedule));
    else
      text += "pipeline_parallel_schedule = \"" + std::string(schedule) + "\"\n";
    text += degree("pipeline_parallel_microbatch_size", by.micro_batch) + "module_fqns_per_model_part = [";
    if (model.mtp_layers > 0) lack("layers for multi-token prediction");
    text += detail::torchtitan_parts(model, cuts);
    text += "\n]\n";
  }

  using enum recompute_setting::kind;
  auto const what = by.recompute.what;
  auto const layers = by.recompute.layers;
  text += "\n[activation_checkpoint]\nmode = \"";
  text += what == uniform && layers == 1 ? "full" : what == alternate || what == products ? "selective" : "none";
  text += "\"\n";
  if (what == alternate) text += "selective_ac_option = \"" + std::to_string(layers) + "\"\n";
  if (what == products) text += "selective_ac_option = \"op\"\n";
  if (what == modules || what == block || (what == uniform && layers > 1)) lack("recompute " + detail::recompute_in_words(by.recompute));
  detail::lack_common(out, by);
  return out;
}

}  // namespace ballast::inline v0_2
