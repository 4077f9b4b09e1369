// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/framework_setting.hpp"
#include "readers/recipe_models.hpp"
#include "readers/recipe_words.hpp"
#include "readers/setting_parts.hpp"
#include "readers/setting_writers.hpp"

#include <ballast/core/math.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
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
  if (is("masked_softmax_fusion", {"false", "False"})) add_word(keys, "no_masked_softmax_fusion", "true");
  if (is("bias_activation_fusion", {"false", "False"}))
    for (auto const* const key : {"no_bias_swiglu_fusion", "no_bias_gelu_fusion"}) add_word(keys, key, "true");
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
               "freeze_*",
               "moe_token_dispatcher_type",
               "moe_grouped_gemm",
               "vocab_size",
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
               "defer_embedding_wgrad_compute",
               "wgrad_deferral_limit",
               "softmax_scale"});
}

[[nodiscard]] bool is_false(setting_table& in, std::string const& key) { return in.has(key) && !in.flag(key, true); }

/// Megatron-Bridge splits no expert unless it is told to, where Megatron-Core splits them as everything else.
void set_expert_tensor(setting_table& keys) {
  auto const spread = std::any_of(keys.entries().begin(), keys.entries().end(), [](auto const& e) {
    return e.key == "expert_model_parallel_size" && e.words != std::vector<std::string>{"1"};
  });
  if (spread) add_word(keys, "expert_tensor_parallel_size", "1");
}

/// Reads `keys` for the model that is asked for, that `name` is on the hub, or whose shape they have.
[[nodiscard]] imported_setting read_core(setting_table keys, setting_request asked, std::string const& name, std::string const& framework) {
  auto images = false;
  if (!asked.model && !name.empty() && asked.find_model)
    if (auto const known = asked.find_model(name)) {
      asked.model = known->language;
      images = known->reads_images;
    }
  if (!asked.model) asked.model = recipe_model(name);
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
  out.details.packing.reset();  // the data decides it
  return out;
}

/// Adapters of a rank on all matrices, or on those of attention alone. Megatron-Core has queries, keys and values in one matrix, so that
/// its adapter there is about as large as the two of queries and values.
void set_adapters(imported_setting& out, std::int64_t rank, bool attention) {
  using enum ballast::adapted_matrices;
  out.setting.model.language = {
      .what = ballast::trained::low_rank, .rank = rank, .matrices = attention ? queries_and_values : every_matrix};
  if (!attention && out.model.experts > 0)
    out.notes.push_back("each expert is judged with adapters of its own, but those of a device share them: the memory is too high");
}

/// Whether adapters are on attention alone, by the modules that `key` names; nothing if it names none.
[[nodiscard]] std::optional<bool> adapts_attention(setting_table& in, std::string const& key) {
  auto const modules = in.has(key) ? in.list(key) : std::vector<std::string>{};
  if (modules.empty()) return std::nullopt;
  return std::none_of(modules.begin(), modules.end(),
                      [](auto const& name) { return name.find("fc") != name.npos || name.find("all") != name.npos || name == "*_proj"; });
}

