// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/bridge_recipes.hpp"
#include "readers/framework_setting.hpp"
#include "readers/setting_parts.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// NVIDIA-NeMo/Megatron-Bridge: names of recipes with words that override them, YAML that overrides, and the run_config.yaml that a run
// writes; NVIDIA/NeMo: YAML of NeMo 1 (megatron_gpt_config.yaml) and of NeMo 2 (model, trainer.strategy, data). Keys of both are
// Megatron-Core's, so Megatron's importer reads them.

namespace ballast_cli {

namespace {

/// What a word of a recipe means: keys of Megatron-LM.
void add_word_of_recipe(setting_table& keys, std::string_view word) {
  constexpr std::pair<std::string_view, char const*> numbers[]{{"tp", "tensor_model_parallel_size"},
                                                               {"pp", "pipeline_model_parallel_size"},
                                                               {"vpp", "virtual_pipeline_model_parallel_size"},
                                                               {"cp", "context_parallel_size"},
                                                               {"ep", "expert_model_parallel_size"},
                                                               {"etp", "expert_tensor_parallel_size"},
                                                               {"seq", "seq_length"},
                                                               {"mbs", "micro_batch_size"},
                                                               {"gbs", "global_batch_size"},
                                                               {"layout", "pipeline_model_parallel_layout"},
                                                               {"first", "decoder_first_pipeline_num_layers"},
                                                               {"last", "decoder_last_pipeline_num_layers"},
                                                               {"again", "recompute_modules"},
                                                               {"by", "moe_token_dispatcher_type"}};
  constexpr std::pair<std::string_view, char const*> switches[]{{"sp", "sequence_parallel"},
                                                                {"embedding", "account_for_embedding_in_pipeline_split"},
                                                                {"loss", "account_for_loss_in_pipeline_split"},
                                                                {"te", "cross_entropy_loss_fusion"},
                                                                {"native", "cross_entropy_loss_fusion"},
                                                                {"aware", "use_precision_aware_optimizer"},
                                                                {"short", "grad_reduce_in_bf16"}};
  auto const equals = word.find('=');
  auto const name = word.substr(0, equals), value = equals == word.npos ? std::string_view() : word.substr(equals + 1);
  for (auto const& [key, flag] : numbers)
    if (key == name) add_word(keys, flag, std::string(value));
  for (auto const& [key, flag] : switches)
    if (key == name) add_word(keys, flag, "true");
  if (name == "te") add_word(keys, "cross_entropy_fusion_impl", "te");
  if (name == "again") add_word(keys, "recompute_granularity", "selective");
  if (name == "whole") add_word(keys, "use_distributed_optimizer", "false");
  if (name == "fp8") add_word(keys, "fp8_format", "hybrid");
  if (name != "full" || keys.has("recompute_granularity")) return;
  add_word(keys, "recompute_granularity", "full");
  add_word(keys, "recompute_method", "uniform");
  add_word(keys, "recompute_num_layers", "1");
}

/// Devices of a recipe, which its name says: "..._16gpu_...".
[[nodiscard]] std::optional<std::int64_t> devices_in(std::string_view name) {
  auto const end = name.find("gpu_");
  if (end == name.npos) return std::nullopt;
  auto first = end;
  while (first > 0 && name[first - 1] >= '0' && name[first - 1] <= '9') --first;
  if (first == end || end - first > 6) return std::nullopt;
  return std::stoll(std::string(name.substr(first, end - first)));
}

/// Shapes of Megatron-Core's configuration as Megatron-LM's flags have them.
void translate_shape(setting_table& keys) {
  auto const word = [&](char const* key) {
    for (auto const& entry : keys.entries())
      if (entry.key == key && entry.words.size() == 1) return entry.words[0];
    return std::string();
  };
  auto const is = [&](char const* key, std::initializer_list<std::string_view> values) {
    auto const given = word(key);
    return std::find(values.begin(), values.end(), given) != values.end();
  };
  if (!word("num_query_groups").empty()) add_word(keys, "group_query_attention", "true");
  if (is("share_embeddings_and_output_weights", {"false", "False"})) add_word(keys, "untie_embeddings_and_output_weights", "true");
  if (is("activation", {"swiglu", "fast-swiglu"})) add_word(keys, "swiglu", "true");
  if (is("activation", {"geglu", "fast-geglu", "reglu", "fast-reglu", "quick-geglu"})) add_word(keys, "gated_linear_unit", "true");
  auto const selective = is("recompute_granularity", {"selective"});
  auto const document = !keys.file().ends_with(".sh");  // which may refer to what other files say; a script's variables are its own
  setting_table out(keys.file());
  for (auto entry : keys.entries()) {
    auto const known = entry.words.size() == 1;
    if (entry.key == "normalization" && known && entry.words[0] == "rmsnorm") entry.words[0] = "RMSNorm";
    if (entry.key == "normalization" && known && entry.words[0].starts_with("layernorm")) entry.words[0] = "LayerNorm";
    auto const refers = known && ((document && entry.words[0].find('$') != std::string::npos) || entry.words[0] == "???");
    auto const unused = selective && (entry.key == "recompute_method" || entry.key == "recompute_num_layers");
    if (!refers && !unused) out.add(std::move(entry));
  }
  keys = std::move(out);
  if (is("bias", {"false", "False"})) add_word(keys, "add_bias_linear", "false");
  if (auto const length = word("encoder_seq_length"); !length.empty()) add_word(keys, "seq_length", length);
}

/// What a run writes beside what memory and time depend on.
void ignore_core_keys(setting_table& keys) {
  keys.ignore({"_target_",
               "_partial_",
               "_call_",
               "share_embeddings_and_output_weights",
               "gradient_accumulation_fusion",
               "params_dtype",
               "pipeline_dtype",
               "autocast_dtype",
               "perform_initialization",
               "use_te_*",
               "tp_comm_*",
               "bias_activation_fusion",
               "bias_dropout_fusion",
               "bias_dropout_add_fusion",
               "attention_type",
               "do_layer_norm_weight_decay",
               "ffn_dropout",
               "fp32_residual_connection",
               "get_attention_mask_from_fusion",
               "gradient_as_bucket_view",
               "no_seqlen_plus_one_input_tokens",
               "pad_samples_to_global_batch_size",
               "short_seq_prob",
               "splits_string",
               "masked_softmax_fusion",
               "persist_layer_norm",
               "memory_efficient_layer_norm",
               "deallocate_pipeline_outputs",
               "batch_p2p_comm",
               "batch_p2p_sync",
               "variable_seq_lengths",
               "async_tensor_model_parallel_allreduce",
               "encoder_seq_length",
               "activation",
               "bias",
               "headscale",
               "transformer_block_type",
               "openai_gelu",
               "normalize_attention_scores",
               "position_embedding_type",
               "megatron_amp_O2",
               "grad_allreduce_chunk_size_mb",
               "grad_div_ar_fusion",
               "apply_query_key_layer_scaling",
               "pre_process",
               "post_process",
               "resume_from_checkpoint",
               "seq_len_interpolation_factor",
               "share_token_embeddings",
               "mcore_gpt",
               "transformer_engine",
               "ub_tp_comm_overlap",
               "use_flash_attention",
               "nsys_profile",
               "gc_interval",
               "sync_batch_comm",
               "onnx_safe",
               "native_amp_*",
               "hysteresis",
               "num_micro_batches_with_partial_activation_checkpoints",
               "activations_checkpoint_layers_per_pipeline",
               "restore_from_path",
               "answer_only_loss",
               "peft",
               "migrate_*",
               "kv_channels",
               "reduce_amax",
               "use_emha",
               "overlap_p2p_comm",
               "train_iters",
               "generation_config",
               "hf_model_id",
               "scatter_embedding_*",
               "parallel_output",
               "fp16_*",
               "cuda_graph_*",
               "grad_reduce_in_fp32",
               "average_in_collective",
               "bucket_size",
               "data_parallel_sharding_strategy",
               "barrier_with_L1_time",
               "window_attn_skip_freq",
               "softmax_scale"});
}

[[nodiscard]] bool is_false(setting_table& in, std::string const& key) { return in.has(key) && !in.flag(key, true); }

/// Reads `keys` for the model that is asked for, that `name` is on the hub, or whose shape they have.
[[nodiscard]] imported_setting read_core(setting_table keys, setting_request asked, std::string const& name, std::string const& framework) {
  auto images = false;
  if (!asked.model && !name.empty() && asked.find_model)
    if (auto const known = asked.find_model(name)) {
      asked.model = known->language;
      images = known->reads_images;
    }
  auto const shaped = keys.has("num_layers") && keys.has("hidden_size");
  if (!asked.model && !shaped)
    throw bad_input(keys.file() + ": the setting does not hold the shape of the model" +
                    (name.empty() ? "" : ", and " + printable(name) + " is none that is known here") + "; --model names it");
  translate_shape(keys);
  ignore_core_keys(keys);
  for (auto const* const key : {"bf16", "use_distributed_optimizer"}) add_word(keys, key, "true");
  for (auto const* const key : {"hidden_dropout", "attention_dropout"}) add_word(keys, key, "0");
  auto out = read_by_megatron(std::move(keys), asked, framework);
  out.reads_images = images;
  return out;
}

void set_adapters(imported_setting& out, std::int64_t rank) {
  out.setting.model.language = {.what = ballast::trained::low_rank, .rank = rank};
}

[[nodiscard]] imported_setting read_bridge(setting_source source, setting_request asked) {
  auto in = without_references(source.is("flags") ? merged(source.overrides, source.table) : source.table);
  std::vector<std::string> notes, unread;
  std::string model, recipe_name = in.has("recipe") ? in.word("recipe") : std::string();
  for (auto const* const key : {"model.hf_model_id", "model.hf_path", "hf_path"})
    if (model.empty() && in.has(key)) model = in.word(key);
  if (auto const mode = in.has("mode") ? in.word("mode") : std::string(); mode == "generate" || mode == "eval" || mode == "export")
    in.refuse("mode", "makes no training step");
  auto keys = megatron_keys_below(in, {"train.", "model.", "ddp.", "optimizer.", "dist."});
  for (auto const& entry : in.entries())  // flags in front of the words that override
    for (auto const* const flag :
         {"tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size", "virtual_pipeline_model_parallel_size",
          "expert_model_parallel_size", "expert_tensor_parallel_size", "micro_batch_size", "global_batch_size", "seq_length"})
      if (entry.key == flag && entry.words.size() == 1) {
        add_word(keys, flag, entry.words[0]);
        in.ignore({flag});
      }
  if (auto const length = in.has("dataset.seq_length") ? in.word("dataset.seq_length", "") : std::string(); !length.empty())
    add_word(keys, "seq_length", length);
  if (auto const length = in.has("dataset.sequence_length") ? in.word("dataset.sequence_length", "") : std::string(); !length.empty())
    add_word(keys, "seq_length", length);
  if (is_false(in, "ddp.grad_reduce_in_fp32")) add_word(keys, "grad_reduce_in_bf16", "true");
  auto const precision = in.has("mixed_precision") ? in.word("mixed_precision", "") : std::string();
  if (precision.find("fp8") != precision.npos) add_word(keys, "fp8_format", "hybrid");
  auto const adapter = in.has("peft_scheme") ? in.word("peft_scheme", "") : in.has("peft") ? in.word("peft", "") : std::string();
  auto adapters = adapter == "lora" || adapter == "dora" || in.has_section("peft.") ? in.number_or("peft.dim", 32) : 0;
  if (!recipe_name.empty()) {
    auto const recipe = bridge_recipe_named(recipe_name);
    if (!recipe)
      throw bad_input(in.file() + ": " + printable(recipe_name) +
                      " is no recipe of Megatron-Bridge that is known here; the run_config.yaml that a run of it writes is read");
    model = std::string(recipe->model);
    if (!asked.gpus) asked.gpus = devices_in(recipe->name);
    for (auto const word : recipe->words) {
      add_word_of_recipe(keys, word);
      if (word == "lora" && adapters == 0) adapters = 32;
    }
    notes.push_back(
        "the recipe " + std::string(recipe->name) +
        " has the degrees, batches and recomputation of Megatron-Bridge at 067f987df; formats of its optimiser, its adapters, its "
        "loss and layers for multi-token prediction may be others there: the memory may be wrong either way");
  }
  in.ignore({"recipe",
             "mode",
             "dataset*",
             "dataset.*",
             "checkpoint*",
             "logger*",
             "scheduler*",
             "rng*",
             "validation*",
             "tokenizer*",
             "profiling*",
             "peft*",
             "peft.*",
             "mixed_precision*",
             "mixed_precision.*",
             "comm_overlap*",
             "comm_overlap.*",
             "dist*",
             "dist.*",
             "rerun*",
             "straggler*",
             "nvrx*",
             "ft*",
             "inprocess*",
             "env_vars*",
             "nproc_per_node",
             "nnodes",
             "node_rank",
             "master_*",
             "rdzv_*",
             "standalone",
             "hf_path",
             "step_func",
             "peft_scheme",
             "packed_sequence",
             "config_file",
             "max_steps",
             "save_*",
             "load_*",
             "wandb_*",
             "account",
             "partition",
             "container_*",
             "gpu",
             "time_limit",
             "pretrained_checkpoint",
             "lr",
             "min_lr",
             "warmup_iters",
             "eval_*",
             "log_*",
             "train_iters",
             "finetune",
             "task"});
  auto out = read_core(std::move(keys), asked, model, "Megatron-Bridge");
  if (adapters > 0) set_adapters(out, adapters);
  out.notes.insert(out.notes.begin(), notes.begin(), notes.end());
  auto const passed = in.finish("Megatron-Bridge");
  out.passed.harmless.insert(out.passed.harmless.end(), passed.harmless.begin(), passed.harmless.end());
  out.passed.doubtful.insert(out.passed.doubtful.end(), passed.doubtful.begin(), passed.doubtful.end());
  out.passed.unknown.insert(out.passed.unknown.end(), passed.unknown.begin(), passed.unknown.end());
  return out;
}

/// Devices that `trainer` says, if it does.
[[nodiscard]] std::optional<std::int64_t> trainer_devices(setting_table& in) {
  auto const devices = in.has("trainer.devices") ? in.word("trainer.devices", "") : std::string();
  auto const nodes = in.has("trainer.num_nodes") ? in.word("trainer.num_nodes", "1") : std::string("1");
  auto const number = [](std::string const& text) -> std::optional<std::int64_t> {
    if (text.empty() || text.size() > 6 || text.find_first_not_of("0123456789") != text.npos) return std::nullopt;
    return std::stoll(text);
  };
  auto const a = number(devices), b = number(nodes);
  if (!a || !b || *a * *b == 0) return std::nullopt;
  return *a * *b;
}

[[nodiscard]] imported_setting read_nemo(setting_source source, setting_request asked) {
  auto in = without_references(source.is("flags") ? merged(source.overrides, source.table) : source.table);
  auto const found = in.has("tensor_model_parallel_size") && in.list("tensor_model_parallel_size") == std::vector<std::string>{"-1"};
  if (!in.has_section("trainer.") || in.has("inference.greedy") || found)
    throw bad_input(in.file() + ": there is no trainer in it that makes a training step: NeMo generates, evaluates or converts with it");
  if (!asked.gpus) asked.gpus = trainer_devices(in);
  std::string model;
  for (auto const* const key : {"model.restore_from_path", "model.pretrained_llm", "model.pretrained_model"})
    if (model.empty() && in.has(key) && !in.list(key).empty()) model = in.list(key).front();
  auto const distributed = in.has("model.optim.name") && in.word("model.optim.name", "").starts_with("distributed");
  auto const peft = in.has("model.peft.peft_scheme") ? in.word("model.peft.peft_scheme", "") : std::string();
  auto const rank = in.number_or("model.peft.lora_tuning.adapter_dim", 32);
  auto keys = megatron_keys_below(in, {"trainer.strategy.", "trainer.strategy.ddp.", "data.", "model.config.", "model.data.", "model.",
                                       "optim.config.", "trainer.plugins."});
  if (!distributed && in.has_section("model.optim.")) add_word(keys, "use_distributed_optimizer", "false");
  auto const precision = in.has("trainer.precision") ? in.word("trainer.precision", "bf16") : std::string("bf16");
  if (precision == "32" || precision == "32-true") add_word(keys, "bf16", "false");
  in.ignore({"trainer.*",
             "trainer.accelerator",
             "trainer.benchmark",
             "trainer.use_distributed_sampler",
             "model.*",
             "exp_manager.**",
             "name",
             "optim.*",
             "data.*",
             "log.*",
             "resume.*",
             "hydra.*",
             "run.*",
             "inference.*",
             "restore_from_path",
             "defaults",
             "_target_",
             "_partial_",
             "model_type",
             "cluster_type"});
  auto out = read_core(std::move(keys), asked, model, "NeMo");
  if (peft == "lora") set_adapters(out, rank);
  if (!peft.empty() && peft != "lora" && peft != "none")
    out.notes.push_back("model.peft.peft_scheme " + peft + " is not modelled: the memory is too high");
  auto const passed = in.finish("NeMo");
  out.passed.doubtful.insert(out.passed.doubtful.end(), passed.doubtful.begin(), passed.doubtful.end());
  out.passed.unknown.insert(out.passed.unknown.end(), passed.unknown.begin(), passed.unknown.end());
  out.passed.harmless.insert(out.passed.harmless.end(), passed.harmless.begin(), passed.harmless.end());
  return out;
}

[[nodiscard]] bool has_core_degrees(setting_table const& table) {
  return table.has("model.tensor_model_parallel_size") || table.has("model.pipeline_model_parallel_size");
}

}  // namespace

constinit framework_format const bridge_format{
    .name = "Megatron-Bridge",
    .word = "bridge",
    .likeness =
        [](setting_source const& in) {
          if (!in.is("flags")) return has_core_degrees(in.table) && !in.table.has_section("trainer.") ? 80 : 0;
          for (auto const& entry : in.table.entries())
            if (entry.key == "recipe" && entry.words.size() == 1) return bridge_recipe_named(entry.words[0]) ? 100 : 70;
          return has_core_degrees(in.overrides) && !in.overrides.has_section("trainer.") ? 80 : 0;
        },
    .read = [](setting_source source, setting_request const& asked) { return read_bridge(std::move(source), asked); },
    .write = nullptr};

constinit framework_format const nemo_format{
    .name = "NeMo",
    .word = "nemo",
    .likeness =
        [](setting_source const& in) {
          auto const& table = in.is("flags") ? in.overrides : in.table;
          auto const trainer = table.has_section("trainer.");
          return trainer && (has_core_degrees(table) || table.has_section("trainer.strategy.")) ? 85 : 0;
        },
    .read = [](setting_source source, setting_request const& asked) { return read_nemo(std::move(source), asked); },
    .write = nullptr};

}  // namespace ballast_cli
