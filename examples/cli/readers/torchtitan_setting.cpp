// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/framework_setting.hpp"

#include <ballast/cost/layer_set.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/plan/export/flags.hpp>
#include <ballast/plan/judge_setting.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// pytorch/torchtitan: TOML as it was read until 9810191b (2026-02-23), also with the section names of before mid-2025, and the resolved
// setting that b5bcd76c saves as JSON.

namespace ballast_cli {

namespace {

using ballast::recompute_setting;
using ballast::training_setting;
using ballast::transformer;

/// A size of torchtitan's code. Sizes that are presets are named as such.
struct titan_size {
  std::string_view name;  ///< of the model and of its flavor
  transformer shape;
};

[[nodiscard]] transformer dense(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t kv_heads, std::int64_t width,
                                std::int64_t ffn, std::int64_t vocabulary, bool tied) {
  return {.layers = layers,
          .hidden = hidden,
          .query_heads = heads,
          .kv_heads = kv_heads,
          .head_width = width,
          .ffn = ffn,
          .vocabulary = vocabulary,
          .tied = tied};
}
[[nodiscard]] transformer qwen3(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t ffn, bool tied,
                                std::int64_t vocabulary = 151936) {
  auto out = dense(layers, hidden, heads, 8, 128, ffn, vocabulary, tied);
  out.qk_norm = 256;
  return out;
}
[[nodiscard]] transformer latent(std::int64_t layers, std::int64_t hidden, std::int64_t ffn, std::int64_t vocabulary, std::int64_t experts,
                                 std::int64_t active, std::int64_t expert_ffn) {
  auto out = dense(layers, hidden, 16, 16, 192, ffn, vocabulary, false);
  out.kv_rank = 512;
  out.rope_width = 64;
  out.v_width = 128;
  out.experts = experts;
  out.active_experts = active;
  out.expert_ffn = expert_ffn;
  out.shared_ffn = 2 * expert_ffn;
  out.expert_layers = ballast::layer_set::from(1);
  return out;
}
[[nodiscard]] transformer gpt_oss(std::int64_t layers, std::int64_t hidden, std::int64_t vocabulary, std::int64_t experts) {
  auto out = dense(layers, hidden, 64, 8, 64, 2880, vocabulary, false);
  out.window = 128;
  out.windowed = ~ballast::layer_set::every(2);
  out.experts = experts;
  out.active_experts = 4;
  out.expert_ffn = 2880;
  out.sinks = out.router_bias = out.ffn_bias = out.qkv_bias = out.output_bias = true;
  return out;
}
[[nodiscard]] transformer small_mixture() {
  auto out = qwen3(8, 256, 16, 3072, false, 2048);
  out.experts = 64;
  out.active_experts = 8;
  out.expert_ffn = 768;
  return out;
}

/// The sizes of torchtitan/models at b5bcd76c.
[[nodiscard]] std::vector<titan_size> const& titan_sizes() {
  static std::vector<titan_size> const all{{"llama3/debugmodel", dense(6, 256, 16, 16, 16, 768, 2048, false)},
                                           {"llama3/1B", dense(16, 2048, 32, 8, 64, 8192, 128256, true)},
                                           {"llama3/3B", dense(28, 3072, 24, 8, 128, 8192, 128256, true)},
                                           {"llama3/8B", ballast::transformer_preset("llama-3.1-8b")},
                                           {"llama3/70B", ballast::transformer_preset("llama-3.1-70b")},
                                           {"llama3/405B", ballast::transformer_preset("llama-3.1-405b")},
                                           {"deepseek_v3/debugmodel", latent(6, 256, 1024, 2048, 8, 3, 256)},
                                           {"deepseek_v3/16B", latent(27, 2048, 10944, 102400, 64, 6, 1408)},
                                           {"deepseek_v3/236B", ballast::transformer_preset("deepseek-v2")},
                                           {"deepseek_v3/671B", ballast::transformer_preset("deepseek-v3")},
                                           {"qwen3/debugmodel", qwen3(8, 256, 16, 3072, true, 2048)},
                                           {"qwen3/debugmodel_moe", small_mixture()},
                                           {"qwen3/0.6B", qwen3(28, 1024, 16, 3072, true)},
                                           {"qwen3/1.7B", qwen3(28, 2048, 16, 6144, true)},
                                           {"qwen3/4B", qwen3(36, 2560, 32, 9728, true)},
                                           {"qwen3/8B", qwen3(36, 4096, 32, 12288, false)},
                                           {"qwen3/14B", qwen3(40, 5120, 40, 17408, false)},
                                           {"qwen3/32B", qwen3(64, 5120, 64, 25600, false)},
                                           {"qwen3/30B-A3B", ballast::transformer_preset("qwen3-30b-a3b")},
                                           {"qwen3/235B-A22B", ballast::transformer_preset("qwen3-235b-a22b")},
                                           {"gpt_oss/debugmodel", gpt_oss(4, 256, 2048, 8)},
                                           {"gpt_oss/20b", gpt_oss(24, 2880, 201088, 32)},
                                           {"gpt_oss/120b", gpt_oss(36, 2880, 201088, 128)}};
  return all;
}

/// A size by its name. The sizes of Llama 4 are those of the hub.
[[nodiscard]] std::optional<transformer> titan_model(std::string const& name, setting_request const& asked) {
  for (auto const& size : titan_sizes())
    if (size.name == name) return size.shape;
  constexpr std::pair<std::string_view, char const*> of_hub[]{{"llama4/17bx16e", "meta-llama/Llama-4-Scout-17B-16E"},
                                                              {"llama4/17bx128e", "meta-llama/Llama-4-Maverick-17B-128E"}};
  for (auto const& [theirs, hub] : of_hub)
    if (theirs == name && asked.find_model)
      if (auto const found = asked.find_model(hub)) return found->language;
  return std::nullopt;
}

class torchtitan_importer {
 public:
  torchtitan_importer(setting_table& table, setting_request const& asked) : in_(table), asked_(asked) {}

