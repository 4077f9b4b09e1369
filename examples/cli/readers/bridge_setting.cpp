// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/core_setting.hpp"
#include "readers/setting_parts.hpp"
#include "readers/setting_writers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// NVIDIA-NeMo/Megatron-Bridge: names of recipes with words that override them, YAML that overrides, and the run_config.yaml that a run
// writes.

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

/// What `mixed_precision` decides, as its word or in its section, whatever the keys of model, optimiser and gradients say. What a recipe
/// says of it no longer counts, and comes to `but`.
void read_precision(setting_table& in, setting_table& keys, bool of_recipe, std::vector<std::string>& but,
                    std::vector<std::string>& notes) {
  auto word = in.has("mixed_precision") ? in.word("mixed_precision", "") : std::string();
  std::replace(word.begin(), word.end(), '-', '_');
  auto const given = !word.empty() && word != "null" && word != "None";
  constexpr std::string_view formats[]{"bf16",       "fp16", "fp8_format", "fp8", "fp8_recipe", "fp8_param_gather",
                                       "fp4_format", "fp4",  "fp4_recipe"};
  if (given || in.has("mixed_precision._target_")) {
    setting_table rest(keys.file());
    for (auto const& entry : keys.entries())
      if (std::find(std::begin(formats), std::end(formats), entry.key) == std::end(formats)) rest.add(entry);
    keys = std::move(rest);
    but.insert(but.end(), std::begin(formats), std::end(formats));
    but.emplace_back("grad_reduce_in_bf16");
  }
  auto const set_half = [&](bool fp16) {
    add_word(keys, "bf16", fp16 ? "false" : "true");
    add_word(keys, "fp16", fp16 ? "true" : "false");
  };
  if (given) {
    auto form = std::string_view(word);
    for (std::string_view const family : {"nemotron_h_", "nanov2_"})
      if (form.starts_with(family)) form.remove_prefix(family.size());
    auto const halves = form.starts_with("bf16_");
    auto const rest = halves || form.starts_with("fp16_") ? form.substr(5) : std::string_view();
    auto const delayed = rest == "with_fp8_delayed_scaling_mixed", current = rest == "with_fp8_current_scaling_mixed",
               mx = rest == "with_mxfp8_mixed", blocks = rest == "with_fp8_subchannel_scaling_mixed", four = rest == "with_nvfp4_mixed";
    auto const eight = delayed || current || mx;
    if (rest != "mixed" && !eight && !blocks && !four)
      in.refuse("mixed_precision",
                "is none of bf16_mixed, fp16_mixed and these with fp8_delayed_scaling, fp8_current_scaling, "
                "fp8_subchannel_scaling, mxfp8 or nvfp4, as bf16_with_mxfp8_mixed");
    set_half(!halves);
    if (eight || blocks) {
      add_word(keys, "fp8_format", mx ? "e4m3" : "hybrid");
      add_word(keys, "fp8_recipe", delayed ? "delayed" : current ? "tensorwise" : mx ? "mxfp8" : "blockwise");
    }
    if (eight) add_word(keys, "fp8_param_gather", "true");
    if (four) add_word(keys, "fp4_format", "e2m1");
  }
  for (auto const* const half : {"bf16", "fp16"})
    if (auto const key = "mixed_precision." + std::string(half); in.has(key) && in.flag(key)) {
      set_half(half == std::string_view("fp16"));
      if (!is_false(in, "mixed_precision.grad_reduce_in_fp32")) add_word(keys, "accumulate_allreduce_grads_in_fp32", "true");
    }
  for (std::string const part : {"fp8", "fp8_recipe", "fp8_param_gather", "fp4", "fp4_recipe"})
    if (auto const key = "mixed_precision." + part; in.has(key)) {
      auto const value = in.word(key, "");
      auto const off = value.empty() || value == "null" || value == "None" || value == "false" || value == "False";
      auto const flag = part == "fp8" || part == "fp4" ? part + "_format" : part;
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

/// Megatron-Bridge splits no expert unless it is told to, where Megatron-Core splits them as everything else.
void set_expert_tensor(setting_table& keys) {
  auto const spread = std::any_of(keys.entries().begin(), keys.entries().end(), [](auto const& e) {
    return e.key == "expert_model_parallel_size" && e.words != std::vector<std::string>{"1"};
  });
  if (spread) add_word(keys, "expert_tensor_parallel_size", "1");
}

[[nodiscard]] imported_setting read_bridge(setting_source source, setting_request asked) {
  auto in = with_plain_formats(without_references(source.is("flags") ? merged(source.overrides, source.table) : source.table));
  std::vector<std::string> notes;
  std::string model, recipe_name = in.has("recipe") ? in.word("recipe") : std::string();
  for (auto const* const key : {"model.hf_model_id", "model.hf_path", "hf_path"})
    if (model.empty() && in.has(key)) model = in.word(key);
  if (auto const mode = in.has("mode") ? in.word("mode") : std::string(); mode == "generate" || mode == "eval" || mode == "export")
    in.refuse("mode", "makes no training step");
  auto keys = megatron_keys_below(in, {"comm_overlap.", "train.", "model.", "model.dist_train.", "ddp.", "optimizer.", "dist."});
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
             "mixed_precision.params_dtype",
             "mixed_precision.pipeline_dtype",
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

}  // namespace ballast_cli
