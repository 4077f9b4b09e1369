// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/communication.hpp>
#include <ballast/cost/recompute_modules.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/footprint/kernel_setting.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/footprint/trainable.hpp>
#include <ballast/plan/export/setting.hpp>
#include <ballast/plan/judge_setting.hpp>
#include <ballast/plan/training_setting.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// @file
/// @brief `megatron_flags` and `swift_flags`: a training setting as the command line of Megatron-LM or of ms-swift.
///
/// The flags are those of NVIDIA/Megatron-LM d98e8a64 and modelscope/ms-swift 3602360a. They were compared with the lists of flags there;
/// they were not run there.

namespace ballast::inline v0_2 {

/// @brief A training setting in the words of a framework.
struct exported_setting {
  std::vector<std::string> words;    ///< of a command line: each flag and each value, without quotes; empty for a file
  std::string text;                  ///< the command line, with quotes where a shell needs them; or the file
  std::vector<std::string> without;  ///< what the plan depends on and the framework has no setting for, as in "schedule zb1p"
};

namespace detail {

[[nodiscard]] constexpr std::string_view offload_in_words(offload moved) noexcept {
  constexpr std::string_view names[] = {"none", "optimizer", "gradients", "parameters"};
  return names[static_cast<std::size_t>(moved)];
}
template <class = when_called>
[[nodiscard]] inline std::string recompute_in_words(recompute_setting const& by) {
  constexpr std::string_view names[] = {"none", "modules", "block", "uniform", "alternate", "products"};
  auto const name = std::string(names[static_cast<std::size_t>(by.what)]);
  if (by.what == recompute_setting::kind::modules) return name + " " + to_string(by.modules);
  return by.layers == 1 ? name : name + " " + std::to_string(by.layers);
}
template <class = when_called>
[[nodiscard]] inline std::string trained_in_words(trainable const& by) {
  return by.what == trained::none ? "train none"
                                  : sentence("train ", by.quantised ? "qlora:" : "lora:", by.rank,
                                             by.matrices == adapted_matrices::every_matrix ? "" : " of queries and values");
}
template <class = when_called>
[[nodiscard]] inline std::string schedule_in_words(any_schedule const& by) {
  return sentence("schedule ", std::visit([](auto const& s) { return std::string_view(s.name); }, by));
}
/// Thousandths as a decimal.
template <class = when_called>
[[nodiscard]] inline std::string thousandths_in_words(std::int64_t value) {
  auto const rest = std::to_string(1000 + value % 1000);
  return sentence(value / 1000, ".", rest.substr(1));
}

/// Writes flags as Megatron-LM spells them, or as ms-swift does.
template <class = when_called>
struct flag_writer {
  bool swift = false;
  exported_setting out{};

  void add(std::string name, std::vector<std::string> const& values) {
    if (!swift) std::replace(name.begin(), name.end(), '_', '-');
    out.words.push_back("--" + name);
    out.words.insert(out.words.end(), values.begin(), values.end());
  }
  void add(std::string name, std::int64_t value) { add(std::move(name), {std::to_string(value)}); }
  /// A switch: ms-swift takes its value.
  void turn_on(std::string name) { add(std::move(name), swift ? std::vector<std::string>{"true"} : std::vector<std::string>{}); }
  /// The value of a switch that is on by default: none under Megatron-LM, where it is off.
  [[nodiscard]] std::vector<std::string> on(bool value) const {
    return swift ? std::vector<std::string>{value ? "true" : "false"} : std::vector<std::string>{};
  }
  void lack(std::string const& what) { out.without.push_back(what); }

