// SPDX-License-Identifier: Apache-2.0
#include "report/comparison.hpp"

#include "report/html.hpp"
#include "report/page_html.hpp"
#include "report/page_parts.hpp"
#include "report/words.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ballast_cli {

namespace {

using namespace html;

/// What a row says of samples that came late or never, or in steps of the method's own.
[[nodiscard]] std::string lateness(judged_scheduler const& row) {
  if (row.epoch) return counted(row.steps, "own step");
  if (row.delayed == 0 && row.dropped == 0) return "-";
  return formatted("%.2f steps", row.token_delay) + (row.dropped == 0 ? "" : ", " + grouped(row.dropped) + " left");
}

[[nodiscard]] double best_ms(comparison_report const& report) {
  double best = 0;
  for (auto const& row : report.rows)
    if (!row.no_plan && row.dropped == 0 && (best == 0 || row.ms_per_token() < best)) best = row.ms_per_token();
  return best;
}

/// The cells of a row, the head first.
[[nodiscard]] table_rows cells_of(comparison_report const& report) {
  table_rows out{{"method", "execution", "step", "of the best", "slowest/mean", "over bound", "compute", "exchange", "passes", "waiting",
                  "memory", "delay", "random", "planner"}};
  auto const best = best_ms(report);
  for (auto const& row : report.rows) {
    if (row.no_plan) {
      out.push_back({row.word, "no plan: " + *row.no_plan});
      continue;
    }
    out.push_back({row.word, row.policy, duration(row.step_ms),
                   row.dropped == 0 ? formatted("%.3f", row.ms_per_token() / best) : std::string("-"),
                   formatted("%.3f", row.slowest_over_mean), formatted("%.1f %%", 100 * row.gap()), formatted("%.1f %%", 100 * row.compute),
                   formatted("%.1f %%", 100 * row.exchange), formatted("%.1f %%", 100 * row.fixed), formatted("%.1f %%", 100 * row.waiting),
                   formatted("%.1f GB", static_cast<double>(row.memory_bytes) * 1e-9), lateness(row), row.randomness,
                   row.planner_ms > 0 ? formatted("%.2f ms", row.planner_ms) : std::string("-")});
  }
  return out;
}

[[nodiscard]] std::string lead_of(comparison_report const& report) {
  return counted(report.steps, "batch") + " of " + counted(report.batch, "sample") + " on " + counted(report.gpus, "GPU") + ", at most " +
         counted(static_cast<std::uint64_t>(report.capacity), "token") + " a pass (" +
         (report.tokens_with_memory == 0 ? "a GPU has memory for none beside its states; more --gpus or a smaller --model make room"
                                         : "a GPU has memory for " + grouped(static_cast<std::uint64_t>(report.tokens_with_memory))) +
         "); " + report.model + " on " + report.device + ", " + formatted("%.1f", report.ms_per_pass) +
         " ms for each pass beside its samples";
}

}  // namespace

