// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/options.hpp"
#include "readers/data_set.hpp"
#include "report/json.hpp"
#include "report/output.hpp"
#include "report/words.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ballast_cli {

namespace {

struct stats_arguments {
  input_arguments input;
  bool json = false;
};

/// What is printed of one measure.
struct described {
  std::uint64_t samples = 0;
  std::int64_t sum = 0, least = 0, most = 0, p50 = 0, p90 = 0, p99 = 0;
  std::size_t distinct = 0;

  [[nodiscard]] double mean() const { return static_cast<double>(sum) / static_cast<double>(samples); }
};

[[nodiscard]] described describe(ballast::histogram const& h) {
  auto const samples = h.samples();
  auto const quantile = [&](std::uint64_t percents) {  // the shortest length that at least this share of samples does not exceed
    auto const rank = samples / 100 * percents + (samples % 100 * percents + 99) / 100;
    std::size_t i = 0;
    for (std::uint64_t seen = h.counts[0]; seen < rank; seen += h.counts[i]) ++i;
    return h.lengths[i];
  };
  return {.samples = samples,
          .sum = h.tokens(),
          .least = h.lengths.front(),
          .most = h.lengths.back(),
          .p50 = quantile(50),
          .p90 = quantile(90),
          .p99 = quantile(99),
          .distinct = h.lengths.size()};
}

/// One measure of several, which may be 0.
[[nodiscard]] described describe(std::span<std::int64_t const> column) {
  std::vector<std::int64_t> sorted(column.begin(), column.end());
  std::sort(sorted.begin(), sorted.end());
  ballast::histogram h;
  for (auto const value : sorted)
    if (h.lengths.empty() || h.lengths.back() != value) {
      h.lengths.push_back(value);
      h.counts.push_back(1);
    } else {
      ++h.counts.back();
    }
  return describe(h);
}

[[nodiscard]] nlohmann::ordered_json to_json(described const& d) {
  return {{"min", d.least}, {"mean", d.mean()}, {"p50", d.p50}, {"p90", d.p90}, {"p99", d.p99}, {"max", d.most}, {"distinct", d.distinct}};
}

/// A line for each figure, with a column for each measure; columns of several are aligned.
[[nodiscard]] std::string in_words(std::vector<described> const& all) {
  auto const width = all.size() == 1 ? 0 : 14;
  auto const line = [&](char const* what, auto const& value) {
    auto text = std::string(what);
    for (auto const& d : all) text += formatted("%*s", width, value(d).c_str());
    return text + "\n";
  };
  auto const number = [](auto const member) { return [=](described const& d) { return grouped(static_cast<std::uint64_t>(d.*member)); }; };
  auto text = std::string("samples   ") + grouped(all.front().samples) + "\n";
  if (all.size() > 1) {
    text += "measure   ";
    for (std::size_t m = 1; m <= all.size(); ++m) text += formatted("%*zu", width, m);
    text += "\n";
  }
  return text + line(all.size() == 1 ? "tokens    " : "sum       ", number(&described::sum)) +
         line("min       ", number(&described::least)) +
         line("mean      ", [](described const& d) { return formatted("%.1f", d.mean()); }) + line("p50       ", number(&described::p50)) +
         line("p90       ", number(&described::p90)) + line("p99       ", number(&described::p99)) +
         line("max       ", number(&described::most)) + line("distinct  ", number(&described::distinct));
}

void run(stats_arguments const& arguments) {
  auto const input = read_lengths(arguments.input.files, arguments.input.select);
  std::vector<described> all;
  if (input.histogram() || input.measures() == 1) {
    all.push_back(describe(to_histogram(input)));
  } else {
    measure_columns const columns(input);
    for (std::size_t m = 0; m < input.measures(); ++m) all.push_back(describe(columns.view().column(m)));
  }
  if (!arguments.json) return write_standard_output(in_words(all));
  nlohmann::ordered_json json{{"samples", all.front().samples}};
  if (all.size() == 1) {
    json["tokens"] = all.front().sum;
    json.update(to_json(all.front()));
    return print_json(json);
  }
  for (auto const& d : all) {
    json["measures"].push_back({{"sum", d.sum}});
    json["measures"].back().update(to_json(d));
  }
  print_json(json);
}

}  // namespace

void add_stats(CLI::App& app) {
  auto const arguments = std::make_shared<stats_arguments>();
  auto& command = *app.add_subcommand("stats", "describe a distribution of lengths, or of several measures");
  add_input(command, arguments->input, "lengths, as for pack");
  command.add_flag("--json", arguments->json, json_help);
  command.callback([arguments] { run(*arguments); });
}

}  // namespace ballast_cli
