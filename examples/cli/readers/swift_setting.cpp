// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/framework_setting.hpp"
#include "readers/setting_documents.hpp"
#include "readers/setting_writers.hpp"
#include "readers/swift_roles.hpp"
#include "readers/trainer_keys.hpp"

#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/optimizer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

// `swift sft`, `swift pt` and `swift rlhf` of modelscope/ms-swift 3602360a, which train with the Hugging Face trainer and DeepSpeed.

namespace ballast_cli {

namespace {

class swift_importer {
 public:
  swift_importer(setting_table& table, setting_request const& asked, bool rlhf) : in_(table), asked_(asked), rlhf_(rlhf) {}

  imported_setting read() {
    out_.framework = "ms-swift";
    take_model(in_, asked_, {"model"}, out_);
    auto& m = out_.setting.model;
    m.framework = ballast::framework_named("eager");
    out_.time.rates.family = ballast::kernel_family::eager;
    read_launcher();
    read_degrees();
    read_states();
    read_kernels();
    read_trained_parts();
    read_batches();
    if (launched()) set_states(in_, asked_, launcher_, out_);
    take_saved_modules(in_, out_);
    if (rlhf_) read_swift_roles(in_, asked_, out_);
    read_swift_task(in_, out_);
    pass_over();
    out_.passed = in_.finish("ms-swift");
    require_suits(in_, out_);
    return std::move(out_);
  }

 private:
  void note(std::string const& what) { out_.notes.push_back(what); }

  /// What accelerate is told in front of the program, and swift's own word for FSDP: a preset, a file or words of the trainer.
  void read_launcher() {
    auto const type = in_.one_of("torch_dtype", {"bfloat16", "float16", "float32"});
    if (in_.flag("fp16") && in_.flag("bf16")) in_.refuse("fp16", "is on beside bf16, of which only one may be");
    launcher_.halves = type != "float32";
    launcher_.precision = launcher_.halves ? "bf16" : "fp32";
    auto const plugin = in_.word("optimizer");
    launcher_.optimizer = in_.flag("use_galore")                                ? "galore_adamw"
                          : plugin.starts_with("muon") || plugin == "dist_muon" ? "muon"
                                                                                : in_.word("optim", launcher_.optimizer);
    take_launcher(in_, asked_, launcher_, out_);
    auto const fsdp = in_.list("fsdp");
    auto const name = fsdp.size() == 1 ? fsdp.front() : std::string();
    auto const text = !name.empty() && asked_.find_file ? asked_.find_file(name) : std::nullopt;
    if (text) {
      auto inner = read_json_setting(*text, name);
      launcher_.shards = 3;
      take_fsdp(inner, launcher_, out_);
      out_.setting.model.kernels.offload_all = inner.flag("fsdp_config.activation_cpu_offload");
    } else if (name == "fsdp2") {  // its file says activation_checkpointing
      launcher_.shards = 3;
      out_.setting.recompute.what = ballast::recompute_setting::kind::uniform;
    } else if (name.ends_with(".json")) {
      in_.refuse("fsdp", "is a file that is not found");
    } else {
      take_fsdp(in_, launcher_, out_);
    }
  }
  /// Whether FSDP or accelerate's DeepSpeed holds the states.
  [[nodiscard]] bool launched() const { return launcher_.shards || launcher_.engine || !launcher_.deepspeed.empty(); }

