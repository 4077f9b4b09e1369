// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "errors.hpp"
#include "planning/level_plan.hpp"
#include "readers/data_set.hpp"
#include "report/output.hpp"
#include "report/packing.hpp"
#include "report/words.hpp"

#include <nlohmann/json.hpp>

#include <array>

namespace ballast_cli {

void run_levels(levels_arguments const& arguments) {
  stopwatch watch;
  level_run_model const on(arguments.request);
  auto const input = read_lengths(arguments.input.files, arguments.input.select);
  require_one_measure(input, "levels");
  refuse_oversize(input, std::array{arguments.max_length}, {.oversize = arguments.oversize}, "set-aside, truncate or split");
  auto const h = to_histogram(input);
  refuse_too_many(h.samples());
  auto const read_seconds = watch.lap();

  auto const choice = choose(arguments.rule, within(h, arguments.max_length, arguments.oversize), arguments.max_length,
                             static_cast<std::size_t>(arguments.max_levels), arguments.request, on);
  std::vector<std::int64_t> expanded;
  auto const plan = plan_choice(to_lengths(input, expanded), choice, {.devices = arguments.request.gpus, .oversize = arguments.oversize});
  nlohmann::ordered_json json{
      {"samples", h.samples()}, {"max_length", arguments.max_length},       {"gpus", arguments.request.gpus}, {"model", on.model},
      {"device", on.device},    {"set_aside", plan.packed.set_aside.size()}};
  add_level_figures(json, choice, plan);
  json["seconds"] = {{"read", read_seconds}, {"plan", watch.lap()}};
  if (arguments.json) return write_standard_output(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  auto text = title_of(arguments.input.files) + ": " + counted(h.samples(), "sample") + " on " + counted(arguments.request.gpus, "GPU") +
              "; " + on.model + " on " + on.device + ".\n\n" + in_words(choice, plan);
  if (auto const aside = plan.packed.set_aside.size(); aside != 0)
    text += counted(aside, "sample") + " longer than " + grouped(static_cast<std::uint64_t>(arguments.max_length)) + " set aside.\n";
  write_standard_output(text);
}

}  // namespace ballast_cli
