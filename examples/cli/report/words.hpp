// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "report/page.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

// Words and figures that all plans share.

namespace ballast_cli {

template <class... Values>
[[nodiscard]] std::string formatted(char const* format, Values... values) {
  char text[256];
  (void)std::snprintf(text, sizeof text, format, values...);
  return text;
}

/// Milliseconds in a unit that people read.
[[nodiscard]] std::string duration(double ms);

/// The files of a data set in a line.
[[nodiscard]] std::string title_of(std::vector<std::string> const& files);

/// "4,096 bytes".
[[nodiscard]] std::string many_bytes(std::int64_t bytes);

/// Bins of about equal ratio, so that a long tail shows. `tokens` is not empty.
void add_histogram(report_data& page, std::vector<std::int64_t> const& tokens);

/// Some packs, evenly spaced, each with as many samples as stay legible. `tokens` are those of each sample.
template <class Packs>
void add_some_packs(report_data& page, Packs const& packs, std::vector<std::int64_t> const& tokens) {
  auto const shown = (std::min)(packs.size(), std::size_t{24});
  for (std::size_t k = 0; k < shown; ++k) {
    auto const p = k * packs.size() / shown;
    auto& pack = page.some_packs.emplace_back(report_pack{.number = p});
    for (auto const i : packs[p]) {
      auto const length = static_cast<std::uint64_t>(tokens[static_cast<std::size_t>(i)]);
      if (pack.tokens.size() < report_pack::most)
        pack.tokens.push_back(length);
      else
        pack.tokens.back() += length;
      ++pack.samples;
    }
  }
}

}  // namespace ballast_cli
