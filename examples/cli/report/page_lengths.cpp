// SPDX-License-Identifier: Apache-2.0
#include "report/html.hpp"
#include "report/output.hpp"
#include "report/page_parts.hpp"
#include "report/svg.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace ballast_cli {

using namespace html;

void add_lengths(page_places& places, report_data const& data) {
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

  places["lengths"] = "shown";
  places["samples_by_length"] =
      histogram("samples", "Samples by length", data.bin_samples, "How many samples have about this length.", html_table("lengths", rows));
  places["tokens_by_length"] =
      histogram("tokens", "Tokens by length", data.bin_tokens, "How many tokens are in samples of about this length.", "");
  if (!(samples > 0 && tokens > 0)) return;
  double long_samples = 0, long_tokens = 0;
  auto from = bins;
  while (from > 0 && long_tokens * 2 < tokens) {
    long_samples += static_cast<double>(data.bin_samples[--from]);
    long_tokens += static_cast<double>(data.bin_tokens[from]);
  }
  places["mean_length"] = escaped(counted(static_cast<std::uint64_t>(tokens / samples + 0.5), "token"));
  places["long_length"] = grouped(data.bin_edges[from]);
  places["long_samples"] = share(long_samples / samples);
  places["long_tokens"] = share(long_tokens / tokens);
}

}  // namespace ballast_cli
