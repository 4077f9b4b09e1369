// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/framework_setting.hpp"
#include "readers/trainer_keys.hpp"

#include <ballast/core/math.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Lightning-AI/litgpt: the YAML of `litgpt pretrain`, `finetune_lora`, `finetune_full` and others.

namespace ballast_cli {

namespace {

class litgpt_importer {
 public:
  litgpt_importer(setting_table& table, setting_request asked) : in_(table), asked_(std::move(asked)) {}

  imported_setting read() {
    out_.framework = "litgpt";
    begin_eager(out_);
    auto& by = out_.setting;
    auto& m = by.model;
    find_model();
    take_sequence(in_, asked_, {"train.max_seq_length"}, 0, out_);
    auto const devices = in_.word_or_none("devices");
    if (devices == "auto")
      in_.ignore({"devices", "num_nodes"});
    else if (auto const each = in_.number_or("devices", 1); !asked_.gpus)
      asked_.gpus = each * in_.number_or("num_nodes", 1);
    m.spread.data = gpus_of(in_, asked_);
    read_batches();
    auto const adapts = in_.has("lora_r");
    read_states(adapts);
    auto const finetunes = !in_.has("tokenizer_dir") && !in_.has("initial_checkpoint_dir");
    if (m.spread.data > 1) {
      m.spread.zero = 3;
      if (finetunes) by.recompute.what = ballast::recompute_setting::kind::uniform;  // its policy for FSDP
    }
    out_.task = finetunes ? training_task::finetuning : training_task::pretraining;
    out_.details.packing = !finetunes;
    take_learning_rate(in_, {"optimizer.init_args.lr"}, out_);
    m.loss = {.how = ballast::head_loss::kind::chunked, .chunks = ballast::divide_up(by.micro_batch * by.sequence, std::int64_t{128})};
    if (!finetunes) out_.time.rates.family = ballast::kernel_family::compiled;
    if (in_.has_section("adapter_prompt_length") || in_.has("adapter_start_layer"))
      note("adapters of LLaMA-Adapter are judged as training of all");
    in_.ignore(
        {"checkpoint_dir", "out_dir",    "lora_*",    "data",        "data.*",   "train.*",       "train.max_tokens",       "eval.**",
         "logger_name",    "seed",       "optimizer", "optimizer.*", "resume",   "tokenizer_dir", "initial_checkpoint_dir", "access_token",
         "model_config**", "model_name", "num_nodes", "log.*",       "adapter_*"});
    finish_setting(in_, out_);
    return std::move(out_);
  }

 private:
  void note(std::string const& what) { out_.notes.push_back(what); }

  void find_model() {
    auto folder = in_.word("checkpoint_dir");
    if (folder.starts_with("checkpoints/")) folder.erase(0, std::string_view("checkpoints/").size());
    auto const name = in_.word("model_name", folder);
    if (asked_.model) {
      out_.model = *asked_.model;
      return;
    }
    auto const known = !name.empty() && asked_.find_model ? asked_.find_model(name) : std::nullopt;
    if (!known)
      throw bad_input(in_.file() + ": the setting does not hold the shape of the model, and " + printable(name) +
                      " is none that is known here; --model names it");
    out_.model = known->language;
    out_.reads_images = known->reads_images;
  }

  void read_batches() {
    auto& by = out_.setting;
    take_batches(in_, asked_, "train.micro_batch_size", 1, "gradient_accumulation_iters", 1, out_);
    auto const global = in_.number("train.global_batch_size");
    if (!global || asked_.micro_batch || asked_.micro_batches) return;
    auto const of_a_rank = *global / by.model.spread.data;  // as litgpt, which rounds down
    by.micro_batches = (std::max)(of_a_rank / by.micro_batch, std::int64_t{1});
    if (by.global_batch() != *global)
      note("train.global_batch_size " + std::to_string(*global) + " becomes " + std::to_string(by.global_batch()) + " on these devices");
  }

