// SPDX-License-Identifier: Apache-2.0
#include "readers/trainer_keys.hpp"

#include "errors.hpp"
#include "readers/setting_documents.hpp"

#include <ballast/core/math.hpp>
#include <ballast/cost/schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

// huggingface/transformers, TrainingArguments and its optimisers; huggingface/accelerate for what FSDP holds.

namespace ballast_cli {

namespace {

[[nodiscard]] bool has_part(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

std::string read_trainer_arguments(std::string const& text, setting_request& asked) {
  auto in = read_json_setting(text, "--hf-args");
  if (auto const micro = in.number("per_device_train_batch_size"); !asked.micro_batch) asked.micro_batch = micro.value_or(8);
  if (auto const steps = in.number("gradient_accumulation_steps"); !asked.micro_batches) asked.micro_batches = steps.value_or(1);
  asked.precision = take_precision(in, "fp32");
  if (in.flag("gradient_checkpointing")) asked.checkpointing = true;
  return take_optimizer(in, "optim", "adamw_torch");
}

void begin_eager(imported_setting& out) {
  out.setting.model.framework = ballast::framework_named("eager");
  out.setting.model.kernels.adapter_value = 4;  // peft's default
  out.setting.model.loss.how = ballast::head_loss::kind::returned;
  out.time.rates.family = ballast::kernel_family::eager;
  out.time.attention = ballast::attention_library::flash2;
}

void set_ranks(setting_table const& table, setting_request const& asked, imported_setting& out, std::string const& degrees) {
  auto& by = out.setting;
  auto const of_a_rank = static_cast<std::int64_t>(by.pipeline.stages) * by.model.spread.tensor * by.model.spread.context;
  by.model.spread.data = ranks_of(table, gpus_of(table, asked), of_a_rank, degrees) * by.model.spread.context;
}

std::int64_t degree_of(setting_table& table, std::initializer_list<std::string_view> keys) {
  std::int64_t degree = 1;
  for (auto const key : keys)
    if (auto const given = table.number(key, 0, 1 << 16)) degree = (std::max)(degree, *given);
  return degree;
}

void take_sequence(setting_table& table, setting_request const& asked, std::initializer_list<std::string_view> keys, std::int64_t otherwise,
                   imported_setting& out) {
  std::optional<std::int64_t> given;
  for (auto const key : keys)
    if (auto const value = table.number(key, 0); value && *value > 0 && !given) given = value;
  out.setting.sequence = asked.sequence.value_or(given.value_or(otherwise));
  if (out.setting.sequence == 0)
    throw bad_input(table.file() + ": " + std::string(*keys.begin()) + " is missing; --seq-length says it too");
}

void take_batches(setting_table& table, setting_request const& asked, std::string_view micro, std::int64_t otherwise,
                  std::string_view steps, std::int64_t steps_otherwise, imported_setting& out) {
  auto const in_file = table.number(micro), steps_in_file = table.number(steps);
  out.setting.micro_batch = asked.micro_batch.value_or(in_file.value_or(otherwise));
  if (out.setting.micro_batch == 0) throw bad_input(table.file() + ": " + std::string(micro) + " is missing; --micro-batch says it too");
  out.setting.micro_batches = asked.micro_batches.value_or(steps_in_file.value_or(steps_otherwise));
}

std::string take_precision(setting_table& table, std::string const& otherwise) {
  auto const on = [&](std::string_view key) -> std::optional<bool> {
    if (!table.has(key)) return std::nullopt;
    if (auto const word = table.word_or_none(key); word == "auto" || word == "full") {
      table.ignore({key});
      return true;
    }
    if (!table.is_flag(key) && table.word(key).empty()) return std::nullopt;  // null
    return table.flag(key);
  };
  auto const bf16 = on("bf16"), fp16 = on("fp16");
  auto const automatic = [&](std::string_view key) { return table.word_or_none(key) == "auto"; };
  if (bf16.value_or(false) && fp16.value_or(false) && !automatic("bf16") && !automatic("fp16"))
    table.refuse("fp16", "is on beside bf16, of which only one may be");
  if (bf16.value_or(false) && !(automatic("bf16") && fp16.value_or(false))) return "bf16";
  if (fp16.value_or(false)) return "fp16";
  return bf16 ? "fp32" : otherwise;
}

bool flag_or_word(setting_table& table, std::string_view key, bool otherwise, imported_setting& out) {
  auto const word = table.word_or_none(key);
  auto const plain = word.empty() || word == "true" || word == "True" || word == "1" || word == "yes" || word == "false" ||
                     word == "False" || word == "0" || word == "no" || word == "null" || word == "None" || word == "~";
  if (plain) return table.flag(key, otherwise);
  (void)table.word(key);
  out.notes.push_back(std::string(key) + " " + printable(word) + " is judged as true");
  return true;
}

void take_fsdp(setting_table& table, trainer_setting& by, imported_setting& out) {
  auto const words = table.list("fsdp");
  auto on = !words.empty() && words.front() != "false" && words.front() != "no" && words.front() != "null";
  auto stage = 3;
  auto const apply = [&](std::string word) {
    std::transform(word.begin(), word.end(), word.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (word == "no_shard" || word == "3") stage = 0;
    if (word == "shard_grad_op" || word == "2" || word == "hybrid_shard_zero2" || word == "5") stage = 2;
    if (word == "offload") by.shards_away = true;
    if (word.starts_with("hybrid_shard") || word == "4" || word == "5")
      out.notes.emplace_back("hybrid sharding is judged as sharding over all ranks: the memory is too low");
  };
  std::vector<std::string_view> const shardings{
      "full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2", "1", "2", "3", "4", "5"};
  auto more = shardings;
  more.insert(more.end(), {"offload", "auto_wrap", "true", "false", "yes", "no", "null", "fsdp1", "fsdp2"});
  for (auto const& word : words) {
    if (!word.ends_with(".json") && word.find('$') == word.npos) table.require_word("fsdp", word, more);
    apply(word);
  }
  auto const section = table.has_section("fsdp_config.");
  if (auto const file = table.word("fsdp_config"); !file.empty()) out.unread.push_back(table.file() + ": fsdp_config " + printable(file));
  on = on || section;
  for (auto const* const prefix : {"fsdp_config.", "fsdp_config.fsdp_"}) {
    auto const key = [&](char const* name) { return prefix + std::string(name); };
    if (auto const strategy = table.one_of_or(key("sharding_strategy"), "", shardings); !strategy.empty()) apply(strategy);
    auto const reshard = table.word_or_none(key("reshard_after_forward"));
    if (reshard == "false" || reshard == "False") stage = 2;
    if (!reshard.empty() && reshard != "false" && reshard != "False" && reshard != "true" && reshard != "True")
      apply(table.one_of_or(key("reshard_after_forward"), "", shardings));
    (void)table.word(key("reshard_after_forward"));
    if (table.flag(key("offload_params")) || table.flag(key("cpu_offload"))) by.shards_away = true;
    if (table.flag(key("activation_checkpointing"))) out.setting.recompute = {.what = ballast::recompute_setting::kind::uniform};
    for (auto const* const name :
         {"auto_wrap_policy", "transformer_layer_cls_to_wrap", "state_dict_type", "version", "cpu_ram_efficient_loading",
          "limit_all_gathers", "sync_module_states", "use_orig_params", "backward_prefetch", "backward_prefetch_policy", "forward_prefetch",
          "min_num_params", "final_state_dict_type"})
      table.ignore({key(name)});
  }
  table.ignore({"fsdp_version", "fsdp_final_state_dict_type", "fsdp_transformer_layer_cls_to_wrap", "fsdp_min_num_params",
                "fsdp_config.min_num_params", "fsdp_config.xla*"});
  if (on) by.shards = stage;
}

std::string take_optimizer(setting_table& table, std::string_view key, std::string const& otherwise) {
  return table.word_near(key, otherwise,
                         {"adamw_torch",
                          "adamw_torch_fused",
                          "adamw_torch_xla",
                          "adamw_torch_npu_fused",
                          "adamw_torch_4bit",
                          "adamw_torch_8bit",
                          "adamw_hf",
                          "adamw_apex_fused",
                          "adamw_anyprecision",
                          "adamw_bnb_8bit",
                          "adamw_8bit",
                          "ademamix",
                          "ademamix_8bit",
                          "adafactor",
                          "adagrad",
                          "sgd",
                          "lion_8bit",
                          "lion_32bit",
                          "paged_adamw",
                          "paged_adamw_32bit",
                          "paged_adamw_8bit",
                          "paged_ademamix_32bit",
                          "paged_ademamix_8bit",
                          "paged_lion_32bit",
                          "paged_lion_8bit",
                          "rmsprop",
                          "rmsprop_bnb",
                          "rmsprop_bnb_8bit",
                          "rmsprop_bnb_32bit",
                          "galore_adamw",
                          "galore_adamw_8bit",
                          "galore_adafactor",
                          "galore_adamw_layerwise",
                          "galore_adamw_8bit_layerwise",
                          "galore_adafactor_layerwise",
                          "lomo",
                          "adalomo",
                          "grokadamw",
                          "schedule_free_radam",
                          "schedule_free_adamw",
                          "schedule_free_sgd",
                          "apollo_adamw",
                          "apollo_adamw_layerwise",
                          "stable_adamw",
                          "muon",
                          "lion",
                          "optimi_adamw",
                          "ao_adamw_4bit",
                          "ao_adamw_8bit",
                          "ao_adamw_fp8",
                          "adopt_adamw",
                          "came_pytorch",
                          "flash_adamw",
                          "q_galore_adamw8bit"});
}

std::string take_attention(setting_table& table, std::string_view key, std::string const& otherwise) {
  return table.word_near(key, otherwise,
                         {"eager", "sdpa", "flash_attention_2", "flash_attention_3", "flash_attention", "flash_attn", "flex_attention",
                          "xformers", "auto", "disabled", "fa2", "fa3"});
}

void set_optimizer(std::string const& word, std::string const& key, imported_setting& out) {
  auto& optimizer = out.setting.model.optimizer;
  auto const is = [&](std::string_view part) { return has_part(word, part); };
  auto const moments = optimizer.name == "adam-bf16" ? 4 : 8;  // of Adam
  auto const note = [&](std::string const& what) { out.notes.push_back(key + " " + printable(word) + " " + what); };
  if (is("paged")) note("may move states to host memory, which is not modelled: the memory may be too high");
  if (is("galore") || is("apollo")) {
    auto const rank = optimizer.rank;
    optimizer = ballast::optimizer_named("galore");
    optimizer.rank = rank;
    if (is("apollo")) note("is judged as GaLore");
  } else if (is("8bit") && is("adam")) {
    optimizer.state.optimizer += 2 - moments;
    optimizer.name = "adam-8bit";
    optimizer.moments = ballast::moment_form::blocks;
  } else if (is("adafactor")) {
    optimizer.state.optimizer -= moments;
    optimizer.name = "adafactor";
    optimizer.moments = ballast::moment_form::factors;
  } else if (is("muon")) {
    optimizer.state.optimizer -= moments / 2;
    optimizer.name = "muon";
    optimizer.moments = ballast::moment_form::matrices;
    optimizer.second = moments / 2;
  } else if (is("lion")) {
    optimizer.state.optimizer -= moments / 2;
    optimizer.name = "lion";
    if (is("8bit")) note("is judged as Lion: the memory is too high");
  } else if (word == "sgd" || word == "SGD") {
    optimizer.state.optimizer -= moments;
    optimizer.name = "sgd";
  } else if (!word.starts_with("adamw_torch") && !word.starts_with("adamw_hf") && !word.starts_with("adamw_apex") && word != "adamw" &&
             word != "AdamW" && word != "Adam" && word != "adam") {
    note("is judged as Adam");
  } else if (is("4bit") || is("fp8")) {
    note("is judged as Adam: the memory is too high");
  }
}

void set_adapters(std::int64_t rank, std::vector<std::string> const& targets, bool quantised, imported_setting& out) {
  auto& language = out.setting.model.language;
  language = {.what = ballast::trained::low_rank, .rank = rank, .quantised = quantised};
  auto const named = [&](std::string_view name) {
    return std::any_of(targets.begin(), targets.end(),
                       [&](std::string const& t) { return t == name || t.ends_with("." + std::string(name)); });
  };
  auto const only = std::all_of(targets.begin(), targets.end(), [](std::string const& t) {
    return t.ends_with("q_proj") || t.ends_with("v_proj") || t == "query" || t == "value";
  });
  if (only && (targets.empty() || targets.size() == 2)) language.matrices = ballast::adapted_matrices::queries_and_values;
  if (targets.empty() || only || named("all") || named("all-linear") || targets.size() >= 7) return;
  out.notes.emplace_back("adapters of some matrices are counted for all: the memory is a little too high");
}

void set_attention(std::string const& name, imported_setting& out) {
  if (name == "eager" || name == "disabled") out.setting.model.attention = ballast::attention_kernel::stored_scores;
  if (has_part(name, "flash_attention_3") || has_part(name, "fa3") || has_part(name, "flash-attn3"))
    out.time.attention = ballast::attention_library::flash3;
  constexpr std::string_view known[]{"eager", "disabled", "off",      "sdpa", "flash", "fa2",
                                     "fa3",   "flex",     "xformers", "auto", "true",  "false"};
  if (!name.empty() && std::none_of(std::begin(known), std::end(known), [&](auto const part) { return has_part(name, part); }))
    out.notes.push_back("attention " + printable(name) + " is none that is known here, and judged as FlashAttention");
}

optimizer_words trainer_words_of(ballast::optimizer const& of) {
  for (std::string_view const base : {"adam-fp32", "adam-bf16", "adam-bf16-gradients", "adam"})
    for (std::string_view const word : {"adamw_torch_fused", "adamw_8bit", "adafactor", "lion_32bit", "muon", "sgd"}) {
      imported_setting known;
      auto& is = known.setting.model.optimizer = ballast::optimizer_named(base);
      set_optimizer(std::string(word), "", known);
      is.rank = of.rank;
      if (is == of) return {base, word};
    }
  return {of.name, "adamw_torch_fused"};
}

std::string_view attention_word(imported_setting const& of) {
  if (of.setting.model.attention != ballast::attention_kernel::fused) return "eager";
  return of.time.attention == ballast::attention_library::flash3 ? "flash_attention_3" : "flash_attention_2";
}

bool is_compiled(imported_setting const& of) { return of.time.rates.family == ballast::kernel_family::compiled; }

void set_answers(std::int64_t tokens, imported_setting& out) {
  auto const all = out.setting.sequence;
  out.setting.model.loss.share = tokens < all ? (std::max)(ballast::divide_up(1000 * tokens, all), std::int64_t{1}) : 1000;
}

void add_reference(imported_setting& out) {
  if (out.setting.model.language.what != ballast::trained::all) {
    out.notes.emplace_back("the reference model is the model without its adapters, and takes no memory");
    return;
  }
  auto of = out;
  of.roles.clear();
  of.setting.model.language.what = ballast::trained::none;
  of.setting.recompute = {};
  of.setting.model.optimizer.state.parameter = of.setting.model.kernels.value;
  out.roles.push_back({.role = "reference", .of = std::move(of), .resident = true});
}

void set_states(setting_table& table, setting_request const& asked, trainer_setting const& by, imported_setting& out) {
  auto& m = out.setting.model;
  auto& k = m.kernels;
  auto const adapts = m.language.what == ballast::trained::low_rank;
  auto const floats = by.precision == "fp32" && !by.halves;
  if (floats) k.value = 4;
  auto const galore_rank = m.optimizer.rank;
  if (floats) out.untimed = "the rates of kernels are those of 16 and 8 bits, and neither bf16 nor fp16 is on";
  auto const alone = [&] {
    m.optimizer = ballast::optimizer_named(by.halves && adapts ? "adam-bf16-gradients" : by.halves ? "adam-bf16" : "adam-fp32");
  };
  auto const text = by.deepspeed.empty() || !asked.find_file ? std::nullopt : asked.find_file(by.deepspeed);
  if (!by.deepspeed.empty() && !text) {
    out.unread.push_back(table.file() + ": deepspeed " + printable(by.deepspeed) + ", a file that is not found");
    alone();
  } else if (text || by.engine) {
    setting_request of{};
    of.model = out.model;
    of.gpus = out.setting.gpus();
    of.sequence = out.setting.sequence;
    of.micro_batch = out.setting.micro_batch;
    of.micro_batches = out.setting.micro_batches;
    of.precision = by.precision;
    auto const file = read_deepspeed(text ? read_json_setting(*text, by.deepspeed) : *by.engine, of);
    auto const& spread = file.setting.model.spread;
    if (spread.tensor > 1 || spread.context > 1) {
      if (m.spread.tensor == 1) m.spread.tensor = spread.tensor;
      if (m.spread.context == 1) m.spread.context = spread.context;
      if (spread.context > 1) m.method = ballast::context_method::ulysses;
      set_ranks(table, of, out, "the degrees of " + by.deepspeed);
    }
    m.spread.zero = spread.zero;
    m.optimizer = file.setting.model.optimizer;
    m.moved = file.setting.model.moved;
    k.value = by.halves ? 2 : file.setting.model.kernels.value;
    out.time.gradient_overlap = file.time.gradient_overlap;
    out.time.float_reduction = file.time.float_reduction;
    if (text) out.notes.push_back("DeepSpeed's setting is that of " + printable(by.deepspeed));
    for (auto const& note : file.notes)
      if (!note.starts_with("activation_checkpointing")) out.notes.push_back(note);
  } else if (by.shards) {
    m.spread.zero = *by.shards;
    auto const name = adapts && !floats ? "adam-bf16-gradients" : by.halves && by.precision == "fp32" ? "adam-bf16" : "adam-fp32";
    m.optimizer = ballast::optimizer_named(name);  // the trainable parameters are float32 wherever precision is mixed
    k.kept_copies = true;
    k.local_gradient = k.value;  // accelerate's no_sync, in the precision of the computation
    if (by.shards_away && *by.shards >= 2) m.moved = ballast::offload::parameters;
  } else {
    alone();
    k.local_gradient = m.optimizer.state.gradient;  // DistributedDataParallel has buckets beside the gradients
    // autocast keeps the casted matrices for the backward pass, unless that computes its layers again
    k.kept_copies = by.precision != "fp32" && !by.halves && out.setting.recompute.what == ballast::recompute_setting::kind::none;
  }
  m.optimizer.rank = galore_rank;
  if (m.optimizer.name.starts_with("adam")) set_optimizer(by.optimizer, by.optimizer_key, out);  // else DeepSpeed's file names its own
}

void ignore_trainer_keys(setting_table& table) {
  table.ignore({"output_dir",
                "overwrite_output_dir",
                "do_train",
                "do_eval",
                "do_predict",
                "learning_rate",
                "lr_scheduler*",
                "warmup_*",
                "num_train_epochs",
                "max_steps",
                "weight_decay",
                "max_grad_norm",
                "adam_*",
                "optim_*",
                "logging_*",
                "save_*",
                "eval_*",
                "evaluation_strategy",
                "per_device_eval_batch_size",
                "dataloader_*",
                "ddp_*",
                "report_to",
                "run_name",
                "seed",
                "data_seed",
                "remove_unused_columns",
                "no_remove_unused_columns",
                "push_to_hub",
                "hub_*",
                "resume_from_checkpoint",
                "load_best_model_at_end",
                "group_by_length",
                "length_column_name",
                "average_tokens_across_devices",
                "include_num_input_tokens_seen",
                "include_tokens_per_second",
                "skip_memory_metrics",
                "fp16_opt_level",
                "fp16_backend",
                "half_precision_backend",
                "ignore_data_skip",
                "tf32",
                "use_cpu",
                "neftune_noise_alpha",
                "trust_remote_code",
                "model_revision",
                "use_fast_tokenizer",
                "cache_dir",
                "local_rank",
                "metric_for_best_model",
                "gradient_checkpointing_kwargs*",
                "gradient_checkpointing_kwargs.use_reentrant",
                "accelerator_config**",
                "disable_tqdm",
                "log_level*",
                "low_cpu_mem_usage",
                "torch_empty_cache_steps",
                "token",
                "nproc_per_node",
                "nnodes",
                "node_rank",
                "master_*",
                "rdzv_*",
                "standalone",
                "main_process_*",
                "machine_rank",
                "num_machines",
                "num_processes",
                "num_cpu_threads_per_process",
                "include",
                "hostfile",
                "num_gpus",
                "num_nodes",
                "master_port"});
}

void take_saved_modules(setting_table& table, imported_setting& out) {
  if (out.setting.model.language.what != ballast::trained::low_rank) return;
  constexpr std::string_view embeddings[]{"embed_tokens",   "wte",        "word_embeddings", "embed_in", "embedding",
                                          "tok_embeddings", "embeddings", "all-embedding"};
  constexpr std::string_view heads[]{"lm_head", "embed_out", "output_layer", "output"};
  auto embedding = false, head = false;
  for (std::string const key : {"modules_to_save", "lora_modules_to_save", "additional_target"}) {
    std::string others;
    for (auto const& module : table.list(key)) {
      auto const name = std::string_view(module).substr(module.rfind('.') + 1);
      auto const is = [&](auto const& names) { return std::find(std::begin(names), std::end(names), name) != std::end(names); };
      embedding = embedding || is(embeddings);
      head = head || is(heads);
      if (!is(embeddings) && !is(heads) && name != "null" && name != "None") others += (others.empty() ? "" : ", ") + printable(module);
    }
    if (!others.empty())
      out.notes.push_back(key + " " + others + ": trains whole beside the adapters, which is not counted: the memory is too low");
  }
  if (!embedding && !head) return;
  auto of = out;
  of.roles.clear();
  auto& by = of.setting;
  auto& m = by.model;
  // one layer that weighs nothing, and the matrices of the copies
  auto const shares = m.spread.tensor * m.spread.context;
  of.model = {.layers = 1,
              .hidden = out.model.hidden,
              .query_heads = shares,
              .kv_heads = shares,
              .head_width = 1,
              .ffn = shares,
              .vocabulary = out.model.vocabulary,
              .tied = !(embedding && head)};
  auto const alone = m.spread.zero == 0 && m.kernels.local_gradient > 0;  // neither FSDP nor DeepSpeed
  auto const casts = out.framework == "LLaMA-Factory" ? !table.flag("pure_bf16") : out.framework == "TRL" && m.language.quantised;
  if (alone && m.kernels.value == 2) m.optimizer = ballast::optimizer_named(casts ? "adam-fp32" : "adam-bf16");
  if (alone) m.kernels.local_gradient = m.optimizer.state.gradient;
  m.kernels.kept_copies = m.kernels.kept_copies && (head || !alone);  // a lookup is not cast
  m.language = {};
  m.expert = 1;
  m.expert_tensor = 0;
  by.recompute = {};
  by.boundaries.clear();
  by.pipeline.stages = 1;
  by.pipeline.schedule = ballast::one_f_one_b_schedule{};
  by.micro_batch = 1;
  if (m.spread.data == 1) by.micro_batches = 2;  // gradients are there until the step
  out.roles.push_back({.role = std::string(trained_copy) + (embedding && head ? " of embedding and head"
                                                            : embedding       ? " of the embedding"
                                                                              : " of the head"),
                       .of = std::move(of),
                       .resident = true});
}

void finish_setting(setting_table const& table, imported_setting& out) {
  out.passed = table.finish(out.framework);
  auto const prefix = table.file() + ": ";
  for (auto const& file : out.unread)
    if (file.starts_with(prefix)) out.passed.doubtful.push_back(file.substr(prefix.size(), file.find(' ', prefix.size()) - prefix.size()));
  require_suits(table, out);
  for (auto const& role : out.roles) require_suits(table, role.of);
}

}  // namespace ballast_cli
