// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "report/output.hpp"
#include "report/svg.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Words, tables and figures of a report page.

namespace ballast_cli::html {

using table_rows = std::vector<std::vector<std::string>>;

/// A number and its unit stay on one line.
[[nodiscard]] inline std::string unbroken(std::string words) {
  for (auto at = words.find(' '); at != words.npos; at = words.find(' ', at)) words.replace(at, 1, "\u00a0");
  return words;
}
/// A share of one.
[[nodiscard]] inline std::string share(double value) { return std::isfinite(value) ? unbroken(percent(value)) : "n/a"; }
[[nodiscard]] inline std::string factor(double value) {
  char text[32];
  (void)std::snprintf(text, sizeof text, value < 100 ? "%.3f" : "%.4g", value);
  return std::isfinite(value) ? text : "n/a";
}
/// Three digits; four if the integer part has four.
[[nodiscard]] inline std::string short_duration(double ms) {
  if (!std::isfinite(ms)) return "n/a";
  auto const [unit, name] = ms < 1e3       ? std::pair(1.0, " ms")
                            : ms < 120e3   ? std::pair(1e3, " s")
                            : ms < 3'600e3 ? std::pair(60e3, " min")
                                           : std::pair(3'600e3, " h");
  auto const value = ms / unit;
  char text[64];
  (void)std::snprintf(text, sizeof text,
                      value < 9.995   ? "%.2f%s"
                      : value < 99.95 ? "%.1f%s"
                      : value < 1e6   ? "%.0f%s"
                                      : "%.3g%s",
                      value, name);
  return unbroken(text);
}

/// The first row and the first column are heads.
[[nodiscard]] inline std::string html_table(std::string const& caption, table_rows const& rows, std::string_view style = {}) {
  auto out = "<div class=\"wide\"><table" + (style.empty() ? "" : " class=\"" + std::string(style) + "\"") + "><caption>" +
             escaped(caption) + "</caption>";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out += i == 0 ? "<thead><tr>" : i == 1 ? "<tbody><tr>" : "<tr>";
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      auto const words = escaped(rows[i][j]);
      out += i == 0 ? "<th scope=\"col\">" + words + "</th>" : j == 0 ? "<th scope=\"row\">" + words + "</th>" : "<td>" + words + "</td>";
    }
    out += i == 0 ? "</tr></thead>\n" : "</tr>\n";
  }
  return out + (rows.size() > 1 ? "</tbody>" : "") + "</table></div>";
}

[[nodiscard]] inline std::string figure(std::string const& heading, std::string const& picture, std::string const& caption,
                                        std::string const& figures = {}) {
  return "<figure><h3>" + escaped(heading) + "</h3>\n" + picture + "\n<figcaption>" + escaped(caption) + "</figcaption>" +
         (figures.empty() ? "" : "<details><summary>As a table</summary>" + figures + "</details>") + "</figure>\n";
}

}  // namespace ballast_cli::html
