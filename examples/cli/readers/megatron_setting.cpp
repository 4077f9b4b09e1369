// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/framework_setting.hpp"
#include "readers/megatron_model.hpp"
#include "readers/megatron_stages.hpp"
#include "readers/setting_parts.hpp"
#include "readers/setting_writers.hpp"
#include "readers/swift_roles.hpp"
#include "readers/trainer_keys.hpp"

#include <ballast/cost/recompute_modules.hpp>
#include <ballast/footprint/kernel_setting.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/plan/judge_setting.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// NVIDIA/Megatron-LM d98e8a64, and `megatron sft` of modelscope/ms-swift 3602360a, which has other defaults.

namespace ballast_cli {

namespace {

using ballast::recompute_setting;

class megatron_importer {
 public:
  megatron_importer(setting_table& table, setting_request const& asked, bool swift, bool rlhf)
      : in_(table), asked_(asked), swift_(swift), rlhf_(rlhf) {}

  imported_setting read() {
    out_.framework = swift_ ? "ms-swift" : "Megatron-LM";
    auto& by = out_.setting;
    by.model.spread.tensor = in_.number_or("tensor_model_parallel_size", 1);
    by.model.framework = ballast::framework_named("megatron");
    read_megatron_model(in_, asked_, by.model.spread.tensor, out_);
    read_degrees();
    read_states();
    read_kernels();
    read_recomputation();
    read_megatron_stages(in_, out_);
    read_batches();
    read_trained_parts();
    out_.details.packing = true;  // documents are joined, and samples of --sft too
    take_learning_rate(in_, {"lr"}, out_);
    if (swift_) read_swift_task(in_, out_);
    if (rlhf_) read_swift_roles(in_, asked_, out_);
    read_others();
    out_.passed = in_.finish(out_.framework);
    require_suits(in_, out_);
    return std::move(out_);
  }

 private:
  void note(std::string const& what) { out_.notes.push_back(what); }
  /// Refuses a value of a key that decides nothing here, unless a variable that is not set stands for it.
  void require_words(char const* key, std::vector<std::string_view> const& known) {
    for (auto const& word : in_.list(key))
      if (word.find('$') == word.npos) in_.require_word(key, word, known);
  }
  /// Keeps keys as they are for files of other frameworks on Megatron-Core.
  void keep(std::initializer_list<char const*> keys) {
    for (std::string const key : keys) {
      if (!in_.has(key)) continue;
      auto value = in_.is_flag(key) ? "true" : std::string();
      for (auto const& word : in_.list(key)) value += (value.empty() ? "" : ",") + word;
      if (value == "True" || value == "False") value[0] = value[0] == 'T' ? 't' : 'f';
      if (!value.empty() && value != "false" && value.find('$') == value.npos) out_.details.core[key] = value;
    }
  }
  /// A flag that is not modelled, where it is on.
  void note_flag(char const* key, std::string const& direction) {
    if (in_.flag(key)) note(std::string(key) + " is not modelled: " + direction);
  }

