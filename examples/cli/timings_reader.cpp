// SPDX-License-Identifier: Apache-2.0
#include "timings_reader.hpp"

#include "errors.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace ballast_cli {

namespace {

template <class Number>
[[nodiscard]] bool read(std::string_view field, Number& value) {
  auto const [stop, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  return error == std::errc{} && stop == field.data() + field.size();
}

}  // namespace

std::vector<timing_row> read_timings(std::string_view bytes, std::string const& name) {
  constexpr std::string_view between = " \t\r,;", digits = "0123456789";
  std::vector<timing_row> rows;
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
    auto const place = [&] { return name + ":" + std::to_string(line); };
    if (std::exchange(header, false) && text.find_first_of(digits) == std::string_view::npos) continue;
    if (fields.size() != 2)
      throw bad_input(place() + ": two columns are expected, length and milliseconds; there are " + std::to_string(fields.size()));
    timing_row row{0, 0, line};
    if (!read(fields[0], row.length) || row.length < 1)
      throw bad_input(place() + ": " + printable(fields[0]) + " is not a length: lengths are whole numbers from 1 to 2^63-1");
    if (!read(fields[1], row.ms) || !std::isfinite(row.ms) || row.ms <= 0)
      throw bad_input(place() + ": " + printable(fields[1]) + " is not a time: times are milliseconds above 0");
    rows.push_back(row);
  }
  if (rows.empty()) throw bad_input(name + ": there are no timings in it");
  return rows;
}

}  // namespace ballast_cli