  void read_degrees() {
    auto& by = out_.setting;
    auto& m = by.model;
    m.spread.context = in_.number_or("sequence_parallel_size", 1);
    if (m.spread.context > 1) m.method = ballast::context_method::ulysses;
    m.spread.tensor = in_.number_or("deepspeed_autotp_size", 1);
    if (m.spread.context > 1 << 16 || m.spread.tensor > 1 << 16) throw bad_input(in_.file() + ": a degree is above 2^16");
    auto const gpus = gpus_of(in_, asked_);
    auto const visible = in_.word("environment.CUDA_VISIBLE_DEVICES");
    auto const processes = in_.word("environment.NPROC_PER_NODE");
    auto const devices = 1 + std::count(visible.begin(), visible.end(), ',');
    if (!launched() && processes.empty() && gpus > 1 && devices == gpus && gpus <= out_.model.layers &&
        m.spread.context * m.spread.tensor == 1) {
      by.pipeline.stages = static_cast<std::uint64_t>(gpus);
      note("without NPROC_PER_NODE one process spreads the layers over " + std::to_string(gpus) +
           " devices, which wait for each other: judged as a pipeline, the time is too short");
    }
    auto const degrees = m.spread.context * m.spread.tensor * static_cast<std::int64_t>(by.pipeline.stages);
    m.spread.data = ranks_of(in_, gpus, degrees, "sequence_parallel_size x deepspeed_autotp_size") * m.spread.context;
    if (m.spread.context > 1 && out_.model.query_heads / m.spread.tensor % m.spread.context != 0) {
      m.method = ballast::context_method::ring;
      if (std::gcd(out_.model.query_heads, m.spread.context) > 1)
        note("sequence_parallel_size exchanges heads as far as they go, and keys and values beyond: judged as a ring");
    }
  }

  /// The stage of ZeRO by its name, as in zero2_offload, or by its file where that is at hand.
  void read_zero(std::string const& zero) {
    auto& m = out_.setting.model;
    m.optimizer = ballast::optimizer_named("adam-bf16-gradients");
    auto const file_name = zero.ends_with(".json") || zero.find('/') != zero.npos || zero.starts_with('{');
    if (zero.starts_with("zero") && !file_name) {
      auto const rest = zero.substr((std::min)(zero.size(), std::size_t{5}));
      auto const stage = zero.size() > 4 ? zero[4] : ' ';
      auto const away = rest == "_offload" && (stage == '2' || stage == '3');
      if (stage < '0' || stage > '3' || !(rest.empty() || away))
        in_.refuse("deepspeed", "is not zero0 to zero3, zero2_offload or zero3_offload");
      m.spread.zero = stage - '0';
      if (away) m.moved = stage == '3' ? ballast::offload::parameters : ballast::offload::gradients;
    } else {
      auto const text = zero.starts_with('{') ? std::optional(zero) : asked_.find_file ? asked_.find_file(zero) : std::nullopt;
      if (!text) in_.refuse("deepspeed", "is a file: judge that one, which holds the setting");
      auto file = read_json_setting(*text, zero);
      m.spread.zero = static_cast<int>(file.number("zero_optimization.stage", 0, 3).value_or(0));
      auto const away = [&](char const* key) { return file.word(key, "none") != "none"; };
      if (m.spread.zero >= 1 && away("zero_optimization.offload_optimizer.device")) m.moved = ballast::offload::gradients;
      if (m.spread.zero == 3 && away("zero_optimization.offload_param.device")) m.moved = ballast::offload::parameters;
    }
    if (m.spread.zero > 0) note("buckets of 2e8 elements are not counted: the memory is too low");
    if (out_.setting.pipeline.stages > 1) in_.refuse("deepspeed", "needs a process for each device: NPROC_PER_NODE says how many");
  }