/// What `mixed_precision` decides, as its word or in its section, whatever the keys of gradients say. What a recipe says of it no longer
/// counts, and comes to `but`.
void read_precision(setting_table& in, setting_table& keys, bool of_recipe, std::vector<std::string>& but,
                    std::vector<std::string>& notes) {
  auto word = in.has("mixed_precision") ? in.word("mixed_precision", "") : std::string();
  std::replace(word.begin(), word.end(), '-', '_');
  auto const given = !word.empty() && word != "null" && word != "None";
  if (given) {
    auto form = std::string_view(word);
    for (std::string_view const family : {"nemotron_h_", "nanov2_"})
      if (form.starts_with(family)) form.remove_prefix(family.size());
    auto const halves = form.starts_with("bf16_");
    auto const rest = halves || form.starts_with("fp16_") ? form.substr(5) : std::string_view();
    auto const eight = rest == "with_fp8_delayed_scaling_mixed" || rest == "with_fp8_current_scaling_mixed" || rest == "with_mxfp8_mixed",
               blocks = rest == "with_fp8_subchannel_scaling_mixed", four = rest == "with_nvfp4_mixed";
    if (rest != "mixed" && !eight && !blocks && !four)
      in.refuse("mixed_precision",
                "is none of bf16_mixed, fp16_mixed and these with fp8_delayed_scaling, fp8_current_scaling, "
                "fp8_subchannel_scaling, mxfp8 or nvfp4, as bf16_with_mxfp8_mixed");
    if (!halves) {
      add_word(keys, "bf16", "false");
      add_word(keys, "fp16", "true");
    }
    if (eight || blocks) add_word(keys, "fp8_format", "hybrid");
    if (eight) add_word(keys, "fp8_param_gather", "true");
    if (four) add_word(keys, "fp4_format", "e2m1");
    for (auto const* const key : {"fp8_format", "fp4_format", "fp8_param_gather", "grad_reduce_in_bf16"}) but.emplace_back(key);
  }
  for (auto const* const part : {"fp8", "fp4", "fp8_param_gather"})
    if (auto const key = std::string("mixed_precision.") + part; in.has(key)) {
      auto const value = in.word(key, "");
      auto const off = value.empty() || value == "null" || value == "None" || value == "false" || value == "False";
      auto const flag = std::string(part) == "fp8_param_gather" ? std::string(part) : std::string(part) + "_format";
      if (off)
        but.push_back(flag);
      else
        add_word(keys, flag, value);
    }
  auto const* const reduced = "mixed_precision.grad_reduce_in_fp32";
  auto const decides = of_recipe || given || in.has(reduced);
  if (in.has(reduced)) but.emplace_back("grad_reduce_in_bf16");
  if (is_false(in, decides ? reduced : "ddp.grad_reduce_in_fp32")) add_word(keys, "grad_reduce_in_bf16", "true");
  if (decides && !in.has(reduced) && is_false(in, "ddp.grad_reduce_in_fp32"))
    notes.emplace_back("ddp.grad_reduce_in_fp32 decides nothing: mixed_precision.grad_reduce_in_fp32 is true unless it says otherwise");
}

/// The table with formats as `torch.bfloat16`, in words or in a section of `_target_`, as Megatron-LM's flags have them.
[[nodiscard]] setting_table with_plain_formats(setting_table const& in) {
  constexpr std::string_view target = "._target_";
  constexpr std::pair<std::string_view, char const*> formats[]{
      {"torch.float32", "fp32"}, {"torch.bfloat16", "bf16"}, {"torch.float16", "fp16"}, {"torch.half", "fp16"}, {"torch.uint8", "fp8"}};
  setting_table out(in.file());
  for (auto entry : in.entries()) {
    auto key = std::string_view(entry.key);
    if (key.ends_with(target)) key.remove_suffix(target.size());
    if (key.ends_with("_dtype") && entry.words.size() == 1)
      for (auto const& [theirs, flag] : formats)
        if (entry.words[0] == theirs) {
          entry.words[0] = flag;
          entry.key = std::string(key);
          break;
        }
    out.add(std::move(entry));
  }
  return out;
}

/// Keys of Megatron-LM that a setting takes away, as `model.recompute_granularity=null`.
[[nodiscard]] std::vector<std::string> emptied(setting_table const& in) {
  std::vector<std::string> out;
  for (auto const& entry : in.entries()) {
    if (entry.words.size() != 1 || (entry.words[0] != "null" && entry.words[0] != "None")) continue;
    auto key = entry.key.substr(entry.key.rfind('.') + 1);
    if (key == "num_layers_in_first_pipeline_stage") key = "decoder_first_pipeline_num_layers";
    if (key == "num_layers_in_last_pipeline_stage") key = "decoder_last_pipeline_num_layers";
    out.push_back(std::move(key));
  }
  return out;
}

