// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/model_options.hpp"
#include "commands/options.hpp"
#include "errors.hpp"
#include "planning/memory_question.hpp"
#include "planning/model_setting.hpp"
#include "planning/sample_cost.hpp"
#include "report/json.hpp"
#include "report/memory_parts.hpp"
#include "report/output.hpp"
#include "report/words.hpp"

#include <ballast/core/error.hpp>
#include <ballast/footprint/trainers.hpp>
#include <ballast/plan/export/setting.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ballast_cli {

namespace {

constexpr std::size_t shown_changes = 3;

struct memory_arguments {
  model_on_device on;
  ballast::training_setting setting;
  std::string trainer = "megatron";
  std::uint32_t ranks = 1;
  std::uint32_t stages = 1;
  std::int64_t tokens = 0;
  std::optional<std::int64_t> memory;
  std::optional<int> zero;
  std::optional<ballast::head_loss> loss;
  std::optional<ballast::optimizer> optimizer;
  std::optional<std::int64_t> tiles;  ///< image tiles of a micro-batch
  bool stored = false, dropout = false, compiled = false, json = false;
};

/// The setting that the options say, with the defaults of the trainer.
[[nodiscard]] ballast::training_setting asked_setting(memory_arguments const& a, ballast::transformer const& model) {
  auto const& of = named("--framework", a.trainer, std::span(ballast::trainers));
  auto by = a.setting;
  auto& m = by.model;
  m.framework = ballast::framework_named(a.compiled ? "compiled" : of.framework);
  if (a.compiled && of.framework == "megatron")
    throw bad_input("--compiled: is for trainers whose kernels torch.compile makes, as transformers; those of megatron are fused already");
  m.loss = a.loss.value_or(of.loss);
  m.optimizer = a.optimizer.value_or(ballast::optimizer_named(of.optimizer));
  m.kernels = kernels_of(of, model);
  m.kernels.hidden_dropout = m.kernels.attention_dropout = a.dropout;
  m.spread.zero = a.zero.value_or(of.zero);
  if (a.stored) take_stored(m, a.on.model);
  by.pipeline.stages = a.stages;
  by.pipeline.memory = a.memory.value_or(device_of(a.on.device).memory_bytes / 10 * 9);
  by.sequence = a.tokens;
  by.model = ballast_cli::setting_for(m, a.ranks, model, printable(a.on.model));
  return by;
}

/// The model that is asked for, with what the options say of its tower.
[[nodiscard]] asked_model model_asked(memory_arguments const& a, ballast::training_setting const& setting) {
  auto const known = model_named(a.on.model);
  auto const& by = setting.model;
  auto const frozen = by.vision.what != ballast::trained::all || by.projector.what != ballast::trained::all;
  for (auto const& [given, option] :
       {std::pair{a.tiles.has_value(), "--tiles"}, {frozen, "--freeze"}, {by.vision_tensor > 0, "--vision-tp"}})
    if (given && !known.images)
      throw bad_input(std::string(option) + ": " +
                      (known.no_images.empty() ? printable(a.on.model) + " has no vision tower or projector" : known.no_images));
  asked_model out{.language = known.language, .images = known.images, .tiles = a.tiles};
  require_valid(setting, out.language);
  auto const batch = out.batch_of(setting);
  if (out.images && batch.tiles * out.images->projector.tokens > batch.tokens)
    throw bad_input("--tiles " + std::to_string(batch.tiles) + ": are " +
                    counted(static_cast<std::uint64_t>(batch.tiles * out.images->projector.tokens), "token") + " of the language model, " +
                    grouped(static_cast<std::uint64_t>(out.images->projector.tokens)) + " each, more than the " +
                    grouped(static_cast<std::uint64_t>(batch.tokens)) + " of a micro-batch");
  return out;
}

/// The tiles of a micro-batch; nothing without a tower.
[[nodiscard]] std::string images_in_words(asked_model const& model, ballast::training_setting const& by) {
  if (!model.images) return {};
  return ", with " + counted(static_cast<std::uint64_t>(model.batch_of(by).tiles), "image tile") + " of " +
         counted(static_cast<std::uint64_t>(model.images->projector.tokens), "token") + " each" +
         (model.tiles ? "" : ", all that these can be of (--tiles says fewer)");
}

[[nodiscard]] std::string memory_in_words(memory_arguments const& a, asked_model const& model, ballast::training_setting const& by,
                                          memory_answer const& of) {
  auto const& most = ballast::largest_of(of.stages);
  auto const memory = by.pipeline.memory;
  auto text = a.on.model + " of " + grouped(static_cast<std::uint64_t>(model.parameters())) + " parameters on " +
              counted(static_cast<std::uint64_t>(by.gpus()), "device") + " (" + a.on.device + "), " +
              counted(static_cast<std::uint64_t>(by.micro_batch), "sequence") + " of " +
              counted(static_cast<std::uint64_t>(by.sequence), "token") + " in a micro-batch" + images_in_words(model, by) + ".\n" +
              ballast_cli::in_words(by.model, {}) + "\n" + parts_table(of.stages, by.model) + "\n";
  if (auto const without = model_named(a.on.model).no_images; !without.empty())
    text += "Note: " + without + "; the language model alone is counted.\n";
  auto const stage = std::to_string(&most - of.stages.data());
  text += (most.peak() <= memory ? "It fits: stage " : "It does not fit: stage ") + stage + " needs " + many_bytes(most.peak()) + " of " +
          many_bytes(memory) + ". ";
  text += of.longest > 0 ? "The longest sequence that fits has " + counted(static_cast<std::uint64_t>(of.longest), "token") + ".\n"
                         : "No sequence fits.\n";
  if (!of.changes.empty()) text += "\nOn the same devices, most is saved by:\n";
  for (std::size_t i = 0; i < of.changes.size() && i < shown_changes; ++i) {
    auto const& c = of.changes[i];
    text += "  " + c.what + ": " + many_bytes(c.saved) + " less";
    if (c.slower)
      text += "; the modelled step takes " + formatted("%.1f %% ", 100 * std::fabs(*c.slower)) + (*c.slower < 0 ? "less" : "more");
    text += "\n";
  }
  return text;
}

[[nodiscard]] nlohmann::ordered_json memory_json(asked_model const& model, ballast::training_setting const& by, memory_answer const& of) {
  auto stages = nlohmann::ordered_json::array(), changes = nlohmann::ordered_json::array();
  for (auto const& s : of.stages) stages.push_back(ballast_cli::to_json(s));
  for (auto const& c : of.changes) {
    changes.push_back({{"change", c.what}, {"saved_bytes", c.saved}, {"slower", nullptr}});
    if (c.slower) changes.back()["slower"] = *c.slower;
  }
  auto const peak = ballast::largest_of(of.stages).peak();
  return {{"setting", ballast_cli::to_json(by.model, {})},
          {"parameters", model.parameters()},
          {"tiles", model.batch_of(by).tiles},
          {"peak_bytes", peak},
          {"memory_bytes", by.pipeline.memory},
          {"fits", peak <= by.pipeline.memory},
          {"longest_tokens", of.longest},
          {"stages", std::move(stages)},
          {"changes", std::move(changes)}};
}

/// The command that reads a snapshot, with the options that were given: those of this one, but for its memory.
[[nodiscard]] std::string reader_of_snapshot(CLI::App const& command, std::string const& file) {
  std::vector<std::string> words{"python", "-m", "ballast.snapshot", file};
  for (auto const* const option : command.get_options()) {
    auto const name = option->get_name();
    if (option->count() == 0 || name == "--snapshot" || name == "--memory") continue;
    words.push_back(name.starts_with("--") ? name : "--model");
    if (option->get_expected_max() > 0) words.insert(words.end(), option->results().begin(), option->results().end());
  }
  return ballast::in_shell(words);
}

}  // namespace