  void read_states() {
    auto& m = out_.setting.model;
    auto const zero = in_.word("deepspeed", "none");
    if (zero != "none" && launched()) in_.refuse("deepspeed", "is given beside FSDP, or beside the setting of accelerate");
    if (zero == "none")
      m.optimizer = ballast::optimizer_named("adam-bf16");
    else
      read_zero(zero);
    if (zero == "none" && !launched()) m.kernels.local_gradient = 2;  // buckets of DistributedDataParallel
    if (in_.number_or("zero_hpz_partition_size", 1) > 1) note("zero_hpz_partition_size is not modelled: the memory is too low");
    if (in_.flag("use_galore")) {
      m.optimizer = ballast::optimizer_named("galore");
      m.optimizer.rank = in_.number_or("galore_rank", 128);
    }
    auto const optim = take_optimizer(in_, "optim", "adamw_torch");
    if (!launched() && !in_.flag("use_galore")) set_optimizer(optim, "optim", out_);
    auto const plugin = in_.word("optimizer");
    if (plugin.starts_with("muon") || plugin == "dist_muon") {
      m.optimizer.name = "muon";
      m.optimizer.state.optimizer -= zero == "none" ? 2 : 4;
      note("the embedding's second moment under muon is not counted: the memory is too low");
    } else if (!plugin.empty() && plugin != "galore" && plugin != "multimodal" && plugin != "lorap" && plugin != "default") {
      note("optimizer " + printable(plugin) + " is judged as Adam");
    }
  }

  void read_kernels() {
    auto& m = out_.setting.model;
    if (in_.flag("use_liger_kernel")) m.loss.how = ballast::head_loss::kind::fused;
    auto const attention = take_attention(in_, "attn_impl", "");
    if (attention == "eager") m.attention = ballast::attention_kernel::stored_scores;
    out_.time.attention = attention.ends_with('3') ? ballast::attention_library::flash3 : ballast::attention_library::flash2;
    auto const type = in_.word("torch_dtype", "bfloat16");
    if (type == "float32" && !in_.flag("bf16") && !in_.flag("fp16")) {
      if (m.optimizer.name.starts_with("adam")) m.optimizer = ballast::optimizer_named("adam-fp32");
      m.kernels.value = 4;
      if (m.kernels.local_gradient > 0) m.kernels.local_gradient = 4;
      out_.untimed = "the rates of kernels are those of 16 and 8 bits, and torch_dtype is " + type;
    }
    if (in_.flag("gradient_checkpointing", true)) out_.setting.recompute.what = ballast::recompute_setting::kind::uniform;
  }

  void read_trained_parts() {
    auto& m = out_.setting.model;
    auto const quantised = in_.word("quant_method");
    auto const bits = in_.number("quant_bits", 0);
    if (!quantised.empty() && quantised != "bnb" && quantised != "hqq") in_.refuse("quant_method", "is not modelled; bnb and hqq are");
    if (!quantised.empty() && bits && *bits != 4) in_.refuse("quant_bits", "is not modelled; 4 is");
    if (quantised.empty() && bits) note("quant_bits without quant_method quantises nothing");
    auto const type = in_.word("tuner_type", "lora"), older = in_.word("train_type", type), how = type == "lora" ? older : type;
    auto const rank = in_.number_or("lora_rank", 8);
    auto const adapted = how != "full";
    if (how == "llamapro") in_.refuse("tuner_type", "adds layers of its own, which are not modelled");
    auto const low_rank = how == "lora" || how == "lora_llm";
    constexpr std::string_view alike[]{"adalora", "longlora", "adapter", "vera", "boft", "fourierft", "reft", "bone"};
    if (adapted && !low_rank) {
      if (std::find(std::begin(alike), std::end(alike), how) == std::end(alike))
        in_.refuse(type == how ? "tuner_type" : "train_type", "is of a plugin, or is not known: what trains is not in the file");
      note("tuner_type " + how + " is judged as adapters of rank " + std::to_string(rank) + ": the memory may be wrong");
    }
    m.kernels.adapter_value = 4;  // peft's default
    if (adapted) m.language = {.what = ballast::trained::low_rank, .rank = rank, .quantised = !quantised.empty()};
    if (!adapted && !quantised.empty()) in_.refuse("quant_method", "is not modelled without adapters");
    if (in_.flag("freeze_llm")) m.language.what = ballast::trained::none;
    if (in_.number_or("lisa_activated_layers", 0, 0) > 0) note("lisa_activated_layers is not modelled: the memory is too high");
  }