/// Adds a recipe to keys that override it. A layout is of as many stages as the recipe has, and goes with other ones.
void add_core_recipe(setting_table& keys, named_recipe const& recipe, std::vector<std::string> but, std::vector<std::string>& notes) {
  auto const other = [&](char const* key, std::string_view word) {
    for (auto const& entry : keys.entries())
      if (entry.key == key) return entry.words != std::vector<std::string>{std::string(recipe.value(word).value_or("1"))};
    return false;
  };
  if (recipe.has("layout") && !keys.has("pipeline_model_parallel_layout") &&
      (other("pipeline_model_parallel_size", "pp") || other("virtual_pipeline_model_parallel_size", "vpp"))) {
    but.emplace_back("pipeline_model_parallel_layout");
    notes.push_back("the layout of the recipe is for PP " + std::string(recipe.value("pp").value_or("1")) +
                    ": layers are split evenly over other stages");
  }
  add_recipe(keys, recipe, but);
  for (auto const* const key : {"cross_entropy_loss_fusion", "moe_grouped_gemm"}) add_word(keys, key, "true");
  add_word(keys, "moe_token_dispatcher_type", "alltoall");
  add_word(keys, "micro_batch_size", "1");
}

/// Gives the model the words of the recipe's own tokenizer, which is not the model's.
void set_vocabulary(imported_setting& out, setting_table const& in, setting_request const& asked, std::int64_t own) {
  constexpr std::int64_t most = 1 << 24;
  auto const words = asked.vocabulary.value_or(own), multiple = 128 * out.setting.model.spread.tensor, theirs = out.model.vocabulary;
  if (words > most || ballast::divide_up(words, multiple) * multiple > most) throw bad_input(in.file() + ": a vocabulary above 2^24 words");
  out.model.vocabulary = ballast::divide_up(words, multiple) * multiple;
  if (!asked.vocabulary && out.model.vocabulary != theirs)
    out.notes.push_back("the tokenizer of the recipe has " + std::to_string(own) + " words, and the model " + std::to_string(theirs) +
                        ": a tokenizer of the model, or --vocab-size, says otherwise");
}

/// Adapters, frozen parts and the vocabulary of a recipe, unless the setting says otherwise.
struct recipe_parts {
  std::int64_t rank = 0;   ///< of adapters; 0: none
  bool attention = false;  ///< whether adapters are on attention alone
  bool frozen = false;
  std::optional<std::int64_t> words{};  ///< of a tokenizer that is not the model's
};
void set_parts(imported_setting& out, setting_table const& in, setting_request const& asked, recipe_parts const& parts) {
  if (parts.words) set_vocabulary(out, in, asked, *parts.words);
  if (parts.rank > 1 << 16) throw bad_input(in.file() + ": adapters of rank " + std::to_string(parts.rank) + ", which is above 2^16");
  if (parts.rank > 0) set_adapters(out, parts.rank, parts.attention);
  if (parts.frozen) out.setting.model.language.what = ballast::trained::none;
}
[[nodiscard]] std::int64_t recipe_number(named_recipe const& recipe, std::string_view word, std::int64_t otherwise) {
  auto const text = recipe.value(word);
  return text ? std::stoll(std::string(*text)) : otherwise;
}