  imported_setting read() {
    out_.framework = "torchtitan";
    out_.task = training_task::pretraining;
    read_model();
    read_degrees();
    read_states();
    read_recomputation();
    read_batches();
    read_stages();
    read_others();
    out_.passed = in_.finish(out_.framework);
    require_suits(in_, out_);
    return std::move(out_);
  }

 private:
  void note(std::string const& what) { out_.notes.push_back(what); }
  /// A key in the section that has it: sections were renamed, the words in them were not.
  [[nodiscard]] std::string placed(std::string const& key) const {
    for (auto const* const section : {"parallelism.", "training.", "experimental."})
      if (in_.has(section + key)) return section + key;
    return "parallelism." + key;
  }
  [[nodiscard]] std::int64_t degree(std::string const& key) {
    auto const value = in_.number_or(placed(key), 1);
    if (value > 1 << 16) in_.refuse(placed(key), "is above 2^16");
    return value;
  }

  void read_model() {
    find_model();
    if (auto const more = in_.number("model_spec.model.mtp_layers", 0)) out_.model.mtp_layers = *more;
    auto const layers = in_.list("model_spec.model.layers");  // words of objects; converters replace matrices
    if (std::find(layers.begin(), layers.end(), "rank") != layers.end())
      note("adapters in model_spec.model.layers are judged as if all weights were trained: the memory is too high");
    in_.ignore({"model_spec.**"});  // what a size of the code stands for
  }
  void find_model() {
    auto const name = in_.word("model.name"), flavor = in_.word("model.flavor");
    in_.ignore({"model.*"});
    if (asked_.model) {
      out_.model = *asked_.model;
      return;
    }
    auto const spec = in_.word("model_spec.name") + "/" + in_.word("model_spec.flavor");
    auto const all = name + "/" + flavor;
    if (auto const known = titan_model(all == "/" ? spec : all, asked_)) {
      out_.model = *known;
      return;
    }
    throw bad_input(in_.file() + ": model.name and model.flavor (" + printable(all == "/" ? spec : all) +
                    ") name sizes in torchtitan's code that are not known here; --model names the model");
  }