  void read_batches() {
    auto& by = out_.setting;
    auto const packed = in_.number("packing_length"), longest = swift_length(in_, rlhf_);
    by.sequence = asked_.sequence ? *asked_.sequence : packed ? *packed : longest.value_or(0);
    if (by.sequence == 0) throw bad_input(in_.file() + ": max_length is missing; --seq-length says it too");
    by.micro_batch = asked_.micro_batch.value_or(in_.number_or("per_device_train_batch_size", 1));
    auto const least = (15 + by.micro_batch * by.ranks()) / (by.micro_batch * by.ranks());  // so that a step has 16 sequences or more
    by.micro_batches = asked_.micro_batches.value_or(in_.number_or("gradient_accumulation_steps", least));
  }

  void pass_over() {
    in_.ignore({"model*",
                "dataset*",
                "val_dataset*",
                "template",
                "system",
                "columns",
                "torch_dtype",
                "bf16",
                "fp16",
                "packing",
                "packing_*",
                "padding_free",
                "group_by_length",
                "truncation_*",
                "freeze_*",
                "vit_*",
                "lora_*",
                "target_*",
                "trainable_*",
                "modules_to_save",
                "init_weights",
                "use_dora",
                "galore_*",
                "lisa_*",
                "agent_*",
                "custom_*",
                "num_train_*",
                "max_steps",
                "learning_rate",
                "aligner_lr",
                "vit_lr",
                "lr_*",
                "warmup_*",
                "weight_decay",
                "max_grad_norm",
                "adam_*",
                "optim_args",
                "seed",
                "data_seed",
                "eval_*",
                "per_device_eval_batch_size",
                "logging_*",
                "save_*",
                "output_dir",
                "report_to",
                "metric*",
                "push_to_hub",
                "use_hf",
                "hub_*",
                "load_*",
                "resume_*",
                "streaming",
                "lazy_tokenize",
                "cached_*",
                "split_dataset_ratio",
                "dataloader_*",
                "strict",
                "nproc_per_node",
                "nnodes",
                "node_rank",
                "master_*",
                "standalone",
                "ddp_*",
                "fsdp_*",
                "use_logits_to_keep",
                "gradient_checkpointing_kwargs",
                "create_checkpoint_symlink",
                "enable_thinking",
                "check_model",
                "add_*",
                "remove_unused_columns",
                "external_plugins",
                "loss_type",
                "loss_scale",
                "acc_*",
                "environment.**"});
  }

