// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "errors.hpp"
#include "planning/layer_times.hpp"
#include "readers/file_bytes.hpp"
#include "report/output.hpp"
#include "report/words.hpp"

#include <ballast/recompute/choose.hpp>

#include <array>
#include <cstddef>

namespace ballast_cli {

void run_recompute(recompute_arguments const& arguments) {
  auto const table = read_layers_file(arguments.file, arguments.offload.bytes_per_1 != 0);
  auto const name = shown_name(arguments.file);
  ballast::option_classes items;
  std::vector<layer_options> ways;
  std::int64_t forward = 0, time = 0, all = 0;
  for (auto const& row : table.layers) {
    ways.push_back(options_of(row, arguments.offload, table));
    items.add(ways.back().options);
    forward += row.forward;
    time += row.forward + row.backward;
    all += row.activation_bytes;
  }
  auto const folded = ballast::fold(items);
  auto const percent = arguments.offload.overlap;
  auto const chosen = ballast::choose_options(
      folded.classes, {.budget = arguments.budget, .hidden_transfer = time / 100 * percent + time % 100 * percent / 100});
  auto const bytes = [](std::int64_t n) { return grouped(static_cast<std::uint64_t>(n)) + " bytes"; };
  if (chosen.status != ballast::status::feasible)
    throw no_plan(name + ": the layers hold at least " + bytes(chosen.memory) + ", all recomputed that can be, more than --budget " +
                  bytes(arguments.budget));
  std::array<std::vector<std::string>, 3> names;  // kept, recomputed, offloaded
  auto const option = ballast::option_of_each(folded, chosen);
  for (std::size_t i = 0; i < option.size(); ++i)
    names[option[i] == 0 ? 0U : option[i] == ways[i].recompute ? 1U : 2U].push_back(table.layers[i].name);
  auto const saved = forward - chosen.time.value;
  if (arguments.json) {
    nlohmann::ordered_json const json{{"keep", names[0]},
                                      {"recompute", names[1]},
                                      {"offload", names[2]},
                                      {"saved_time", in_unit(saved, table)},
                                      {"memory", chosen.memory},
                                      {"lower_bound", in_unit(chosen.time.lower_bound, table)},
                                      {"optimal", chosen.time.optimal()}};
    return write_standard_output(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  }
  auto text =
      name + ": " + counted(table.layers.size(), "layer") + ", " + bytes(all) + " if all are kept.\nWithin " + bytes(arguments.budget) +
      ": " + grouped(names[0].size()) + " kept, " + grouped(names[1].size()) + " recomputed, " + grouped(names[2].size()) +
      " sent to the host; they hold " + bytes(chosen.memory) + ".\nThis adds " + shown(chosen.time.value, table) +
      " to a forward and backward of " + shown(time, table) + "; " +
      (chosen.time.optimal() ? std::string("no choice adds less") : "no choice adds less than " + shown(chosen.time.lower_bound, table)) +
      ". Recomputing every layer adds " + shown(forward, table) + ".\n" + scale_in_words(table);
  auto const list = [&](char const* what, std::vector<std::string> const& of) {
    if (of.empty()) return;
    text += what;
    for (std::size_t i = 0; i < of.size(); ++i) text += (i == 0 ? "" : ", ") + printable(of[i]);
    text += "\n";
  };
  list("Recomputed: ", names[1]);
  list("Sent to the host: ", names[2]);
  write_standard_output(text);
}

}  // namespace ballast_cli
