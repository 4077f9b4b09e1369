// SPDX-License-Identifier: Apache-2.0
#include "report/memory_order.hpp"

#include "errors.hpp"
#include "readers/buffers.hpp"
#include "readers/graph.hpp"
#include "report/html.hpp"
#include "report/memory.hpp"
#include "report/words.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace ballast_cli {

namespace {

constexpr auto no_buffer = ballast::order_buffers::none;

[[nodiscard]] double share_above(std::int64_t value, std::int64_t of) {
  return of == 0 ? 0.0 : static_cast<double>(value - of) / static_cast<double>(of);
}

/// A difference of shares with its sign: "+16.89 %".
[[nodiscard]] std::string signed_percent(double share) { return formatted("%+.2f %%", 100 * share); }

/// Name and kind of each buffer of an order.
struct buffer_labels {
  std::vector<std::string> name;
  std::vector<ballast::tensor_kind> kind;
};
[[nodiscard]] buffer_labels labels_of(ballast::graph const& graph, ballast::order_buffers const& buffers) {
  buffer_labels out{std::vector<std::string>(buffers.buffers.size()),
                    std::vector<ballast::tensor_kind>(buffers.buffers.size(), ballast::tensor_kind::temporary)};
  for (std::size_t t = 0; t < graph.tensors.size(); ++t)
    if (auto const b = buffers.of_tensor[t]; b != no_buffer && graph.tensors[t].shares == ballast::graph_tensor<>::own) {
      out.name[b] = graph.tensors[t].name;
      out.kind[b] = graph.tensors[t].kind;
    }
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (auto const b = buffers.of_workspace[v]; b != no_buffer) out.name[b] = "workspace of " + graph.operators[v].name;
  return out;
}

/// Bytes of each kind while each operator of an order runs.
[[nodiscard]] memory_curve curve_of(ballast::graph const& graph, judged_order const& judged, std::string name) {
  memory_curve out{.name = std::move(name), .bytes = {}, .operators = {}};
  auto const buffers = buffers_of(graph, judged.order);
  auto const labels = labels_of(graph, buffers);
  std::vector<std::array<std::int64_t, memory_curve::kinds>> change(graph.size() + 1);
  for (std::size_t b = 0; b < buffers.buffers.size(); ++b) {
    auto const& [lower, upper, size, alignment, fixed] = buffers.buffers[b];
    change[static_cast<std::size_t>(lower)][static_cast<std::size_t>(labels.kind[b])] += size;
    change[static_cast<std::size_t>(upper)][static_cast<std::size_t>(labels.kind[b])] -= size;
  }
  std::array<std::int64_t, memory_curve::kinds> now{};
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (std::size_t k = 0; k < now.size(); ++k) now[k] += change[i][k];
    out.bytes.push_back(now);
    out.operators.push_back(graph.operators[judged.order[i]].kind);
  }
  return out;
}

[[nodiscard]] std::vector<memory_curve> curves_of(memory_order_report const& report) {
  auto const& plan = report.plan;
  std::vector<memory_curve> out{curve_of(report.graph, plan.program(), "program order"),
                                curve_of(report.graph, plan.orders.back(), "planned order")};
  if (plan.recomputed) out.push_back(curve_of(plan.recompute->rewritten, *plan.recomputed, "planned with recomputation"));
  return out;
}

/// How far the planned order may be from the best one.
[[nodiscard]] std::string order_quality(ballast::certificate const& peak) {
  if (peak.optimal()) return "no order takes less";
  return "no order takes less than " + many_bytes(peak.lower_bound) + ": at most " + percent_up(peak.gap()) + " above the best possible";
}

/// Names of operators that run again.
[[nodiscard]] std::vector<std::string> again_of(memory_order_report const& report) {
  std::vector<std::string> out;
  auto const& again = *report.plan.recompute;
  std::vector<bool> seen(report.graph.size(), false);
  for (auto const v : again.operator_of) {
    if (seen[v]) out.push_back(report.graph.operators[v].name);
    seen[v] = true;
  }
  return out;
}

[[nodiscard]] std::string listed(std::vector<std::string> const& names) {
  constexpr std::size_t most = 12;
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < most; ++i) out += (i == 0 ? "" : ", ") + printable(names[i]);
  return names.size() > most ? out + ", ... (--json lists all)" : out;
}