  setting_table& in_;
  setting_request asked_;
  bool rlhf_;
  trainer_setting launcher_{};
  imported_setting out_;
};

constexpr std::string_view swift_keys[]{"model",
                                        "dataset",
                                        "max_length",
                                        "packing",
                                        "tuner_type",
                                        "train_type",
                                        "freeze_",
                                        "padding_free",
                                        "per_device_train_batch_size",
                                        "deepspeed",
                                        "gradient_accumulation_steps",
                                        "lora_"};
// Keys of the trainer of Hugging Face transformers.
constexpr std::string_view trainer_keys[]{"per_device_train_batch_size", "deepspeed", "gradient_accumulation_steps"};

[[nodiscard]] ballast::exported_setting swift_command(imported_setting const& of) {
  ballast::exported_setting out;
  auto const& by = of.setting;
  auto const& m = by.model;
  auto const adapts = m.language.what == ballast::trained::low_rank;
  auto const gpus = by.gpus(), nodes = gpus % 8 == 0 ? gpus / 8 : 1;
  std::string text;
  auto const line = [&](auto const&... parts) { text += ballast::sentence(parts..., "\n"); };
  line("model: NAME\ndataset: NAME\ntorch_dtype: ", m.kernels.value > 2 ? "float32" : "bfloat16",
       "\ntuner_type: ", adapts ? "lora" : "full");
  if (adapts) line("lora_rank: ", m.language.rank, "\ntarget_modules: all-linear");
  if (adapts && m.language.quantised) line("quant_method: bnb\nquant_bits: 4");
  line("max_length: ", by.sequence, "\npacking: ", packs_samples(of) ? "true" : "false", "\nper_device_train_batch_size: ", by.micro_batch,
       "\ngradient_accumulation_steps: ", by.micro_batches);
  line("gradient_checkpointing: ", by.recompute.what == ballast::recompute_setting::kind::none ? "false" : "true");
  line("attn_impl: ", attention_word(of).ends_with('2') ? "flash_attn" : attention_word(of));
  if (m.loss.how == ballast::head_loss::kind::fused) line("use_liger_kernel: true");
  auto const [base, optim] = trainer_words_of(m.optimizer);
  if (optim != "adamw_torch_fused") line("optim: ", optim);
  if (base == "adam-bf16-gradients" || m.spread.zero > 0)
    line("deepspeed: zero", m.spread.zero, m.moved == ballast::offload::none ? "" : "_offload");
  text += swift_lines(of, "learning_rate");
  if (m.spread.context > 1) line("sequence_parallel_size: ", m.spread.context);
  if (m.spread.tensor > 1) line("deepspeed_autotp_size: ", m.spread.tensor);
  out.text = as_command(
      ballast::sentence(nodes > 1 ? ballast::sentence("NNODES=", nodes, " ") : "", "NPROC_PER_NODE=", gpus / nodes, " swift sft"), text);
  return out;
}

constexpr std::string_view swift_sft = "swift sft";
constexpr task_words swift_tasks[]{
    {.task = training_task::finetuning},
    {.task = training_task::pretraining, .from = swift_sft, .to = "swift pt"},
    {.task = training_task::dpo, .from = swift_sft, .to = "swift rlhf --rlhf_type dpo", .pairs = 2},
    {.task = training_task::orpo, .from = swift_sft, .to = "swift rlhf --rlhf_type orpo", .pairs = 2},
    {.task = training_task::simpo, .from = swift_sft, .to = "swift rlhf --rlhf_type simpo", .pairs = 2},
    {.task = training_task::cpo, .from = swift_sft, .to = "swift rlhf --rlhf_type cpo", .pairs = 2},
    {.task = training_task::kto, .from = swift_sft, .to = "swift rlhf --rlhf_type kto"},
    {.task = training_task::reward, .from = swift_sft, .to = "swift rlhf --rlhf_type rm", .pairs = 2},
    {.task = training_task::ppo, .from = swift_sft, .to = "swift rlhf --rlhf_type ppo --reward_model NAME", .answer = 512},
    {.task = training_task::grpo, .from = swift_sft, .to = "swift rlhf --rlhf_type grpo", .answer = 512},
    {.task = training_task::distillation, .from = swift_sft, .to = "swift rlhf --rlhf_type gkd --teacher_model NAME", .answer = 512}};

}  // namespace

constinit framework_format const swift_format{
    .name = "ms-swift",
    .word = "swift",
    .likeness =
        [](setting_source const& in) {
          if ((!in.is("flags") && !in.is("yaml")) || in.calls("megatron")) return 0;
          auto calls = in.calls("swift");
          for (auto const* const file : {"swift/cli/sft.py", "swift/cli/pt.py", "swift/cli/rlhf.py"}) calls = calls || in.calls(file);
          if (calls && in.has_any(swift_keys)) return 100;
          return in.has_any(trainer_keys) ? 12 : 0;
        },
    .read =
        [](setting_source source, setting_request const& asked) {
          auto const rlhf = source.calls("rlhf") || source.calls("rlhf.py") || source.table.has("rlhf_type");
          auto out = swift_importer(source.table, asked, rlhf).read();
          out.task = swift_task(source);
          return out;
        },
    .write = swift_command,
    .tasks = swift_tasks};

}  // namespace ballast_cli