  void read_degrees() {
    auto& m = out_.setting.model;
    auto& spread = m.spread;
    spread.tensor = degree("tensor_parallel_degree");
    spread.context = degree("context_parallel_degree");
    auto const stages = degree("pipeline_parallel_degree");
    out_.setting.pipeline.stages = static_cast<std::uint64_t>(stages);
    spread.sequence_parallel = in_.flag("parallelism.enable_sequence_parallel", true) && spread.tensor > 1;
    auto const ranks =
        ranks_of(in_, gpus_of(in_, asked_), spread.tensor * spread.context * stages, "the tensor, context and pipeline degrees");
    spread.data = ranks * spread.context;
    auto const replicas = degree("data_parallel_replicate_degree");
    auto shards = ranks / (std::max)(replicas, std::int64_t{1});
    auto const key = placed("data_parallel_shard_degree");
    if (in_.has(key) && in_.word(key) != "-1") shards = in_.number_or(key, shards);
    if (replicas * shards != ranks)
      throw bad_input(in_.file() + ": data_parallel_replicate_degree x data_parallel_shard_degree = " + std::to_string(replicas * shards) +
                      ", but " + std::to_string(ranks) + " data-parallel ranks are left of the devices");
    auto const reshard = in_.one_of("parallelism.fsdp_reshard_after_forward", {"default", "always", "never"});
    auto const sharded = shards * spread.context > 1;
    auto const gathers = reshard == "always" || (reshard == "default" && stages == 1);
    spread.zero = !sharded ? 0 : gathers ? 3 : 2;
    if (sharded && replicas > 1)
      note("states are judged as sharded over all ranks, not over one of " + std::to_string(replicas) +
           " groups of them: the memory is too low");
    out_.time.gathered_context = spread.context > 1;
    if (in_.word_near("parallelism.expert_parallel_comm_backend", "standard", {"standard", "deepep", "hybridep"}) != "standard")
      out_.time.dispatcher = ballast::token_dispatcher::once;
    if (spread.context > 1 && in_.one_of("parallelism.context_parallel_rotate_method", {"allgather", "alltoall"}) == "allgather")
      note("context_parallel_rotate_method allgather is judged as a ring: the memory of gathered keys and values is too low");
    m.expert = degree("expert_parallel_degree");
    auto const whole = in_.flag("parallelism.disable_loss_parallel");
    if (spread.tensor > 1) m.loss.how = ballast::head_loss::kind::parallel;
    m.loss.chunks = in_.number_or("loss.num_chunks", 1);  // ChunkedLossWrapper
    if (spread.tensor > 1 && whole) note("disable_loss_parallel is judged as false: the memory of logits is too low");
    auto const expert_tensor = degree("expert_tensor_parallel_degree");
    if (out_.model.experts > 0) m.expert_tensor = expert_tensor;
  }

  void read_states() {
    auto& m = out_.setting.model;
    auto const dtype = in_.one_of("training.dtype", {"float32", "bfloat16"});
    m.optimizer = ballast::optimizer_named(dtype == "bfloat16" ? "adam-bf16" : "adam-fp32");
    m.framework = ballast::framework_named("eager");
    m.kernels.kept_copies = m.spread.zero > 0;
    m.kernels.stream_pools = true;  // reserved bytes are what a device must have
    out_.time.attention = ballast::attention_library::flash2;
    out_.time.float_reduction = in_.one_of("training.mixed_precision_reduce", {"float32", "bfloat16", "float16"}) == "float32";
    if (in_.one_of("training.mixed_precision_param", {"bfloat16", "float32", "float16"}) == "float32") {
      if (dtype == "float32") m.kernels.value = 4;
      out_.untimed = "the rates of kernels are those of 16 and 8 bits, and mixed_precision_param is float32";
    }
    out_.details.packing = true;  // documents are joined
    take_learning_rate(in_, {"optimizer.lr"}, out_);
    auto const name = in_.word("optimizer.name", "AdamW");
    if (name != "AdamW" && name != "Adam") in_.refuse("optimizer.name", "is not modelled");
    if (in_.flag("optimizer.early_step_in_backward")) note("early_step_in_backward is not modelled: the memory is too high");
    if (in_.flag("training.enable_cpu_offload") || in_.flag("experimental.enable_fsdp2_cpu_offload"))
      m.moved = ballast::offload::parameters;
  }