/// What a budget costs, in a sentence or two.
[[nodiscard]] std::string budget_in_words(memory_order_report const& report) {
  auto const& plan = report.plan;
  if (!plan.recompute) return "Within " + many_bytes(*report.budget) + " nothing has to be computed again.";
  auto const names = again_of(report);
  auto const& time = plan.recompute->time;
  auto const all = time_of(report.graph);
  auto const least = time.lower_bound;
  auto text =
      "Within " + many_bytes(*report.budget) + ": " + counted(names.size(), "operator") + (names.size() == 1 ? " runs" : " run") + " again";
  if (!report.counted) text += ", which adds " + percent_up(share_above(all + time.value, all)) + " to the time of all";
  if (time.optimal())
    text += "; no choice adds less";
  else if (least > 0)
    text += "; no choice adds less than " + (report.counted ? counted(static_cast<std::uint64_t>(least), "operator")
                                                            : percent(std::floor(1e4 * share_above(all + least, all)) / 1e4));
  return text + ". The peak is then " + many_bytes(plan.planned().peak) + ".";
}

[[nodiscard]] std::string layout_in_words(memory_order_report const& report) {
  auto const& h = report.plan.layout->height;
  auto const peak = report.plan.planned().peak;
  auto text = "With addresses that are fixed beforehand it takes " + many_bytes(h.value);
  if (h.value == peak) return text + ", as much as the peak: nothing is lost to fragmentation.";
  text += ", " + percent_up(share_above(h.value, peak)) + " more than the peak";
  if (h.optimal()) text += ", and no layout of this order takes less";
  if (report.budget && h.value > *report.budget) text += "; this is above the budget: a lower --budget leaves room for it";
  return text + ".";
}

[[nodiscard]] std::string totals(memory_order_report const& report) {
  std::int64_t held = 0;
  for (auto const& t : report.graph.tensors)
    if (t.shares == ballast::graph_tensor<>::own && (t.kind == ballast::tensor_kind::parameter || t.kind == ballast::tensor_kind::state))
      held += t.bytes;
  return counted(report.graph.size(), "operator") + " and " + counted(report.graph.tensors.size(), "tensor") +
         "; parameters and states hold " + many_bytes(held);
}

[[nodiscard]] std::vector<judged_order const*> all_orders(graph_plan const& plan) {
  std::vector<judged_order const*> out;
  for (auto const& each : plan.orders) out.push_back(&each);
  if (plan.recomputed) out.push_back(&*plan.recomputed);
  return out;
}

}  // namespace

std::string in_words(memory_order_report const& report) {
  auto const& plan = report.plan;
  auto text = report.title + ": " + totals(report) + ".\n\n" +
              formatted("%-13s  %27s  %9s  %27s  %s\n", "order", "peak", "to planned", "allocator reserves", "planned in");
  for (auto const* const each : all_orders(plan))
    text += formatted("%-13s  %27s  %9s  %27s  %s\n", each->name.c_str(), many_bytes(each->peak).c_str(),
                      signed_percent(share_above(each->peak, plan.peak.value)).c_str(),
                      each->reserved > 0 ? many_bytes(each->reserved).c_str() : "-", duration(each->ms).c_str());
  text += "\nThe planned order takes " + many_bytes(plan.peak.value) + "; " + order_quality(plan.peak) + ".\n";
  if (report.budget) text += budget_in_words(report) + "\n";
  if (plan.recompute) text += "Run again: " + listed(again_of(report)) + "\n";
  if (plan.layout) text += layout_in_words(report) + "\n";
  return text;
}

