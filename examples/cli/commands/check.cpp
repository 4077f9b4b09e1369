// SPDX-License-Identifier: Apache-2.0
#include "commands/check.hpp"

#include "commands/commands.hpp"
#include "commands/model_options.hpp"
#include "readers/json_document.hpp"
#include "readers/npy.hpp"
#include "readers/plan_folder.hpp"
#include "readers/steps.hpp"
#include "report/replace.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace ballast_cli {

namespace {

/// What the first file is, which decides what is done.
enum checked_kind : unsigned {
  kind_setting = 1,
  kind_packing = 2,
  kind_steps = 4,
  kind_sets = 8,
  kind_shards = 16,
  kind_stages = 32,
  kind_selection = 64,
  plans_of_samples = kind_packing | kind_steps | kind_sets | kind_shards,
  plans_of_layers = kind_stages | kind_selection,
};
struct kind_words {
  checked_kind kind;
  char const *many, *one;
};
constexpr kind_words words_of_kinds[] = {{kind_setting, "settings of frameworks", "is read as a setting of a framework"},
                                         {kind_packing, "packings", "is a packing"},
                                         {kind_steps, "steps", "holds steps"},
                                         {kind_sets, "sets of samples", "holds sets of samples"},
                                         {kind_shards, "shards", "holds shards"},
                                         {kind_stages, "stages", "holds stages of a pipeline"},
                                         {kind_selection, "selections", "is a selection of what layers recompute"}};

/// Options that are not for all kinds.
struct use_of_option {
  char const* name;
  unsigned kinds;
};
constexpr use_of_option uses_of_options[] = {{"--framework", kind_setting},
                                             {"--vocab-size", kind_setting},
                                             {"--seq-length", kind_setting},
                                             {"--micro-batch", kind_setting},
                                             {"--gradient-checkpointing", kind_setting},
                                             {"--hf-args", kind_setting},
                                             {"--stored", kind_setting},
                                             {"--report", kind_setting},
                                             {"--write", kind_setting},
                                             {"--strict", kind_setting},
                                             {"--gpus", kind_setting | kind_shards},
                                             {"--micro-batches", kind_setting | kind_stages},
                                             {"--memory", kind_setting | kind_stages},
                                             {"--model", kind_setting | kind_steps | kind_sets | kind_shards},
                                             {"--device", kind_setting | kind_steps | kind_sets | kind_shards},
                                             {"--mfu", kind_setting | kind_steps | kind_sets | kind_shards},
                                             {"--kernels", kind_setting | kind_steps | kind_sets},
                                             {"--calibration", kind_setting | kind_steps | kind_sets},
                                             {"--capacity", kind_packing | kind_steps | kind_shards},
                                             {"--max-items", kind_packing},
                                             {"--padded", kind_packing},
                                             {"--multiple", kind_packing | kind_steps},
                                             {"--oversize", kind_setting | kind_packing | kind_steps},
                                             {"--columns", kind_setting | plans_of_samples},
                                             {"--field", kind_setting | plans_of_samples},
                                             {"--histogram", kind_setting | plans_of_samples},
                                             {"--zero-length", kind_setting | plans_of_samples},
                                             {"--cost", kind_steps | kind_sets},
                                             {"--step-overhead-ms", kind_steps},
                                             {"--micro-batch-overhead-ms", kind_steps | kind_shards},
                                             {"--sets", kind_sets},
                                             {"--batch", kind_shards},
                                             {"--schedule", kind_stages},
                                             {"--budget", kind_selection},
                                             {"--offload", plans_of_layers}};

/// Throws bad_input if an option is given that is for what the file is not.
void refuse_for_others(CLI::App const& command, checked_kind kind, std::string const& file) {
  for (auto const& use : uses_of_options) {
    if ((use.kinds & kind) != 0 || command.get_option(use.name)->count() == 0) continue;
    std::vector<std::string> many;
    std::string is;
    for (auto const& words : words_of_kinds) {
      if ((use.kinds & words.kind) != 0) many.emplace_back(words.many);
      if (words.kind == kind) is = words.one;
    }
    std::string text;
    for (std::size_t i = 0; i < many.size(); ++i) text += (i == 0 ? "" : i + 1 == many.size() ? " and " : ", ") + many[i];
    throw bad_input(std::string(use.name) + ": is for " + text + ", and " + shown_name(file) + " " + is);
  }
}

/// Whether a line is an object as `schedule` writes it.
[[nodiscard]] bool begins_with_shards(std::string_view text) {
  auto const first = text.find_first_not_of(" \t\r\n");
  auto const line = first == text.npos ? std::string_view() : text.substr(first, text.find('\n', first) - first);
  return line.starts_with('{') && line.find("\"ranks\"") != line.npos && line.find("\"execution\"") != line.npos;
}

/// What a text is that no layers are behind.
[[nodiscard]] checked_kind kind_of_text(check_arguments const& arguments, std::string_view text) {
  auto const& files = arguments.input.files;
  if (is_npy(text)) {  // steps are a third array, of three dimensions
    if (files.size() < 4) return kind_packing;
    file_bytes const third(files[2]);
    return is_npy(third.view()) && npy_view(third.view(), shown_name(files[2]), 3, true).shape().size() == 3 ? kind_steps : kind_packing;
  }
  auto const is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (is_step_list(text)) return kind_steps;
  if (begins_with_shards(text)) return kind_shards;
  if (arguments.sets != 0) return kind_sets;
  auto const first = text.find_first_not_of(" \t\r\n[");  // a section of TOML opens a bracket, too
  if (first == text.npos || is_digit(text[first]) || (text[first] == '-' && first + 1 < text.size() && is_digit(text[first + 1])))
    return kind_packing;
  auto const plan = text[first] == '{' ? parse_document(text, shown_name(files.front())) : nlohmann::json();
  if (plan.is_object() && (plan.contains("boundaries") || (plan.contains("recompute") && plan.contains("keep"))))
    throw bad_input(shown_name(files.front()) + ": holds " + (plan.contains("boundaries") ? "stages" : "a selection") +
                    "; name the CSV of their layers behind it, as in check " + shown_name(files.front()) + " layers.csv");
  return kind_setting;
}

/// Finds out what the first file is, and checks it.
void check_file(check_arguments& arguments, CLI::App const& command) {
  auto const& files = arguments.input.files;
  auto const& file = files.front();
  auto const known_as = [&](checked_kind kind) { refuse_for_others(command, kind, file); };
  auto const need_capacity = [&](char const* whose) {
    if (arguments.limits.capacity_text.empty()) throw bad_input(std::string("--capacity is required for ") + whose);
    read_capacities(arguments.limits, arguments.input);
  };
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) {
    known_as(kind_packing);
    if (arguments.limits.capacity_text.empty()) arguments.limits.capacity_text = capacity_in_folder(file);
    need_capacity("a packing: the tokens that a pack holds");
    return check_packing(arguments, {});
  }
  if (auto const aside = set_aside_beside(file))
    throw bad_input(file + ": is missing; an interrupted run left it as " + *aside + ", which the next --out " + file + " brings back");
  auto const of_plans = !arguments.limits.capacity_text.empty() || arguments.sets != 0;  // without them, a packed file is a setting
  auto const behind_layers =
      files.size() > 1 && std::filesystem::is_regular_file(files.back(), error) && names_layers(file_bytes(files.back()).view());
  auto const one_reading = file == "-" && !of_plans && !behind_layers;  // standard input is read once
  std::optional<file_bytes> bytes;
  if (!one_reading) bytes.emplace(file);
  auto text = bytes ? bytes->view() : std::string_view();
  std::string unpacked;
  if (is_gzip(text) && (of_plans || behind_layers)) text = unpacked = gunzip(text, shown_name(file));
  if (behind_layers) {
    if (files.size() > 2) throw bad_input("check takes the stages or the selection, then one CSV of layers, not " + shown_name(files[1]));
    auto const given = read_stages(text, shown_name(file));
    auto const cut = given.staged || !given.boundaries.empty();
    known_as(cut ? kind_stages : kind_selection);
    return cut ? check_stages(arguments, given) : check_choices(arguments, given);
  }
  auto const kind = one_reading || is_gzip(text) ? kind_setting : kind_of_text(arguments, text);
  known_as(kind);
  switch (kind) {
    case kind_packing: need_capacity("a packing: the tokens that a pack holds"); return check_packing(arguments, text);
    case kind_steps: need_capacity("steps: the tokens that a micro-batch holds"); return check_steps(arguments, text);
    case kind_shards: need_capacity("shards: the tokens that a GPU holds in one pass"); return check_shards(arguments, text);
    case kind_sets: return check_sets(arguments, text);
    default: break;
  }
  if (files.size() == 1)
    for (auto const* const name : {"--columns", "--field", "--histogram", "--zero-length", "--oversize"})
      if (command.get_option(name)->count() != 0)
        throw bad_input(std::string(name) + ": is for files of lengths behind the setting, and there are none");
  check_setting(arguments);
}

