// SPDX-License-Identifier: Apache-2.0
#include "report/page.hpp"

#include "report/html.hpp"
#include "report/output.hpp"
#include "report/page_levels.hpp"
#include "report/page_model.hpp"
#include "report/svg.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <numeric>
#include <string_view>

namespace ballast_cli {

namespace {

using namespace html;

constexpr std::string_view page_style = R"(
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif;
overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
main{max-width:1120px;margin:0 auto;padding:40px 16px}
h1{font-size:28px;line-height:1.25;font-weight:600;margin:4px 0 12px}
h2{font-size:20px;font-weight:600;margin:48px 0 8px;padding-top:12px;border-top:1px solid var(--rule)}
h3{font-size:15px;font-weight:600;margin:0 0 8px}
p{margin:0 0 10px;max-width:70ch}
ul{margin:0 0 10px;padding-left:20px;max-width:70ch}
.lead{font-size:19px}
.soft,figcaption,summary,caption{color:var(--soft);font-size:14px}
.tiles,.charts{display:grid;gap:24px 32px;grid-template-columns:repeat(auto-fit,minmax(min(100%,300px),1fr));margin:24px 0}
.tiles{grid-template-columns:repeat(auto-fit,minmax(140px,1fr))}
.tiles div{border-top:3px solid var(--c2);padding-top:8px}
dt{color:var(--soft);font-size:14px}
dd{margin:0;font-size:14px;color:var(--soft)}
.how{margin:0}.how dt{color:var(--ink);font-weight:600}.how dd{margin-bottom:10px}.stack{display:grid;gap:24px;align-content:start}
dd.figure{font-size:28px;line-height:1.3;font-weight:600;color:var(--ink)}
figure{margin:0;break-inside:avoid}
figcaption{margin-top:6px}
details{margin-top:6px}
summary{cursor:pointer}
.wide{overflow-x:auto;margin-bottom:8px}
table{border-collapse:collapse;font-size:14px;overflow-wrap:normal}
caption{text-align:left;padding-bottom:6px}
th,td{padding:4px 0 4px 20px;text-align:right;border-bottom:1px solid var(--rule);font-weight:400;vertical-align:top}
th:first-child{padding-left:0;text-align:left;min-width:7em}
thead th{font-weight:600}
.runs{width:100%;max-width:820px}
.runs td:last-child,.runs th:last-child{font-weight:600}
code{font:13px/1.5 ui-monospace,"Liberation Mono",Menlo,monospace}
@media (max-width:420px){h1{font-size:24px}.lead{font-size:17px}main{padding-top:20px}th,td{padding-left:10px}}
@page{size:A4;margin:15mm}
@media print{body{font-size:10pt;line-height:1.4}main{padding:0;max-width:none}h1{font-size:18pt}
h2{font-size:13pt;margin-top:16px;break-after:avoid}
.lead{font-size:12pt}dd.figure{font-size:17pt}.tiles{grid-template-columns:repeat(5,1fr);gap:16px}
.charts{grid-template-columns:repeat(2,1fr);gap:12px 28px}.tiles,.charts{margin:10px 0}
.stack{gap:12px}h3{margin-bottom:4px}.note{grid-column:1/-1}
th,td{padding-top:2px;padding-bottom:2px}.tiles div,table,li,p{break-inside:avoid}details{display:none}h2+p{break-after:avoid}
.soft,figcaption,dt,dd,caption,table{font-size:8.5pt}}
)";

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

[[nodiscard]] std::string tile(std::string const& name, std::vector<shown_run> const& runs, std::string (*value)(report_run const&)) {
  auto out = "<div><dt>" + name + "</dt><dd class=\"figure\">" + escaped(value(*runs.back().run)) + "</dd>";
  for (std::size_t i = 0; i + 1 < runs.size(); ++i) out += "<dd>" + escaped(runs[i].run->name + " " + value(*runs[i].run)) + "</dd>";
  return out + "</div>\n";
}

[[nodiscard]] std::string headline(report_data const& data, std::vector<shown_run> const& runs) {
  auto out = "<p class=\"soft\">ballast: report of a plan</p>\n<h1>" + escaped(data.title) + "</h1>\n";
  if (runs.empty()) return out + paragraph("Nothing was planned.", "lead");
  auto const& plan = *runs.back().run;
  auto lead = "Ranks spend " + idle(plan) + " of their time waiting for the slowest";
  if (runs.size() > 1) {
    auto const& usual = *runs[runs.size() - 2].run;
    lead += " (" + others(runs, idle) + "). Modelled, an epoch takes " + epoch(plan) + " instead of " + epoch(usual);
    if (plan.modelled_hours > 0)
      lead += ": it is " + factor(usual.modelled_hours / plan.modelled_hours) + " times as fast as " + usual.name;
  }
  out += paragraph(lead + ".", "lead");
  out += paragraph(
      plural(data.samples, "sample") + ", " + plural(data.tokens, "token") + "; packs of up to " + grouped(data.capacity) + " tokens; " +
          (data.levels.empty() ? plural(data.ranks, "rank") + ", each with " + plural(data.micro_batches, "micro-batch") + " a step"
                               : plural(data.levels.size(), "level") + " on " + plural(data.ranks, "GPU")) +
          ". Times are modelled for " + data.model + " on " + data.device + ", not measured.",
      "soft");
  return out + "<dl class=\"tiles\">\n" + tile("time spent waiting", runs, idle) + tile("modelled step", runs, step_time) +
         tile("modelled epoch", runs, epoch) + tile("packs", runs, packs) + tile("fill of the packs", runs, fill) + "</dl>\n";
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
  std::string in_words;
  for (auto const& b : bars) in_words += b.name + " " + b.value + "; ";
  return figure(heading, share_bars(id, heading, in_words, bars), caption);
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

[[nodiscard]] std::string lengths(report_data const& data) {
  auto const bins = (std::min)({data.bin_samples.size(), data.bin_tokens.size(), (std::max)(data.bin_edges.size(), std::size_t{1}) - 1});
  auto const sum = [&](std::vector<std::uint64_t> const& v) { return std::accumulate(v.begin(), v.begin() + std::ptrdiff_t(bins), 0.0); };
  auto const samples = sum(data.bin_samples), tokens = sum(data.bin_tokens);
  auto const range = [&](std::size_t i) {
    auto const from = data.bin_edges[i], last = (std::max)(from, data.bin_edges[i + 1] - (data.bin_edges[i + 1] != 0));
    return from == last ? grouped(from) : grouped(from) + " to " + grouped(last);
  };
  table_rows rows{{"length", "samples", "tokens", "share of the tokens"}};
  for (std::size_t i = 0; i < bins; ++i)
    rows.push_back({range(i), grouped(data.bin_samples[i]), grouped(data.bin_tokens[i]),
                    share(tokens > 0 ? static_cast<double>(data.bin_tokens[i]) / tokens : 0)});

  auto const histogram = [&](std::string const& what, std::string const& heading, std::vector<std::uint64_t> const& counts,
                             std::string const& caption, std::string const& figures) {
    std::uint64_t most = 1;
    for (std::size_t i = 0; i < bins; ++i) most = (std::max)(most, counts[i]);
    chart drawing(what, heading, "A histogram of " + grouped(bins) + " classes of length.",
                  static_cast<double>((std::max)(bins, std::size_t{1})), 0, static_cast<double>(most));
    drawing.y_axis(what);
    drawing.x_axis("length in tokens");
    for (std::size_t i = 0; i < bins; ++i) {
      auto const x = static_cast<double>(i);
      drawing.bar(x + 0.06, x + 0.94, 0, static_cast<double>(counts[i]), "solid c3", range(i) + ": " + grouped(counts[i]) + " " + what);
    }
    for (std::size_t k = 0; k <= 4 && bins != 0; ++k)
      if (auto const i = k * bins / 4; k == 0 || i != (k - 1) * bins / 4)
        drawing.x_label(static_cast<double>(i), grouped(data.bin_edges[i]));
    return figure(heading, drawing.str(), caption, figures);
  };

  auto out =
      histogram("samples", "Samples by length", data.bin_samples, "How many samples have about this length.", html_table("lengths", rows)) +
      histogram("tokens", "Tokens by length", data.bin_tokens, "How many tokens stand in samples of about this length.", "");
  if (!(samples > 0 && tokens > 0)) return out;
  auto const mean = static_cast<std::uint64_t>(tokens / samples + 0.5);
  double long_samples = 0, long_tokens = 0;
  auto from = bins;
  while (from > 0 && long_tokens * 2 < tokens) {
    long_samples += static_cast<double>(data.bin_samples[--from]);
    long_tokens += static_cast<double>(data.bin_tokens[from]);
  }
  return out + "<div class=\"note\">" + paragraph("A sample has " + plural(mean, "token") + " on average.") +
         paragraph("Samples of " + grouped(data.bin_edges[from]) + " tokens and more are " + share(long_samples / samples) +
                   " of all and hold " + share(long_tokens / tokens) + " of the tokens.") +
         paragraph(
             "Attention costs the square of the length, so a rank that gets one of these takes longer than a rank with as many tokens in "
             "short samples. That is why full packs alone do not make steps level.") +
         "</div>\n";
}

[[nodiscard]] std::string limits(report_data const& data, report_run const& plan) {
  std::string out = "<ul>\n";
  auto const item = [&](std::string const& words) { out += "<li>" + escaped(words) + "</li>\n"; };
  if (data.levels.empty()) {
    item("Time: the slowest ranks take " + factor(plan.slowest_over_mean) +
         " times the mean. No plan that leaves samples whole goes below " + factor(data.single_sample_bound) + ".");
    item("Packs: " + grouped(plan.packs) + ". " +
         (plan.packs == data.pack_bound ? "No plan has fewer" : "No plan has fewer than " + grouped(data.pack_bound)) +
         (data.pack_bound_by.empty() ? "." : " (proof: " + data.pack_bound_by + " bound)."));
  }
  for (auto const& sentence : data.limits) item(sentence);
  return out + "</ul>\n";
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

std::string render_report(report_data const& data) {
  std::vector<shown_run> runs;
  for (std::size_t i = 0; i < data.runs.size(); ++i) runs.emplace_back(data.runs[i], data.runs.size() - 1 - i, data.ranks);
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"/>"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n<title>" +
      escaped(data.title) + ": plan by ballast</title>\n<style>" + std::string(chart_style) + std::string(page_style) +
      (data.levels.empty() ? std::string() : level_style()) + (data.model_side ? timeline_style() : std::string()) +
      "</style></head>\n<body><main>\n" + headline(data, runs);
  if (!data.levels.empty()) out += levels_section(data);
  if (data.model_side) out += model_section(data);
  if (!runs.empty()) {
    out += "<h2>Waiting</h2>\n<div class=\"charts\">\n" + balance(runs) + "<div class=\"stack\">\n" +
           shares("idle", "Time spent waiting", "Share of all rank time in which a rank waits for the slowest of its step.", runs, idle,
                  &report_run::idle) +
           shares("fill", "Fill", "Share of the packs' capacity that holds tokens.", runs, fill, &report_run::fill) +
           "</div>\n<dl class=\"how note\">\n";
    for (auto const& r : runs) out += "<dt>" + escaped(r.run->name) + "</dt><dd>" + escaped(r.run->how) + "</dd>\n";
    out += "</dl></div>\n";
    out +=
        "<h2>Load of the ranks, step by step</h2>\n" +
        paragraph(
            "A bar is a step, as high as its slowest rank takes. It is solid up to the mean rank, so the pale part is what ranks wait on "
            "average; the thin line across is the fastest rank. All runs have the same scale.") +
        "<div class=\"charts\">\n" + loads(runs) + "</div>\n";
  }
  out += "<h2>Lengths</h2>\n<div class=\"charts\">\n" + lengths(data) + "</div>\n";
  if (!runs.empty()) {
    out +=
        "<h2>What limits the plan</h2>\n" + limits(data, *runs.back().run) + "<h2>All figures</h2>\n" + all_figures(runs) +
        paragraph(
            "DBR and ABR: how far ranks stay below the largest of their step, in tokens and in squares of the length, as a mean over the "
            "steps.",
            "soft");
  }
  if (!data.command.empty()) out += "<h2>Made by</h2>\n<p><code>" + escaped(data.command) + "</code></p>\n";
  return out + "</main></body></html>\n";
}

}  // namespace ballast_cli
