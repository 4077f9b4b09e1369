// SPDX-License-Identifier: Apache-2.0
#include "report/experts.hpp"

#include "report/output.hpp"
#include "report/words.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>

namespace ballast_cli {

namespace {

[[nodiscard]] double rows_of(std::int64_t units) { return static_cast<double>(units) / static_cast<double>(ballast::row_units); }

struct total_loads {
  double planned = 0, bound = 0, eplb = 0, longest = 0;
  std::size_t proven = 0;
};
[[nodiscard]] total_loads totals_of(expert_report const& report) {
  total_loads out;
  for (auto const& [rows, plan, eplb, longest, adjacent] : report.layers) {
    out.planned += rows_of(plan.load.value);
    out.bound += rows_of(plan.load.lower_bound);
    out.eplb += rows_of(eplb);
    out.longest += rows_of(longest);
    if (plan.load.optimal()) ++out.proven;
  }
  return out;
}

/// "3.31 % larger".
[[nodiscard]] std::string compared(double value, double planned) {
  if (value == planned || planned == 0) return "as large";
  return formatted("%.2f %% %s", 100 * (value < planned ? planned - value : value - planned) / planned,
                   value < planned ? "smaller" : "larger");
}

}  // namespace

std::string in_words(expert_report const& report) {
  auto const& [layers, o] = report;
  auto const experts = layers.front().rows.size();
  auto out = counted(layers.size(), "layer") + " of " + counted(experts, "expert") + " in " + counted(o.slots, "slot") + " on " +
             counted(o.ranks, "rank");
  if (o.nodes > 1) out += " of " + counted(o.nodes, "node");
  if (o.groups > 1) out += ", each of " + std::to_string(o.groups) + " groups on one node";
  out += ". Loads of the most loaded rank, in rows:\n\n";
  out += formatted("%5s  %13s  %13s  %13s  %13s  %13s", "layer", "planned", "lower bound", "EPLB", "LPT, 1 copy", "adjacent");
  if (o.nodes > 1) out += formatted("  %13s", "between nodes");
  out += "\n";
  for (std::size_t l = 0; l < layers.size(); ++l) {
    auto const& [rows, plan, eplb, longest, adjacent] = layers[l];
    out += formatted("%5zu  %13.1f  %13.1f  %13.1f  %13.1f  %13.1f", l, rows_of(plan.load.value), rows_of(plan.load.lower_bound),
                     rows_of(eplb), rows_of(longest), rows_of(adjacent));
    if (o.nodes > 1) out += formatted("  %13.1f", rows_of(plan.between.value));
    out += "\n";
  }
  auto const all = totals_of(report);
  out += "\n";
  if (all.proven == layers.size())
    out += "Every plan is proven to have the least load.";
  else
    out += grouped(all.proven) + " of " + counted(layers.size(), "plan") +
           " are proven to have the least load; together, loads are at most " +
           percent_up(all.bound > 0 ? all.planned / all.bound - 1 : 0) + " above their lower bounds.";
  out += " Of all layers together, EPLB's loads are " + compared(all.eplb, all.planned) + ", those of LPT without copies " +
         compared(all.longest, all.planned) + ".\n";
  return out;
}

nlohmann::ordered_json to_json(expert_report const& report) {
  auto const& [layers, o] = report;
  nlohmann::ordered_json out{{"ranks", o.ranks}, {"replicas", o.slots}, {"nodes", o.nodes}, {"groups", o.groups}};
  out["layers"] = nlohmann::ordered_json::array();
  for (auto const& [rows, plan, eplb, longest, adjacent] : layers) {
    std::vector<std::vector<std::size_t>> slots(rows.size());
    for (std::size_t i = 0; i < plan.expert_of.size(); ++i) slots[plan.expert_of[i]].push_back(i);
    std::vector<double> loads;
    for (auto const l : plan.loads) loads.push_back(rows_of(l));
    nlohmann::ordered_json layer{{"largest_load", rows_of(plan.load.value)},
                                 {"lower_bound", rows_of(plan.load.lower_bound)},
                                 {"optimal", plan.load.optimal()},
                                 {"eplb", rows_of(eplb)},
                                 {"lpt", rows_of(longest)},
                                 {"adjacent", rows_of(adjacent)}};
    if (o.nodes > 1) {
      layer["between_nodes"] = rows_of(plan.between.value);
      layer["between_nodes_lower_bound"] = rows_of(plan.between.lower_bound);
    }
    layer["loads"] = loads;
    layer["copies"] = plan.copies;
    layer["physical_to_logical"] = plan.expert_of;
    layer["logical_to_physical"] = slots;
    out["layers"].push_back(std::move(layer));
  }
  return out;
}

}  // namespace ballast_cli