  void add_degrees(transformer const& model, training_setting const& by) {
    auto const& spread = by.model.spread;
    add("tensor_model_parallel_size", spread.tensor);
    add("pipeline_model_parallel_size", static_cast<std::int64_t>(by.pipeline.stages));
    auto const interleaved = std::holds_alternative<interleaved_schedule>(by.pipeline.schedule);
    std::optional<std::string> layout;
    if (interleaved || by.chunks() == 1) {
      auto const cuts = boundaries_of(by, model);
      layout = megatron_layout(std::span<std::uint32_t const>(cuts), layer_kinds_of(model));
      if (!layout) lack("layers for multi-token prediction in several stages");
    }
    if (layout) add("pipeline_model_parallel_layout", {*layout});
    if (!interleaved && !std::holds_alternative<one_f_one_b_schedule>(by.pipeline.schedule)) lack(schedule_in_words(by.pipeline.schedule));
    add("context_parallel_size", spread.context);
    if (spread.context > 1) add("cp_comm_type", {by.model.method == context_method::ring ? "p2p" : "a2a"});
    if (spread.sequence_parallel) turn_on("sequence_parallel");
    if (model.experts == 0) return;
    add("expert_model_parallel_size", by.model.expert);
    add("expert_tensor_parallel_size", by.model.experts().expert_tensor);
    add("moe_token_dispatcher_type", {"alltoall"});
    if (by.model.expert_capacity == 0) return;
    add("moe_expert_capacity_factor", {thousandths_in_words(by.model.expert_capacity)});
    turn_on("moe_pad_expert_input_to_capacity");
  }

  void add_states(model_setting const& by) {
    auto const zero = by.spread.zero;
    if (zero > 0 || swift) add("use_distributed_optimizer", on(zero > 0));
    if (zero > 1) {
      turn_on("use_megatron_fsdp");
      add("data_parallel_sharding_strategy", {zero == 2 ? "optim_grads" : "optim_grads_params"});
    }
    auto const name = by.optimizer.name;
    auto const floats = by.kernels.value > 2;  // neither --bf16 nor --fp16
    if (floats && swift) lack("computation in float32");
    if (!floats) turn_on("bf16");
    if (name == "adam-bf16-gradients" && !swift && !floats)  // ms-swift always accumulates in float32
      turn_on("grad_reduce_in_bf16");
    else if ((name == "sgd-momentum" || name == "sgd") && !floats)
      add("optimizer", {"sgd"});
    else if (name != (floats ? "adam-fp32" : "adam"))
      lack("optimizer " + std::string(name));
    if (name == "sgd") add("sgd_momentum", 0);
    if (by.moved == offload::optimizer) {
      turn_on("optimizer_cpu_offload");
      add("optimizer_offload_fraction", {"1.0"});
    } else if (by.moved != offload::none) {
      lack("offload " + std::string(offload_in_words(by.moved)));
    }
    if (by.language.what == trained::low_rank && swift && !by.language.quantised &&
        by.language.matrices == adapted_matrices::every_matrix) {
      add("tuner_type", {"lora"});
      add("lora_rank", by.language.rank);
    } else if (by.language.what != trained::all) {
      lack(trained_in_words(by.language));
    }
  }

  void add_kernels(transformer const& model, model_setting const& by) {
    auto const fused = by.loss.how == head_loss::kind::fused;
    if (fused) {
      turn_on("cross_entropy_loss_fusion");
      add("cross_entropy_fusion_impl", {"linear"});
    }
    if (by.loss.how == head_loss::kind::native || by.loss.how == head_loss::kind::in_place) {
      turn_on("cross_entropy_loss_fusion");
      add("cross_entropy_fusion_impl", {by.loss.how == head_loss::kind::native ? "native" : "te"});
    } else if (!fused && by.loss.how != head_loss::kind::plain) {
      lack("head loss " + to_string(by.loss));
    } else if (!fused && swift && by.framework.count == tensor_count::megatron) {  // its default is fused
      add("cross_entropy_loss_fusion", on(false));
    }
    auto const& k = by.kernels;
    if (by.attention != attention_kernel::fused || k.flash || (swift && by.framework.count == tensor_count::megatron))
      add("attention_backend", {by.attention != attention_kernel::fused ? "unfused" : k.flash ? "flash" : "auto"});
    if (by.fp8_experts) lack("experts in 8 bits");
    auto const drops = k.hidden_dropout || k.attention_dropout;
    if (swift && drops) lack("dropout");  // nothing that ms-swift trains drops
    if (!swift && (drops || by.framework.count != tensor_count::table)) {
      add("hidden_dropout", {k.hidden_dropout ? "0.1" : "0.0"});
      add("attention_dropout", {k.attention_dropout ? "0.1" : "0.0"});
    }
    if (by.framework.count != tensor_count::megatron) return;
    if (!k.engine) add("transformer_impl", {"local"});
    if (k.float_softmax) turn_on("no_masked_softmax_fusion");
    if (!k.fused_activation) turn_on(model.gated ? "no_bias_swiglu_fusion" : "no_bias_gelu_fusion");
    if (k.fp8) add("fp8_format", {"hybrid"});
    if (k.grouped_gemm || swift) add("moe_grouped_gemm", on(k.grouped_gemm));
    if (k.tensor_overlap) turn_on("tp_comm_overlap");
    if (k.expert_overlap) turn_on("overlap_moe_expert_parallel_comm");
    if (!k.dummy_gradients) turn_on("no_gradient_accumulation_fusion");
    if (k.loader_mask == swift) turn_on(swift ? "create_attention_mask_in_dataloader" : "no_create_attention_mask_in_dataloader");
    if (k.large_cublas) lack("CUBLAS_WORKSPACE_CONFIG=:4096:8, which is a variable of the environment");
    if (k.deferred > 0) {
      turn_on("defer_embedding_wgrad_compute");
      add("wgrad_deferral_limit", k.deferred);
    }
    if (k.instances > 1 && by.spread.zero > 0) add("num_distributed_optimizer_instances", k.instances);
    if (k.moved.empty()) return;
    turn_on("fine_grained_activation_offloading");
    std::vector<std::string> names;
    for (auto const& m : offload_modules)
      if (k.moved.contains(m.module)) names.emplace_back(m.name);
    add("offload_modules", names);
  }