/// What only plans of other programs take.
void add_plan_options(CLI::App& command, check_arguments& arguments) {
  add_value(command, "--sets", arguments.sets, small_positive, "sets that samples are balanced over, one line of sample indices each");
  command.add_option("--cost", arguments.cost,
                     "of steps and sets: measured times instead of a model, from calibrate --json, or length,milliseconds rows");
  add_value(command, "--step-overhead-ms", arguments.step_overhead_ms, milliseconds, "milliseconds of a step besides its micro-batches");
  add_value(command, "--micro-batch-overhead-ms", arguments.micro_batch_overhead_ms, milliseconds,
            "milliseconds of a micro-batch, or of a pass of shards, besides its samples; by default what the cost says");
  add_value(command, "--batch", arguments.batch, small_positive,
            "samples of a global batch of shards; by default as many as their batches have on average");
  add_value(command, "--schedule", arguments.schedule, schedule,
            "schedule of stages, which decides how many micro-batches they hold: gpipe, 1f1b (default), zb1p or zb2p");
  add_value(command, "--budget", arguments.budget, bytes, "bytes that all layers of a selection may hold of one micro-batch");
  add_offload(command, arguments.offload);
}

}  // namespace

void add_check(CLI::App& app, std::string const& command_line) {
  auto const arguments = std::make_shared<check_arguments>();
  arguments->command_line = command_line;
  auto& command = *app.add_subcommand("check", "judge a setting of a framework, or check and score a plan that any program made");
  command.alias("check-config");
  add_input(command, arguments->input,
            "a setting: script, YAML, JSON or TOML of a framework; or a packing: OFFSETS MEMBERS as .npy, a folder from pack --out or plan "
            "--out, a text file with the sample indices of one pack a line, or a JSON list of such lists; or steps, sets, shards; then the "
            "lengths, which a setting "
            "can do without; or stages or a selection, then the CSV of their layers");
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
  add_plan_options(command, *arguments);
  command.callback([arguments, &command] { check_file(*arguments, command); });
}

}  // namespace ballast_cli