void add_memory(CLI::App& app) {
  auto const arguments = std::make_shared<memory_arguments>();
  auto& a = *arguments;
  auto& by = a.setting.model;
  auto& command = *app.add_subcommand("memory", "say where the bytes of a training are on each device, and what would save some");
  command
      .add_option_function<std::string>(
          "MODEL", [arguments](std::string const& text) { arguments->on.model = preset_or_file(text); },
          "preset or Hugging Face config.json")
      ->required();
  command.add_option("--framework", a.trainer, "megatron (default), torchtitan, torchtune, transformers, axolotl or deepspeed");
  add_value(command, "--tokens", a.tokens, small_positive, "tokens of a sequence")->required();
  add_value(command, "--batch", a.setting.micro_batch, small_positive, "sequences of a micro-batch; 1 by default");
  add_value(command, "--tiles", a.tiles, whole<std::int32_t, 0>,
            "image tiles of a micro-batch, of a model that reads images; as many as its tokens can be of by default");
  add_value(command, "--micro-batches", a.setting.micro_batches, small_positive, "micro-batches of a rank in a step; 1 by default");
  add_value(command, "--ranks", a.ranks, small_positive, "data-parallel ranks; 1 by default");
  add_value(command, "--stages", a.stages, small_positive, "pipeline stages of a rank; 1 by default");
  add_value(command, "--tp", by.spread.tensor, small_positive, "tensor-parallel devices, with sequence parallelism; 1 by default");
  add_value(
      command, "--vision-tp", by.vision_tensor, small_positive,
      "tensor-parallel devices of a vision tower and projector, a divisor of --tp: the others of a group take other images; as --tp by "
      "default");
  command.add_option_function<std::string>(
      "--freeze", [&by](std::string const& text) { freeze(by, "--freeze", text); },
      "frozen parts of a model that reads images: vision, projector or vision,projector");
  add_value(command, "--cp", by.spread.context, small_positive, "context-parallel devices that share a micro-batch; 1 by default");
  add_value(command, "--ep", by.expert, small_positive, "expert-parallel devices, of those of a stage; 1 by default");
  add_value(command, "--etp", by.expert_tensor, small_positive, "devices that share an expert; as --tp under megatron, 1 else, by default");
  add_value(command, "--zero", a.zero, zero_stage,
            "ZeRO stage over the ranks, 0 to 3; 1 for megatron, whose recipes set --use-distributed-optimizer, 2 for deepspeed, 3 for "
            "torchtitan and torchtune, 0 else, by default");
  add_value(
      command, "--optimizer", a.optimizer,
      [](auto const& option, auto const& text) { return named(option, text, std::span(ballast::optimizers)); },
      "adam, adam-bf16-gradients, adam-fp32, adam-bf16, adam-8bit, adafactor, sgd, sgd-momentum, galore or muon; as the framework does by "
      "default");
  add_value(command, "--head-loss", a.loss, head_loss,
            "how the loss is computed: plain, fused, chunked:N, native, in-place, 16-bits, returned, copied or parallel; as the framework "
            "does it by default");
  add_value(command, "--train", by.language, trained_part, "what is trained: all (default), none, lora:RANK or qlora:RANK");
  command.add_flag("--stored", a.stored, stored_help);
  add_value(command, "--recompute", a.setting.recompute, recomputed, recomputed_help);
  add_value(
      command, "--attention", by.attention,
      [](auto const& option, auto const& text) { return named(option, text, std::span(attention_kernels)).kernel; },
      "how attention is computed: fused (default) or stored-scores");
  command.add_flag("--dropout", a.dropout, "dropout is on");
  command.add_flag("--compiled", a.compiled, "torch.compile is on");
  add_value(command, "--memory", a.memory, some_bytes, "bytes of a device, Ki, Mi or Gi allowed; nine tenths of --device's by default");
  add_device(command, a.on.device);
  command.add_flag("--json", a.json, json_help);
  auto* const snapshot = command.add_option("--snapshot", "a memory snapshot of PyTorch: prints the command that puts it beside the model");
  command.callback([arguments, snapshot, &command] {
    if (snapshot->count() != 0)
      throw bad_input("--snapshot: the Python package reads snapshots of PyTorch; run " +
                      reader_of_snapshot(command, snapshot->as<std::string>()));
    auto const asked = asked_setting(*arguments, model_of(arguments->on.model));
    auto const model = model_asked(*arguments, asked);
    ballast::cluster const on{.device = device_of(arguments->on.device), .mfu = arguments->on.mfu, .time = {}, .links = {}, .hidden = {}};
    auto const of = answer_of(model, asked, on);
    arguments->json ? print_json(memory_json(model, asked, of)) : write_standard_output(memory_in_words(*arguments, model, asked, of));
  });
}

}  // namespace ballast_cli