  void read_recomputation() {
    using enum recompute_setting::kind;
    auto& again = out_.setting.recompute;
    auto mode = in_.has("activation_checkpoint") ? in_.word("activation_checkpoint") : std::string();
    for (auto const* const key : {"activation_checkpoint._type", "activation_checkpoint.type", "activation_checkpoint.cls",
                                  "activation_checkpoint._target_", "activation_checkpoint.class"})
      if (in_.has(key)) mode = in_.word(key);
    auto const named = !mode.empty();
    auto const is = [&](char const* name) { return mode.find(name) != mode.npos; };
    std::string option = in_.word("activation_checkpoint.selective_ac_option", "2");
    if (in_.has("activation_checkpoint.mode") || !(in_.has("activation_checkpoint") || in_.has_section("activation_checkpoint.")))
      mode = in_.one_of("activation_checkpoint.mode", {"selective", "full", "memory_budget", "none"});
    else if (is("FullAC"))
      mode = "full";
    else if (is("SelectiveAC"))
      mode = "selective", option = "op";
    else if (is("MemoryBudgetAC"))
      mode = "memory_budget";
    else if (mode.empty())
      mode = in_.has("activation_checkpoint") ? "none" : "selective";
    // a dump has the fields of the class, not its name
    if (in_.has("activation_checkpoint.memory_budget") && !in_.has("activation_checkpoint.mode"))
      mode = "memory_budget";
    else if (in_.has("activation_checkpoint.force_recompute_mm_shapes_by_fqns"))
      mode = "selective", option = "op";
    else if (in_.has("activation_checkpoint.preserve_rng_state") && !named && !in_.has("activation_checkpoint.mode"))
      mode = "full";
    in_.ignore({"activation_checkpoint.*"});
    if (mode == "full") again.what = uniform;
    if (mode == "memory_budget")
      note("activation_checkpoint.mode memory_budget is judged as none: the memory is too high, the step too short");
    if (mode != "selective") return;
    again.what = products;
    if (option == "op") return;
    std::int64_t period = 0;
    auto const [stop, error] = std::from_chars(option.data(), option.data() + option.size(), period);
    if (error != std::errc{} || stop != option.data() + option.size() || period < 1)
      in_.refuse("activation_checkpoint.selective_ac_option", "is neither op nor a number from 1");
    again = {.what = alternate, .layers = (std::min)(period, out_.model.layers)};
  }

  /// Whether the file is for a version before May 2025, which cut a batch into a number of micro-batches, not into those of one size, and
  /// counted no layers for embedding and head.
  [[nodiscard]] bool cuts_by_number() const {
    return in_.has("experimental.pipeline_parallel_degree") || in_.has(placed("pipeline_parallel_microbatches"));
  }
  [[nodiscard]] std::string read_schedule() {
    return std::string(in_.one_of(placed("pipeline_parallel_schedule"), {"1F1B", "GPipe", "Interleaved1F1B", "InterleavedZeroBubble",
                                                                         "ZBVZeroBubble", "LoopedBFS", "DualPipeV"}));
  }
  /// Parts of the model on all stages, if nothing else is said.
  [[nodiscard]] std::int64_t usual_parts() {
    auto const schedule = read_schedule();
    return static_cast<std::int64_t>(out_.setting.pipeline.stages) * (schedule == "1F1B" || schedule == "GPipe" ? 1 : 2);
  }

  void read_batches() {
    auto& by = out_.setting;
    auto const stages = by.pipeline.stages;
    auto const ranks = by.ranks();
    if (in_.has("training.num_tokens_per_microbatch_per_dp_rank") || in_.has("training.max_context_length")) {  // since 2026
      by.sequence = in_.number_or("training.max_context_length", 2048);
      auto const tokens = in_.number_or("training.num_tokens_per_microbatch_per_dp_rank", 16384);
      if (tokens % by.sequence != 0)
        in_.refuse("training.num_tokens_per_microbatch_per_dp_rank",
                   "is no multiple of max_context_length, " + std::to_string(by.sequence));
      by.micro_batch = tokens / by.sequence;  // of one forward pass: the micro-batches of a pipeline come in addition
      auto const parts = in_.number_or(placed("num_pp_microbatches"), 1);
      auto const step = in_.has("training.num_tokens_per_train_step") && in_.word("training.num_tokens_per_train_step") != "-1"
                            ? in_.number_or("training.num_tokens_per_train_step", tokens * parts * ranks)
                            : tokens * parts * ranks;
      if (step % (tokens * parts * ranks) != 0)
        in_.refuse("training.num_tokens_per_train_step", "is no multiple of the tokens of all ranks");
      by.micro_batches = step / (tokens * ranks);
    } else {
      by.sequence = in_.number_or("training.seq_len", 2048);
      auto const key = in_.has("training.batch_size") ? "training.batch_size" : "training.local_batch_size";
      auto const local = in_.number_or(key, 8);
      auto const part = in_.number_or(placed("pipeline_parallel_microbatch_size"), 1);
      by.micro_batch = stages > 1 ? part : local;
      if (stages > 1 && cuts_by_number()) {
        auto const number = in_.number_or(placed("pipeline_parallel_microbatches"), usual_parts());
        if (local % number != 0) in_.refuse(key, "is no multiple of the " + std::to_string(number) + " micro-batches of the pipeline");
        by.micro_batch = local / number;
      }
      if (local % by.micro_batch != 0) in_.refuse("training.local_batch_size", "is no multiple of pipeline_parallel_microbatch_size");
      auto const global = in_.has("training.global_batch_size") && in_.word("training.global_batch_size") != "-1"
                              ? in_.number_or("training.global_batch_size", local * ranks)
                              : local * ranks;
      set_global_batch(in_, by, global, "training.global_batch_size");
    }
    by.sequence = asked_.sequence.value_or(by.sequence);
    by.micro_batch = asked_.micro_batch.value_or(by.micro_batch);
    by.micro_batches = asked_.micro_batches.value_or(by.micro_batches);
  }

