// SPDX-License-Identifier: Apache-2.0
#include "report/html.hpp"
#include "report/output.hpp"
#include "report/page_parts.hpp"
#include "report/svg.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ballast_cli {

namespace {

using namespace html;

[[nodiscard]] double finite(double value) { return std::isfinite(value) ? value : 0.0; }

/// A run with what its charts need; colours go by the place counted from the plan, the last.
struct shown_run {
  struct step {
    double fastest = 0, mean = 0, slowest = 0;
    [[nodiscard]] double ratio() const { return mean > 0 ? slowest / mean : 1.0; }
  };
  report_run const* run;
  std::string style;
  std::vector<step> steps;
  std::vector<double> ratios;  // ascending

  shown_run(report_run const& of, std::size_t to_plan, std::size_t ranks)
      : run(&of),
        style(to_plan == 0   ? "c2"
              : to_plan == 1 ? "c1"
                             : "c0") {
    for (std::size_t s = 0; ranks != 0 && (s + 1) * ranks <= of.loads.size(); ++s) {
      step one{finite(of.loads[s * ranks]), 0, 0};
      for (auto r = s * ranks; r < (s + 1) * ranks; ++r) {
        auto const load = finite(of.loads[r]);
        one.fastest = (std::min)(one.fastest, load);
        one.slowest = (std::max)(one.slowest, load);
        one.mean += load / static_cast<double>(ranks);
      }
      steps.push_back(one);
      ratios.push_back(one.ratio());
    }
    std::sort(ratios.begin(), ratios.end());
  }
  /// The ratio that `part` of the steps do not exceed.
  [[nodiscard]] double quantile(double part) const {
    return ratios.empty() ? 1.0 : ratios[static_cast<std::size_t>(part * static_cast<double>(ratios.size() - 1) + 0.5)];
  }
  /// Up to 56 steps, one out of each of as many equal stretches; at a varying place, for plans have periods.
  [[nodiscard]] std::vector<std::size_t> some_steps() const {
    auto const n = steps.size(), shown = (std::min)(n, std::size_t{56});
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < shown; ++i) {
      auto const begin = i * n / shown, end = (i + 1) * n / shown;
      out.push_back(begin + ((i + 1) * 0x9e3779b97f4a7c15U >> 33) % (end - begin));
    }
    return out;
  }
};

[[nodiscard]] std::string others(std::vector<shown_run> const& runs, std::string (*value)(report_run const&)) {
  std::string out;
  for (std::size_t i = 0; i + 1 < runs.size(); ++i) out += (i == 0 ? "" : ", ") + runs[i].run->name + " " + value(*runs[i].run);
  return out;
}

