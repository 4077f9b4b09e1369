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

/// A plan with what its charts need; colours go by the place counted from the plan, the last.
struct shown_plan {
  struct step {
    double fastest = 0, mean = 0, slowest = 0;
    [[nodiscard]] double ratio() const { return mean > 0 ? slowest / mean : 1.0; }
  };
  report_plan const* plan;
  std::string style;
  std::vector<step> steps;
  std::vector<double> ratios;  // ascending

  shown_plan(report_plan const& of, std::size_t to_plan, std::size_t ranks)
      : plan(&of),
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

[[nodiscard]] std::string others(std::vector<shown_plan> const& plans, std::string (*value)(report_plan const&)) {
  std::string out;
  for (std::size_t i = 0; i + 1 < plans.size(); ++i) out += (i == 0 ? "" : ", ") + plans[i].plan->name + " " + value(*plans[i].plan);
  return out;
}

/// A figure of a simulated plan; one that does not fit in memory has none.
[[nodiscard]] std::string if_fits(report_plan const& r, std::string words) { return r.fits ? std::move(words) : "does not fit"; }
[[nodiscard]] std::string epoch(report_plan const& r) { return if_fits(r, short_duration(r.modelled_hours * 3'600e3)); }
[[nodiscard]] std::string step_time(report_plan const& r) { return if_fits(r, short_duration(r.modelled_step_ms)); }
[[nodiscard]] std::string idle(report_plan const& r) { return if_fits(r, share(r.idle)); }
[[nodiscard]] std::string bubble(report_plan const& r) { return if_fits(r, share(r.bubble.value_or(0))); }
[[nodiscard]] std::string exchange(report_plan const& r) { return if_fits(r, share(r.exchange)); }
[[nodiscard]] char const* idle_name(report_plan const& r) { return r.bubble ? "waiting for the slowest rank" : "time spent waiting"; }
[[nodiscard]] std::string fill(report_plan const& r) { return share(r.fill); }
[[nodiscard]] std::string packs(report_plan const& r) { return grouped(r.packs); }

/// The value of the plan in large letters, those of the other plans below.
[[nodiscard]] std::string of_plans(std::vector<shown_plan> const& plans, std::string (*value)(report_plan const&)) {
  auto out = "<dd class=\"figure\">" + escaped(value(*plans.back().plan)) + "</dd>";
  for (std::size_t i = 0; i + 1 < plans.size(); ++i) out += "<dd>" + escaped(plans[i].plan->name + " " + value(*plans[i].plan)) + "</dd>";
  return out;
}

[[nodiscard]] std::string lead(std::vector<shown_plan> const& plans) {
  auto const& plan = *plans.back().plan;
  auto words = "Ranks spend " + idle(plan) + " of their time waiting for the slowest";
  if (plan.bubble)
    words = "Stages wait " + bubble(plan) + " of the time inside their pipelines, and " + idle(plan) + " for the slowest rank";
  if (plans.size() > 1) {
    auto const& usual = *plans[plans.size() - 2].plan;
    words += (plan.bubble ? " (" + others(plans, bubble) + "; " + others(plans, idle) : " (" + others(plans, idle)) + "). " +
             (plan.bubble ? "Simulated" : "Modelled") + ", an epoch takes " + epoch(plan);
    words += usual.fits ? " instead of " + epoch(usual) : "; the " + usual.name + " plan does not fit in memory";
    if (usual.fits && plan.modelled_hours > 0)
      words += ": it is " + factor(usual.modelled_hours / plan.modelled_hours) + " times as fast as " + usual.name;
  }
  return words + ".";
}

[[nodiscard]] std::string scope(report_data const& data) {
  return counted(data.samples, "sample") + ", " + counted(data.tokens, "token") + "; packs of up to " + counted(data.capacity, "token") +
         "; " +
         (data.levels.empty() ? counted(data.ranks, "rank") + ", each with " + counted(data.micro_batches, "micro-batch") + " a step"
                              : counted(data.levels.size(), "level") + " on " + counted(data.ranks, "GPU")) +
         ". Times are modelled for " + data.model + " on " + data.device + ", not measured.";
}

[[nodiscard]] std::string balance(std::vector<shown_plan> const& plans) {
  double most = 1.2, worst = 1;
  for (auto const& r : plans) {
    most = (std::max)(most, 1.1 * r.quantile(0.99));  // one incomplete step must not flatten the picture
    worst = (std::max)(worst, r.quantile(1));
  }
  chart drawing("balance", "How long the slowest rank takes, over the mean rank, in every step",
                "One line for each plan, its steps in ascending order. Time spent waiting: " + others(plans, idle) + ", " +
                    plans.back().plan->name + " " + idle(*plans.back().plan) + ".",
                1, 1, most);
  drawing.y_axis("slowest / mean", [](double ratio) { return compact(ratio) + "x"; });
  drawing.x_label(0, "best step");
  drawing.x_label(0.5, "median");
  drawing.x_label(1, "worst step");
  drawing.x_axis("all steps, in order of balance");
  std::vector<std::pair<std::string, std::string>> names;
  std::vector<double> const parts{0, 0.25, 0.5, 0.75, 0.9, 0.99, 1};
  table_rows rows{{"plan", "best", "25 %", "median", "75 %", "90 %", "99 %", "worst"}};
  for (auto const& r : plans) {
    constexpr int points = 120;
    std::vector<std::pair<double, double>> line;
    for (int i = 0; i <= points; ++i) line.emplace_back(double(i) / points, r.quantile(double(i) / points));
    drawing.curve(line, r.style);
    names.emplace_back(r.style, r.plan->name);
    rows.push_back({r.plan->name});
    for (auto const part : parts) rows.back().push_back(factor(r.quantile(part)));
  }
  drawing.legend(names);
  return figure("Balance of every step", drawing.str(chart_style),
                "Time of the slowest rank as a multiple of the mean rank's: at 1x nobody waits. The part above 1x is the time that the "
                "mean rank waits." +
                    (worst > most ? " The worst step, " + factor(worst) + ", is outside the picture." : std::string()),
                html_table("slowest over mean; a step no worse than this share of all steps", rows));
}

[[nodiscard]] std::string shares(std::string const& id, std::string const& heading, std::string const& caption,
                                 std::vector<shown_plan> const& plans, std::string (*words)(report_plan const&),
                                 double report_plan::* value) {
  std::vector<share_bar> bars;
  for (auto const& r : plans) bars.push_back({r.plan->name, words(*r.plan), r.style, (*r.plan).*value});
  return figure(heading, share_bars(id, heading, bars), caption);
}

[[nodiscard]] std::string loads(std::vector<shown_plan> const& plans) {
  double most = 0;
  for (auto const& r : plans)
    for (auto const s : r.some_steps()) most = (std::max)(most, r.steps[s].slowest);
  auto const [unit, name] = most < 2e3     ? std::pair(1.0, "milliseconds")
                            : most < 120e3 ? std::pair(1e3, "seconds")
                                           : std::pair(60e3, "minutes");
  std::string out;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    auto const& r = plans[i];
    auto const places = r.some_steps();
    auto const n = places.size();
    chart drawing("load-" + std::to_string(i), "Modelled load of the ranks, step by step: " + r.plan->name,
                  "One bar for each of " + counted(n, "step") + ". Waiting takes " + idle(*r.plan) + " of the time of all steps.",
                  n == 0 ? 1.0 : static_cast<double>(n), 0, most > 0 ? most / unit : 1.0);
    drawing.y_axis(std::string(name) + ", modelled");
    drawing.x_axis(n == r.steps.size() ? "steps" : grouped(n) + " of " + counted(r.steps.size(), "step"));
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
    out += figure(r.plan->name, drawing.str(), r.plan->how, html_table("modelled time of the ranks", rows));
  }
  return out;
}

[[nodiscard]] std::string limits(report_data const& data, report_plan const& plan) {
  std::string out;
  auto const item = [&](std::string const& words) { out += "<li>" + escaped(words) + "</li>\n"; };
  if (data.levels.empty()) {
    if (!plan.bubble)
      item("Time: the slowest ranks take " + factor(plan.slowest_over_mean) +
           " times the mean. Without cutting samples, no plan goes below " + factor(data.single_sample_bound) + ".");
    item("Packs: " + grouped(plan.packs) + ". " +
         (plan.packs == data.pack_bound ? "No plan has fewer" : "No plan has fewer than " + grouped(data.pack_bound)) +
         (data.pack_bound_by.empty() ? "." : " (proof: " + data.pack_bound_by + " bound)."));
  }
  for (auto const& sentence : data.limits) item(sentence);
  return out;
}

[[nodiscard]] std::string all_figures(std::vector<shown_plan> const& plans) {
  auto const simulated = plans.back().plan->bubble.has_value();
  table_rows rows{{"", "packs", "steps", "fill", idle_name(*plans.back().plan)}};
  if (simulated)
    rows[0].insert(rows[0].end(), {"waiting inside pipelines", "exchange"});
  else
    rows[0].push_back("slowest over mean");
  rows[0].insert(rows[0].end(), {"DBR (tokens)", "ABR (attention)", "modelled step", "modelled epoch"});
  for (auto const& [plan, style, steps, ratios] : plans) {
    rows.push_back({plan->name, packs(*plan), grouped(plan->steps), fill(*plan), idle(*plan)});
    auto& row = rows.back();
    if (simulated)
      row.insert(row.end(), {bubble(*plan), exchange(*plan)});
    else
      row.push_back(factor(plan->slowest_over_mean));
    row.insert(row.end(), {share(plan->dbr), share(plan->abr), step_time(*plan), epoch(*plan)});
  }
  table_rows turned(rows[0].size());
  for (std::size_t j = 0; j < turned.size(); ++j)
    for (auto const& row : rows) turned[j].push_back(row[j]);
  return html_table("the plans side by side", turned, "plans");
}

}  // namespace

report_plan row_of(std::string name, std::string how, ballast::plan_figures const& figures, double ms_per_unit) {
  report_plan row{.name = std::move(name),
                  .how = std::move(how),
                  .packs = figures.packs,
                  .steps = figures.steps,
                  .fill = figures.fill,
                  .idle = figures.idle,
                  .slowest_over_mean = figures.slowest_over_mean,
                  .dbr = figures.dbr,
                  .abr = figures.abr,
                  .modelled_step_ms = figures.modelled_step_ms,
                  .modelled_hours = figures.modelled_total_ms / 3.6e6,
                  .loads = {}};
  for (auto const load : figures.loads) row.loads.push_back(static_cast<double>(load) * ms_per_unit);
  return row;
}

void add_plans(page_places& places, report_data const& data) {
  places["lead"] = "Nothing was planned.";
  if (data.plans.empty()) return;
  places["plans"] = "shown";
  std::vector<shown_plan> plans;
  for (std::size_t i = 0; i < data.plans.size(); ++i) plans.emplace_back(data.plans[i], data.plans.size() - 1 - i, data.ranks);
  places["lead"] = escaped(lead(plans));
  places["scope"] = escaped(scope(data));
  places["idle_name"] = idle_name(data.plans.back());
  places["idle_of_plans"] = of_plans(plans, idle);
  places["bubble_of_plans"] = data.plans.back().bubble ? of_plans(plans, bubble) : "";
  places["step_of_plans"] = of_plans(plans, step_time);
  places["epoch_of_plans"] = of_plans(plans, epoch);
  places["packs_of_plans"] = of_plans(plans, packs);
  places["fill_of_plans"] = of_plans(plans, fill);
  for (auto const& r : data.plans) places["how_of_plans"] += "<dt>" + escaped(r.name) + "</dt><dd>" + escaped(r.how) + "</dd>\n";
  places["balance"] = balance(plans);
  places["waiting_bars"] = shares("idle", "Time spent waiting", "Share of all rank time in which a rank waits for the slowest of its step.",
                                  plans, idle, &report_plan::idle);
  places["fill_bars"] = shares("fill", "Fill", "Share of the packs' capacity that holds tokens.", plans, fill, &report_plan::fill);
  places["loads"] = loads(plans);
  places["limits"] = limits(data, data.plans.back());
  places["all_figures"] = all_figures(plans);
}

}  // namespace ballast_cli
