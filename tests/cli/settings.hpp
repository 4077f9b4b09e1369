// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "errors.hpp"
#include "readers/framework_setting.hpp"

#include <ballast/footprint/optimizer.hpp>
#include <ballast/plan/training_setting.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

// What readers of settings say to tests, and settings that are drawn.

namespace ballast_test {

/// The sentence, or "accepted".
[[nodiscard]] inline std::string refused_setting(std::string const& text, std::string const& name,
                                                 ballast_cli::setting_request const& asked) {
  try {
    (void)ballast_cli::read_framework_setting(text, name, asked);
  } catch (ballast_cli::bad_input const& e) {
    return e.what();
  }
  return "accepted";
}
[[nodiscard]] inline bool has_note(ballast_cli::imported_setting const& of, std::string const& part) {
  return std::any_of(of.notes.begin(), of.notes.end(), [&](auto const& n) { return n.find(part) != n.npos; });
}

/// Numbers below `n`, the same on every machine.
struct draws {
  std::uint64_t state;
  draws(std::uint64_t seed, std::uint64_t more) : state(seed * 0x9e3779b97f4a7c15U + more) {}
  std::int64_t operator()(std::uint64_t n) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>((state >> 33) % n);
  }
};

/// A setting that draws everything that frameworks can say, and some that they cannot.
[[nodiscard]] inline ballast::training_setting drawn_core_setting(std::uint64_t seed, ballast::transformer const& model) {
  draws draw{seed, 1};
  using enum ballast::recompute_setting::kind;
  ballast::training_setting by;
  auto const tensor = std::int64_t{1} << draw(3), context = std::int64_t{1} << draw(2);
  by.model.spread = {.tensor = tensor, .context = context, .data = context << draw(4), .sequence_parallel = tensor > 1 && draw(4) > 0};
  by.model.spread.zero = static_cast<int>(draw(4));
  if (context > 1) by.model.method = static_cast<ballast::context_method>(draw(2));
  by.model.optimizer = ballast::optimizers[static_cast<std::size_t>(draw(3) == 0 ? draw(ballast::optimizers.size()) : draw(2))];
  by.model.moved = static_cast<ballast::offload>(draw(3) == 0 ? draw(4) : 0);
  by.model.loss.how = draw(4) == 0 ? ballast::head_loss::kind::fused : ballast::head_loss::kind::plain;
  by.model.attention = static_cast<ballast::attention_kernel>(draw(5) == 0 ? 1 : 0);
  if (draw(6) == 0) by.model.language = {.what = ballast::trained::low_rank, .rank = 1 + draw(64)};
  if (model.experts > 0) {
    by.model.expert = by.model.spread.data >= 4 && (tensor == 1 || by.model.spread.sequence_parallel) && draw(2) == 0 ? 4 : 1;
    by.model.expert_capacity = draw(2) * 1250;
  }
  constexpr std::string_view schedules[] = {"1f1b", "1f1b", "interleaved", "gpipe", "zbv"};
  by.pipeline.stages = std::uint64_t{1} << draw(3);
  if (by.pipeline.stages > 1) by.pipeline.schedule = ballast::schedule_named(schedules[draw(5)]);
  by.recompute.what = static_cast<ballast::recompute_setting::kind>(draw(6));
  if (by.recompute.what == modules) by.recompute.modules = ballast::module_set_named(draw(2) == 0 ? "mlp,layernorm" : "core_attn");
  if (by.recompute.what == block || by.recompute.what == uniform || by.recompute.what == alternate) by.recompute.layers = 1 + draw(3);
  by.sequence = 256 * (1 + draw(32));
  by.micro_batch = 1 + draw(3);
  by.micro_batches = 1 + draw(32);
  auto cuts = boundaries_of(by, model);
  if (cuts.size() > 2 && draw(2) == 0) ++cuts[1];
  by.boundaries = cuts;
  return by;
}

