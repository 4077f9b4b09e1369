// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

// What --help shows beside the sentence of each option: kinds of values, defaults, groups, and an example for each command.

namespace ballast_cli {

namespace {

constexpr std::string_view about_input = "Input", about_output = "Output", about_model = "Model and device", about_spread = "Parallelism",
                           about_limits = "Limits and choices";

/// The kind of an option's value and the group that it is shown in.
struct option_kind {
  std::string_view name;  ///< of an option, or of a command and an option
  std::string_view value;
  std::string_view group;
  std::string_view otherwise = "none";  ///< what holds without the option, where its sentence does not say it
};

constexpr option_kind option_kinds[] = {
    // of a command first; where an option is not here it is a count among the limits
    {"check --capacity", "N[,N]", about_limits, "none, which packings, steps and shards need,"},
    {"layout --capacity", "BYTES", about_limits},
    {"pack --out", "DIR", about_output},
    {"plan --out", "DIR", about_output},
    {"plan --overlap", "PERCENT", about_spread},
    {"plan --offload", "NAME", about_model},
    {"pack --ranks", "N", about_spread},
    {"levels --rule", "NAME", about_limits},
    {"simulate --attention", "PERCENT", about_model},
    {"FILE", "PATH", about_input},
    {"LAYERS", "PATH", about_input},
    {"BUFFERS", "PATH", about_input},
    {"GRAPH", "PATH", about_input},
    {"LOADS", "PATH", about_input},
    {"TIMES", "PATH", about_input},
    {"--columns", "COLUMNS", about_input, "the only column"},
    {"--field", "FIELDS", about_input},
    {"--histogram", "", about_input},
    {"--turns", "", about_input},
    {"--weights", "N,N,...", about_input},
    {"--weights-seed", "N", about_input, "0"},
    {"--stand-in", "FILE=LENGTHS", about_input},
    {"--zero-length", "NAME", about_input},
    {"--lengths", "FILE", about_input},
    {"--cost", "FILE", about_model},
    {"--costs", "FILE", about_model},
    {"--layers", "FILE", about_model},
    {"--table", "FILE", about_model},
    {"--plan", "FILE", about_input},
    {"--like", "NAME", about_input},
    {"--list", "", about_output},
    {"--out", "FILE", about_output},
    {"--json", "", about_output},
    {"--report", "FILE", about_output},
    {"--svg", "FILE", about_output},
    {"--write-graph", "FILE", about_output},
    {"--model", "NAME|FILE", about_model},
    {"--device", "NAME", about_model},
    {"--mfu", "SHARE", about_model},
    {"--kernels", "FILE", about_model},
    {"--calibration", "FILE", about_model},
    {"--tflops", "NUMBER", about_model},
    {"--memory", "BYTES", about_model},
    {"--bandwidth", "BYTES", about_model},
    {"--memory-bandwidth", "BYTES", about_model},
    {"--host-memory", "BYTES", about_model},
    {"--host-update", "BYTES/s", about_model},
    {"--link", "BYTES/s", about_model},
    {"--link-down", "BYTES/s", about_model},
    {"--framework", "NAME", about_model},
    {"--head-loss", "NAME", about_model},
    {"--attention", "NAME", about_model},
    {"--recompute", "NAME", about_model},
    {"--recompute-modules", "NAMES", about_model},
    {"--recomputed-layers", "N", about_model},
    {"--fp8-experts", "", about_model},
    {"--train", "NAME", about_model},
    {"--stored", "", about_model},
    {"--freeze", "NAMES", about_model},
    {"--tiles", "N", about_model},
    {"--optimizer", "NAME", about_model},
    {"--offload", "BYTES", about_model},
    {"--overlap", "PERCENT", about_model},
    {"--scores", "", about_model},
    {"--gradient-checkpointing", "", about_model},
    {"--write", "NAME", about_output},
    {"--strict", "", about_output},
    {"--budget", "BYTES", about_limits},
    {"--ranks", "N", about_spread, "as --gpus chooses"},
    {"--gpus", "N", about_spread},
    {"--stages", "N", about_spread},
    {"--boundaries", "N,N,...", about_spread},
    {"--tp", "N", about_spread},
    {"--vision-tp", "N", about_spread},
    {"--cp", "N", about_spread},
    {"--cp-method", "NAME", about_spread},
    {"--ep", "N", about_spread},
    {"--zero", "N", about_spread},
    {"partition --micro-batches", "N", about_spread},
    {"--micro-batches", "N", about_spread, "as the setting or the samples say"},
    {"--global-batch", "N", about_spread},
    {"--global-batch-tokens", "N", about_spread},
    {"--schedule", "NAME", about_spread, "1f1b"},
    {"--nodes", "N", about_spread},
    {"--groups", "N", about_spread},
    {"--mesh", "", about_spread},
    {"--capacity", "N[,N]", about_limits, "what the levels of a file say"},
    {"--oversize", "NAME", about_limits, "reject"},
    {"--left-over", "NAME", about_limits},
    {"--multiple", "N", about_limits, "1"},
    {"--pack-count-multiple", "N", about_limits, "1"},
    {"--strategy", "NAME", about_limits},
    {"--backend", "NAME", about_limits},
    {"--methods", "NAMES", about_limits},
    {"--method", "NAME", about_limits},
    {"--levels", "NAME|FILE", about_limits},
    {"--within", "TIME", about_limits},
    {"--curriculum", "NAME", about_limits},
    {"--least-fill", "SHARE", about_limits, "0"},
    {"--time-for-randomness", "SHARE", about_limits, "about 1%"},
    {"--step-overhead-ms", "MS", about_limits},
    {"--micro-batch-overhead-ms", "MS", about_limits},
    {"--seed", "N", about_limits, "0"},
};

/// The group of a command and a line that shows how it is called.
struct command_help {
  std::string_view name, group, example;
};
constexpr std::string_view of_data = "Plan the data", of_model = "Plan the model", of_memory = "Plan memory",
                           of_checks = "Describe and check";
constexpr command_help command_helps[] = {
    {"pack", of_data, "pack lengths.jsonl --field tokens --capacity 8k --out packs"},
    {"plan", of_data, "plan lengths.txt --capacity 8Ki --ranks 16 --model llama-3.1-8b --device h100 --out run"},
    {"levels", of_data, "levels lengths.txt --max-length 128Ki --gpus 64 --json"},
    {"capacities", of_data, "capacities samples.csv --columns images,text --ranks 8"},
    {"compare", of_data, "compare lengths.txt --gpus 32 --report methods.html"},
    {"schedule", of_data, "schedule lengths.txt --gpus 32 --out shards.jsonl"},
    {"partition", of_model, "partition layers.csv --stages 4 --micro-batches 16 --memory 80GB"},
    {"recompute", of_model, "recompute layers.csv --budget 24GiB"},
    {"simulate", of_model, "simulate layers.csv --stages 4 --micro-batches 16 --schedule zb1p"},
    {"shard", of_model, "shard --model llama-3.1-8b --ranks 8 --tokens 32Ki"},
    {"experts", of_model, "experts loads.csv --ranks 8"},
    {"models", of_model, "models llama-3.1-8b"},
    {"order", of_memory, "order step.json --layout --budget 24GiB"},
    {"memory", of_memory, "memory llama-3.1-8b --tokens 8Ki --tp 2 --ranks 4"},
    {"layout", of_memory, "layout buffers.csv --capacity 80GB"},
    {"offload", of_memory, "offload --model llama-3.1-8b --length 8Ki --memory 24GiB --host-memory 256GiB"},
    {"check", of_checks, "check run.sh --model llama-3.1-8b --gpus 64\n  ballast check packs lengths.txt --capacity 8Ki"},
    {"stats", of_checks, "stats prompts.csv --columns prompt+answer"},
    {"calibrate", of_checks, "calibrate times.csv --json"},
    {"generate", of_checks, "generate --like vlm-sft --samples 100k --seed 1 --out samples.txt"},
};

[[nodiscard]] option_kind kind_of(std::string const& command, std::string const& option) {
  for (auto const& key : {command + " " + option, option}) {
    auto const at = std::find_if(std::begin(option_kinds), std::end(option_kinds), [&](option_kind const& k) { return k.name == key; });
    if (at != std::end(option_kinds)) return *at;
  }
  return {option, "N", about_limits};
}

void complete(CLI::Option& option, std::string const& command) {
  auto const name = option.get_name();
  auto const kind = kind_of(command, name);
  auto const sentence = option.get_description();
  option.group(std::string(kind.group));
  if (option.get_items_expected_max() == 0) return;  // a flag has no value
  option.type_name(std::string(kind.value));
  if (!option.get_required() && sentence.find("default") == std::string::npos && name.starts_with("--"))
    option.description(sentence + "; " + std::string(kind.otherwise) + " by default");
}

}  // namespace

void finish_help(CLI::App& app) {
  for (auto* const command : app.get_subcommands([](CLI::App const*) { return true; })) {
    for (auto* const option : command->get_options())
      if (option->get_name() != "--help") complete(*option, command->get_name());
    for (auto const& help : command_helps)
      if (help.name == command->get_name()) {
        command->group(std::string(help.group));
        command->footer("Example:\n  ballast " + std::string(help.example));
      }
  }
  app.footer("ballast COMMAND --help lists the options of a command, with an example.");
}

}  // namespace ballast_cli
