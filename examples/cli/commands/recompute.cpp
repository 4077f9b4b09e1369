// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/options.hpp"
#include "errors.hpp"
#include "planning/layer_times.hpp"
#include "readers/file_bytes.hpp"
#include "report/json.hpp"
#include "report/output.hpp"
#include "report/words.hpp"

#include <ballast/recompute/choose.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ballast_cli {

namespace {

struct recompute_arguments {
  std::string file;
  std::int64_t budget = 0;
  offload_link offload;
  bool json = false;
};

struct recompute_choice {
  ballast::selection chosen;
  std::int64_t forward = 0, time = 0, all = 0;           ///< of all layers: forward, forward and backward, bytes if all are kept
  std::vector<std::string> kept, recomputed, offloaded;  ///< names of layers
};

/// Throws no_plan where no choice fits the budget.
[[nodiscard]] recompute_choice choose(recompute_arguments const& arguments, layer_table const& table) {
  recompute_choice out;
  ballast::option_classes items;
  std::vector<layer_options> ways;
  for (auto const& row : table.layers) {
    ways.push_back(options_of(row, arguments.offload, table));
    items.add(ways.back().options);
    out.forward += row.forward;
    out.time += row.forward + row.backward;
    out.all += row.activation_bytes;
  }
  auto const folded = ballast::fold(items);
  auto const overlap = arguments.offload.overlap;
  out.chosen = ballast::choose_options(
      folded.classes, {.budget = arguments.budget, .hidden_transfer = out.time / 100 * overlap + out.time % 100 * overlap / 100});
  if (out.chosen.status != ballast::status::feasible)
    throw no_plan(shown_name(arguments.file) + ": the layers hold at least " + many_bytes(out.chosen.memory) +
                  ", all recomputed that can be, more than --budget " + many_bytes(arguments.budget));
  auto const option = ballast::option_of_each(folded, out.chosen);
  for (std::size_t i = 0; i < option.size(); ++i)
    (option[i] == 0 ? out.kept : option[i] == ways[i].recompute ? out.recomputed : out.offloaded).push_back(table.layers[i].name);
  return out;
}

[[nodiscard]] std::string in_words(recompute_arguments const& arguments, layer_table const& table, recompute_choice const& choice) {
  auto const& added = choice.chosen.time;
  auto text = shown_name(arguments.file) + ": " + counted(table.layers.size(), "layer") + ", " + many_bytes(choice.all) +
              " if all are kept.\nWithin " + many_bytes(arguments.budget) + ": " + grouped(choice.kept.size()) + " kept, " +
              grouped(choice.recomputed.size()) + " recomputed, " + grouped(choice.offloaded.size()) + " sent to the host; they hold " +
              many_bytes(choice.chosen.memory) + ".\nThis adds " + shown(added.value, table) + " to a forward and backward of " +
              shown(choice.time, table) + "; " +
              (added.optimal() ? std::string("no choice adds less") : "no choice adds less than " + shown(added.lower_bound, table)) +
              ". Recomputing every layer adds " + shown(choice.forward, table) + ".\n" + scale_in_words(table);
  for (auto const& [what, names] : {std::pair{"Recomputed: ", &choice.recomputed}, {"Sent to the host: ", &choice.offloaded}}) {
    auto const* between = what;
    for (auto const& name : *names) text += std::exchange(between, ", ") + printable(name);
    if (!names->empty()) text += "\n";
  }
  return text;
}

void run(recompute_arguments const& arguments) {
  auto const table = read_layers_file(arguments.file, arguments.offload.bytes_per_1 != 0);
  require_bytes(table, arguments.file, "layers to recompute are chosen");
  auto const choice = choose(arguments, table);
  if (!arguments.json) return write_standard_output(in_words(arguments, table, choice));
  auto const& added = choice.chosen.time;
  print_json({{"keep", choice.kept},
              {"recompute", choice.recomputed},
              {"offload", choice.offloaded},
              {"saved_time", in_unit(choice.forward - added.value, table)},
              {"memory", choice.chosen.memory},
              {"lower_bound", in_unit(added.lower_bound, table)},
              {"optimal", added.optimal()}});
}

}  // namespace

void add_recompute(CLI::App& app) {
  auto const arguments = std::make_shared<recompute_arguments>();
  auto& command = *app.add_subcommand("recompute", "choose which layers to recompute under a budget of memory");
  command.add_option("LAYERS", arguments->file, layers_help)->required();
  add_value(command, "--budget", arguments->budget, bytes, "bytes that all layers may hold of one micro-batch, Ki, Mi or Gi allowed")
      ->required();
  add_offload(command, arguments->offload);
  command.add_flag("--json", arguments->json, json_help);
  command.callback([arguments] { run(*arguments); });
}

}  // namespace ballast_cli