/// Kernels as Megatron-LM's flags and those of ms-swift can say them.
[[nodiscard]] inline ballast::kernel_setting drawn_core_kernels(std::uint64_t seed, ballast::training_setting const& of) {
  auto const& by = of.model;
  draws draw{seed, 7};
  ballast::kernel_setting k;
  auto const stored = by.attention == ballast::attention_kernel::stored_scores;
  k.engine = !stored || draw(2) == 0;
  k.flash = !stored && draw(3) == 0;
  k.float_softmax = !k.engine && draw(2) == 0;
  for (auto* const flag : {&k.hidden_dropout, &k.attention_dropout, &k.fused_activation, &k.fp8, &k.grouped_gemm, &k.tensor_overlap,
                           &k.expert_overlap, &k.dummy_gradients, &k.loader_mask})
    *flag = draw(2) == 0;
  auto const defers = draw(2) == 1;
  k.deferred = defers && k.dummy_gradients && of.pipeline.stages > 1 ? 3 : 0;
  if (by.spread.zero > 0 && by.spread.data % 2 == 0) k.instances = 1 + draw(2);
  k.moved.bits = static_cast<std::uint8_t>(draw(4) == 0 ? draw(128) : 0);
  if (by.optimizer.name == "adam-fp32") k.value = 4;
  return k;
}

/// Formats of an optimiser's states, and what only the time of a step depends on, as Megatron-LM's flags can say them.
inline void draw_core_details(std::uint64_t seed, ballast_cli::imported_setting& of) {
  draws draw{seed, 11};
  auto& m = of.setting.model;
  of.time.gradient_overlap = draw(2) == 0;
  if (draw(3) == 0) of.time.graphs = draw(2) == 0 ? ballast::graph_scope::layers : ballast::graph_scope::parts;
  if (of.model.experts > 0 && draw(2) == 0) of.time.dispatcher = ballast::token_dispatcher::once;
  if (m.optimizer.name != "adam" || draw(3) == 0) return;
  constexpr std::pair<char const*, std::int64_t> formats[]{{"fp32", 4}, {"bf16", 2}, {"fp16", 2}, {"fp8", 1}};
  auto const &first = formats[draw(4)], &second = formats[draw(4)], &sums = formats[draw(2)], &master = formats[2 * draw(2)];
  of.details.core = {{"exp_avg_dtype", first.first},
                     {"exp_avg_sq_dtype", second.first},
                     {"main_grads_dtype", sums.first},
                     {"main_params_dtype", master.first}};
  m.optimizer.name = "precision-aware adam";
  m.optimizer.state = {.parameter = 2, .gradient = sums.second, .optimizer = 2 + first.second + second.second};
}

/// A setting that draws what trainers of Hugging Face and those beside them say, and some that they cannot.
[[nodiscard]] inline ballast::training_setting drawn_trainer_setting(std::uint64_t seed) {
  draws draw{seed, 1};
  ballast::training_setting by;
  auto& m = by.model;
  m.framework = ballast::framework_named("eager");
  auto const tensor = draw(3) == 0 ? 2 : 1, context = draw(3) == 0 ? 2 : 1;
  m.spread = {.tensor = tensor, .context = context, .data = context << draw(4)};
  m.spread.zero = static_cast<int>(draw(2) == 0 ? 3 : draw(4));
  if (context > 1) m.method = static_cast<ballast::context_method>(draw(2));
  constexpr std::string_view states[] = {"adam-fp32", "adam-bf16", "adam-bf16-gradients", "adam"};
  m.optimizer = ballast::optimizer_named(states[draw(4)]);
  if (draw(4) == 0) m.moved = static_cast<ballast::offload>(draw(4));
  by.sequence = 256 * (1 + draw(32));
  by.micro_batch = 1 + draw(3);
  by.micro_batches = 1 + draw(32);
  m.loss.how = draw(3) == 0   ? ballast::head_loss::kind::fused
               : draw(2) == 0 ? ballast::head_loss::kind::returned
                              : ballast::head_loss::kind::chunked;
  if (m.loss.how == ballast::head_loss::kind::chunked) m.loss.chunks = draw(2) == 0 ? 8 : (by.micro_batch * by.sequence + 127) / 128;
  m.attention = static_cast<ballast::attention_kernel>(draw(5) == 0 ? 1 : 0);
  if (draw(3) == 0) m.language = {.what = ballast::trained::low_rank, .rank = 1 + draw(64), .quantised = draw(2) == 0};
  if (draw(4) == 0) m.language.matrices = ballast::adapted_matrices::queries_and_values;
  if (draw(2) == 0) by.recompute.what = ballast::recompute_setting::kind::uniform;
  if (m.optimizer.name == "adam-fp32" && draw(2) == 0) m.kernels.value = 4;
  return by;
}

}  // namespace ballast_test