  void read_stages() {
    auto& by = out_.setting;
    auto const stages = static_cast<std::int64_t>(by.pipeline.stages);
    auto const schedule = read_schedule();
    auto const first = in_.number_or(placed("pipeline_parallel_first_stage_less_layers"), 1, 0),
               last = in_.number_or(placed("pipeline_parallel_last_stage_less_layers"), 1, 0);
    auto const of_chunk = in_.number(placed("pipeline_parallel_layers_per_stage"));
    auto const names = in_.list("parallelism.module_fqns_per_model_part");
    if (stages == 1) return;
    auto const several = schedule != "1F1B" && schedule != "GPipe";
    auto const layers = out_.model.layers;
    auto chunks = of_chunk ? (layers + first + last + *of_chunk - 1) / *of_chunk : usual_parts();
    std::vector<std::int64_t> numbers;
    if (!names.empty()) {
      numbers = layers_of_parts(names);
      chunks = static_cast<std::int64_t>(numbers.size());
    }
    if (chunks % stages != 0 || chunks > layers + 2 || (several ? chunks < 2 * stages : chunks != stages))
      throw bad_input(in_.file() + ": the layers are cut into " + std::to_string(chunks) + " parts, which do not suit " +
                      std::to_string(stages) + " stages under the schedule " + schedule);
    if (numbers.empty() && cuts_by_number()) {  // parts in the middle have a layer more while some are left
      auto left = layers % chunks;
      for (std::int64_t c = 0; c < chunks; ++c) numbers.push_back(layers / chunks + (c > 0 && c + 1 < chunks && left-- > 0 ? 1 : 0));
      numbers.back() = layers - std::accumulate(numbers.begin(), numbers.end() - 1, std::int64_t{0});
    } else if (numbers.empty()) {
      auto const all = layers + first + last;
      for (std::int64_t c = 0; c < chunks; ++c) numbers.push_back(all / chunks + (c < all % chunks ? 1 : 0));
      numbers.front() -= first;
      numbers.back() -= last;
    }
    try {
      by.boundaries = ballast::cut_by_layers(out_.model, numbers);
    } catch (ballast::invalid_input const& e) {
      throw bad_input(in_.file() + ": the cut into stages: " + e.what());
    }
    if (schedule == "GPipe") by.pipeline.schedule = ballast::gpipe_schedule{};
    if (schedule == "ZBVZeroBubble") by.pipeline.schedule = ballast::zbv_schedule{};
    if (schedule == "ZBVZeroBubble" && chunks != 2 * stages) throw bad_input(in_.file() + ": ZBVZeroBubble has two parts a stage");
    if (schedule == "Interleaved1F1B" || schedule == "InterleavedZeroBubble")
      by.pipeline.schedule = ballast::interleaved_schedule{.chunks = static_cast<std::uint64_t>(chunks / stages)};
    if (schedule == "InterleavedZeroBubble") note("the schedule InterleavedZeroBubble is judged as Interleaved1F1B: the step is too long");
    if (schedule == "LoopedBFS" || schedule == "DualPipeV") in_.refuse(placed("pipeline_parallel_schedule"), "is not modelled");
  }
  /// Numbers of layers from the names of modules; a new part begins where the list that holds it does. Lists were joined on the way here,
  /// so a part ends where its bracket does.
  [[nodiscard]] std::vector<std::int64_t> layers_of_parts(std::vector<std::string> const& names) const {
    std::vector<std::int64_t> numbers;
    std::int64_t next = 0;
    for (auto const& name : names) {
      if (name == "/") {
        numbers.push_back(0);
        continue;
      }
      if (numbers.empty()) in_.refuse("parallelism.module_fqns_per_model_part", "is not a list of lists");
      if (!name.starts_with("layers.")) continue;
      if (name != "layers." + std::to_string(next)) in_.refuse("parallelism.module_fqns_per_model_part", "has its layers in another order");
      ++next;
      ++numbers.back();
    }
    return numbers;
  }

