// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/core_setting.hpp"
#include "readers/setting_parts.hpp"
#include "readers/setting_writers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// NVIDIA/NeMo: YAML of NeMo 1 (megatron_gpt_config.yaml) and of NeMo 2 (model, trainer.strategy, data), and recipes of NeMo 2.

namespace ballast_cli {

namespace {

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

/// Refuses what NeMo 1 trains beside decoders, by the words of its name and by sections that only those have.
void require_decoder(setting_table& in) {
  constexpr std::pair<std::string_view, std::string_view> words[]{{"t5", "an encoder with a decoder"},
                                                                  {"mt5", "an encoder with a decoder"},
                                                                  {"t0", "an encoder with a decoder"},
                                                                  {"ul2", "an encoder with a decoder"},
                                                                  {"bart", "an encoder with a decoder"},
                                                                  {"bert", "BERT"},
                                                                  {"retro", "a model with retrieval"},
                                                                  {"griffin", "a model of recurrent layers (RG-LRU)"},
                                                                  {"hyena", "a model of long convolutions"},
                                                                  {"vit", "a vision model"},
                                                                  {"clip", "a vision model"},
                                                                  {"siglip", "a vision model"}};
  auto const is = [&](std::string_view word) {
    for (auto const* const key : {"name", "exp_manager.name", "exp_manager.checkpoint_callback_params.filename"}) {
      auto const name = in.word_or_none(key);
      for (auto at = name.find(word); at != name.npos; at = name.find(word, at + 1)) {
        auto const plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
        auto const end = at + word.size();
        if ((at == 0 || !plain(name[at - 1])) && (end == name.size() || !plain(name[end]))) return true;
      }
    }
    return false;
  };
  auto const refuse = [&](std::string_view what) {
    throw bad_input(in.file() + ": NeMo trains " + std::string(what) + " with it, which is not modelled");
  };
  for (auto const& [word, what] : words)
    if (is(word)) refuse(what);
  if (in.has_section("model.encoder.") || in.has_section("model.decoder.")) refuse("an encoder with a decoder");
  if (in.has_section("model.hyena.")) refuse("a model of long convolutions");
  if (in.has_section("model.retro.")) refuse("a model with retrieval");
}

/// Keys of NeMo 1 by the names of Megatron-LM's flags.
void translate_first_version(setting_table& in, setting_table& keys, std::vector<std::string>& notes) {
  auto const name = in.has("model.optim.name") ? in.word("model.optim.name", "") : std::string();
  auto const distributed = name.find("distributed") != name.npos;  // distributed_fused_adam, mcore_distributed_optim
  if (!distributed) add_word(keys, "use_distributed_optimizer", "false");
  for (auto const& [theirs, flag] : {std::pair{"overlap_grad_sync", "overlap_grad_reduce"}, {"overlap_param_sync", "overlap_param_gather"}})
    if (auto const key = "model.optim." + std::string(theirs); in.has(key) && in.flag(key)) add_word(keys, flag, "true");
  if (auto const* const key = "model.optim.grad_sync_dtype"; in.has(key) && in.word(key, "").starts_with("bf16"))
    add_word(keys, "grad_reduce_in_bf16", "true");
  for (auto const& [theirs, flag] :
       {std::pair{"max_seq_length", "seq_length"}, {"micro_batch_size", "micro_batch_size"}, {"global_batch_size", "global_batch_size"}})
    if (auto const value = in.word_or_none("model.data.train_ds." + std::string(theirs));  // which may refer to another file
        !value.empty() && value.find_first_not_of("0123456789") == value.npos)
      add_word(keys, flag, value);
  in.ignore({"model.data.train_ds.**", "model.data.validation_ds.**", "model.data.test_ds.**", "model.optim.sched.**", "model.optim.*",
             "model.optim.bucket_cap_mb", "model.optim.contiguous_grad_buffer", "model.optim.contiguous_param_buffer"});
  if (is_false(in, "model.fsdp")) keys.ignore({"fsdp", "fsdp_*"});
  if (distributed && is_false(in, "model.megatron_amp_O2"))
    notes.emplace_back(
        "megatron_amp_O2 is off: the float32 parameters and gradients of each rank are judged as in 16 bits beside sharded copies, so the "
        "memory is too low");
  for (auto const* const key :
       {"model.num_micro_batches_with_partial_activation_checkpoints", "model.activations_checkpoint_layers_per_pipeline"})
    if (in.has(key) && !in.word(key, "").empty()) notes.push_back(std::string(key).substr(6) + " is not modelled: the memory is too low");
}

[[nodiscard]] imported_setting read_nemo(setting_source source, setting_request asked) {
  auto in = with_plain_formats(without_references(source.is("flags") ? merged(source.overrides, source.table) : source.table));
  auto const recipe = source.is("flags") && in.has("factory");
  auto const found = in.has("tensor_model_parallel_size") && in.list("tensor_model_parallel_size") == std::vector<std::string>{"-1"};
  auto const trains = in.has_section("trainer.") && (in.has_section("model.") || in.has_section("trainer.strategy."));
  if (!recipe && (!trains || in.has("inference.greedy") || found))
    throw bad_input(in.file() + ": there is no trainer in it that makes a training step: NeMo generates, evaluates or converts with it");
  if (!recipe) require_decoder(in);
  if (!asked.gpus && !recipe) asked.gpus = trainer_devices(in);
  std::string model;
  for (auto const* const key : {"model.restore_from_path", "model.pretrained_llm", "model.pretrained_model"})
    if (model.empty() && in.has(key) && !in.list(key).empty()) model = in.list(key).front();
  auto const peft = in.has("model.peft.peft_scheme") ? in.word("model.peft.peft_scheme", "") : std::string();
  recipe_parts parts;
  if (peft == "lora") {
    parts.rank = in.number_or("model.peft.lora_tuning.adapter_dim", 32);
    parts.attention = adapts_attention(in, "model.peft.lora_tuning.target_modules").value_or(true);
  }
  if (in.has_section("peft.")) parts.rank = in.number_or("peft.dim", 32);  // of version 2
  auto keys = megatron_keys_below(in, {"trainer.strategy.", "trainer.strategy.ddp.", "data.", "model.config.", "model.data.", "model.",
                                       "optim.config.", "trainer.plugins."});
  std::vector<std::string> notes;
  if (in.has_section("model.optim.")) translate_first_version(in, keys, notes);
  auto precision = in.has("trainer.precision") ? in.word("trainer.precision", "bf16") : std::string("bf16");
  auto const* const plugin = "trainer.plugins.precision";  // which decides it
  if (in.has(plugin)) precision = in.word(plugin, precision);
  if (precision.starts_with("32")) add_word(keys, "bf16", "false");
  if (precision.starts_with("16") || precision == "fp16") {
    add_word(keys, "bf16", "false");
    add_word(keys, "fp16", "true");
    if (in.has(plugin) && !is_false(in, "trainer.plugins.grad_reduce_in_fp32"))
      add_word(keys, "accumulate_allreduce_grads_in_fp32", "true");
  }
  auto const* const reduced = "trainer.plugins.grad_reduce_in_fp32";
  if (is_false(in, recipe || in.has(reduced) ? reduced : "trainer.strategy.ddp.grad_reduce_in_fp32"))
    add_word(keys, "grad_reduce_in_bf16", "true");
  if (recipe) parts = read_factory(in, keys, source.calls("finetune"), asked, model, notes);
  in.ignore({"trainer.*",
             "trainer.devices",
             "trainer.num_nodes",
             "trainer.accelerator",
             "trainer.benchmark",
             "trainer.use_distributed_sampler",
             "trainer.enable_checkpointing",
             "trainer.accumulate_grad_batches",
             "model.tokenizer.**",
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
             "defaults**",
             "_target_",
             "_partial_",
             "model_type",
             "cluster_type",
             "peft**",
             "yes",
             "y",
             "executor**"});
  auto out = read_core(std::move(keys), asked, model, "NeMo");
  if (in.has_section("model.mm_cfg.")) out.reads_images = true;
  if (in.has("model.mm_cfg.llm.freeze")) parts.frozen = in.flag("model.mm_cfg.llm.freeze");
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

}  // namespace

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