  void read_states(bool adapts) {
    auto& m = out_.setting.model;
    auto const precision =
        in_.one_of("precision", {"bf16-true", "bf16-mixed", "16-true", "16-mixed", "32-true", "bf16", "16", "32", "64-true", "64"});
    auto const quantize =
        in_.one_of_or("quantize", "", {"bnb.nf4", "bnb.nf4-dq", "bnb.fp4", "bnb.fp4-dq", "bnb.int8", "bnb.int8-training"});
    if (!quantize.empty() && !adapts) in_.refuse("quantize", "is not modelled without adapters");
    if (quantize.find("int8") != quantize.npos) note("weights of 8 bits are judged as 16: the memory is too high");
    if (precision.starts_with("32")) out_.untimed = "the rates of kernels are those of 16 and 8 bits, and precision is 32";
    auto const halves = precision.ends_with("-true") && !precision.starts_with("32");
    m.kernels.adapter_value = halves ? 2 : 4;
    if (precision.starts_with("32")) m.kernels.value = 4;
    m.kernels.local_gradient = halves ? 2 : 4;  // accumulated under no_backward_sync
    if (adapts) {
      std::vector<std::string> targets;
      for (auto const* const part : {"query", "key", "value", "projection"})
        if (in_.flag("lora_" + std::string(part), std::string_view(part) == "query" || std::string_view(part) == "value"))
          targets.emplace_back(part);
      if (in_.flag("lora_mlp")) targets.insert(targets.end(), {"gate", "up", "down"});
      if (in_.flag("lora_head")) note("the adapter of the head is not counted: the memory is a little too low");
      if (targets.size() >= 7) targets = {"all"};
      set_adapters(in_.number_or("lora_r", 8), targets, !quantize.empty() && quantize.find("int8") == quantize.npos, out_);
    }
    m.optimizer = ballast::optimizer_named(halves ? "adam-bf16" : "adam-fp32");
    auto const path = in_.word("optimizer.class_path", in_.word("optimizer", "AdamW"));
    set_optimizer(path.substr(path.rfind('.') + 1), "optimizer", out_);
  }

  setting_table& in_;
  setting_request asked_;
  imported_setting out_;
};

[[nodiscard]] ballast::exported_setting litgpt_yaml(imported_setting const& of) {
  ballast::exported_setting out;
  auto const& by = of.setting;
  auto const& m = by.model;
  auto const adapts = m.language.what == ballast::trained::low_rank;
  auto& text = out.text;
  auto const line = [&](auto const&... parts) { text += ballast::sentence(parts..., "\n"); };
  // it recomputes on several devices where it finetunes, and never where it pretrains
  auto const pretrains = by.gpus() > 1 && by.recompute.what == ballast::recompute_setting::kind::none && !adapts;
  if (pretrains)
    line("model_name: NAME  # of the model\ntokenizer_dir: checkpoints/NAME");
  else
    line("checkpoint_dir: checkpoints/NAME  # of the model");
  line("precision: ",
       m.kernels.value > 2               ? "32-true"
       : m.optimizer.name == "adam-bf16" ? "bf16-true"
                                         : "bf16-mixed",
       "\ndevices: ", by.gpus(), "\nnum_nodes: 1");
  if (adapts) {
    auto const all = m.language.matrices == ballast::adapted_matrices::every_matrix ? "true" : "false";
    line("lora_r: ", m.language.rank, "\nlora_query: true\nlora_key: ", all, "\nlora_value: true\nlora_projection: ", all,
         "\nlora_mlp: ", all);
    if (m.language.quantised) line("quantize: bnb.nf4");
  }
  line("train:\n  global_batch_size: ", by.global_batch(), "\n  micro_batch_size: ", by.micro_batch, "\n  max_seq_length: ", by.sequence);
  if (of.details.learning_rate.empty())
    line("optimizer: AdamW");
  else
    line("optimizer:\n  class_path: torch.optim.AdamW\n  init_args:\n    lr: ", of.details.learning_rate);
  return out;
}

constexpr task_words litgpt_tasks[]{{.task = training_task::finetuning}, {.task = training_task::pretraining}};

}  // namespace

constinit framework_format const litgpt_format{
    .name = "litgpt",
    .word = "litgpt",
    .likeness =
        [](setting_source const& in) {
          auto const has = [&](char const* key) { return in.table.has(key); };
          return in.is("yaml") && (has("train.micro_batch_size") || has("train.global_batch_size")) &&
                         (has("checkpoint_dir") || has("model_name"))
                     ? 60
                     : 0;
        },
    .read = [](setting_source source, setting_request const& asked) { return litgpt_importer(source.table, asked).read(); },
    .write = litgpt_yaml,
    .tasks = litgpt_tasks};

}  // namespace ballast_cli