  void read_degrees() {
    auto& m = out_.setting.model;
    auto& spread = m.spread;
    out_.setting.pipeline.stages = static_cast<std::uint64_t>(in_.number_or("pipeline_model_parallel_size", 1));
    spread.context = in_.number_or("context_parallel_size", 1);
    auto const stages = static_cast<std::int64_t>(out_.setting.pipeline.stages);
    // Megatron-Core up to 2025 had an encoder on devices in front of each pipeline; Megatron-Bridge has a tower on devices of its own
    auto const front = in_.number_or("encoder_pipeline_model_parallel_size", 0, 0);
    auto const of_front = in_.number_or("encoder_tensor_model_parallel_size", 0, 0);
    for (auto const degree : {spread.tensor, spread.context, stages, front, of_front})
      if (degree > 1 << 16) throw bad_input(in_.file() + ": a degree is above 2^16");
    auto const given = in_.number("world_size"), apart = in_.number("language_world_size");
    auto const gpus = in_.flag("use_dist_train") && apart ? *apart : given && !asked_.gpus ? *given : gpus_of(in_, asked_);
    auto const encoder = front * (of_front > 0 ? of_front : spread.tensor);
    spread.data = ranks_of(in_, gpus, (spread.tensor * stages + encoder) * spread.context,
                           encoder > 0 ? "TP x PP of model and encoder, x CP" : "TP x PP x CP") *
                  spread.context;
    if (encoder > 0) note("the " + std::to_string(encoder * spread.context) + " devices of each rank that have the encoder are not judged");
    if (in_.flag("use_dist_train")) note("the devices of the vision tower, which dist_train sets apart, are not judged");
    in_.ignore({"vision_world_size", "vision_tensor_model_parallel_size", "vision_pipeline_model_parallel_size",
                "vision_context_parallel_size", "vision_expert_tensor_parallel_size", "vision_expert_model_parallel_size"});
    spread.sequence_parallel = in_.flag("sequence_parallel") && spread.tensor > 1;  // Megatron-LM turns it off at TP 1
    auto const how = in_.one_of("cp_comm_type", {"p2p", "all_gather", "a2a", "a2a+p2p", "allgather"});
    m.method = how == "a2a" ? ballast::context_method::ulysses : ballast::context_method::ring;
    if (how != "p2p" && how != "a2a" && spread.context > 1)
      note("cp_comm_type " + how + " is judged as p2p: the memory of gathered keys and values is too low");
    m.expert = in_.number_or("expert_model_parallel_size", 1);
    auto const expert_tensor = in_.number_or("expert_tensor_parallel_size", swift_ ? 1 : spread.tensor);
    std::vector<std::string_view> const dispatchers{"allgather", "alltoall", "flex", "alltoall_seq"};
    require_words("moe_token_dispatcher_type", dispatchers);
    require_words("moe_flex_dispatcher_backend", {"deepep", "hybridep", "ncclep"});
    if (out_.model.experts == 0) return in_.ignore({"moe_*"});  // nothing of a dense model
    m.expert_tensor = expert_tensor;
    auto const dispatcher = in_.one_of_or("moe_token_dispatcher_type", swift_ ? "alltoall" : "allgather", dispatchers);
    auto const gathers = dispatcher == "allgather";
    if (dispatcher == "flex") out_.time.dispatcher = ballast::token_dispatcher::once;  // DeepEP, or one like it
    keep({"moe_token_dispatcher_type"});
    if (out_.time.dispatcher == ballast::token_dispatcher::once) keep({"moe_flex_dispatcher_backend"});
    if (gathers && m.expert > 1)
      note("moe_token_dispatcher_type " + dispatcher + (in_.has("moe_token_dispatcher_type") ? "" : ", the default,") +
           " is judged as alltoall: exchanges of tokens are too short");
    if (auto const capacity = in_.decimal_number("moe_expert_capacity_factor")) {
      m.expert_capacity = static_cast<std::int64_t>(*capacity * 1000 + 0.5);
      if (!in_.flag("moe_pad_expert_input_to_capacity"))
        note("moe_expert_capacity_factor is judged with padding: exchanges of tokens are too long");
    }
  }