nlohmann::ordered_json to_json(memory_order_report const& report) {
  auto const& plan = report.plan;
  auto const& graph = plan.of(report.graph);
  nlohmann::ordered_json json{{"operators", report.graph.size()}, {"tensors", report.graph.tensors.size()},
                              {"peak", plan.peak.value},          {"lower_bound", plan.peak.lower_bound},
                              {"gap", plan.peak.gap()},           {"optimal", plan.peak.optimal()}};
  auto& orders = json["orders"] = nlohmann::ordered_json::array();
  for (auto const* const each : all_orders(plan))
    orders.push_back({{"order", each->name}, {"peak", each->peak}, {"reserved", each->reserved}});
  if (plan.recompute) {
    auto& again = json["recompute"] = {{"budget", *report.budget},
                                       {"peak", plan.planned().peak},
                                       {"added_time", plan.recompute->time.value},
                                       {"lower_bound", plan.recompute->time.lower_bound},
                                       {"time", time_of(report.graph)},
                                       {"again", again_of(report)}};
    auto& dropped = again["dropped"] = nlohmann::ordered_json::array();
    for (auto const t : plan.recompute->dropped) dropped.push_back(report.graph.tensors[t].name);
  }
  auto& order = json["order"] = nlohmann::ordered_json::array();
  for (auto const v : plan.planned().order) order.push_back(graph.operators[v].name);
  if (plan.layout) {
    auto const& h = plan.layout->height;
    auto& layout = json["layout"] = {{"height", h.value}, {"lower_bound", h.lower_bound}, {"optimal", h.optimal()}};
    auto offsets = nlohmann::ordered_json::object(), workspaces = offsets;
    for (std::size_t t = 0; t < graph.tensors.size(); ++t)
      if (auto const b = plan.buffers.of_tensor[t]; b != no_buffer) offsets[graph.tensors[t].name] = plan.layout->offsets[b];
    for (std::size_t v = 0; v < graph.size(); ++v)
      if (auto const b = plan.buffers.of_workspace[v]; b != no_buffer) workspaces[graph.operators[v].name] = plan.layout->offsets[b];
    layout["offsets"] = std::move(offsets);
    layout["workspaces"] = std::move(workspaces);
  }
  json["seconds"] = {{"order", plan.planned().ms * 1e-3}, {"layout", plan.layout_ms * 1e-3}};
  return json;
}

std::string picture_of(memory_order_report const& report) { return memory_picture(report.title, curves_of(report), true); }

std::string addresses_of(memory_order_report const& report) {
  auto const& buffers = report.plan.buffers;
  return buffers_csv({labels_of(report.plan.of(report.graph), buffers).name, buffers.buffers}, report.plan.layout->offsets);
}

namespace {

/// What is in memory at the peak: by kind in each order, and the largest tensors of the planned one.
[[nodiscard]] std::string peak_tables(memory_order_report const& report, std::vector<memory_curve> const& curves) {
  html::table_rows kinds{{"kind"}};
  for (auto const kind : {ballast::tensor_kind::parameter, ballast::tensor_kind::state, ballast::tensor_kind::activation,
                          ballast::tensor_kind::gradient, ballast::tensor_kind::temporary})
    kinds.push_back({std::string(to_string(kind))});
  kinds.push_back({"all"});
  std::size_t step = 0;
  for (auto const& curve : curves) {
    step = 0;
    for (std::size_t i = 0; i < curve.bytes.size(); ++i)
      if (curve.total(i) > curve.total(step)) step = i;
    kinds[0].push_back(curve.name);
    std::size_t row = 1;
    for (auto const kind : {ballast::tensor_kind::parameter, ballast::tensor_kind::state, ballast::tensor_kind::activation,
                            ballast::tensor_kind::gradient, ballast::tensor_kind::temporary})
      kinds[row++].push_back(short_bytes(curve.bytes[step][static_cast<std::size_t>(kind)]));
    kinds[row].push_back(short_bytes(curve.total(step)));
  }
  auto const& graph = report.plan.of(report.graph);
  auto const& planned = report.plan.planned().order;
  auto const& buffers = report.plan.buffers.buffers;
  auto const labels = labels_of(graph, report.plan.buffers);
  auto const held = [&](std::size_t b) {
    return labels.kind[b] == ballast::tensor_kind::parameter || labels.kind[b] == ballast::tensor_kind::state;
  };
  std::vector<std::size_t> there;
  for (std::size_t b = 0; b < buffers.size(); ++b)
    if (!held(b) && buffers[b].lower <= static_cast<std::int64_t>(step) && static_cast<std::int64_t>(step) < buffers[b].upper)
      there.push_back(b);
  std::sort(there.begin(), there.end(),
            [&](auto a, auto b) { return buffers[a].size != buffers[b].size ? buffers[a].size > buffers[b].size : a < b; });
  there.resize((std::min)(there.size(), std::size_t{12}));
  html::table_rows largest{{"tensor", "kind", "bytes", "in use from", "to"}};
  for (auto const b : there) {
    auto const at = [&](std::int64_t time) { return graph.operators[planned[static_cast<std::size_t>(time)]].name; };
    largest.push_back({labels.name[b], std::string(to_string(labels.kind[b])), short_bytes(buffers[b].size),
                       buffers[b].lower == 0 ? std::string("the start") : at(buffers[b].lower),
                       buffers[b].upper == static_cast<std::int64_t>(planned.size()) ? std::string("the end") : at(buffers[b].upper - 1)});
  }
  return "<h2>At the peak</h2>\n" + html::html_table("what is in memory at the peak of each order", kinds) + "<p></p>" +
         html::html_table("the largest tensors beside parameters and states at the peak of the last order, while " +
                              graph.operators[planned[step]].name + " runs",
                          largest);
}

[[nodiscard]] std::string layout_figure(memory_order_report const& report) {
  auto const& graph = report.plan.of(report.graph);
  auto const labels = labels_of(graph, report.plan.buffers);
  auto const& layout = *report.plan.layout;
  layout_drawing drawing{
      .title = report.title, .time = "operators in the order in which they run", .boxes = {}, .height = layout.height.value};
  for (std::size_t b = 0; b < layout.offsets.size(); ++b) {
    auto const& of = report.plan.buffers.buffers[b];
    drawing.boxes.push_back({of.lower, of.upper, layout.offsets[b], of.size, labels.name[b]});
  }
  if (drawing.boxes.empty()) return {};
  return html::figure("Where the tensors lie", "<div class=\"wide\">" + layout_picture(drawing, false) + "</div>",
                      "A box is a tensor: as wide as it is in use, as high as its bytes, coloured by size. " + layout_in_words(report) +
                          " " + layout_omission(drawing));
}

}  // namespace

