// SPDX-License-Identifier: Apache-2.0
#include "report/html.hpp"
#include "report/output.hpp"
#include "report/page_parts.hpp"
#include "report/svg.hpp"
#include "report/words.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace ballast_cli {

namespace {

using namespace html;

/// How a task is drawn: place, height and filling differ as well as the colour.
struct task_shape {
  report_task::kind kind;
  char const *name, *style;
  double top, height;  ///< in a row of 24 pixels
};
constexpr std::array<task_shape, 4> task_shapes{{{report_task::forward, "forward", "pale c2", 0, 13},
                                                 {report_task::recompute, "recomputed forward", "hollow c1", 7, 16},
                                                 {report_task::backward, "backward", "solid c2", 7, 17},
                                                 {report_task::weight, "backward, weights", "solid c3", 17, 7}}};

/// Where the picture ends: it shows as many tasks as stay legible.
[[nodiscard]] double shown_until(report_model const& model) {
  constexpr std::size_t most = 1500;
  double end = 0;
  std::vector<double> starts;
  for (auto const& t : model.tasks) {
    end = (std::max)(end, t.end);
    starts.push_back(t.start);
  }
  if (starts.size() <= most) return end;
  std::nth_element(starts.begin(), starts.begin() + most, starts.end());
  return starts[most];
}

[[nodiscard]] std::string timeline(report_model const& model) {
  auto const until = shown_until(model);
  auto const waits = share(model.step_waits);
  auto const place = "step " + grouped(model.step) + ", rank " + grouped(model.rank);
  std::vector<bar_row> rows;
  for (std::size_t s = 0; s < model.stages.size(); ++s) rows.push_back({"stage " + std::to_string(s), {}});
  std::vector<bar_shape> kinds;
  for (auto const& shape : task_shapes)
    if (std::any_of(model.tasks.begin(), model.tasks.end(), [&](auto const& t) { return t.what == shape.kind; })) {
      for (auto const& t : model.tasks)
        if (t.what == shape.kind && t.start < until && t.stage < rows.size())
          rows[t.stage].bars.push_back({t.start, (std::min)(t.end, until), kinds.size()});
      kinds.push_back({shape.name, shape.style, shape.top, shape.height});
    }
  auto const all =
      counted(model.micro_batches, "micro-batch") + " through " + counted(model.stages.size(), "stage") + " under " + model.schedule;
  auto const picture = bar_rows("timeline", "Timeline of " + place,
                                "One row for each stage, time from left to right: " + all + ". Stages wait " + waits + " of the time.",
                                rows, kinds, until, [](double ms) { return ms == 0 ? std::string("0") : short_duration(ms); });
  table_rows figures{{"stage", "computes", "waits"}};
  for (std::size_t s = 0; s < model.stages.size(); ++s)
    figures.push_back(
        {std::to_string(s), short_duration(model.stages[s].busy_ms), short_duration(model.step_ms - model.stages[s].busy_ms)});
  return figure("The slowest rank of the longest step: " + place, "<div class=\"wide\">" + picture + "</div>",
                all + ": " + short_duration(model.step_ms) + ", of which stages wait " + waits + ". Blank is waiting." +
                    (until < model.step_ms ? " The picture shows the first " + short_duration(until) + "." : std::string()),
                html_table("the same in figures", figures));
}

[[nodiscard]] std::string stacked(report_split const& of) {
  auto const value = [&](double x) { return unbroken(formatted("%.2f ", x) + of.unit); };
  std::vector<bar_shape> shapes;
  std::vector<bar_row> rows;
  table_rows figures{{"stage"}};
  auto most = 0.0;
  for (auto const& part : of.parts) {
    shapes.push_back({part.name, part.style, 2, 16});
    figures[0].push_back(part.name);
  }
  figures[0].push_back("sum");
  for (std::size_t s = 0; s < of.parts.front().of_stages.size(); ++s) {
    bar_row row{"stage " + std::to_string(s), {}};
    figures.push_back({std::to_string(s)});
    auto at = 0.0;
    for (std::size_t k = 0; k < of.parts.size(); ++k) {
      auto const part = of.parts[k].of_stages[s];
      figures.back().push_back(formatted("%.2f", part));
      if (part > 0) row.bars.push_back({at, at + part, k, value(part)});
      at += part;
    }
    figures.back().push_back(formatted("%.2f", at));
    most = (std::max)(most, at);
    rows.push_back(std::move(row));
  }
  auto const picture = bar_rows(of.id, of.heading, "One row for each stage, its parts from left to right.", rows, shapes, most,
                                [&](double x) { return x == 0 ? std::string("0") : compact(x) + " " + of.unit; });
  return figure(of.heading, "<div class=\"wide\">" + picture + "</div>", of.caption, html_table(of.unit + " of a stage", figures));
}

[[nodiscard]] std::string shares_of_time(report_model const& model) {
  std::vector<share_bar> bars;
  for (auto const& [name, style, part] : {std::tuple{"forward and backward", "c2", model.work},
                                          {"recomputed forward", "c1", model.recompute},
                                          {"exchange", "c3", model.exchange},
                                          {"optimiser", "c3", model.optimizer},
                                          {"waiting inside a pipeline", "c0", model.bubble},
                                          {"waiting for the slowest rank", "c0", model.waiting}})
    bars.push_back({name, share(part), style, part});
  return figure("Where the device-time goes", share_bars("device-time", "Where the device-time goes", bars),
                "All devices, all steps: the parts add up to the total time.");
}

[[nodiscard]] std::string memory_of_stages(report_model const& model) {
  std::vector<share_bar> bars;
  for (std::size_t s = 0; s < model.stages.size(); ++s) {
    auto const& of = model.stages[s];
    auto const part = of.budget == 0 ? 0.0 : static_cast<double>(of.memory) / static_cast<double>(of.budget);
    bars.push_back({"stage " + std::to_string(s), share(part), "c3", part});
  }
  return figure("Memory at its peak", share_bars("memory", "Memory at its peak, of the budget", bars),
                "Share of the budget of a device: parameters, gradients, optimiser states, the activations of all micro-batches in flight, "
                "and the working "
                "set of a layer.");
}

[[nodiscard]] std::string in_gib(std::uint64_t bytes) { return formatted("%.2f", static_cast<double>(bytes) / 0x1p30); }

}  // namespace

void add_stages(page_places& places, report_data const& data) {
  auto const& model = *data.model_side;
  table_rows rows{{"stage", "layers", "number", "recomputed", "time of a mean micro-batch", "memory, GiB", "budget, GiB"}};
  for (std::size_t s = 0; s < model.stages.size(); ++s) {
    auto const& of = model.stages[s];
    rows.push_back({std::to_string(s), of.layers, grouped(of.number), grouped(of.recomputed), short_duration(of.ms), in_gib(of.memory),
                    in_gib(of.budget)});
  }
  places["stages"] = "shown";
  places["splits"];
  places["stage_table"] = html_table("stages; memory of a device", rows);
  places["timeline"] = model.tasks.empty() ? "" : timeline(model);
  for (auto const& split : model.splits)
    if (!split.parts.empty()) places["splits"] += stacked(split);
  places["shares_of_time"] = shares_of_time(model);
  places["memory_of_stages"] = memory_of_stages(model);
  places["stage_notes"];
  for (auto const& sentence : model.notes) places["stage_notes"] += "<p>" + escaped(sentence) + "</p>\n";
  places["megatron"] = escaped(model.megatron);
}

}  // namespace ballast_cli