  void read_states() {
    auto& m = out_.setting.model;
    auto const distributed = in_.flag("use_distributed_optimizer", swift_);
    m.spread.zero = distributed ? 1 : 0;
    auto const strategy = in_.one_of("data_parallel_sharding_strategy", {"optim_grads_params", "optim_grads", "optim", "no_shard"});
    if (in_.flag("use_megatron_fsdp"))
      m.spread.zero = strategy == "optim_grads_params" ? 3 : strategy == "optim_grads" ? 2 : strategy == "optim" ? 1 : 0;
    if (in_.flag("use_torch_fsdp2")) m.spread.zero = 3;
    auto const fp16 = in_.flag("fp16"), halves = in_.flag("bf16", swift_ && !fp16);
    if (halves && fp16) in_.refuse("fp16", "is on beside bf16, of which only one may be");
    auto const bytes = [&](char const* key) {
      auto const type = in_.one_of(key, {"fp32", "bf16", "fp16", "fp8"});
      return type == "fp32" ? 4 : type == "fp8" ? 1 : 2;
    };
    std::vector<std::string_view> const state_formats{"auto", "fp32", "bf16", "fp16"};  // "auto" is the format of the model
    auto const of_fsdp = [&](char const* key) {
      auto const format = in_.one_of_or(key, "auto", state_formats);
      return format == "auto" ? 0 : format == "fp32" ? 4 : 2;
    };
    auto const fsdp_gradient = of_fsdp("megatron_fsdp_main_grads_dtype"), fsdp_parameter = of_fsdp("megatron_fsdp_main_params_dtype");
    auto const main_gradient = fsdp_gradient > 0 ? fsdp_gradient : bytes("main_grads_dtype"),
               main_parameter = fsdp_parameter > 0 ? fsdp_parameter : bytes("main_params_dtype"), first = bytes("exp_avg_dtype"),
               second = bytes("exp_avg_sq_dtype");
    require_words("megatron_fsdp_grad_comm_dtype", state_formats);
    // Megatron-LM turns this flag on for bf16 alone
    auto const in_floats = in_.flag("accumulate_allreduce_grads_in_fp32"), fp16_gradient = !halves && !in_floats;
    auto const short_gradient = in_.flag("grad_reduce_in_bf16") || main_gradient == 2 || fp16_gradient;
    auto const precision_aware = in_.flag("use_precision_aware_optimizer");
    auto& optimizer = m.optimizer;
    optimizer = ballast::optimizer_named(!short_gradient || (halves && swift_) ? "adam" : "adam-bf16-gradients");
    if (fp16_gradient && fp16 && !precision_aware)  // a copy of the gradients in float32 for the step
      optimizer.name = "adam in float16", optimizer.state.optimizer += 4;
    if (fp16) keep({"fp16", "accumulate_allreduce_grads_in_fp32"});
    if (!halves && !fp16) {
      optimizer = ballast::optimizer_named("adam-fp32");
      m.kernels.value = 4;
      out_.untimed = "the rates of kernels are those of 16 and 8 bits, and neither bf16 nor fp16 is set";
    }
    out_.time.float_reduction = !short_gradient || m.kernels.value > 2;  // of FSDP
    auto const name = in_.one_of("optimizer", {"adam", "sgd", "muon", "lion", "soap", "adaptive_muon", "dist_muon"});
    auto const momentum = in_.decimal_number("sgd_momentum").value_or(0.9);
    if (name == "sgd") {
      optimizer = ballast::optimizer_named(momentum == 0 ? "sgd" : "sgd-momentum");
    } else if (name == "lion" || name == "muon" || name == "dist_muon") {
      optimizer.name = name == "lion" ? "lion" : "muon";
      optimizer.state.optimizer -= 4;
      keep({"optimizer"});
      if (swift_ && name != "lion") m.spread.zero = 0;  // it turns sharding off for Muon
      if (name != "lion") note("the embedding's second moment under muon is not counted: the memory is too low");
    } else if (name != "adam") {
      in_.refuse("optimizer", "is not modelled");
    }
    if (precision_aware && name == "adam") {  // a master copy of bfloat16 parameters keeps the other 16 bits
      optimizer.name = "precision-aware adam";
      auto const remainder = in_.flag("store_param_remainders", true) && halves && main_parameter == 4;
      auto const gradient = in_.flag("grad_reduce_in_bf16") ? 2 : main_gradient;  // the buffer itself, without a copy in float32
      optimizer.state = {.parameter = 2, .gradient = gradient, .optimizer = (remainder ? 2 : main_parameter) + first + second};
      keep({"main_grads_dtype", "main_params_dtype", "exp_avg_dtype", "exp_avg_sq_dtype", "megatron_fsdp_main_grads_dtype",
            "megatron_fsdp_main_params_dtype", "grad_reduce_in_bf16"});
      if (!in_.flag("store_param_remainders", true)) out_.details.core["store_param_remainders"] = "false";
    }
    in_.ignore({"store_param_remainders"});
    if (in_.flag("optimizer_cpu_offload")) {
      auto const share = in_.decimal_number("optimizer_offload_fraction").value_or(1);
      if (share == 1)
        m.moved = ballast::offload::optimizer;
      else
        note("optimizer_offload_fraction below 1 is judged as 0: the memory is too high");
      if (share < 1) keep({"optimizer_offload_fraction"});
    }
    in_.ignore({"optimizer_offload_fraction"});
    auto const instances = in_.number_or("num_distributed_optimizer_instances", 1);
    if (m.spread.data % instances != 0) in_.refuse("num_distributed_optimizer_instances", "does not divide the data-parallel ranks");
    if (m.spread.zero > 0) m.kernels.instances = instances;
  }

