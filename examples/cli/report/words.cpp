// SPDX-License-Identifier: Apache-2.0
#include "report/words.hpp"

#include "errors.hpp"
#include "readers/file_bytes.hpp"
#include "report/output.hpp"

#include <ballast/core/classes.hpp>

#include <cmath>
#include <utility>

namespace ballast_cli {

std::string duration(double ms) {
  constexpr std::pair<double, char const*> units[] = {{3.6e6, "h"}, {60e3, "min"}, {1e3, "s"}};
  for (auto const& [size, name] : units)
    if (ms >= size) return formatted("%.2f %s", ms / size, name);
  return formatted("%.2f ms", ms);
}

std::string title_of(std::vector<std::string> const& files) {
  std::string title;
  for (auto const& file : files) title += (title.empty() ? "" : ", ") + shown_name(file);
  return title;
}

std::string many_bytes(std::int64_t bytes) { return counted(static_cast<std::uint64_t>(bytes), "byte"); }

void add_histogram(report_data& page, std::vector<std::int64_t> const& tokens) {
  constexpr int bins = 32;
  auto const h = ballast::fold(tokens);
  auto const low = static_cast<double>(h.lengths.front()), high = static_cast<double>(h.lengths.back()) + 1;
  for (int k = 0; k <= bins; ++k) {
    auto const edge = static_cast<std::uint64_t>(std::llround(low * std::pow(high / low, static_cast<double>(k) / bins)));
    if (page.bin_edges.empty() || edge > page.bin_edges.back()) page.bin_edges.push_back(edge);
  }
  page.bin_samples.assign(page.bin_edges.size() - 1, 0);
  page.bin_tokens = page.bin_samples;
  for (std::size_t k = 0, bin = 0; k < h.lengths.size(); ++k) {
    auto const length = static_cast<std::uint64_t>(h.lengths[k]);
    while (length >= page.bin_edges[bin + 1]) ++bin;
    page.bin_samples[bin] += h.counts[k];
    page.bin_tokens[bin] += h.counts[k] * length;
  }
}

}  // namespace ballast_cli