  void add_recomputation(recompute_setting const& by) {
    auto const flags = megatron_recompute_flags(by);
    if (!flags) return lack("recompute " + recompute_in_words(by));
    if (flags->empty() && swift) add("recompute_granularity", {"none"});  // selective is its default
    for (auto flag : *flags) {
      if (swift && flag.starts_with("--")) std::replace(flag.begin() + 2, flag.end(), '-', '_');
      out.words.push_back(std::move(flag));
    }
  }

  [[nodiscard]] exported_setting finished() {
    out.text = in_shell(out.words);
    return std::move(out);
  }
};

template <class = when_called>
[[nodiscard]] exported_setting flags_of(transformer const& model, training_setting const& by, bool swift, bool packing) {
  flag_writer<> writer{.swift = swift};
  writer.add_degrees(model, by);
  writer.add_states(by.model);
  writer.add_kernels(model, by.model);
  writer.add_recomputation(by.recompute);
  writer.add(swift ? "max_length" : "seq_length", by.sequence);
  if (swift) writer.add("packing", writer.on(packing));
  writer.add("micro_batch_size", by.micro_batch);
  writer.add("global_batch_size", by.global_batch());
  return writer.finished();
}

}  // namespace detail

/// @brief Writes a training setting as flags of Megatron-LM: every flag that the plan depends on, but not the shape of the model.
/// @param model  the shape
/// @param by     the setting
/// @return the flags, with the expert-tensor-parallel degree and the recomputed modules even where they are the default
/// @throws invalid_input as `require_valid` of the setting
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// NVIDIA/Megatron-LM, megatron/training/arguments.py, at d98e8a64.
template <class = when_called>
[[nodiscard]] inline exported_setting megatron_flags(transformer const& model, training_setting const& by) {
  return detail::flags_of<>(model, by, false, true);
}

/// @brief Writes a training setting as flags of `megatron sft` of ms-swift: every flag that the plan depends on, but not the model.
/// @param model    the shape
/// @param by       the setting
/// @param packing  whether samples are joined to sequences of full length
/// @return the flags; those whose defaults differ from Megatron-LM's are always written
/// @throws invalid_input as `require_valid` of the setting
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// modelscope/ms-swift, swift/megatron/arguments/megatron_args.py, at 3602360a.
template <class = when_called>
[[nodiscard]] inline exported_setting swift_flags(transformer const& model, training_setting const& by, bool packing = true) {
  return detail::flags_of<>(model, by, true, packing);
}

BALLAST_INSTANTIATE(exported_setting detail::flags_of(transformer const&, training_setting const&, bool, bool))

}  // namespace ballast::inline v0_2
