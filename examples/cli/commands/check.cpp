// SPDX-License-Identifier: Apache-2.0
#include "commands/check.hpp"

#include "commands/commands.hpp"
#include "commands/model_options.hpp"

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>

namespace ballast_cli {

namespace {

/// Throws bad_input if an option is given that is for what the file is not.
void refuse_given(CLI::App const& command, std::initializer_list<char const*> names, std::string const& why) {
  for (auto const* const name : names)
    if (command.get_option(name)->count() != 0) throw bad_input(std::string(name) + ": is for " + why);
}

}  // namespace

void add_check(CLI::App& app, std::string const& command_line) {
  auto const arguments = std::make_shared<check_arguments>();
  arguments->command_line = command_line;
  auto& command = *app.add_subcommand("check", "judge a setting of a framework, or check and score a packing that any program made");
  command.alias("check-config");
  add_input(command, arguments->input,
            "a setting: script, YAML, JSON or TOML of a framework; or a packing: OFFSETS MEMBERS as .npy, a folder from pack --out or plan "
            "--out, or a text file with the sample indices of one pack a line; then the lengths, which a setting can do without");
  add_limits(command, arguments->limits);
  command.get_option("--capacity")->required(false);
  command.add_flag("--padded", arguments->padded, "rows of a packing are padded to the longest of their pack, as pack --padded has them");
  auto& asked = arguments->asked;
  auto const add = [&](char const* name, std::optional<std::int64_t>& value, char const* help) {
    add_value(command, name, value, small_positive, help);
  };
  command.add_option("--framework", asked.framework, "whose setting it is, as its text tells by default");
  add("--gpus", asked.gpus, "devices of the run, in place of those that the setting says");
  add_model(command, arguments->model, "preset or Hugging Face config.json, where the setting does not hold the shape");
  add("--vocab-size", asked.vocabulary, "words of the tokenizer, where the setting names none that is known (Megatron-LM)");
  add("--seq-length", asked.sequence, "tokens of a sequence, in place of the setting's");
  add("--micro-batch", asked.micro_batch, "sequences of a micro-batch, in place of the setting's");
  add("--micro-batches", asked.micro_batches, "micro-batches of a rank in a step, in place of the setting's");
  command.add_flag("--stored", arguments->stored, stored_help);
  command.add_flag("--gradient-checkpointing", asked.checkpointing,
                   "all layers are recomputed, where the setting cannot say it (DeepSpeed)");
  command.add_option("--hf-args", arguments->trainer, "TrainingArguments as JSON, which replace \"auto\" in a file of DeepSpeed");
  add_value(command, "--memory", arguments->memory, some_bytes,
            "bytes of a device, Ki, Mi or Gi allowed; nine tenths of --device's by default");
  add_device(command, arguments->on.device);
  add_rates(command, arguments->on.kernels, arguments->on.calibration);
  add_value(command, "--mfu", arguments->on.mfu, share,
            "share of the device's peak that all work reaches; without it, kernels are timed one by one");
  command.add_option("--report", arguments->report, "file for a page with figures and pictures");
  command.add_option("--write", arguments->write,
                     "print the fastest setting found that this framework can say, as its file; with --json, in a field of the object");
  command.add_flag("--strict", arguments->strict, "exit with 4 if a key is not known on which the memory may depend");
  command.add_flag("--json", arguments->json, json_help);
  command.callback([arguments, &command] {
    if (is_packing(arguments->input.files.front(), !arguments->limits.capacity_text.empty())) {
      refuse_given(command,
                   {"--framework", "--gpus", "--model", "--vocab-size", "--seq-length", "--micro-batch", "--micro-batches",
                    "--gradient-checkpointing", "--hf-args", "--stored", "--memory", "--device", "--kernels", "--calibration", "--mfu",
                    "--report", "--write", "--strict"},
                   "settings of frameworks, and " + shown_name(arguments->input.files.front()) + " is a packing");
      if (arguments->limits.capacity_text.empty()) throw bad_input("--capacity is required for a packing: the tokens that a pack holds");
      read_capacities(arguments->limits, arguments->input);
      return check_packing(*arguments);
    }
    refuse_given(command, {"--capacity", "--max-items", "--multiple", "--padded"},
                 "packings, and " + shown_name(arguments->input.files.front()) + " is read as a setting of a framework");
    if (arguments->input.files.size() == 1)
      refuse_given(command, {"--columns", "--field", "--histogram", "--zero-length", "--oversize"},
                   "files of lengths behind the setting, and there are none");
    check_setting(*arguments);
  });
}

}  // namespace ballast_cli
