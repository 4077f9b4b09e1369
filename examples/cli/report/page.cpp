// SPDX-License-Identifier: Apache-2.0
#include "report/page.hpp"

#include "report/html.hpp"
#include "report/page_html.hpp"
#include "report/page_parts.hpp"
#include "report/svg.hpp"

#include <cstddef>

namespace ballast_cli {

std::string filled(std::string_view page, page_places const& places) {
  std::string out;
  for (auto open = page.find("{{"); open != std::string_view::npos; open = page.find("{{")) {
    out += page.substr(0, open);
    auto const close = page.find("}}", open);
    auto const tag = page.substr(open + 2, close - open - 2);
    page.remove_prefix(close + 2);
    if (std::string_view("#/!").find(tag.front()) == std::string_view::npos) {
      out += places.at(tag);
      continue;
    }
    if (tag.starts_with('#')) {
      auto const value = places.find(tag.substr(1));
      auto const end = "{{/" + std::string(tag.substr(1)) + "}}";
      if (value == places.end() || value->second.empty()) page.remove_prefix(page.find(end) + end.size());
    }
    if ((out.empty() || out.ends_with('\n')) && page.starts_with('\n')) page.remove_prefix(1);
  }
  return out += page;
}

namespace {

/// What was planned.
[[nodiscard]] std::string heading(report_data const& data) {
  if (data.plans.empty()) return data.title + (data.some_packs.empty() ? "" : ": packs of " + counted(data.capacity, "token"));
  auto out = data.title + ": an epoch on " + counted(data.ranks, data.levels.empty() ? "rank" : "GPU");
  if (data.model_side) out += " of " + counted(data.model_side->stages.size(), "stage");
  return out;
}

}  // namespace

std::string render_report(report_data const& data) {
  page_places places{{"title", escaped(heading(data))},
                     {"what", escaped(data.what)},
                     {"chart_style", std::string(chart_style)},
                     {"command", escaped(data.command)}};
  add_plans(places, data);
  if (!data.lead.empty()) places["lead"] = escaped(data.lead);
  if (!data.some_packs.empty()) add_packs(places, data);
  if (!data.plans.empty() || !data.bin_edges.empty()) add_lengths(places, data);
  if (!data.levels.empty()) add_levels(places, data);
  if (data.model_side) add_stages(places, data);
  if (!data.levels.empty() || data.model_side) places["purple"] = "shown";
  if (!data.some_packs.empty() || data.model_side) places["timelines"] = "shown";
  return filled(page_html, places);
}

}  // namespace ballast_cli
