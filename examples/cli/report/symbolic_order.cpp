// SPDX-License-Identifier: Apache-2.0
#include "report/symbolic_order.hpp"

#include "readers/dimensions.hpp"
#include "report/output.hpp"
#include "report/words.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>

namespace ballast_cli {

namespace {

using ballast::memory_event;

[[nodiscard]] double ratio_to(std::int64_t value, std::int64_t least) {
  return least == 0 ? 1.0 : static_cast<double>(value) / static_cast<double>(least);
}

[[nodiscard]] std::string batch_name(symbolic_order_report const& report, std::size_t batch) {
  return shown_values(report.asked.batches[batch], report.asked.dimensions);
}

[[nodiscard]] std::string run_in_words(symbolic_order_report const& report, std::size_t i) {
  auto const& batch = report.plan.batches[i];
  auto const& run = batch.run;
  if (run.status != ballast::status::feasible) return no_run_in_words(report, i);
  if (run.time.value == 0) return "nothing has to be evicted";
  std::size_t again = 0;
  for (auto const& e : run.events) again += e.what == memory_event::action::rerun ? 1U : 0U;
  auto text = many_bytes(run.memory.value) + ": " + counted(again, "operator") + (again == 1 ? " runs" : " run") + " again";
  if (run.moved > 0) text += ", " + many_bytes(run.moved) + " move to the host and back";
  return text + ", which adds " + percent_up(ratio_to(run.time.value, batch.time)) + " to the time of all";
}

[[nodiscard]] nlohmann::ordered_json events_json(symbolic_order_report const& report, std::vector<memory_event> const& events) {
  auto out = nlohmann::ordered_json::array();
  for (auto const& e : events) {
    using enum memory_event::action;
    auto const of_operator = e.what == run || e.what == rerun;
    auto const* const word = e.what == run     ? "run"
                             : e.what == rerun ? "rerun"
                             : e.what == drop  ? "drop"
                             : e.what == store ? "store"
                                               : "load";
    out.push_back({word, of_operator ? report.graph.operators[e.index].name : report.graph.tensors[e.index].name});
  }
  return out;
}

}  // namespace

std::string no_run_in_words(symbolic_order_report const& report, std::size_t i) {
  auto const& run = report.plan.batches[i].run;
  auto const keeps = " keeps --budget " + many_bytes(report.plan.batches[i].limit);
  auto const least = "at least " + many_bytes(run.memory.lower_bound) + " are needed";
  return batch_name(report, i) + (run.status == ballast::status::infeasible
                                      ? ": no run of this order" + keeps + ": " + least
                                      : ": no run was found that" + keeps + ", and none is proven impossible: " + least);
}

std::string in_words(symbolic_order_report const& report) {
  auto const& orders = report.plan.step.orders;
  auto text = report.title + ": " + counted(report.graph.size(), "operator") + " and " + counted(report.graph.tensors.size(), "tensor");
  for (auto const& d : report.asked.dimensions)
    text += "; " + d.name + " from " + grouped(static_cast<std::uint64_t>(d.low)) + " to " + grouped(static_cast<std::uint64_t>(d.high));
  text += ".\n" + counted(orders.orders.size(), "order") + " for " + counted(orders.regions(), "region") + " of dimensions, planned in " +
          duration(report.plan.compile_ms) + ".\n";
  if (report.plan.batches.empty()) return text + "--values says which order a batch has, and what it takes.\n";
  text += formatted("\n%-24s  %5s  %24s  %24s  %7s\n", "batch", "order", "peak", "searched for it alone", "ratio");
  for (std::size_t i = 0; i < report.plan.batches.size(); ++i) {
    auto const& batch = report.plan.batches[i];
    text += batch_name(report, i) + std::string(batch_name(report, i).size() < 24 ? 24 - batch_name(report, i).size() : 0, ' ') +
            formatted("  %5u  %24s  %24s  %7.4f\n", batch.order + 1, many_bytes(batch.peak).c_str(), many_bytes(batch.alone.value).c_str(),
                      ratio_to(batch.peak, batch.alone.value));
  }
  if (!report.asked.budget) return text;
  text += "\nWithin " + many_bytes(*report.asked.budget) + ":\n";
  for (std::size_t i = 0; i < report.plan.batches.size(); ++i) {
    auto const feasible = report.plan.batches[i].run.status == ballast::status::feasible;
    text += (feasible ? batch_name(report, i) + ": " : "") + run_in_words(report, i) + ".\n";
  }
  return text;
}

nlohmann::ordered_json to_json(symbolic_order_report const& report) {
  auto const& orders = report.plan.step.orders;
  nlohmann::ordered_json json{{"operators", report.graph.size()}, {"tensors", report.graph.tensors.size()}};
  auto& dimensions = json["dimensions"] = nlohmann::ordered_json::object();
  for (auto const& d : report.asked.dimensions) dimensions[d.name] = {d.low, d.high};
  json["regions"] = orders.regions();
  json["decided"] = orders.decided();
  auto& lists = json["orders"] = nlohmann::ordered_json::array();
  for (auto const& order : orders.orders) {
    auto names = nlohmann::ordered_json::array();
    for (auto const v : order) names.push_back(report.graph.operators[v].name);
    lists.push_back(std::move(names));
  }
  auto& batches = json["batches"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < report.plan.batches.size(); ++i) {
    auto const& batch = report.plan.batches[i];
    auto const& run = batch.run;
    nlohmann::ordered_json entry;
    for (std::size_t d = 0; d < report.asked.dimensions.size(); ++d)
      entry["values"][report.asked.dimensions[d].name] = report.asked.batches[i][d];
    entry["order"] = batch.order;
    entry["peak"] = batch.peak;
    entry["alone"] = {{"peak", batch.alone.value}, {"lower_bound", batch.alone.lower_bound}};
    entry["limit"] = batch.limit;
    entry["lower_bound"] = run.memory.lower_bound;
    if (run.status == ballast::status::feasible) {
      entry["memory"] = run.memory.value;
      entry["added_time"] = run.time.value;
      entry["least_added_time"] = run.time.lower_bound;
      entry["time"] = batch.time;
      entry["moved"] = run.moved;
      entry["events"] = events_json(report, run.events);
    } else {
      entry["no_run"] = no_run_in_words(report, i);
    }
    batches.push_back(std::move(entry));
  }
  json["seconds"] = {{"compile", report.plan.compile_ms * 1e-3}};
  return json;
}

}  // namespace ballast_cli
