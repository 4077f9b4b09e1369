// SPDX-License-Identifier: Apache-2.0
#include "report/memory_parts.hpp"

#include "report/output.hpp"
#include "report/words.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ballast_cli {

namespace {

constexpr std::size_t most_columns = 5;

struct memory_line {
  char const *name, *style;
  std::int64_t ballast::memory_parts::* value;
};
/// Without shards nothing is gathered: what DistributedDataParallel and autocast hold is in its place.
[[nodiscard]] std::array<memory_line, 5> lines_of(ballast::model_setting const& by) {
  auto const& k = by.kernels;
  auto const eager = by.framework.count != ballast::tensor_count::megatron;
  auto const buckets = by.spread.data > 1 && k.local_gradient > 0;
  auto const* const gathered = !eager || by.spread.zero >= 2 ? "gathered parameters"
                               : buckets && k.kept_copies    ? "buckets, autocast's copies"
                               : buckets                     ? "buckets of gradients"
                                                             : "autocast's copies";
  return {memory_line{"states", "solid c2", &ballast::memory_parts::states},
          memory_line{"workspace", "pale c0", &ballast::memory_parts::workspace},
          memory_line{"kept by layers", "solid c3", &ballast::memory_parts::kept},
          memory_line{"inputs and masks", "pale c3", &ballast::memory_parts::inputs},
          memory_line{gathered, "pale c2", &ballast::memory_parts::gathered}};
}

/// Which stages are shown: all, or the first ones, the one that holds most, and the last.
[[nodiscard]] std::vector<std::size_t> shown(std::vector<ballast::memory_parts> const& stages) {
  std::vector<std::size_t> out;
  for (std::size_t s = 0; s < stages.size() && (stages.size() <= most_columns || s + 2 < most_columns); ++s) out.push_back(s);
  if (out.size() == stages.size()) return out;
  auto const most = static_cast<std::size_t>(&ballast::largest_of(stages) - stages.data());
  for (auto const s : {most, stages.size() - 1})
    if (std::find(out.begin(), out.end(), s) == out.end()) out.push_back(s);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

nlohmann::ordered_json to_json(ballast::memory_parts const& of) {
  nlohmann::ordered_json extra;
  for (std::size_t m = 0; m < of.extra.size(); ++m) extra[std::string(to_string(static_cast<ballast::memory_moment>(m)))] = of.extra[m];
  return {
      {"states", of.states},       {"workspace", of.workspace},      {"kept", of.kept},  {"inputs", of.inputs}, {"gathered", of.gathered},
      {"extra", std::move(extra)}, {"moment", to_string(of.moment)}, {"peak", of.peak()}};
}

std::string parts_table(std::vector<ballast::memory_parts> const& stages, ballast::model_setting const& by) {
  using parts = ballast::memory_parts;
  auto const columns = shown(stages);
  std::vector<std::vector<std::string>> rows{{"bytes"}};
  for (auto const s : columns) rows[0].push_back("stage " + std::to_string(s));
  auto const add = [&](std::string name, auto const& value, bool even_zeros) {
    auto any = even_zeros;
    std::vector<std::string> row{std::move(name)};
    for (auto const s : columns) {
      auto const bytes = value(stages[s]);
      any = any || bytes != 0;
      row.push_back(grouped(static_cast<std::uint64_t>(bytes)));
    }
    if (any) rows.push_back(std::move(row));
  };
  for (auto const& l : lines_of(by)) add(l.name, [&](parts const& p) { return p.*l.value; }, false);
  for (std::size_t m = 0; m < parts{}.extra.size(); ++m)
    add(
        "in addition: " + std::string(to_string(static_cast<ballast::memory_moment>(m))), [&](parts const& p) { return p.extra[m]; },
        false);
  add("peak", [](parts const& p) { return p.peak(); }, true);
  rows.push_back({"at the moment"});
  for (auto const s : columns) rows.back().emplace_back(to_string(stages[s].moment));
  std::string text;
  for (auto const& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      std::size_t width = 0;
      for (auto const& other : rows) width = (std::max)(width, other[c].size());
      auto const pad = std::string(width - row[c].size(), ' ');
      text += c == 0 ? row[c] + pad : "  " + pad + row[c];
    }
    text += '\n';
  }
  return text;
}

report_split on_page(std::vector<ballast::memory_parts> const& stages, ballast::model_setting const& by) {
  report_split out{.id = "memory-parts",
                   .heading = "Where the memory of a device goes",
                   .unit = "GiB",
                   .caption = "Each stage at its peak. \"In addition\" is what is held at that moment alone."};
  auto const add = [&](std::string name, char const* style, auto const& value) {
    report_split::part part{std::move(name), style, {}};
    for (auto const& stage : stages) part.of_stages.push_back(static_cast<double>(value(stage)) / 0x1p30);
    if (std::ranges::any_of(part.of_stages, [](double bytes) { return bytes != 0; })) out.parts.push_back(std::move(part));
  };
  for (auto const& l : lines_of(by)) add(l.name, l.style, [&](auto const& of) { return of.*l.value; });
  for (std::size_t m = 0; m < ballast::memory_parts{}.extra.size(); ++m) {
    auto const moment = static_cast<ballast::memory_moment>(m);
    add("in addition: " + std::string(to_string(moment)), m % 2 == 0 ? "solid c1" : "pale c1",
        [&](auto const& of) { return of.moment == moment ? of.extra[m] : 0; });
  }
  return out;
}

}  // namespace ballast_cli
