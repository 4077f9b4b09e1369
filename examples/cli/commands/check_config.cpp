// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/options.hpp"
#include "errors.hpp"
#include "planning/judged_setting.hpp"
#include "planning/sample_cost.hpp"
#include "readers/data_set.hpp"
#include "readers/file_bytes.hpp"
#include "readers/framework_setting.hpp"
#include "readers/lengths.hpp"
#include "report/json.hpp"
#include "report/output.hpp"
#include "report/page.hpp"
#include "report/replace.hpp"

#include <ballast/plan/batch_shapes.hpp>
#include <ballast/plan/judge_setting.hpp>
#include <ballast/plan/plan_data.hpp>

#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace ballast_cli {

namespace {

struct config_arguments {
  input_arguments input;  ///< the setting, then the lengths
  setting_request asked;
  std::string model;
  model_on_device on;
  std::optional<std::int64_t> memory;
  ballast::oversize oversize = ballast::oversize::reject;
  std::string report, command_line;
  bool json = false;
};

[[nodiscard]] judged_setting judge_file(config_arguments const& arguments) {
  auto const& file = arguments.input.files.front();
  auto const name = shown_name(file);
  auto const finished = [&](judged_setting out) {
    out.file = name;
    return out;
  };
  auto asked = arguments.asked;
  auto reads_images = false;
  if (!arguments.model.empty()) {
    auto const known = model_named(arguments.model);
    asked.model = known.language;
    reads_images = known.images.has_value();
  }
  file_bytes const bytes(file);
  auto given = read_framework_setting(bytes.view(), name, asked);
  if (asked.checkpointing && given.framework != "DeepSpeed")
    throw bad_input("--gradient-checkpointing: is for DeepSpeed; a setting of " + given.framework + " says itself what is recomputed");
  if (reads_images) {
    given.notes.push_back(printable(arguments.model) +
                          " reads images: its tower and projector are left out, so memory and time are too low");
    given.untimed = "the tower and the projector of a model that reads images are not modelled";
  }
  auto& by = given.setting;
  auto const& device = device_of(arguments.on.device);
  by.pipeline.memory = arguments.memory.value_or(device.memory_bytes / 10 * 9);
  if (arguments.input.files.size() == 1) {
    auto const full = full_step_of(by);
    return finished(judge(std::move(given), arguments.on, full.steps, full.packs));
  }
  auto rest = arguments.input;
  rest.files.erase(rest.files.begin());
  using enum ballast::synchronisation;
  auto const& stages = by.pipeline.stages;
  ballast::data_plan_options const options{.steps = {.capacity = by.micro_batch * by.sequence,
                                                     .ranks = static_cast<std::uint32_t>(by.ranks()),
                                                     .micro_batches = static_cast<std::uint32_t>(by.micro_batches),
                                                     .synchronisation = stages > 1                 ? pipeline
                                                                        : by.model.spread.zero > 1 ? per_micro_batch
                                                                                                   : per_step,
                                                     .stages = stages},
                                           .oversize = arguments.oversize};
  sample_lengths const samples(rest, "check-config", options.steps.capacity, options.oversize);
  auto const data = ballast::plan_data(samples.view(), options, given.model);
  auto const packs = ballast::shapes_of(data.steps.packs, std::span<std::int64_t const>(data.samples.tokens));
  return finished(judge(std::move(given), arguments.on, data.steps, packs));
}

}  // namespace

void add_check_config(CLI::App& app, std::string const& command_line) {
  auto const arguments = std::make_shared<config_arguments>();
  arguments->command_line = command_line;
  auto& command = *app.add_subcommand("check-config", "judge a setting of Megatron-LM, ms-swift, DeepSpeed or torchtitan");
  add_input(
      command, arguments->input,
      "the setting: argument lines or YAML of Megatron-LM or ms-swift, JSON of DeepSpeed, TOML or saved JSON of torchtitan; then lengths, "
      "as for pack, instead of full sequences");
  auto& asked = arguments->asked;
  auto const add = [&](char const* name, std::optional<std::int64_t>& value, char const* help) {
    add_value(command, name, value, small_positive, help);
  };
  add("--gpus", asked.gpus, "devices of the run, where the setting does not say them");
  add_model(command, arguments->model, "preset or Hugging Face config.json, where the setting does not hold the shape");
  add("--seq-length", asked.sequence, "tokens of a sequence, in place of the setting's");
  add("--micro-batch", asked.micro_batch, "sequences of a micro-batch, in place of the setting's");
  add("--micro-batches", asked.micro_batches, "micro-batches of a rank in a step, in place of the setting's");
  add_value(command, "--oversize", arguments->oversize, planned_oversize_policy,
            "with lengths, samples longer than a micro-batch: reject, set-aside, truncate or split");
  command.add_flag("--gradient-checkpointing", asked.checkpointing,
                   "all layers are recomputed, where the setting cannot say it (DeepSpeed)");
  add_value(command, "--memory", arguments->memory, some_bytes,
            "bytes of a device, Ki, Mi or Gi allowed; nine tenths of --device's by default");
  add_device(command, arguments->on.device);
  add_rates(command, arguments->on.kernels, arguments->on.calibration);
  add_value(command, "--mfu", arguments->on.mfu, share,
            "share of the device's peak that all work reaches; without it, kernels are timed one by one");
  command.add_option("--report", arguments->report, "file for a page with figures and pictures");
  command.add_flag("--json", arguments->json, json_help);
  command.callback([arguments, &command] {
    if (arguments->input.files.size() == 1)
      for (auto const* const name : {"--columns", "--field", "--histogram", "--zero-length", "--oversize"})
        if (command.get_option(name)->count() != 0)
          throw bad_input(std::string(name) + ": is for files of lengths behind the setting, and there are none");
    auto const judged = judge_file(*arguments);
    if (!arguments->report.empty()) replace_file(arguments->report, render_report(on_page(judged, arguments->command_line)));
    if (arguments->json) return print_json(to_json(judged));
    write_standard_output(in_words(judged));
  });
}

}  // namespace ballast_cli
