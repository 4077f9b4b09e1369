// SPDX-License-Identifier: Apache-2.0
#include "readers/nemo_rl_writer.hpp"

#include <ballast/core/math.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/footprint/kernel_setting.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/plan/judge_setting.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ballast_cli {

namespace {

/// A file for `examples/run_sft.py` or `examples/run_grpo.py`: over the file of defaults that comes with the framework, all that a plan
/// depends on.
class nemo_rl_writer {
 public:
  explicit nemo_rl_writer(imported_setting const& of) : of_(of), model_(of.model), by_(of.setting), m_(by_.model) {}

  [[nodiscard]] ballast::exported_setting written() {
    auto const megatron = m_.framework.count == ballast::tensor_count::megatron;
    auto const packs = megatron && m_.spread.context > 1;  // Megatron-Core's context parallelism takes packed sequences alone
    auto const multiple = (m_.spread.context > 1 ? 2 * m_.spread.context : 1) * (m_.spread.sequence_parallel ? m_.spread.tensor : 1);
    if (by_.sequence % multiple != 0) lack("a sequence that is no multiple of ", multiple, " tokens");
    if (packs && by_.micro_batch > 1) lack("micro-batches of several sequences beside context parallelism");
    auto const draws = of_.task == training_task::grpo;
    draws ? write_groups() : line(nemo_rl_sft);
    line("policy:\n  model_name: NAME  # of the model");
    if (draws) write_generation();
    line("  train_global_batch_size: ", by_.global_batch(), "\n  train_micro_batch_size: ", by_.micro_batch);
    line("  max_total_sequence_length: ", by_.sequence, "\n  make_sequence_length_divisible_by: ", multiple, "\n  precision: bfloat16");
    line("  dynamic_batching:\n    enabled: false\n  sequence_packing:\n    enabled: ", packs ? "true" : "false");
    if (packs) line("    train_mb_tokens: ", by_.sequence);
    if (m_.expert_capacity > 0) lack("expert capacity");
    if (m_.fp8_experts) lack("experts in 8 bits");
    auto const adapts = m_.language.what == ballast::trained::low_rank;
    if (m_.language.what != ballast::trained::all &&
        (!adapts || m_.language.quantised || m_.language.matrices != ballast::adapted_matrices::every_matrix))
      lack(ballast::detail::trained_in_words(m_.language));
    if (megatron)
      write_megatron(adapts);
    else
      write_dtensor(adapts);
    auto of_node = (std::min)(by_.gpus(), std::int64_t{8});
    while (by_.gpus() % of_node != 0) --of_node;
    line("cluster:\n  gpus_per_node: ", of_node, "\n  num_nodes: ", by_.gpus() / of_node);
    return std::move(out_);
  }

 private:
  template <class... Parts>
  void line(Parts const&... parts) {
    out_.text += ballast::sentence(parts..., "\n");
  }
  template <class... Parts>
  void lack(Parts const&... parts) {
    out_.without.push_back(ballast::sentence(parts...));
  }
  void lack_of_state(std::string_view expected) {
    if (m_.optimizer.name != expected) lack("optimizer ", m_.optimizer.name);
  }
  [[nodiscard]] static char const* on(bool value) { return value ? "true" : "false"; }

  void write_groups() {
    auto const& d = of_.details;
    auto answers = d.answers > 0 ? d.answers : std::int64_t{8};  // to a prompt
    while (d.answers == 0 && by_.global_batch() % answers != 0) answers /= 2;
    auto const drawn = d.drawn > 0 ? d.drawn : by_.global_batch();
    line("defaults: grpo_math_1B.yaml  # of examples/configs\ngrpo:\n  num_prompts_per_step: ",
         (std::max)(drawn / answers, std::int64_t{1}), "\n  num_generations_per_prompt: ", answers);
    line("loss_fn:\n  reference_policy_kl_penalty: ", !d.penalty.empty() ? d.penalty : has_role("reference") ? "0.01" : "0");
  }
  void write_generation() {
    auto const& d = of_.details;
    auto const known = d.answer > 0 && d.answer < by_.sequence;
    auto const* const role = role_of("rollout");
    auto const engine = role != nullptr ? role->of.setting.model.spread.tensor : d.engine;
    auto const named = d.core.find("engine");
    auto const name = named == d.core.end() || named->second == "hf" ? std::string("vllm") : named->second;
    line("  generation:\n    backend: ", name, "\n    max_new_tokens: ", known ? d.answer : by_.sequence,
         "\n    colocated:\n      enabled: true");
    line("    ", name == "sglang" ? name : "vllm",
         "_cfg:\n      tensor_parallel_size: ", engine > 0 && by_.gpus() % engine == 0 ? engine : 1);
  }
  [[nodiscard]] imported_role const* role_of(std::string_view name) const {
    auto const at = std::find_if(of_.roles.begin(), of_.roles.end(), [&](auto const& role) { return role.role == name; });
    return at == of_.roles.end() ? nullptr : &*at;
  }
  [[nodiscard]] bool has_role(std::string_view name) const { return role_of(name) != nullptr; }

