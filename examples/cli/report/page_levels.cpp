// SPDX-License-Identifier: Apache-2.0
#include "report/html.hpp"
#include "report/output.hpp"
#include "report/page_parts.hpp"
#include "report/svg.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast_cli {

namespace {

using namespace html;

constexpr std::size_t tints = 5;  // that page.html has

/// One colour for levels whose packs are on one GPU, another for those whose packs communicate; longer packs are darker.
[[nodiscard]] std::vector<std::string> styles_of(std::vector<report_level> const& levels) {
  std::vector<std::string> styles;
  std::size_t alike[2] = {0, 0}, seen[2] = {0, 0};
  for (auto const& l : levels) ++alike[l.sp > 1];
  for (auto const& l : levels) {
    auto const kind = static_cast<std::size_t>(l.sp > 1);
    auto const tint = alike[kind] == 1 ? tints : 1 + seen[kind]++ * (tints - 1) / (alike[kind] - 1);
    styles.push_back(std::string(kind == 1 ? "c4" : "c3") + " t" + std::to_string(tint));
  }
  return styles;
}

[[nodiscard]] std::string name_of(report_level const& l) { return counted(l.length, "token") + " on " + counted(l.sp, "GPU"); }

[[nodiscard]] std::string table_of_levels(report_data const& data) {
  table_rows rows{{"tokens of a pack", "GPUs of a pack", "recomputed layers", "share of the tokens", "packs", "fill", "steps", "ranks",
                   "micro-batches"}};
  for (auto const& l : data.levels)
    rows.push_back({grouped(l.length), grouped(l.sp), grouped(l.recomputed_layers), share(l.share), grouped(l.packs), share(l.fill),
                    grouped(l.steps), grouped(l.ranks), grouped(l.micro_batches)});
  return html_table("levels, shortest first", rows);
}

[[nodiscard]] std::string tokens_by_level(report_data const& data, std::vector<std::string> const& styles) {
  std::vector<share_bar> bars;
  for (std::size_t i = 0; i < data.levels.size(); ++i) {
    auto const& l = data.levels[i];
    bars.push_back({name_of(l), share(l.share), styles[i], l.share});
  }
  return figure("Tokens by level", share_bars("level-tokens", "Tokens by level", bars),
                "Share of all tokens that are in packs of this level. These are the colours of the steps: one for packs on one GPU, "
                "another for packs that several GPUs share, longer packs darker.");
}

/// Stretches of equally many steps, and in each of them the share of every level.
[[nodiscard]] std::string order_of_steps(report_data const& data, std::vector<std::string> const& styles) {
  auto const n = data.order.size(), columns = (std::min)(n, std::size_t{80});
  auto const levels = data.levels.size();
  chart drawing("order", "Which level is trained when",
                "A stacked bar for each of " + counted(columns, "stretch") + " of " + counted(n, "step") +
                    " in training order: the share of every level.",
                n == 0 ? 1.0 : static_cast<double>(n), 0, 1);
  drawing.y_axis("share of the steps", [](double part) { return compact(100 * part) + " %"; });
  drawing.x_axis("steps in training order");
  table_rows rows{{"steps"}};
  for (auto const& l : data.levels) rows[0].push_back(name_of(l));
  std::vector<std::uint64_t> count(levels), shown(levels);
  std::size_t row_begin = 0, rows_done = 0;
  for (std::size_t k = 0; k < columns; ++k) {
    auto const begin = k * n / columns, end = (k + 1) * n / columns;
    std::fill(count.begin(), count.end(), 0);
    for (auto s = begin; s < end; ++s) ++count[data.order[s]];
    double y = 0;
    for (std::size_t l = 0; l < levels; ++l) {
      shown[l] += count[l];
      if (count[l] == 0) continue;
      auto const top = y + static_cast<double>(count[l]) / static_cast<double>(end - begin);
      drawing.bar(static_cast<double>(begin), static_cast<double>(end), y, top, "solid " + styles[l],
                  (end - begin == 1 ? "step " + grouped(begin) : "steps " + grouped(begin) + " to " + grouped(end - 1)) + ": " +
                      grouped(count[l]) + " of " + name_of(data.levels[l]));
      y = top;
    }
    if ((k + 1) * 12 / columns == rows_done && k + 1 != columns) continue;  // a dozen rows of the table
    rows_done = (k + 1) * 12 / columns;
    rows.push_back({grouped(row_begin) + " to " + grouped(end - 1)});
    for (auto& c : shown) {
      rows.back().push_back(grouped(c));
      c = 0;
    }
    row_begin = end;
  }
  drawing.x_label(0, "0");
  if (n != 0) drawing.x_label(static_cast<double>(n), grouped(n));
  if (data.warm_up * 6 > n) drawing.x_label(static_cast<double>(data.warm_up), grouped(data.warm_up));
  auto words = "Order " + data.curriculum + ": the level changes " + counted(data.switches, "time") + ".";
  if (data.warm_up != 0) words += " The first " + counted(data.warm_up, "step") + " are a warm-up on the shortest level.";
  return figure("Order of the steps", drawing.str(), words, html_table("steps of each level in training order", rows));
}

}  // namespace

void add_levels(page_places& places, report_data const& data) {
  auto const styles = styles_of(data.levels);
  places["levels"] = "shown";
  places["level_table"] = table_of_levels(data);
  places["order_of_steps"] = order_of_steps(data, styles);
  places["tokens_by_level"] = tokens_by_level(data, styles);
}

}  // namespace ballast_cli
