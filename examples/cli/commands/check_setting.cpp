// SPDX-License-Identifier: Apache-2.0
#include "commands/check.hpp"
#include "commands/options.hpp"
#include "errors.hpp"
#include "planning/judged_setting.hpp"
#include "planning/model_setting.hpp"
#include "planning/sample_cost.hpp"
#include "readers/data_set.hpp"
#include "readers/file_bytes.hpp"
#include "readers/framework_setting.hpp"
#include "readers/lengths.hpp"
#include "readers/preset_names.hpp"
#include "readers/setting_writers.hpp"
#include "report/json.hpp"
#include "report/output.hpp"
#include "report/page.hpp"
#include "report/replace.hpp"

#include <ballast/plan/batch_shapes.hpp>
#include <ballast/plan/export/setting.hpp>
#include <ballast/plan/judge_setting.hpp>
#include <ballast/plan/plan_data.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace ballast_cli {

namespace {

/// Where a file is that a setting names: as it is named, or from a folder in which the setting is, where a variable may stand for that.
[[nodiscard]] std::optional<std::string> found_beside(std::string const& setting, std::string named) {
  std::error_code error;
  if (named.starts_with('$')) named.erase(0, named.find('/') + 1);
  if (std::filesystem::is_regular_file(named, error)) return named;
  auto folder = std::filesystem::path(setting).parent_path();
  for (auto left = 5; left > 0 && std::filesystem::path(named).is_relative(); --left, folder /= "..")
    if (auto const path = folder / named; std::filesystem::is_regular_file(path, error)) return path.string();
  return std::nullopt;
}

/// A model that a setting names: a folder with a config.json, or a preset by its name on a hub.
[[nodiscard]] std::optional<known_model> find_model(std::string const& setting, std::string const& name) {
  auto const known_as = [&] {
    auto const path = found_beside(setting, name + "/config.json");
    return path ? path : preset_of(name);
  }();
  if (!known_as) return std::nullopt;
  auto const known = model_named(*known_as);
  return known_model{known.language, known.images || !known.no_images.empty()};
}

/// What the framework itself can be told, where that is less than all degrees: trainers in PyTorch, many of them without pipelines.
[[nodiscard]] std::optional<written_space> own_space(imported_setting const& given) {
  if (given.setting.model.framework.count == ballast::tensor_count::megatron) return std::nullopt;
  auto plain = given;  // degrees are the same for all kinds of training
  plain.task = training_task::unsaid;
  plain.roles.clear();
  auto out = std::optional(written_space{.of = given, .other = false, .space = {}});
  out->space.stages = {1};
  for (auto const* const format : framework_formats())
    if (format->name == given.framework && format->write != nullptr) {
      out = space_of(*format, plain);
      if (out->of.setting.model.framework != given.setting.model.framework) return std::nullopt;
      out->of = given;
      out->other = false;
      break;
    }
  return out;
}

/// The `keep` fastest settings, of a file that holds `text`. With a framework to write for, several: not all can be said there.
[[nodiscard]] judged_setting judge_file(check_arguments const& arguments, std::string_view text, framework_format const* write,
                                        std::size_t keep, std::optional<written_space>& space) {
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
  asked.find_model = [&](std::string const& model) { return find_model(file, model); };
  asked.find_file = [&](std::string const& other) -> std::optional<std::string> {
    auto const path = found_beside(file, other);
    if (!path) return std::nullopt;
    return std::string(file_bytes(*path).view());
  };
  if (!arguments.trainer.empty()) asked.trainer = std::string(file_bytes(arguments.trainer).view());
  auto given = read_framework_setting(text, name, asked);
  if (asked.trainer && given.framework != "DeepSpeed")
    throw bad_input("--hf-args: is for DeepSpeed; a setting of " + given.framework + " has no \"auto\"");
  if (asked.checkpointing && given.framework != "DeepSpeed" && given.framework != "accelerate")
    throw bad_input("--gradient-checkpointing: is for DeepSpeed and accelerate; a setting of " + given.framework +
                    " says itself what is recomputed");
  if (reads_images || given.reads_images) {
    given.notes.push_back((arguments.model.empty() ? "the model" : printable(arguments.model)) +
                          " reads images: its tower and projector are left out, so memory and time are too low");
    given.untimed = "the tower and the projector of a model that reads images are not modelled";
  }
  auto& by = given.setting;
  if (arguments.stored && arguments.model.empty()) throw bad_input("--stored: needs --model, a config.json with quantization_config");
  if (arguments.stored) take_stored(by.model, arguments.model);
  auto const& device = device_of(arguments.on.device);
  by.pipeline.memory = arguments.memory.value_or(device.memory_bytes / 10 * 9);
  if (write != nullptr) space = space_of(*write, given);
  auto const own = write != nullptr ? std::nullopt : own_space(given);
  auto const* const as = space ? &*space : own ? &*own : nullptr;
  if (arguments.input.files.size() == 1) {
    auto const full = full_step_of(by);
    return finished(judge(std::move(given), arguments.on, full.steps, full.packs, keep, as));
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
                                           .oversize = arguments.limits.options.oversize};
  sample_lengths const samples(rest, "check", options.steps.capacity, options.oversize);
  auto const data = ballast::plan_data(samples.view(), options, given.model);
  auto const packs = ballast::shapes_of(data.steps.packs, std::span<std::int64_t const>(data.samples.tokens));
  return finished(judge(std::move(given), arguments.on, data.steps, packs, keep, as));
}

/// How many of the fastest settings are planned in full and tried in a file: most often one of a few can be said.
constexpr std::size_t few_settings = 12, many_settings = 256;

[[nodiscard]] written_setting written_best(framework_format const& format, judged_setting const& judged, written_space const& space) {
  std::vector<ballast::training_setting> ranked;
  for (auto const& one : judged.best.ranked) ranked.push_back(setting_of(one.plan, judged.given.model, one.setting));
  if (ranked.empty()) throw no_plan(judged.file + ": no setting fits the memory, so none is written");
  return write_best(format, judged.given, space, ranked);
}

}  // namespace