[[nodiscard]] std::string epoch(report_run const& r) { return short_duration(r.modelled_hours * 3'600e3); }
[[nodiscard]] std::string step_time(report_run const& r) { return short_duration(r.modelled_step_ms); }
[[nodiscard]] std::string idle(report_run const& r) { return share(r.idle); }
[[nodiscard]] std::string fill(report_run const& r) { return share(r.fill); }
[[nodiscard]] std::string packs(report_run const& r) { return grouped(r.packs); }

/// The value of the plan in large letters, those of the other runs below.
[[nodiscard]] std::string of_runs(std::vector<shown_run> const& runs, std::string (*value)(report_run const&)) {
  auto out = "<dd class=\"figure\">" + escaped(value(*runs.back().run)) + "</dd>";
  for (std::size_t i = 0; i + 1 < runs.size(); ++i) out += "<dd>" + escaped(runs[i].run->name + " " + value(*runs[i].run)) + "</dd>";
  return out;
}

[[nodiscard]] std::string lead(std::vector<shown_run> const& runs) {
  auto const& plan = *runs.back().run;
  auto words = "Ranks spend " + idle(plan) + " of their time waiting for the slowest";
  if (runs.size() > 1) {
    auto const& usual = *runs[runs.size() - 2].run;
    words += " (" + others(runs, idle) + "). Modelled, an epoch takes " + epoch(plan) + " instead of " + epoch(usual);
    if (plan.modelled_hours > 0)
      words += ": it is " + factor(usual.modelled_hours / plan.modelled_hours) + " times as fast as " + usual.name;
  }
  return words + ".";
}

[[nodiscard]] std::string scope(report_data const& data) {
  return plural(data.samples, "sample") + ", " + plural(data.tokens, "token") + "; packs of up to " + grouped(data.capacity) + " tokens; " +
         (data.levels.empty() ? plural(data.ranks, "rank") + ", each with " + plural(data.micro_batches, "micro-batch") + " a step"
                              : plural(data.levels.size(), "level") + " on " + plural(data.ranks, "GPU")) +
         ". Times are modelled for " + data.model + " on " + data.device + ", not measured.";
}

[[nodiscard]] std::string balance(std::vector<shown_run> const& runs) {
  double most = 1.2, worst = 1;
  for (auto const& r : runs) {
    most = (std::max)(most, 1.1 * r.quantile(0.99));  // one incomplete step must not flatten the picture
    worst = (std::max)(worst, r.quantile(1));
  }
  chart drawing("balance", "How long the slowest rank takes, over the mean rank, in every step",
                "One line for each run, its steps in ascending order. Time spent waiting: " + others(runs, idle) + ", " +
                    runs.back().run->name + " " + idle(*runs.back().run) + ".",
                1, 1, most);
  drawing.y_axis("slowest / mean", [](double ratio) { return compact(ratio) + "x"; });
  drawing.x_label(0, "best step");
  drawing.x_label(0.5, "median");
  drawing.x_label(1, "worst step");
  drawing.x_axis("all steps, in order of balance");
  std::vector<std::pair<std::string, std::string>> names;
  std::vector<double> const parts{0, 0.25, 0.5, 0.75, 0.9, 0.99, 1};
  table_rows rows{{"run", "best", "25 %", "median", "75 %", "90 %", "99 %", "worst"}};
  for (auto const& r : runs) {
    constexpr int points = 120;
    std::vector<std::pair<double, double>> line;
    for (int i = 0; i <= points; ++i) line.emplace_back(double(i) / points, r.quantile(double(i) / points));
    drawing.curve(line, r.style);
    names.emplace_back(r.style, r.run->name);
    rows.push_back({r.run->name});
    for (auto const part : parts) rows.back().push_back(factor(r.quantile(part)));
  }
  drawing.legend(names);
  return figure("Balance of every step", drawing.str(chart_style),
                "Time of the slowest rank as a multiple of the mean rank's: at 1x nobody waits. The mean rank waits what lies above." +
                    (worst > most ? " The worst step, " + factor(worst) + ", is outside the picture." : std::string()),
                html_table("slowest over mean; a step no worse than this share of all steps", rows));
}

[[nodiscard]] std::string shares(std::string const& id, std::string const& heading, std::string const& caption,
                                 std::vector<shown_run> const& runs, std::string (*words)(report_run const&), double report_run::* value) {
  std::vector<share_bar> bars;
  for (auto const& r : runs) bars.push_back({r.run->name, words(*r.run), r.style, (*r.run).*value});
  return figure(heading, share_bars(id, heading, bars), caption);
}

[[nodiscard]] std::string loads(std::vector<shown_run> const& runs) {
  double most = 0;
  for (auto const& r : runs)
    for (auto const s : r.some_steps()) most = (std::max)(most, r.steps[s].slowest);
  auto const [unit, name] = most < 2e3     ? std::pair(1.0, "milliseconds")
                            : most < 120e3 ? std::pair(1e3, "seconds")
                                           : std::pair(60e3, "minutes");
  std::string out;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto const& r = runs[i];
    auto const places = r.some_steps();
    auto const n = places.size();
    chart drawing("load-" + std::to_string(i), "Modelled load of the ranks, step by step: " + r.run->name,
                  "One bar for each of " + plural(n, "step") + ". Waiting takes " + idle(*r.run) + " of the time of all steps.",
                  n == 0 ? 1.0 : static_cast<double>(n), 0, most > 0 ? most / unit : 1.0);
    drawing.y_axis(std::string(name) + ", modelled");
    drawing.x_axis(n == r.steps.size() ? "steps" : grouped(n) + " of " + plural(r.steps.size(), "step"));
    table_rows rows{{"step", "fastest", "mean", "slowest"}};
    for (std::size_t k = 0; k < n; ++k) {
      auto const& [fastest, mean, slowest] = r.steps[places[k]];
      auto const x = static_cast<double>(k), y = mean / unit;
      rows.push_back({grouped(places[k]), short_duration(fastest), short_duration(mean), short_duration(slowest)});
      auto const tip =
          "step " + rows.back()[0] + ": fastest " + rows.back()[1] + ", mean " + rows.back()[2] + ", slowest " + rows.back()[3];
      drawing.bar(x + 0.1, x + 0.9, 0, y, "solid " + r.style, tip);
      drawing.bar(x + 0.1, x + 0.9, y, slowest / unit, "pale " + r.style, tip);
      if (k == 0 || k + 1 == n || k == n / 2) drawing.x_label(x + 0.5, grouped(places[k]));
      drawing.bar(x + 0.1, x + 0.9, fastest / unit, fastest / unit + most / unit / 150, "paper");
    }
    out += figure(r.run->name, drawing.str(), r.run->how, html_table("modelled time of the ranks", rows));
  }
  return out;
}

[[nodiscard]] std::string limits(report_data const& data, report_run const& plan) {
  std::string out;
  auto const item = [&](std::string const& words) { out += "<li>" + escaped(words) + "</li>\n"; };
  if (data.levels.empty()) {
    item("Time: the slowest ranks take " + factor(plan.slowest_over_mean) +
         " times the mean. No plan that leaves samples whole goes below " + factor(data.single_sample_bound) + ".");
    item("Packs: " + grouped(plan.packs) + ". " +
         (plan.packs == data.pack_bound ? "No plan has fewer" : "No plan has fewer than " + grouped(data.pack_bound)) +
         (data.pack_bound_by.empty() ? "." : " (proof: " + data.pack_bound_by + " bound)."));
  }
  for (auto const& sentence : data.limits) item(sentence);
  return out;
}

[[nodiscard]] std::string all_figures(std::vector<shown_run> const& runs) {
  table_rows rows{{"", "packs", "steps", "fill", "time spent waiting", "slowest over mean", "DBR (tokens)", "ABR (attention)",
                   "modelled step", "modelled epoch"}};
  for (auto const& [run, style, steps, ratios] : runs)
    rows.push_back({run->name, packs(*run), grouped(run->steps), fill(*run), idle(*run), factor(run->slowest_over_mean), share(run->dbr),
                    share(run->abr), step_time(*run), epoch(*run)});
  table_rows turned(rows[0].size());
  for (std::size_t j = 0; j < turned.size(); ++j)
    for (auto const& row : rows) turned[j].push_back(row[j]);
  return html_table("the runs side by side", turned, "runs");
}

}  // namespace

