// SPDX-License-Identifier: Apache-2.0
#include "report/html.hpp"
#include "report/output.hpp"
#include "report/page_parts.hpp"
#include "report/svg.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ballast_cli {

using namespace html;

void add_packs(page_places& places, report_data const& data) {
  static std::vector<bar_shape> const shapes{{"samples, side by side", "solid c2", 0, 17}, {"samples, side by side", "pale c2", 0, 17}};
  std::vector<bar_row> rows;
  table_rows figures{{"pack", "samples", "tokens"}};
  for (auto const& pack : data.some_packs) {
    bar_row row{grouped(pack.number), {}};
    std::uint64_t tokens = 0;
    for (auto const sample : pack.tokens) {
      row.bars.push_back({static_cast<double>(tokens), static_cast<double>(tokens + sample), row.bars.size() % 2});
      tokens += sample;
    }
    figures.push_back({grouped(pack.number), grouped(pack.samples), grouped(tokens)});
    rows.push_back(std::move(row));
  }
  auto const many = std::any_of(data.some_packs.begin(), data.some_packs.end(), [](auto const& p) { return p.samples > p.tokens.size(); });
  auto const picture =
      bar_rows("packs", "Some of the packs", "One row for each pack, its samples from left to right.", rows, shapes,
               static_cast<double>(data.capacity), [](double tokens) { return grouped(static_cast<std::uint64_t>(tokens)); });
  places["packs"] =
      figure(counted(rows.size(), "pack") + ", evenly spaced in the plan", "<div class=\"wide\">" + picture + "</div>",
             "A row is a pack of up to " + counted(data.capacity, "token") + ", a block is a sample; blank is room left." +
                 (many ? " After " + grouped(report_pack::most - 1) + " samples, the last block is all others." : std::string()),
             html_table("the same in figures", figures));
}

}  // namespace ballast_cli
