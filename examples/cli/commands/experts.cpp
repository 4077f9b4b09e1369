// SPDX-License-Identifier: Apache-2.0
#include "report/experts.hpp"
#include "commands/commands.hpp"
#include "commands/options.hpp"
#include "errors.hpp"
#include "planning/expert_plan.hpp"
#include "readers/expert_loads.hpp"
#include "readers/file_bytes.hpp"
#include "report/json.hpp"
#include "report/output.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace ballast_cli {

namespace {

struct expert_arguments {
  std::string file;
  ballast::replication_options options;
  std::uint64_t work = 1'000'000;
  bool json = false;
};

/// Throws unless the options suit a number of experts, by their names here.
void require_options(ballast::replication_options const& o, std::uint64_t experts, bool replicas_given) {
  auto const text = [](std::uint64_t v) { return std::to_string(v); };
  auto const multiple = [&](std::string const& what, std::uint64_t value, std::string const& of, std::uint64_t part) {
    if (value % part != 0) throw bad_input(what + " " + text(value) + ": expected a multiple of " + of + " " + text(part));
  };
  if (o.slots < experts)
    throw bad_input("--replicas " + text(o.slots) + ": expected at least one for each of " + text(experts) + " experts");
  if (!replicas_given && experts % o.ranks != 0)
    throw bad_input("--ranks " + text(o.ranks) + ": expected a divisor of " + text(experts) +
                    " experts; --replicas gives them copies, up to a multiple of the ranks");
  multiple("--replicas", o.slots, "--ranks", o.ranks);
  multiple("--ranks", o.ranks, "--nodes", o.nodes);
  if (experts % o.groups != 0) throw bad_input("--groups " + text(o.groups) + ": expected a divisor of " + text(experts) + " experts");
  if (o.groups > 1) multiple("--groups", o.groups, "--nodes", o.nodes);
  auto const here = o.groups > 1 ? experts / o.nodes : experts;
  if (!o.may_share && o.slots / o.ranks > here)
    throw bad_input("--replicas " + text(o.slots) + ": " + text(o.slots / o.ranks) + " on a rank are more than the " + text(here) +
                    " experts that may be there; --share allows two copies of an expert on a rank");
}

void run(expert_arguments const& arguments) {
  file_bytes const file(arguments.file);
  auto const layers = read_expert_loads(file.view(), shown_name(arguments.file));
  auto options = arguments.options;
  if (options.slots == 0) options.slots = layers.front().size();
  require_options(options, layers.front().size(), arguments.options.slots != 0);
  auto const placed = place_experts(layers, options, arguments.work);
  expert_report const report{.layers = placed, .options = options};
  arguments.json ? print_json(to_json(report)) : write_standard_output(in_words(report));
}

}  // namespace

void add_experts(CLI::App& app) {
  auto const arguments = std::make_shared<expert_arguments>();
  auto& command = *app.add_subcommand("experts", "place the experts of each layer, and copies of them, on ranks");
  command.add_option("LOADS", arguments->file, "CSV of routed rows: a line for each layer, a column for each expert; - is standard input")
      ->required();
  auto& o = arguments->options;
  add_value(command, "--ranks", o.ranks, small_positive, "ranks that share the experts of a layer")->required();
  add_value(command, "--replicas", o.slots, small_positive, "copies of all experts of a layer together; by default one of each");
  add_value(command, "--groups", o.groups, small_positive, "groups of adjacent experts that stay within a node; 1 by default");
  add_value(command, "--nodes", o.nodes, small_positive, "nodes of adjacent ranks; 1 by default");
  command.add_flag("--share", o.may_share, "allow two copies of an expert on the same rank");
  add_value(command, "--work", arguments->work, positive, "operations for each layer, about a nanosecond each; 1000000 by default");
  command.add_flag("--json", arguments->json, json_help);
  command.callback([arguments] { run(*arguments); });
}

}  // namespace ballast_cli