std::string in_words(comparison_report const& report) {
  auto const cells = cells_of(report);
  std::vector<std::size_t> width(cells.front().size(), 0);
  for (auto const& row : cells)
    for (std::size_t c = 0; row.size() == width.size() && c < row.size(); ++c) width[c] = (std::max)(width[c], row[c].size());
  auto text = report.title + ": " + lead_of(report) + ".\n\n";
  std::string notes;
  for (auto const& row : report.rows)
    if (row.epoch && row.steps > 0 && row.steps < 50)
      notes += row.word + " makes steps of its own of all samples, here " + std::to_string(row.steps) +
               ": some are not full, which weighs less the more --batches there are.\n";
  for (auto const& row : cells) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      auto const gap = std::string(width[c] > row[c].size() ? width[c] - row[c].size() : 0, ' ');
      line += (c == 0 ? "" : "  ") + (c < 2 || row.size() != width.size() ? row[c] + gap : gap + row[c]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text +
         "\nTimes are modelled, but for the planner's, which ran on this machine. \"of the best\" is the time of a token over that of the "
         "best\nmethod that leaves no sample out. \"slowest/mean\" is the time of a step over the time in which a mean GPU trains. \"over "
         "bound\" is the\ndistance to a time that no plan of the same samples is below, by the method's own rules of division.\n" +
         notes;
}

nlohmann::ordered_json to_json(comparison_report const& report) {
  nlohmann::ordered_json out{{"files", report.title},
                             {"model", report.model},
                             {"device", report.device},
                             {"gpus", report.gpus},
                             {"batch", report.batch},
                             {"batches", report.steps},
                             {"samples", report.samples},
                             {"tokens", report.tokens},
                             {"longest", report.longest},
                             {"capacity", report.capacity},
                             {"tokens_with_memory", report.tokens_with_memory},
                             {"milliseconds_per_pass", report.ms_per_pass}};
  out["methods"] = nlohmann::ordered_json::array();
  for (auto const& row : report.rows) {
    nlohmann::ordered_json one{{"method", row.word}, {"about", row.about}, {"random", row.randomness}};
    if (row.no_plan) {
      one["no_plan"] = *row.no_plan;
    } else {
      one.update({{"execution", row.policy},
                  {"steps", row.steps},
                  {"samples", row.samples},
                  {"tokens", row.tokens},
                  {"step_milliseconds", row.step_ms},
                  {"bound_milliseconds", row.bound_ms},
                  {"gap", row.gap()},
                  {"slowest_over_mean", row.slowest_over_mean},
                  {"compute", row.compute},
                  {"exchange", row.exchange},
                  {"passes", row.fixed},
                  {"waiting", row.waiting},
                  {"most_tokens", row.most_tokens},
                  {"memory_bytes", row.memory_bytes},
                  {"planner_milliseconds", row.planner_ms},
                  {"start_milliseconds", row.start_ms},
                  {"delayed", row.delayed},
                  {"token_delay", row.token_delay},
                  {"left", row.dropped},
                  {"milliseconds_of_steps", row.ms_of_steps}});
    }
    out["methods"].push_back(std::move(one));
  }
  return out;
}

namespace {

/// One bar for each method: what its time is spent on.
[[nodiscard]] std::string time_figure(comparison_report const& report) {
  std::vector<bar_row> rows;
  double end = 1;
  for (auto const& row : report.rows) {
    if (row.no_plan) continue;
    auto const all = 1 + row.gap();
    bar_row bars{.name = row.word, .bars = {}};
    double at = 0;
    for (auto const part : {row.compute, row.exchange, row.fixed, row.waiting}) {
      auto const next = at + (std::max)(part, 0.0) * all;
      bars.bars.push_back({at, next, bars.bars.size()});
      at = next;
    }
    end = (std::max)(end, at);
    rows.push_back(std::move(bars));
  }
  return figure("Time over the bound",
                bar_rows("times", "Time of each method over the bound", "Stacked bars: compute, exchange, passes, waiting.", rows,
                         {{"compute", "solid c2"}, {"exchange", "solid c1"}, {"passes", "solid c3"}, {"waiting", "solid c0"}}, end,
                         [](double value) { return formatted("%.2f", value); }),
                "Modelled time of a step over a time that no plan of the same samples is below. Waiting is the time in which a mean GPU "
                "waits for others.");
}

/// How long each method plans, on a logarithmic scale from a microsecond to ten seconds.
[[nodiscard]] std::string planner_figure(comparison_report const& report) {
  std::vector<share_bar> bars;
  for (auto const& row : report.rows)
    if (!row.no_plan)
      bars.push_back(
          {row.word, short_duration(row.planner_ms), "c1", std::clamp((std::log10((std::max)(row.planner_ms, 1e-3)) + 3) / 7, 0.0, 1.0)});
  return figure("Planning a batch", share_bars("planning", "Time to plan a batch", bars),
                "Measured on this machine, on a logarithmic scale from a microsecond to ten seconds.");
}

}  // namespace

std::string page_of(comparison_report const& report) {
  report_data lengths;
  lengths.title = report.title;
  lengths.samples = report.samples;
  lengths.tokens = report.tokens;
  add_histogram(lengths, report.lengths);
  page_places places{{"title", escaped(report.title)},
                     {"what", "a comparison"},
                     {"chart_style", std::string(chart_style)},
                     {"command", escaped(report.command)},
                     {"lead", escaped(lead_of(report) + ".")},
                     {"comparison", "shown"},
                     {"comparison_table", html_table("modelled times and shares of the time of all GPUs", cells_of(report))},
                     {"comparison_times", time_figure(report)},
                     {"comparison_planners", planner_figure(report)}};
  add_lengths(places, lengths);
  return filled(page_html, places);
}

}  // namespace ballast_cli