  void read_others() {
    auto const parts = in_.list("compile.components");  // the loss alone is none of what layers take
    auto const layers = parts.empty() || std::find(parts.begin(), parts.end(), "model") != parts.end();
    auto const compiled = (in_.flag("compile.enable") && layers) || in_.flag("training.compile");
    out_.time.rates.family = compiled ? ballast::kernel_family::compiled : ballast::kernel_family::eager;
    if (compiled) note("compile is not counted in the memory, which is too high");
    auto const converters = in_.list("model.converters");
    auto const converts = std::any_of(converters.begin(), converters.end(), [](auto const& name) {
      return name.ends_with("float8") || name.ends_with("mx");  // quantize.linear.float8 since mid-2025
    });
    auto& fp8 = out_.time.rates.fp8;
    fp8 = converts || in_.flag("float8.enable_float8_linear");
    if (in_.has("training.disable_cuda_graphs") && !in_.flag("training.disable_cuda_graphs"))
      out_.time.graphs = ballast::graph_scope::layers;
    if (in_.flag("parallelism.enable_fsdp_symm_mem")) note("the buffers of enable_fsdp_symm_mem are not counted");
    auto const groups = in_.list("optimizer.param_groups");  // words of objects
    for (auto at = groups.begin(); groups.end() - at > 2; ++at)
      if (*at == "optimizer_name" && !at[2].starts_with("Adam")) in_.refuse("optimizer.param_groups", at[2] + " is not modelled");
    for (auto const* const key :
         {"parallelism.enable_async_tensor_parallel", "experimental.enable_async_tensor_parallel", "compile.enable_async_tensor_parallel"})
      if (in_.flag(key)) out_.setting.model.kernels.tensor_overlap = true;  // without effect on the memory of these frameworks
    in_.ignore({"job.**",
                "profiling.**",
                "metrics.**",
                "optimizer.*",
                "optimizer.implementation",
                "optimizer.name",
                "lr_scheduler.**",
                "checkpoint.**",
                "comm.**",
                "float8.*",
                "float8.emulate",
                "float8.enable_fsdp_float8_all_gather",
                "float8.filter_fqns",
                "float8.force_recompute_fp8_weight_in_bwd",
                "float8.moe_fqns_prototype",
                "float8.precompute_float8_dynamic_scale_for_fsdp",
                "float8.recipe_name",
                "quantize.**",
                "compile.*",
                "compile.backend",
                "compile.fullgraph",
                "compile.loss",
                "compile.model",
                "validation.**",
                "fault_tolerance.**",
                "memory_estimation.**",
                "debug.**",
                "dataloader.**",
                "tokenizer.**",
                "mx.*",
                "mx.filter_fqns",
                "mx.moe_fqns_prototype",
                "mx.mxfp8_dim1_cast_kernel_choice",
                "mx.recipe_name",
                "training.dataset*",
                "training.warmup_steps",
                "training.max_norm",
                "training.steps",
                "training.seed",
                "training.deterministic",
                "training.gc_*",
                "training.data_parallel_type",
                "training.tensor_parallel_*",
                "training.compile",
                "parallelism.context_parallel_load_balancer",
                "parallelism.context_parallel_rotate_method",
                "parallelism.pipeline_parallel_split_points",
                "experimental.context_parallel_rotate_method",
                "experimental.custom_*",
                "experimental.enable_async_tensor_parallel",
                "parallelism.enable_compiled_autograd",
                "parallelism.pipeline_parallel_schedule_csv",
                "hf_assets_path",
                "dump_folder",
                "parallelism.pipeline_parallel_expert_*",
                "parallelism.spmd_backend",
                "loss.*",
                "loss.global_vocab_size",
                "loss.loss_fn.global_vocab_size",
                "loss.mtp_scale",
                "override.imports",
                "validator.**",
                "activation_checkpoint.determinism_check",
                "activation_checkpoint.force_recompute_mm_shapes_by_fqns",
                "activation_checkpoint.preserve_rng_state",
                "trainer.*",
                "model_converters*",
                "activation_checkpoint"});
  }