  void read_kernels() {
    auto& m = out_.setting.model;
    auto& k = m.kernels;
    auto const fusion = in_.one_of("cross_entropy_fusion_impl", {"native", "te", "linear"});
    using enum ballast::head_loss::kind;
    if (in_.flag("cross_entropy_loss_fusion", swift_)) m.loss.how = fusion == "linear" ? fused : fusion == "te" ? in_place : native;
    auto const dropout = [&](char const* key) { return in_.decimal_number(key).value_or(swift_ ? 0 : 0.1) > 0; };
    k.hidden_dropout = dropout("hidden_dropout");
    k.attention_dropout = dropout("attention_dropout");
    k.engine = in_.one_of("transformer_impl", {"transformer_engine", "local", "inference_optimized"}) != "local";
    auto const backend = in_.word_near("attention_backend", swift_ ? "flash" : "auto", {"flash", "fused", "unfused", "local", "auto"});
    k.flash = backend == "flash" && k.engine;
    if (backend == "local" || backend == "unfused" || !k.engine) m.attention = ballast::attention_kernel::stored_scores;
    k.float_softmax = in_.flag("no_masked_softmax_fusion") && !k.engine;
    auto const of_gelu = in_.flag("no_bias_gelu_fusion"), of_swiglu = in_.flag("no_bias_swiglu_fusion");
    k.fused_activation = out_.model.gated ? !of_swiglu : !of_gelu;
    k.grouped_gemm = in_.flag("moe_grouped_gemm", swift_);
    k.tensor_overlap = in_.flag("tp_comm_overlap");
    k.expert_overlap = in_.flag("overlap_moe_expert_parallel_comm");
    k.dummy_gradients = in_.flag("gradient_accumulation_fusion", true) && !in_.flag("no_gradient_accumulation_fusion");
    k.loader_mask = in_.flag("create_attention_mask_in_dataloader", !swift_) && !in_.flag("no_create_attention_mask_in_dataloader");
    k.large_cublas = in_.word("environment.CUBLAS_WORKSPACE_CONFIG") == ":4096:8";
    for (std::string_view const key : {"fp8_format", "fp4_format", "fp8", "fp4"}) {
      auto const four = key.starts_with("fp4");
      std::vector<std::string_view> formats{"hybrid", "e4m3"};
      if (four) formats = {"e2m1"};
      if (!key.ends_with("format")) formats.insert(formats.end(), {"true", "false"});  // in documents
      auto const format = in_.one_of_or(key, "false", formats);
      if (format == "false") continue;
      k.fp8 = out_.time.rates.fp8 = true;
      auto const form = format == "true" ? "hybrid" : format;
      out_.details.core[four ? "fp4_format" : "fp8_format"] = form;
      if (four) note(std::string(key) + " " + format + " is judged as 8 bits: the step is too long");
    }
    require_words("fp8_recipe", {"delayed", "tensorwise", "mxfp8", "blockwise", "custom"});
    require_words("fp4_recipe", {"nvfp4", "custom"});
    if (k.fp8) keep({"fp8_recipe", "fp4_recipe", "fp8_param_gather"});
    if (in_.flag("fp8_param_gather")) note("fp8_param_gather is not modelled: the memory is too high, exchanges are too long");
    if (auto const modules = in_.list("offload_modules"); in_.flag("fine_grained_activation_offloading"))
      for (auto const& name : modules) {
        auto const at = std::find_if(ballast::offload_modules.begin(), ballast::offload_modules.end(),
                                     [&](auto const& known) { return known.name == name; });
        if (at == ballast::offload_modules.end()) {
          note("offload_modules " + name + " is not modelled: the memory is too high");
          continue;
        }
        auto const bit = 1U << static_cast<unsigned>(at->module);
        k.moved.bits = static_cast<std::uint8_t>(k.moved.bits | bit);
      }
  }