void check_setting(check_arguments const& arguments) {
  if (arguments.limits.options.oversize == ballast::oversize::alone)
    throw bad_input("--oversize alone: is for packings; with a setting it is reject, set-aside, truncate or split");
  auto const* const format = arguments.write.empty() ? nullptr : &framework_named("--write", arguments.write);
  if (format != nullptr) require_written(*format);
  std::optional<written_space> space;
  auto const& files = arguments.input.files;
  file_bytes const bytes(files.front());
  auto const once = std::find(files.begin() + 1, files.end(), "-") != files.end();  // lengths of standard input are read once
  auto judged = judge_file(arguments, bytes.view(), format, format == nullptr ? 1 : once ? many_settings : few_settings, space);
  std::optional<written_setting> written;
  if (format != nullptr) {
    written = written_best(*format, judged, *space);
    if (!written->settled && judged.best.ranked.size() == few_settings) {
      judged = judge_file(arguments, bytes.view(), format, many_settings, space);
      written = written_best(*format, judged, *space);
    }
    for (auto const& lost : written->not_said)
      (void)std::fprintf(stderr, "Not said by %s: %s.\n", std::string(format->name).c_str(), lost.c_str());
  }
  if (!arguments.report.empty()) replace_file(arguments.report, render_report(on_page(judged, arguments.command_line)));
  if (arguments.json) {
    auto json = to_json(judged);
    if (written) json["written"] = {{"framework", format->name}, {"text", written->text}, {"not_said", written->not_said}};
    print_json(json);
  } else if (written) {
    write_standard_output(written->text);
  } else {
    write_standard_output(in_words(judged));
  }
  if (auto const& keys = judged.given.passed.doubtful; arguments.strict && !keys.empty())
    throw doubtful(judged.file + ": memory may be wrong: " + keys.front() + (keys.size() > 1 ? " and others are" : " is") +
                   " not known here");
}

}  // namespace ballast_cli