  void write_rate(std::string_view indent) {
    if (!of_.details.learning_rate.empty()) line(indent, "lr: ", of_.details.learning_rate);
  }

  void write_dtensor(bool adapts) {
    using enum ballast::recompute_setting::kind;
    auto const& spread = m_.spread;
    if (by_.pipeline.stages > 1) lack("a pipeline of ", by_.pipeline.stages, " stages");
    if (spread.zero != (spread.data > 1 ? 3 : 0)) lack("ZeRO stage ", spread.zero);
    if (spread.context > 1 && m_.method != ballast::context_method::ring) lack("sequence parallelism by heads");
    if (spread.context > 1 && spread.sequence_parallel) lack("sequence parallelism beside context parallelism");
    lack_of_state("adam-fp32");
    if (m_.loss.how != (spread.tensor > 1 ? ballast::head_loss::kind::parallel : ballast::head_loss::kind::plain))
      lack("head loss ", to_string(m_.loss));
    auto const away = m_.moved == ballast::offload::parameters && by_.gpus() > 1;
    if (m_.moved != ballast::offload::none && !away) lack("offload ", ballast::detail::offload_in_words(m_.moved));
    if (by_.recompute.what != none && (by_.recompute.what != uniform || by_.recompute.layers != 1))
      lack("recompute ", ballast::detail::recompute_in_words(by_.recompute));
    if (model_.experts > 0 && m_.experts().expert_tensor > 1) lack("expert-tensor parallelism");
    line("  dtensor_cfg:\n    enabled: true\n    tensor_parallel_size: ", spread.tensor, "\n    context_parallel_size: ", spread.context);
    line("    sequence_parallel: ", on(spread.sequence_parallel), "\n    activation_checkpointing: ", on(by_.recompute.what != none));
    line("    cpu_offload: ", on(away), "\n    dp_replicate_size: ", m_.kernels.instances);
    if (model_.experts > 0) line("    expert_parallel_size: ", m_.expert);
    if (m_.attention != ballast::attention_kernel::fused) line("    automodel_kwargs:\n      attn_implementation: eager");
    line("    lora_cfg:\n      enabled: ", on(adapts), "\n      match_all_linear: true\n      dim: ", adapts ? m_.language.rank : 8);
    line("  megatron_cfg:\n    enabled: false\n  optimizer:\n    name: torch.optim.AdamW");
    if (!of_.details.learning_rate.empty()) line("    kwargs:");
    write_rate("      ");
  }

  /// Layers of the first and the last stage, where they are not as many as in the others, which are alike.
  void write_ends() {
    auto const stages = by_.pipeline.stages;
    if (by_.chunks() > 1 || !std::holds_alternative<ballast::one_f_one_b_schedule>(by_.pipeline.schedule))
      lack(ballast::detail::schedule_in_words(by_.pipeline.schedule));
    auto const cuts = boundaries_of(by_, model_);
    if (stages == 1 || cuts.size() != stages + 1) return;
    std::vector<std::int64_t> layers;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) layers.push_back(static_cast<std::int64_t>(cuts[i + 1] - cuts[i]));
    layers.front() -= model_.vocabulary > 0 ? 1 : 0;  // the embedding
    layers.back() -= (model_.vocabulary > 0 ? 1 : 0) + model_.mtp_layers;
    auto const alike = std::adjacent_find(layers.begin() + 1, layers.end() - 1, std::not_equal_to<>{}) == layers.end() - 1;
    if (!alike || layers.front() < 1 || layers.back() < 1) return lack("the cut");
    auto const even = std::adjacent_find(layers.begin(), layers.end(), std::not_equal_to<>{}) == layers.end();
    auto const number = [&](std::int64_t of) { return even ? std::string("null") : std::to_string(of); };
    line("    num_layers_in_first_pipeline_stage: ", number(layers.front()),
         "\n    num_layers_in_last_pipeline_stage: ", number(layers.back()));
  }