  void read_recomputation() {
    using enum recompute_setting::kind;
    auto& again = out_.setting.recompute;
    auto granularity = in_.one_of("recompute_granularity", {swift_ ? "selective" : "none", "full", "selective", "none"});
    if (in_.flag("recompute_activations")) granularity = "selective";
    auto method = in_.one_of("recompute_method", {"none", "uniform", "block"});
    auto layers = in_.number("recompute_num_layers");
    // flags of versions before 2022
    auto const old_method = in_.one_of("activations_checkpoint_method", {"none", "uniform", "block"});
    auto const old_layers = in_.number("activations_checkpoint_num_layers");
    if (in_.flag("checkpoint_activations") || old_method != "none") {
      granularity = "full";
      method = old_method == "none" ? "uniform" : old_method;
      layers = old_layers;
    }
    auto names = in_.list("recompute_modules");
    if (granularity == "full") {
      if (method == "none") throw bad_input(in_.file() + ": recompute_granularity full needs recompute_method uniform or block");
      again = {.what = method == "block" ? block : uniform, .layers = layers.value_or(1)};
      again.layers = (std::min)(again.layers, out_.model.layers);
    } else if (granularity == "selective") {
      if (method != "none") in_.refuse("recompute_method", "is not allowed with selective recomputation");
      if (layers) in_.refuse("recompute_num_layers", "is not allowed with selective recomputation");
      if (names.empty()) names = {"core_attn"};
      for (auto const& name : names) {
        auto const unknown = name == "gdn_norm_out" || name == "gdp_in_proj" || name == "gdp_qkv" || name == "mhc";
        auto const at = std::find_if(ballast::recompute_modules.begin(), ballast::recompute_modules.end(),
                                     [&](auto const& m) { return m.name == name; });
        if (unknown)
          note("recompute_modules " + name + " is not modelled: the memory is too high");
        else if (at == ballast::recompute_modules.end() || at->module == ballast::recompute_module::experts)
          in_.refuse("recompute_modules", "names " + printable(name) + ", which is no module");
        else
          again.modules = again.modules.with(at->module);
      }
      if (!again.modules.empty()) again.what = modules;
    }
    if (in_.flag("distribute_saved_activations") && granularity == "full" && !out_.setting.model.spread.sequence_parallel)
      note("distribute_saved_activations is not modelled: the memory is too high");
    auto const offloads = in_.flag("cpu_offloading");
    in_.ignore({"cpu_offloading_*"});
    if (in_.number_or("cpu_offloading_num_layers", 0, 0) > 0 || offloads)
      note("activations in host memory (cpu_offloading) are not modelled: the memory is too high");
    note_flag("moe_paged_stash", "the memory is too high");
  }

