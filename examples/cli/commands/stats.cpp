// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/options.hpp"
#include "readers/data_set.hpp"
#include "report/json.hpp"
#include "report/output.hpp"
#include "report/words.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace ballast_cli {

namespace {

struct stats_arguments {
  input_arguments input;
  bool json = false;
};

/// The samples from one power of two, or from 0, to below the next.
struct bar {
  std::int64_t from = 0;
  std::uint64_t samples = 0;
  std::int64_t sum = 0;
};

/// What is longer than a capacity.
struct above_capacity {
  std::int64_t capacity = 0;
  std::uint64_t samples = 0;
  std::int64_t sum = 0;
};

/// What is printed of one measure.
struct described {
  std::uint64_t samples = 0;
  std::int64_t sum = 0, least = 0, most = 0, p50 = 0, p90 = 0, p99 = 0, p99_9 = 0;
  std::size_t distinct = 0;
  std::vector<bar> bars;              ///< of the histogram, from the shortest
  std::vector<above_capacity> above;  ///< of common capacities, as far as they are not above the longest

  [[nodiscard]] double mean() const { return static_cast<double>(sum) / static_cast<double>(samples); }
};

[[nodiscard]] std::vector<bar> bars_of(ballast::histogram const& h) {
  std::vector<bar> out;
  for (std::size_t i = 0; i < h.lengths.size(); ++i) {
    auto const from = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(h.lengths[i])));
    while (out.empty() || out.back().from < from) out.push_back({.from = out.empty() || out.back().from == 0 ? from : 2 * out.back().from});
    out.back().samples += h.counts[i];
    out.back().sum += h.lengths[i] * static_cast<std::int64_t>(h.counts[i]);
  }
  return out;
}

[[nodiscard]] std::vector<above_capacity> above_capacities(ballast::histogram const& h) {
  constexpr std::int64_t common[] = {512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576};
  std::vector<above_capacity> out;
  for (auto const capacity : common) {
    if (capacity >= h.lengths.back()) break;
    above_capacity e{.capacity = capacity};
    for (auto i = h.lengths.size(); i-- > 0 && h.lengths[i] > capacity;) {
      e.samples += h.counts[i];
      e.sum += h.lengths[i] * static_cast<std::int64_t>(h.counts[i]);
    }
    out.push_back(e);
  }
  return out;
}

[[nodiscard]] described describe(ballast::histogram const& h) {
  auto const samples = h.samples();
  auto const quantile = [&](std::uint64_t thousandths) {  // the shortest length that at least this share of samples does not exceed
    auto const rank = samples / 1000 * thousandths + (samples % 1000 * thousandths + 999) / 1000;
    std::size_t i = 0;
    for (std::uint64_t seen = h.counts[0]; seen < rank; seen += h.counts[i]) ++i;
    return h.lengths[i];
  };
  return {.samples = samples,
          .sum = h.tokens(),
          .least = h.lengths.front(),
          .most = h.lengths.back(),
          .p50 = quantile(500),
          .p90 = quantile(900),
          .p99 = quantile(990),
          .p99_9 = quantile(999),
          .distinct = h.lengths.size(),
          .bars = bars_of(h),
          .above = above_capacities(h)};
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

[[nodiscard]] double part_of(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(all);
}

/// The histogram as bars of text, and what exceeds common capacities.
[[nodiscard]] std::string picture_of(described const& d, char const* unit) {
  constexpr std::uint64_t widest = 40;
  std::uint64_t most = 1;
  for (auto const& b : d.bars) most = (std::max)(most, b.samples);
  auto text = formatted("%14s %15s %9s\n", "from", "samples", unit);
  for (auto const& b : d.bars) {
    auto const length = static_cast<std::size_t>(std::ceil(static_cast<double>(widest) * part_of(b.samples, most)));
    text += formatted("%14s %15s %9s", grouped(static_cast<std::uint64_t>(b.from)).c_str(), grouped(b.samples).c_str(),
                      percent(part_of(static_cast<std::uint64_t>(b.sum), static_cast<std::uint64_t>(d.sum))).c_str()) +
            (length == 0 ? "" : "  " + std::string(length, '#')) + "\n";
  }
  if (d.above.empty()) return text;
  text += formatted("%14s %15s %9s\n", "above", "samples", unit);
  for (auto const& e : d.above)
    text += formatted("%14s %15s %9s\n", grouped(static_cast<std::uint64_t>(e.capacity)).c_str(),
                      percent(part_of(e.samples, d.samples)).c_str(),
                      percent(part_of(static_cast<std::uint64_t>(e.sum), static_cast<std::uint64_t>(d.sum))).c_str());
  return text;
}

[[nodiscard]] nlohmann::ordered_json to_json(described const& d) {
  nlohmann::ordered_json json{{"min", d.least}, {"mean", d.mean()}, {"p50", d.p50},  {"p90", d.p90},
                              {"p99", d.p99},   {"p99.9", d.p99_9}, {"max", d.most}, {"distinct", d.distinct}};
  auto& bars = json["histogram"] = nlohmann::ordered_json::array();
  for (auto const& b : d.bars) bars.push_back({{"from", b.from}, {"samples", b.samples}, {"sum", b.sum}});
  auto& above = json["above"] = nlohmann::ordered_json::array();
  for (auto const& e : d.above)
    above.push_back({{"capacity", e.capacity},
                     {"samples", e.samples},
                     {"sum", e.sum},
                     {"share_of_samples", part_of(e.samples, d.samples)},
                     {"share_of_sum", part_of(static_cast<std::uint64_t>(e.sum), static_cast<std::uint64_t>(d.sum))}});
  return json;
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
         line("p99.9     ", number(&described::p99_9)) + line("max       ", number(&described::most)) +
         line("distinct  ", number(&described::distinct));
}

void run(stats_arguments const& arguments) {
  auto const input = read_lengths(arguments.input);
  std::vector<described> all;
  if (input.histogram() || input.measures() == 1) {
    all.push_back(describe(to_histogram(input)));
  } else {
    measure_columns const columns(input);
    for (std::size_t m = 0; m < input.measures(); ++m) all.push_back(describe(columns.view().column(m)));
  }
  auto const sources = sources_json(arguments.input);
  if (!arguments.json) {
    auto text = in_words(all);
    if (!input.skipped().empty()) text += "of length 0, left out  " + grouped(input.skipped_samples()) + "\n";
    if (!sources.empty())
      for (auto const& s : *arguments.input.sources)
        text += counted(s.samples, "sample") + " of " + s.named + ", which has " +
                counted(std::accumulate(s.rows.begin(), s.rows.end(), std::uint64_t{0}), "row") + " in " + counted(s.files.size(), "file") +
                "\n";
    for (std::size_t m = 0; m < all.size(); ++m)
      text += "\n" + (all.size() == 1 ? "" : formatted("measure %zu\n", m + 1)) + picture_of(all[m], all.size() == 1 ? "tokens" : "sum");
    return write_standard_output(text);
  }
  nlohmann::ordered_json json{{"samples", all.front().samples}};
  if (!input.skipped().empty()) json["zero_length"] = input.skipped();
  if (!sources.empty()) json["sources"] = sources;
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
