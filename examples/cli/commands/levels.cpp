// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/options.hpp"
#include "errors.hpp"
#include "planning/level_plan.hpp"
#include "planning/model_words.hpp"
#include "readers/data_set.hpp"
#include "report/json.hpp"
#include "report/output.hpp"
#include "report/packing.hpp"
#include "report/words.hpp"

#include <memory>
#include <span>
#include <string>

namespace ballast_cli {

namespace {

struct levels_arguments {
  input_arguments input;
  level_request request;
  std::int64_t max_length = 0;
  std::uint64_t max_levels = usual_levels;  ///< of the exact choice
  ballast::oversize oversize = ballast::oversize::reject;
  level_rule rule = level_rule::exact;
  bool json = false;
};

void run(levels_arguments const& arguments) {
  stopwatch watch;
  level_setup const on(arguments.request);
  sample_lengths const samples(arguments.input, "levels", arguments.max_length, arguments.oversize);
  auto const& h = samples.counts();
  auto const read_seconds = watch.lap();

  auto const choice = choose(arguments.rule, within(h, arguments.max_length, arguments.oversize), arguments.max_length,
                             static_cast<std::size_t>(arguments.max_levels), arguments.request, on);
  auto const plan = plan_choice(samples.view(), choice, {.devices = arguments.request.gpus, .oversize = arguments.oversize});
  nlohmann::ordered_json json{
      {"samples", h.samples()}, {"max_length", arguments.max_length},       {"gpus", arguments.request.gpus}, {"model", on.model},
      {"device", on.device},    {"set_aside", plan.packed.set_aside.size()}};
  add_level_figures(json, choice, plan);
  json["seconds"] = {{"read", read_seconds}, {"plan", watch.lap()}};
  if (arguments.json) return print_json(json);
  auto text = config_in_words(arguments.request.on.model) + title_of(arguments.input.files) + ": " + counted(h.samples(), "sample") +
              " on " + counted(arguments.request.gpus, "GPU") + "; " + on.model + " on " + on.device + ".\n\n" + in_words(choice, plan);
  if (auto const aside = plan.packed.set_aside.size(); aside != 0)
    text += counted(aside, "sample") + " longer than " + grouped(static_cast<std::uint64_t>(arguments.max_length)) + " set aside.\n";
  write_standard_output(text);
}

}  // namespace

void add_levels(CLI::App& app) {
  auto const arguments = std::make_shared<levels_arguments>();
  auto& request = arguments->request;
  auto& command = *app.add_subcommand("levels", "choose pack lengths, SP degrees and recomputed layers for long and short samples");
  add_input(command, arguments->input, "lengths, as for pack");
  add_value(command, "--max-length", arguments->max_length, positive, "tokens of the longest pack")->required();
  add_value(command, "--gpus", request.gpus, whole<std::uint32_t>, "GPUs of the run")->required();
  auto const rule = [](auto const& option, auto const& text) { return named(option, text, std::span(level_rules)).rule; };
  add_value(command, "--rule", arguments->rule, rule, "exact (default), the choice of least modelled time, or hbp, the published rule");
  auto* const most =
      add_value(command, "--max-levels", arguments->max_levels, positive, "largest number of levels that exact may choose; 3 by default");
  add_value(command, "--oversize", arguments->oversize, planned_oversize_policy,
            "samples that no pack can hold: reject, set-aside, truncate or split");
  add_model(command, request.on.model, "preset or Hugging Face config.json; llama-3.1-8b by default");
  add_device(command, request.on.device);
  auto* const mfu = add_value(command, "--mfu", request.on.mfu, share, share_help);
  for (auto* const rates : add_rates(command, request.on.kernels, request.on.calibration)) rates->excludes(mfu);
  auto* const framework = add_value(
      command, "--framework", request.framework,
      [](auto const& option, auto const& text) { return named(option, text, std::span(ballast::frameworks)); },
      "how large activations are: hbp (default), fused, megatron, eager, compiled or chunkflow");
  auto* const loss = add_value(command, "--head-loss", request.loss, head_loss, head_loss_help);
  command
      .add_option("--table", request.table,
                  "measured settings: rows of length, sp, recomputed_layers, milliseconds and perhaps memory in GB")
      ->excludes(framework)
      ->excludes(loss);
  command.add_flag("--json", arguments->json, "print one JSON object, which plan --levels reads");
  command.callback([arguments, most] {
    if (most->count() != 0 && arguments->rule != level_rule::exact)
      throw bad_input("--max-levels is for --rule exact; that of HBP has two stages");
    run(*arguments);
  });
}

}  // namespace ballast_cli
