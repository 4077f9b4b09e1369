// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/options.hpp"
#include "readers/data_set.hpp"
#include "report/json.hpp"
#include "report/output.hpp"

#include <ballast/packing/vector/capacities.hpp>

#include <cstdio>
#include <memory>
#include <string>

namespace ballast_cli {

namespace {

struct capacities_arguments {
  input_arguments input;
  std::uint64_t ranks = 8;
  bool json = false;
};

void run(capacities_arguments const& arguments) {
  auto const input = read_lengths(arguments.input);
  if (input.histogram() || input.measures() != 2)
    throw bad_input("capacities takes two measures a sample, the one that depends on the other first, as in --columns 2,1");
  measure_columns const columns(input);
  auto const choice = ballast::choose_capacities(columns.view(), {.ranks = arguments.ranks});
  if (arguments.json) {
    auto const figures = [](ballast::capacity_trial const& t) {
      return nlohmann::ordered_json{{"capacity", t.capacity},
                                    {"packs", t.packs},
                                    {"samples_per_pack", t.samples_per_pack},
                                    {"rank_dist", t.rank_distance},
                                    {"score", t.score}};
    };
    auto json = figures(choice.chosen());
    json["wanted"] = choice.wanted;
    auto& trials = json["trials"] = nlohmann::ordered_json::array();
    for (auto const& t : choice.trials) trials.push_back(figures(t));
    return print_json(json);
  }
  char line[128];
  std::string text = "    capacities       packs  samples/pack  rank_dist 1  rank_dist 2   score\n";
  for (auto const& t : choice.trials) {
    (void)std::snprintf(line, sizeof line, "%s %6lld, %-8lld %9s %13.3f %12.4f %12.4f %7.4f\n", &t == &choice.chosen() ? "->" : "  ",
                        static_cast<long long>(t.capacity[0]), static_cast<long long>(t.capacity[1]),
                        grouped(static_cast<std::uint64_t>(t.packs)).c_str(), t.samples_per_pack, t.rank_distance[0], t.rank_distance[1],
                        t.score);
    text += line;
  }
  text += choice.wanted ? "Chosen: the lowest score among those with 4 to 5 samples a pack.\n"
                        : "Chosen: the one nearest to 4 to 5 samples a pack; none has that.\n";
  write_standard_output(text + "ballast pack ... --capacity " + std::to_string(choice.chosen().capacity[0]) + "," +
                        std::to_string(choice.chosen().capacity[1]) + "\n");
}

}  // namespace

void add_capacities(CLI::App& app) {
  auto const arguments = std::make_shared<capacities_arguments>();
  auto& command = *app.add_subcommand("capacities", "choose the capacities of two measures, as in images and text");
  add_input(command, arguments->input, "two measures, the one that depends on the other first: --columns 2,1");
  add_value(command, "--ranks", arguments->ranks, positive, "data-parallel ranks whose loads are to be alike; 8 by default");
  command.add_flag("--json", arguments->json, json_help);
  command.callback([arguments] { run(*arguments); });
}

}  // namespace ballast_cli
