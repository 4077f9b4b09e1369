// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/options.hpp"
#include "readers/data_set.hpp"
#include "report/json.hpp"
#include "report/output.hpp"

#include <cstdio>
#include <memory>
#include <string>

namespace ballast_cli {

namespace {

struct stats_arguments {
  input_arguments input;
  bool json = false;
};

void run(stats_arguments const& arguments) {
  auto const input = read_lengths(arguments.input.files, arguments.input.select);
  require_one_measure(input, "stats");
  auto const h = to_histogram(input);
  auto const samples = h.samples();
  auto const tokens = h.tokens();
  auto const quantile = [&](std::uint64_t percents) {  // the shortest length that at least this share of samples does not exceed
    auto const rank = samples / 100 * percents + (samples % 100 * percents + 99) / 100;
    std::size_t i = 0;
    for (std::uint64_t seen = h.counts[0]; seen < rank; seen += h.counts[i]) ++i;
    return h.lengths[i];
  };
  auto const mean = static_cast<double>(tokens) / static_cast<double>(samples);
  if (arguments.json) {
    nlohmann::ordered_json const json{{"samples", samples},  {"tokens", tokens},        {"min", h.lengths.front()},
                                      {"mean", mean},        {"p50", quantile(50)},     {"p90", quantile(90)},
                                      {"p99", quantile(99)}, {"max", h.lengths.back()}, {"distinct", h.lengths.size()}};
    return print_json(json);
  }
  char average[64];
  (void)std::snprintf(average, sizeof average, "%.1f", mean);
  auto const line = [](char const* what, std::string const& value) { return std::string(what) + value + "\n"; };
  auto const number = [](auto value) { return grouped(static_cast<std::uint64_t>(value)); };
  write_standard_output(line("samples   ", number(samples)) + line("tokens    ", number(tokens)) +
                        line("min       ", number(h.lengths.front())) + line("mean      ", average) +
                        line("p50       ", number(quantile(50))) + line("p90       ", number(quantile(90))) +
                        line("p99       ", number(quantile(99))) + line("max       ", number(h.lengths.back())) +
                        line("distinct  ", number(h.lengths.size())));
}

}  // namespace

void add_stats(CLI::App& app) {
  auto const arguments = std::make_shared<stats_arguments>();
  auto& command = *app.add_subcommand("stats", "describe a distribution of lengths");
  add_input(command, arguments->input, "lengths, as for pack");
  command.add_flag("--json", arguments->json, json_help);
  command.callback([arguments] { run(*arguments); });
}

}  // namespace ballast_cli