  setting_table& in_;
  setting_request const& asked_;
  imported_setting out_;
};

/// Writes TOML as it was read until 9810191b.
class toml_writer {
 public:
  explicit toml_writer(imported_setting const& of) : model_(of.model), by_(of.setting), rate_(of.details.learning_rate), time_(of.time) {}

  [[nodiscard]] ballast::exported_setting written() {
    require_valid(by_, model_);
    write_model();
    write_training();
    write_degrees();
    write_recomputation();
    write_rest();
    return std::move(out_);
  }

 private:
  void section(char const* name) { out_.text += (out_.text.empty() ? "[" : "\n[") + std::string(name) + "]\n"; }
  void add(std::string const& key, std::int64_t value) { out_.text += key + " = " + std::to_string(value) + "\n"; }
  void add(std::string const& key, std::string const& word) { out_.text += key + " = \"" + word + "\"\n"; }
  void turn(std::string const& key, bool on) { out_.text += key + (on ? " = true\n" : " = false\n"); }
  void lack(std::string const& what) { out_.without.push_back(what); }

  void write_model() {
    auto const& all = titan_sizes();
    auto const at = std::find_if(all.begin(), all.end(), [&](auto const& size) { return size.shape == model_; });
    if (at == all.end() && !time_.rates.fp8) return;
    section("model");
    if (time_.rates.fp8) out_.text += "converters = [\"quantize.linear.float8\"]\n";
    if (at == all.end()) return;
    auto const slash = at->name.find('/');
    add("name", std::string(at->name.substr(0, slash)));
    add("flavor", std::string(at->name.substr(slash + 1)));
  }

  void write_training() {
    section("training");
    auto const local = by_.pipeline.stages > 1 ? by_.micro_batch * by_.micro_batches : by_.micro_batch;
    add("local_batch_size", local);
    add("global_batch_size", by_.global_batch());
    add("seq_len", by_.sequence);
    auto const name = by_.model.optimizer.name;
    if (name != "adam-fp32" && name != "adam-bf16") lack("optimizer " + std::string(name));
    add("dtype", std::string(name == "adam-bf16" ? "bfloat16" : "float32"));
    if (!time_.float_reduction) add("mixed_precision_reduce", std::string("bfloat16"));
    if (time_.graphs != ballast::graph_scope::none) turn("disable_cuda_graphs", false);
    if (by_.model.kernels.value > 2) add("mixed_precision_param", std::string("float32"));
    if (by_.model.kernels.value > 2 && name != "adam-fp32") lack("computation in float32");
    auto const moved = by_.model.moved;
    turn("enable_cpu_offload", moved == ballast::offload::parameters);
    if (moved == ballast::offload::optimizer) lack("offload optimizer");
    if (moved == ballast::offload::gradients) lack("offload gradients");
  }

  void write_degrees() {
    auto const& m = by_.model;
    auto const& spread = m.spread;
    auto const ranks = by_.ranks();
    section("parallelism");
    auto const whole = spread.zero == 0;
    add("data_parallel_replicate_degree", whole ? ranks : 1);
    add("data_parallel_shard_degree", whole ? 1 : ranks);
    if (spread.zero == 1 || (whole && spread.context > 1) || (!whole && spread.data == 1))
      lack("ZeRO " + std::to_string(spread.zero) + " of " + std::to_string(spread.data) + " ranks");
    add("fsdp_reshard_after_forward", std::string(spread.zero == 3 ? "always" : "never"));
    add("tensor_parallel_degree", spread.tensor);
    add("context_parallel_degree", spread.context);
    if (spread.context > 1 && m.method != ballast::context_method::ring) lack("context parallelism by Ulysses");
    if (spread.tensor > 1 && !spread.sequence_parallel) lack("tensor parallelism without sequence parallelism");
    if (m.loss.how != (spread.tensor > 1 ? ballast::head_loss::kind::parallel : ballast::head_loss::kind::plain) || m.loss.chunks != 1)
      lack("head loss " + to_string(m.loss));
    turn("enable_async_tensor_parallel", m.kernels.tensor_overlap);
    if (model_.experts > 0) {
      if (time_.dispatcher == ballast::token_dispatcher::once) add("expert_parallel_comm_backend", std::string("deepep"));
      add("expert_parallel_degree", m.expert);
      add("expert_tensor_parallel_degree", m.experts().expert_tensor);
    }
    if (m.expert_capacity > 0) lack("a capacity of experts");
    write_stages();
  }