void add_runs(page_places& places, report_data const& data) {
  places["lead"] = "Nothing was planned.";
  if (data.runs.empty()) return;
  places["runs"] = "shown";
  std::vector<shown_run> runs;
  for (std::size_t i = 0; i < data.runs.size(); ++i) runs.emplace_back(data.runs[i], data.runs.size() - 1 - i, data.ranks);
  places["lead"] = escaped(lead(runs));
  places["scope"] = escaped(scope(data));
  places["idle_of_runs"] = of_runs(runs, idle);
  places["step_of_runs"] = of_runs(runs, step_time);
  places["epoch_of_runs"] = of_runs(runs, epoch);
  places["packs_of_runs"] = of_runs(runs, packs);
  places["fill_of_runs"] = of_runs(runs, fill);
  for (auto const& r : data.runs) places["how_of_runs"] += "<dt>" + escaped(r.name) + "</dt><dd>" + escaped(r.how) + "</dd>\n";
  places["balance"] = balance(runs);
  places["waiting_bars"] = shares("idle", "Time spent waiting", "Share of all rank time in which a rank waits for the slowest of its step.",
                                  runs, idle, &report_run::idle);
  places["fill_bars"] = shares("fill", "Fill", "Share of the packs' capacity that holds tokens.", runs, fill, &report_run::fill);
  places["loads"] = loads(runs);
  places["limits"] = limits(data, data.runs.back());
  places["all_figures"] = all_figures(runs);
}

}  // namespace ballast_cli
