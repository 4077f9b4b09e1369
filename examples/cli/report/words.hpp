// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "report/page.hpp"

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

/// "3 samples".
[[nodiscard]] std::string counted(std::uint64_t count, std::string const& what);

/// "4,096 bytes".
[[nodiscard]] std::string many_bytes(std::int64_t bytes);

/// Bins of about equal ratio, so that a long tail shows. `tokens` is not empty.
void add_histogram(report_data& page, std::vector<std::int64_t> const& tokens);

}  // namespace ballast_cli