[[nodiscard]] imported_setting read_bridge(setting_source source, setting_request asked) {
  auto in = with_plain_formats(without_references(source.is("flags") ? merged(source.overrides, source.table) : source.table));
  std::vector<std::string> notes;
  std::string model, recipe_name = in.has("recipe") ? in.word("recipe") : std::string();
  for (auto const* const key : {"model.hf_model_id", "model.hf_path", "hf_path"})
    if (model.empty() && in.has(key)) model = in.word(key);
  if (auto const mode = in.has("mode") ? in.word("mode") : std::string(); mode == "generate" || mode == "eval" || mode == "export")
    in.refuse("mode", "makes no training step");
  auto keys = megatron_keys_below(in, {"comm_overlap.", "train.", "model.", "ddp.", "optimizer.", "dist."});
  for (auto const& entry : in.entries())  // flags in front of the words that override
    for (auto const* const flag :
         {"tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size", "virtual_pipeline_model_parallel_size",
          "expert_model_parallel_size", "expert_tensor_parallel_size", "micro_batch_size", "global_batch_size", "seq_length"})
      if (entry.key == flag && entry.words.size() == 1) {
        add_word(keys, flag, entry.words[0]);
        in.ignore({flag});
      }
  for (auto const* const key : {"dataset.seq_length", "dataset.sequence_length"})
    if (auto const length = in.has(key) ? in.word(key, "") : std::string(); !length.empty()) add_word(keys, "seq_length", length);
  auto but = emptied(in);
  read_precision(in, keys, !recipe_name.empty(), but, notes);
  auto const adapter = in.has("peft_scheme") ? in.word("peft_scheme", "") : in.has("peft") ? in.word("peft", "none") : std::string();
  auto const adapts = adapter == "lora" || adapter == "dora" || in.has_section("peft.");
  recipe_parts parts{.rank = adapts ? in.number_or("peft.dim", 32) : 0};
  if (!recipe_name.empty()) {
    if (recipe_name.ends_with("_config")) recipe_name.resize(recipe_name.size() - 7);
    for (auto const* const other : {"wan_", "flux_"})
      if (recipe_name.starts_with(other)) in.refuse("recipe", "trains a diffusion model, which is not modelled");
    auto const recipe = recipe_named(bridge_recipes, recipe_name);
    if (!recipe)
      throw bad_input(in.file() + ": " + printable(recipe_name) +
                      " is no recipe of Megatron-Bridge that is known here; the run_config.yaml that a run of it writes is read");
    if (model.empty()) model = recipe->model;
    if (!asked.gpus) asked.gpus = devices_in(recipe->name);
    if (recipe->has("lora") && (adapter.empty() || adapts))
      parts = {.rank = in.number_or("peft.dim", recipe_number(*recipe, "lora", 32)), .attention = recipe->has("attention")};
    parts.frozen = recipe->has("frozen");
    auto const other = in.has("tokenizer.tokenizer_type") || in.has("tokenizer.tokenizer_model") || in.has("model.vocab_size");
    if (recipe->has("words") && !other)
      parts.words = in.has("tokenizer.vocab_size") ? (std::min)(in.number_or("tokenizer.vocab_size", 1), std::int64_t{1} << 32) + 1
                                                   : recipe_number(*recipe, "words", 1);
    if (parts.words && !asked.vocabulary) add_word(keys, "vocab_size", std::to_string(*parts.words));
    add_core_recipe(keys, *recipe, but, notes);
  }
  parts.attention = adapts_attention(in, "peft.target_modules").value_or(parts.attention);
  if (in.has("model.freeze_language_model")) parts.frozen = in.flag("model.freeze_language_model");
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
             "no_sync",
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
  set_expert_tensor(keys);
  auto out = read_core(std::move(keys), asked, model, "Megatron-Bridge");
  set_parts(out, in, asked, parts);
  if (recipe_name.find("_vl_") != recipe_name.npos) out.reads_images = true;
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

/// What a factory is called with: "llama3_70b(num_nodes=128, peft_scheme='none')"; its name is left.
[[nodiscard]] std::map<std::string, std::string> arguments_of(std::string& factory) {
  std::map<std::string, std::string> out;
  auto const open = factory.find('(');
  if (open == factory.npos) return out;
  auto rest = factory.substr(open + 1, factory.find(')', open) - open - 1);
  factory.resize(open);
  std::erase_if(rest, [](char c) { return c == ' ' || c == '\'' || c == '"'; });
  for (std::size_t first = 0; first < rest.size();) {
    auto const end = (std::min)(rest.find(',', first), rest.size()), equals = rest.find('=', first);
    if (equals < end) out[rest.substr(first, equals - first)] = rest.substr(equals + 1, end - equals - 1);
    first = end + 1;
  }
  return out;
}

/// The recipe of NeMo 2 that `--factory` names, with what it is called with.
[[nodiscard]] recipe_parts read_factory(setting_table& in, setting_table& keys, bool finetunes, setting_request& asked, std::string& model,
                                        std::vector<std::string>& notes) {
  std::string factory;  // its whole word, which has commas
  for (auto const& entry : in.entries())
    if (entry.key == "factory" && !entry.words.empty()) factory = entry.words.front();
  in.ignore({"factory"});
  auto given = arguments_of(factory);
  auto const is = [&](char const* key, std::string_view value) { return given.contains(key) && given[key] == value; };
  auto const peft = in.has("peft") ? in.word("peft", "none") : given.contains("peft_scheme") ? given["peft_scheme"] : std::string("lora");
  auto const full = peft == "none" || peft == "None" || peft == "null";
  auto const name = factory + (finetunes ? "_finetune" : "_pretrain") + (finetunes && full ? "_full" : "");
  auto const recipe = recipe_named(nemo_recipes, name);
  if (!recipe)
    throw bad_input(in.file() + ": " + printable(factory) + " has no recipe of NeMo that " +
                    (finetunes ? full ? "finetunes all weights of" : "finetunes" : "pretrains") + " a language model known here");
  if (!asked.gpus) {
    auto const number = [&](std::string const& key, char const* argument, std::int64_t otherwise) {
      auto const text = in.has(key) ? in.word(key, "") : given.contains(argument) ? given[argument] : std::string();
      auto const plain = !text.empty() && text.size() <= 6 && text.find_first_not_of("0123456789") == text.npos;
      return (std::max)(plain ? std::int64_t{std::stoll(text)} : otherwise, std::int64_t{1});
    };
    asked.gpus = number("trainer.devices", "num_gpus_per_node", recipe_number(*recipe, "devices", 8)) *
                 number("trainer.num_nodes", "num_nodes", recipe_number(*recipe, "nodes", 1));
  }
  auto const packed = is("packed_sequence", "True") && finetunes;
  if (auto const length = given.find("seq_length"); length != given.end() && length->second != "None")
    add_word(keys, "seq_length", length->second);
  if (packed) add_word(keys, "seq_length", "4096");
  if (packed) add_word(keys, "global_batch_size", "8");
  if (is("performance_mode", "True")) notes.emplace_back("performance_mode is not modelled: the memory is too high, and the step too long");
  if (model.empty()) model = recipe->model;
  recipe_parts parts{.rank = 0, .attention = recipe->has("attention")};
  if (recipe->has("lora")) parts.rank = in.number_or("peft.dim", recipe_number(*recipe, "lora", 32));
  parts.attention = adapts_attention(in, "peft.target_modules").value_or(parts.attention);
  if (recipe->has("words") && !in.has_section("model.tokenizer") && !in.has_section("data.tokenizer") && !in.has("model.config.vocab_size"))
    parts.words = recipe_number(*recipe, "words", 1);
  if (parts.words && !asked.vocabulary) add_word(keys, "vocab_size", std::to_string(*parts.words));
  add_core_recipe(keys, *recipe, emptied(in), notes);
  return parts;
}

[[nodiscard]] imported_setting read_nemo(setting_source source, setting_request asked) {
  auto in = with_plain_formats(without_references(source.is("flags") ? merged(source.overrides, source.table) : source.table));
  auto const recipe = source.is("flags") && in.has("factory");
  auto const found = in.has("tensor_model_parallel_size") && in.list("tensor_model_parallel_size") == std::vector<std::string>{"-1"};
  if (!recipe && (!in.has_section("trainer.") || in.has("inference.greedy") || found))
    throw bad_input(in.file() + ": there is no trainer in it that makes a training step: NeMo generates, evaluates or converts with it");
  if (!asked.gpus && !recipe) asked.gpus = trainer_devices(in);
  std::string model;
  for (auto const* const key : {"model.restore_from_path", "model.pretrained_llm", "model.pretrained_model"})
    if (model.empty() && in.has(key) && !in.list(key).empty()) model = in.list(key).front();
  auto const distributed = in.has("model.optim.name") && in.word("model.optim.name", "").starts_with("distributed");
  auto const peft = in.has("model.peft.peft_scheme") ? in.word("model.peft.peft_scheme", "") : std::string();
  recipe_parts parts;
  if (peft == "lora") parts.rank = in.number_or("model.peft.lora_tuning.adapter_dim", 32);
  if (in.has_section("peft.")) parts.rank = in.number_or("peft.dim", 32);  // of version 2
  auto keys = megatron_keys_below(in, {"trainer.strategy.", "trainer.strategy.ddp.", "data.", "model.config.", "model.data.", "model.",
                                       "optim.config.", "trainer.plugins."});
  if (!distributed && in.has_section("model.optim.")) add_word(keys, "use_distributed_optimizer", "false");
  auto const precision = in.has("trainer.precision") ? in.word("trainer.precision", "bf16") : std::string("bf16");
  if (precision == "32" || precision == "32-true") add_word(keys, "bf16", "false");
  auto const* const reduced = "trainer.plugins.grad_reduce_in_fp32";
  if (is_false(in, recipe || in.has(reduced) ? reduced : "trainer.strategy.ddp.grad_reduce_in_fp32"))
    add_word(keys, "grad_reduce_in_bf16", "true");
  std::vector<std::string> notes;
  if (recipe) parts = read_factory(in, keys, source.calls("finetune"), asked, model, notes);
  in.ignore({"trainer.*",
             "trainer.devices",
             "trainer.num_nodes",
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
             "cluster_type",
             "peft**",
             "yes",
             "y",
             "executor**"});
  auto out = read_core(std::move(keys), asked, model, "NeMo");
  set_parts(out, in, asked, parts);
  out.notes.insert(out.notes.begin(), notes.begin(), notes.end());
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

// A configuration is that of one or the other by its data.
constexpr task_words core_tasks[]{{.task = training_task::pretraining}, {.task = training_task::finetuning}};

}  // namespace

constinit framework_format const bridge_format{
    .name = "Megatron-Bridge",
    .word = "bridge",
    .likeness =
        [](setting_source const& in) {
          if (!in.is("flags")) return has_core_degrees(in.table) && !in.table.has_section("trainer.") ? 80 : 0;
          for (auto const& entry : in.table.entries())
            if (entry.key == "recipe" && entry.words.size() == 1) {
              std::string_view name(entry.words[0]);
              if (name.ends_with("_config")) name.remove_suffix(7);
              return recipe_named(bridge_recipes, name) ? 100 : 70;
            }
          return has_core_degrees(in.overrides) && !in.overrides.has_section("trainer.") ? 80 : 0;
        },
    .read = [](setting_source source, setting_request const& asked) { return read_bridge(std::move(source), asked); },
    .write = bridge_yaml,
    .tasks = core_tasks};

constinit framework_format const nemo_format{
    .name = "NeMo",
    .word = "nemo",
    .likeness =
        [](setting_source const& in) {
          if (in.is("flags") && in.calls("nemo") && in.table.has("factory")) return 100;
          auto const& table = in.is("flags") ? in.overrides : in.table;
          auto const trainer = table.has_section("trainer.");
          return trainer && (has_core_degrees(table) || table.has_section("trainer.strategy.")) ? 85 : 0;
        },
    .read = [](setting_source source, setting_request const& asked) { return read_nemo(std::move(source), asked); },
    .write = nemo_yaml,
    .tasks = core_tasks};

}  // namespace ballast_cli