  void write_stages() {
    auto const stages = by_.pipeline.stages;
    add("pipeline_parallel_degree", static_cast<std::int64_t>(stages));
    if (stages == 1) return;
    auto const& schedule = by_.pipeline.schedule;
    auto const name = std::holds_alternative<ballast::one_f_one_b_schedule>(schedule)   ? "1F1B"
                      : std::holds_alternative<ballast::gpipe_schedule>(schedule)       ? "GPipe"
                      : std::holds_alternative<ballast::zbv_schedule>(schedule)         ? "ZBVZeroBubble"
                      : std::holds_alternative<ballast::interleaved_schedule>(schedule) ? "Interleaved1F1B"
                                                                                        : "";
    if (*name == '\0') lack(ballast::detail::schedule_in_words(schedule));
    add("pipeline_parallel_schedule", std::string(name));
    add("pipeline_parallel_microbatch_size", by_.micro_batch);
    auto const cuts = boundaries_of(by_, model_);
    auto const before = model_.vocabulary > 0 ? 1U : 0U;
    std::vector<std::int64_t> numbers;
    std::string parts;
    for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
      std::string names;
      auto const name_one = [&](std::string const& module) { names += (names.empty() ? "\"" : ", \"") + module + "\""; };
      if (c == 0) name_one("tok_embeddings");
      numbers.push_back(0);
      for (auto layer = (std::max)(cuts[c], before); layer < cuts[c + 1] && layer < model_.layers + before; ++layer, ++numbers.back())
        name_one("layers." + std::to_string(layer - before));
      if (c + 2 == cuts.size()) {
        name_one("norm");
        name_one("output");
      }
      parts += (parts.empty() ? "[" : ",\n  [") + names + "]";
    }
    if (ballast::cut_by_layers(model_, numbers) != cuts) lack("the cut of the head");
    out_.text += "module_fqns_per_model_part = [" + parts + "]\n";
  }

  void write_recomputation() {
    using enum recompute_setting::kind;
    auto const& again = by_.recompute;
    section("activation_checkpoint");
    add("mode", std::string(again.what == none ? "none" : again.what == uniform ? "full" : "selective"));
    if (again.what == alternate || again.what == products)
      add("selective_ac_option", again.what == products ? std::string("op") : std::to_string(again.layers));
    if (again.what == modules || again.what == block || (again.what == uniform && again.layers > 1) ||
        (again.what == products && again.layers > 1))
      lack("recompute " + ballast::detail::recompute_in_words(again));
  }

  void write_rest() {
    if (time_.rates.family == ballast::kernel_family::compiled) {
      section("compile");
      turn("enable", true);
    }
    if (!rate_.empty()) section("optimizer");
    if (!rate_.empty()) out_.text += "lr = " + rate_ + "\n";
    if (by_.model.attention == ballast::attention_kernel::stored_scores) lack("stored scores of attention");
    if (by_.model.language.what != ballast::trained::all) lack(ballast::detail::trained_in_words(by_.model.language));
  }

  transformer const& model_;
  training_setting const& by_;
  std::string const& rate_;
  ballast::time_setting const& time_;
  ballast::exported_setting out_;
};

constexpr task_words torchtitan_tasks[]{{.task = training_task::pretraining}};

constexpr std::string_view torchtitan_keys[]{"model.", "training.", "parallelism.", "experimental.", "activation_checkpoint",
                                             "job.",   "metrics.",  "checkpoint.",  "lr_scheduler.", "optimizer."};

}  // namespace

constinit framework_format const torchtitan_format{
    .name = "torchtitan",
    .word = "torchtitan",
    .likeness =
        [](setting_source const& in) {
          if (in.is("json")) return in.table.has_section("parallelism.") || in.table.has_section("training.") ? 20 : 0;
          return in.is("toml") && in.has_any(torchtitan_keys) ? 20 : 0;
        },
    .read = [](setting_source source, setting_request const& asked) { return torchtitan_importer(source.table, asked).read(); },
    .write = [](imported_setting const& of) { return toml_writer(of).written(); },
    .tasks = torchtitan_tasks};

}  // namespace ballast_cli
