// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "errors.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

// Small tables of numbers as text.

namespace ballast_cli {

/// Reads a complete field as a number; false if it is not one.
template <class Number>
[[nodiscard]] bool read_field(std::string_view field, Number& value) {
  auto const [stop, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  return error == std::errc{} && stop == field.data() + field.size();
}

/// Calls `row(fields, line)` for each line that is not blank; fields are separated by commas, semicolons or blanks. A first line without a
/// digit is a header and left out.
template <class Row>
void for_each_row(std::string_view bytes, Row const& row) {
  constexpr std::string_view between = " \t\r,;", digits = "0123456789";
  std::vector<std::string_view> fields;
  std::size_t line = 1;
  auto header = true;  // allowed until the first row
  for (std::size_t at = 0; at < bytes.size(); ++line) {
    auto const stop = (std::min)(bytes.find('\n', at), bytes.size());
    auto const text = bytes.substr(at, stop - at);
    at = stop + 1;
    fields.clear();
    for (auto from = text.find_first_not_of(between); from != std::string_view::npos;) {
      auto const end = (std::min)(text.find_first_of(between, from), text.size());
      fields.push_back(text.substr(from, end - from));
      from = text.find_first_not_of(between, end);
    }
    if (fields.empty()) continue;
    if (std::exchange(header, false) && text.find_first_of(digits) == std::string_view::npos) continue;
    row(std::span<std::string_view const>(fields), line);
  }
}

/// The fields of a line between commas, without blanks around them; one in double quotes may hold commas. `place()` says where the line is.
template <class Place>
[[nodiscard]] std::vector<std::string> csv_fields(std::string_view line, Place const& place) {
  constexpr std::string_view blanks = " \t\r";
  std::vector<std::string> out(1);
  auto quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"')
        out.back() += line[++i];
      else
        quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      out.emplace_back();
    } else {
      out.back() += line[i];
    }
  }
  if (quoted) throw bad_input(place() + ": a quote is opened and not closed on the same line");
  for (auto& f : out) {
    f.erase(0, (std::min)(f.find_first_not_of(blanks), f.size()));
    f.erase(f.find_last_not_of(blanks) + 1);
  }
  return out;
}

}  // namespace ballast_cli