  void write_megatron(bool adapts) {
    using enum ballast::recompute_setting::kind;
    auto const& k = m_.kernels;
    auto const& spread = m_.spread;
    if (spread.zero > 1) lack("ZeRO stage ", spread.zero);
    if (spread.context > 1 && m_.method != ballast::context_method::ring) lack("context parallelism by heads");
    auto const aware = m_.optimizer.name == "precision-aware adam";
    auto const& core = of_.details.core;
    auto const shorter = m_.optimizer.name == "adam-bf16-gradients" || (aware && core.contains("grad_reduce_in_bf16"));
    if (!shorter && !aware) lack_of_state("adam");
    if (m_.moved != ballast::offload::none && m_.moved != ballast::offload::optimizer)
      lack("offload ", ballast::detail::offload_in_words(m_.moved));
    if (k.hidden_dropout || k.attention_dropout) lack("dropout");
    if (k.tensor_overlap || k.expert_overlap || k.deferred > 0 || k.instances > 1 || !k.engine) lack("other kernels");
    auto const chunked = m_.loss.how == ballast::head_loss::kind::chunked,
               overlaps = of_.time.gradient_overlap || chunked || of_.framework != "NeMo RL";  // its own default
    auto const of_chunk = ballast::divide_up(by_.sequence, m_.loss.chunks);
    if (chunked ? spread.context > 1 || ballast::divide_up(by_.sequence, of_chunk) != m_.loss.chunks
                : m_.loss.how != ballast::head_loss::kind::plain)
      lack("head loss ", to_string(m_.loss));
    auto const& again = by_.recompute;
    if (again.what != none && again.what != modules && (again.what != uniform || again.layers != 1))
      lack("recompute ", ballast::detail::recompute_in_words(again));
    line("  dtensor_cfg:\n    enabled: false\n  optimizer: null\n  megatron_cfg:\n    enabled: true");
    line("    tensor_model_parallel_size: ", spread.tensor, "\n    pipeline_model_parallel_size: ", by_.pipeline.stages,
         "\n    context_parallel_size: ", spread.context, "\n    sequence_parallel: ", on(spread.sequence_parallel));
    write_ends();
    if (model_.experts > 0)
      line("    expert_model_parallel_size: ", m_.expert, "\n    expert_tensor_parallel_size: ", m_.experts().expert_tensor,
           "\n    moe_token_dispatcher_type: ", of_.time.dispatcher == ballast::token_dispatcher::once ? "flex" : "alltoall",
           "\n    moe_grouped_gemm: ", on(k.grouped_gemm));
    line("    activation_checkpointing: ", on(again.what != none),
         "\n    recompute_granularity: ", again.what == modules ? "selective" : "full");
    if (again.what == modules) line("    recompute_modules: [", to_string(again.modules), "]");
    line("    attention_backend: ", m_.attention != ballast::attention_kernel::fused ? "unfused" : k.flash ? "flash" : "auto");
    line("    gradient_accumulation_fusion: ", on(k.dummy_gradients), "\n    use_fused_linear_logprobs: ", on(chunked));
    if (chunked) line("    fused_linear_logprobs_chunk_size: ", of_chunk);
    std::string moved;
    for (auto const& part : ballast::offload_modules)
      if (k.moved.contains(part.module)) moved += (moved.empty() ? "" : ", ") + std::string(part.name);
    line("    fine_grained_activation_offloading: ", on(!moved.empty()), "\n    offload_modules: [", moved, "]");
    line("    fp8_cfg:\n      enabled: ", on(k.fp8), "\n      fp8: hybrid\n      fp8_recipe: tensorwise\n      fp8_param: false");
    line("    peft:\n      enabled: ", on(adapts), "\n      dim: ", adapts ? m_.language.rank : 8);
    line("    optimizer:\n      optimizer: adam\n      bf16: true\n      use_distributed_optimizer: ", on(spread.zero == 1),
         "\n      use_precision_aware_optimizer: ", on(aware),
         "\n      optimizer_cpu_offload: ", on(m_.moved == ballast::offload::optimizer), "\n      optimizer_offload_fraction: 1.0");
    if (aware)
      for (auto const* const key : {"main_grads_dtype", "main_params_dtype", "exp_avg_dtype", "exp_avg_sq_dtype"})
        if (core.contains(key)) line("      ", key, ": ", core.at(key));
    write_rate("      ");
    line("    distributed_data_parallel_config:\n      grad_reduce_in_fp32: ", on(!shorter), "\n      overlap_grad_reduce: ", on(overlaps),
         "\n      overlap_param_gather: ", on(overlaps && !chunked));  // not allowed together
  }

  imported_setting const& of_;
  ballast::transformer const& model_;
  ballast::training_setting const& by_;
  ballast::model_setting const& m_;
  ballast::exported_setting out_;
};

}  // namespace

ballast::exported_setting nemo_rl_yaml(imported_setting const& of) {
  require_valid(of.setting, of.model);
  return nemo_rl_writer(of).written();
}

}  // namespace ballast_cli