  [[nodiscard]] std::int64_t required_micro_batch() {
    if (auto const value = in_.number("micro_batch_size")) return *value;
    throw bad_input(in_.file() + ": micro_batch_size is missing; --micro-batch says it too");
  }
  void read_batches() {
    auto& by = out_.setting;
    auto length = swift_ ? in_.number("packing_length") : in_.number("seq_length");
    if (auto const encoder = in_.number("encoder_seq_length"); !swift_ && !length) length = encoder;  // another name
    // where a tower reads images, seq_length is that of the tower
    if (auto const decoder = in_.number("decoder_seq_length"); !swift_ && decoder && out_.reads_images) length = decoder;
    auto const longest = swift_ ? swift_length(in_, rlhf_) : std::nullopt;
    by.sequence = asked_.sequence ? *asked_.sequence : length ? *length : longest.value_or(0);
    if (by.sequence == 0)
      throw bad_input(in_.file() + ": " + (swift_ ? "max_length" : "seq_length") + " is missing; --seq-length says it too");
    auto const both = 2 * by.model.spread.context;
    if (by.model.spread.context > 1 && by.sequence % both != 0)
      throw bad_input(in_.file() + ": a sequence of " + std::to_string(by.sequence) +
                      " tokens is no multiple of twice the context-parallel degree, " + std::to_string(both));
    by.micro_batch = asked_.micro_batch ? *asked_.micro_batch : swift_ ? in_.number_or("micro_batch_size", 1) : required_micro_batch();
    in_.ignore({"micro_batch_size"});
    auto const otherwise = swift_ ? 16 : by.micro_batch * by.ranks();
    auto const global = in_.number_or("global_batch_size", otherwise);
    if (asked_.micro_batches)
      by.micro_batches = *asked_.micro_batches;
    else
      set_global_batch(in_, by, global, "global_batch_size");
    if (!in_.list("rampup_batch_size").empty() || !in_.list("step_batch_size_schedule").empty())
      note("batch sizes that change during the run are judged at their last: earlier steps are shorter");
  }

  void read_trained_parts() {
    if (!swift_) return;
    auto& language = out_.setting.model.language;
    auto const type = in_.one_of("tuner_type", {"full", "lora", "lora_llm"}),
               older = in_.one_of("train_type", {"full", "lora", "lora_llm"});
    auto const rank = in_.number_or("lora_rank", 8);
    if (type != "full" || older != "full") language = {.what = ballast::trained::low_rank, .rank = rank};
    if (in_.flag("freeze_llm")) language.what = ballast::trained::none;
    if (auto const modules = in_.list("target_modules");
        language.what == ballast::trained::low_rank && !modules.empty() && modules[0] != "all-linear")
      note("target_modules are judged as all-linear: the memory is too high");
    for (auto const* const key : {"freeze_parameters", "freeze_parameters_regex", "freeze_parameters_ratio", "trainable_parameters"})
      if (!in_.list(key).empty()) note(std::string(key) + " is not modelled: the memory is too high");
    take_saved_modules(in_, out_);
    in_.ignore({"freeze_vit",
                "freeze_aligner",
                "vit_gradient_checkpointing",
                "packing",
                "padding_free",
                "lora_*",
                "group_by_length",
                "sequence_packing_scheduler",
                "cp_partition_mode",
                "mtp_shared_weights",
                "fp8_amax_*",
                "model",
                "model_type",
                "template",
                "dataset*",
                "val_dataset",
                "max_epochs",
                "num_train_epochs",
                "finetune",
                "ref_adapters",
                "mcore_*",
                "max_length",
                "agent_*",
                "loss_scale",
                "system",
                "use_hf",
                "strict",
                "columns",
                "streaming",
                "packing_*",
                "torch_dtype",
                "no_initialization",
                "load_*",
                "merge_lora",
                "split_dataset_ratio",
                "truncation_strategy",
                "experts_impl",
                "create_checkpoint_symlink",
                "warmup_*",
                "cached_dataset",
                "lazy_tokenize",
                "truncation",
                "create_*",
                "safe_serialization"});
  }