std::string page_of(memory_order_report const& report) {
  auto const& plan = report.plan;
  auto const curves = curves_of(report);
  auto const& program = plan.program();
  memory_page page{
      .what = "an order of operators",
      .title = report.title,
      .lead = "The planned order takes " + short_bytes(plan.peak.value) + " at its peak, program order " + short_bytes(program.peak) +
              "; " + order_quality(plan.peak) + ".",
      .command = report.command,
      .tiles = {{"planned order", short_bytes(plan.peak.value), many_bytes(plan.peak.value)},
                {"program order", short_bytes(program.peak), signed_percent(share_above(program.peak, plan.peak.value)) + " to planned"},
                {"distance to the bound", percent_up(plan.peak.gap()), plan.peak.optimal() ? "optimal" : "no order is below it"},
                {"PyTorch reserves", short_bytes(program.reserved), "for program order"}},
      .figures = {},
      .notes = {totals(report) + "."}};
  if (plan.recompute) page.tiles.push_back({"with recomputation", short_bytes(plan.planned().peak), "of " + short_bytes(*report.budget)});
  if (plan.layout) page.tiles.push_back({"with addresses", short_bytes(plan.layout->height.value), many_bytes(plan.layout->height.value)});
  page.figures = html::figure(
      "Memory over time", "<div class=\"wide\">" + memory_picture(report.title, curves, false) + "</div>",
      "What is in memory while each operator runs. All orders have the same scale; the green dashed line is the lowest peak. An axis "
      "that does not begin at 0 leaves out parameters and states below it.");
  if (plan.layout) page.figures += layout_figure(report);
  page.figures += peak_tables(report, curves);
  html::table_rows orders{{"order", "peak", "to planned", "allocator reserves", "planned in", "how"}};
  for (auto const* const each : all_orders(plan))
    orders.push_back({each->name, many_bytes(each->peak), signed_percent(share_above(each->peak, plan.peak.value)),
                      many_bytes(each->reserved), duration(each->ms), each->about});
  page.figures += "<h2>Orders</h2>\n" + html::html_table("peaks, and what PyTorch's caching allocator would reserve", orders);
  if (report.budget) page.notes.push_back(budget_in_words(report));
  if (plan.recompute) page.notes.push_back("Run again: " + listed(again_of(report)));
  return page_of(page);
}

}  // namespace ballast_cli