  /// The exchange of gradients and, if states are sharded, of parameters.
  void read_overlap() {
    auto const reduce = in_.flag("overlap_grad_reduce"), gather = in_.flag("overlap_param_gather");
    auto const sharded = out_.setting.model.spread.zero > 0;
    out_.time.gradient_overlap = reduce && (gather || !sharded);
    if (sharded && reduce != gather)
      note("overlap_grad_reduce and overlap_param_gather are timed together: one alone is as none, and the end of a step too long");
  }

  void read_graphs() {
    auto const local = in_.flag("enable_cuda_graph"), external = in_.flag("external_cuda_graph");
    auto const captures = in_.one_of_or("cuda_graph_impl", local || external ? "local" : "none",
                                        {"none", "local", "transformer_engine", "full_iteration"}) != "none";
    auto scope = in_.list("cuda_graph_scope");
    for (auto const& name : in_.list("cuda_graph_modules")) scope.push_back(name);
    for (auto const* const key : {"cuda_graph_scope", "cuda_graph_modules"})
      require_words(key,
                    {"full", "full_iteration", "full_iteration_inference", "attn", "mlp", "moe", "moe_router", "moe_preprocess", "mamba"});
    if (!captures) return;
    keep({"cuda_graph_impl", "cuda_graph_scope", "cuda_graph_modules"});
    auto const whole = scope.empty() || scope[0].starts_with("full");  // full, full_iteration
    out_.time.graphs = whole ? ballast::graph_scope::layers : ballast::graph_scope::parts;
    note("memory of CUDA graphs is not modelled: the memory is too low");
  }

  void read_others() {
    read_overlap();
    read_graphs();
    if (in_.number_or("tensor_parallel_num_weight_shards", 1) > 1 || in_.number_or("gtp_weight_remat_size", 1) > 1)
      note("weights that are sharded further are not modelled: the memory is too high");
    if (auto const levels = in_.list("hierarchical_context_parallel_sizes"); !levels.empty())
      note("hierarchical_context_parallel_sizes are not modelled: exchanges of context parallelism are too long");
    note_flag("hybrid_context_parallel", "the time is too long");
    for (auto const* const key : {"fsdp_double_buffer"}) note_flag(key, "the memory is too low");
    if (in_.flag("reset_attention_mask") && !swift_)
      note("attention by document is judged as of whole sequences, unless lengths are given: the time is too long");
    if (in_.flag("perform_rl_step")) note("answers are drawn before a step: the time of the step is that of the training alone");
    if (in_.flag("freeze_LM")) out_.setting.model.language.what = ballast::trained::none;
    ignore_megatron_keys(in_);
  }

  setting_table& in_;
  setting_request const& asked_;
  bool swift_, rlhf_;
  imported_setting out_;
};

// Keys that decide memory, time or layout, and that launchers, schedulers of jobs and other programs do not have.
constexpr std::string_view megatron_keys[]{"tensor_model_parallel_size",
                                           "pipeline_model_parallel",
                                           "context_parallel_size",
                                           "expert_",
                                           "sequence_parallel",
                                           "micro_batch_size",
                                           "global_batch_size",
                                           "seq_length",
                                           "num_layers",
                                           "hidden_size",
                                           "ffn_hidden_size",
                                           "num_attention_heads",
                                           "num_experts",
                                           "moe_",
                                           "recompute_",
                                           "use_distributed_optimizer",
                                           "use_mcore_models",
                                           "use_megatron_fsdp",
                                           "use_torch_fsdp2",
                                           "transformer_impl",
                                           "swiglu"};

// Keys of ms-swift that Megatron-LM does not have.
constexpr std::string_view megatron_swift_keys[]{"max_length", "packing", "tuner_type", "train_type", "freeze_vit", "padding_free"};

// What ms-swift takes from the model's own configuration.
constexpr std::string_view megatron_shape_keys[]{"num_layers", "hidden_size", "num_attention_heads"};

constexpr task_words megatron_tasks[]{{.task = training_task::pretraining}, {.task = training_task::finetuning, .to = "--sft "}};

[[nodiscard]] ballast::exported_setting megatron_command(imported_setting const& of) {
  auto out = core_flags(of, false);
  if (!of.details.learning_rate.empty()) out.text += " --lr " + of.details.learning_rate;
  return out;
}

[[nodiscard]] ballast::exported_setting swift_core_command(imported_setting const& of) {
  auto out = core_flags(of, true);
  out.text += as_command("", swift_lines(of, "lr"));
  auto const gpus = of.setting.gpus(), nodes = gpus % 8 == 0 ? gpus / 8 : 1;
  out.text.insert(0, ballast::sentence(nodes > 1 ? ballast::sentence("NNODES=", nodes, " ") : "", "NPROC_PER_NODE=", gpus / nodes,
                                       " megatron sft --model NAME "));
  return out;
}

constexpr std::string_view swift_core_sft = "megatron sft";
constexpr task_words megatron_swift_tasks[]{
    {.task = training_task::finetuning},
    {.task = training_task::pretraining, .from = swift_core_sft, .to = "megatron pt"},
    {.task = training_task::dpo, .from = swift_core_sft, .to = "megatron rlhf --rlhf_type dpo", .pairs = 2},
    {.task = training_task::kto, .from = swift_core_sft, .to = "megatron rlhf --rlhf_type kto"},
    {.task = training_task::reward, .from = swift_core_sft, .to = "megatron rlhf --rlhf_type rm", .pairs = 2},
    {.task = training_task::grpo, .from = swift_core_sft, .to = "megatron rlhf --rlhf_type grpo", .answer = 512}};

}  // namespace

constinit framework_format const megatron_format{
    .name = "Megatron-LM",
    .word = "megatron",
    .likeness = [](setting_source const& in) { return (in.is("flags") || in.is("yaml")) && in.has_any(megatron_keys) ? 10 : 0; },
    .read =
        [](setting_source source, setting_request const& asked) {
          for (auto const& [program, what] : {std::pair{"pretrain_bert.py", "BERT"},
                                              {"pretrain_t5.py", "T5"},
                                              {"pretrain_ict.py", "a retriever"},
                                              {"pretrain_retro.py", "a model with retrieval"},
                                              {"pretrain_vision_classify.py", "a vision model"},
                                              {"pretrain_vision_dino.py", "a vision model"},
                                              {"pretrain_vision_inpaint.py", "a vision model"}})
            if (source.calls(program))
              throw bad_input(source.table.file() + ": " + program + " trains " + what + ", which is not modelled");
          if (source.calls("pretrain_mamba.py") || source.calls("pretrain_hybrid.py")) add_word(source.table, "is_hybrid_model", "true");
          auto out = megatron_importer(source.table, asked, false, false).read();
          out.task = source.table.has("sft") ? training_task::finetuning : training_task::pretraining;
          return out;
        },
    .write = megatron_command,
    .tasks = megatron_tasks};

constinit framework_format const megatron_swift_format{
    .name = "ms-swift's Megatron",
    .word = "megatron-swift",
    .likeness =
        [](setting_source const& in) {
          if (!in.is("flags") && !in.is("yaml")) return 0;
          if (in.calls("megatron") && (in.has_any(megatron_keys) || in.has_any(megatron_swift_keys))) return 100;
          if (in.has_any(megatron_shape_keys)) return 0;
          return in.has_any(megatron_swift_keys) && (in.is("yaml") || in.has_any(megatron_keys)) ? 11 : 0;
        },
    .read =
        [](setting_source source, setting_request const& asked) {
          auto const rlhf = source.calls("rlhf") || source.table.has("rlhf_type");
          auto out = megatron_importer(source.table, asked, true, rlhf).read();
          out.task = swift_task(source);
          return out;
        },
    .write = swift_core_command,
    .tasks = megatron_swift_tasks};

}  // namespace ballast_cli
