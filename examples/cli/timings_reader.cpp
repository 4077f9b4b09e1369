// SPDX-License-Identifier: Apache-2.0
#include "timings_reader.hpp"

#include "columns.hpp"
#include "errors.hpp"

#include <cmath>

namespace ballast_cli {

std::vector<timing_row> read_timings(std::string_view bytes, std::string const& name) {
  std::vector<timing_row> rows;
  for_each_row(bytes, [&](std::span<std::string_view const> fields, std::size_t line) {
    auto const place = [&] { return name + ":" + std::to_string(line); };
    if (fields.size() != 2)
      throw bad_input(place() + ": two columns are expected, length and milliseconds; there are " + std::to_string(fields.size()));
    timing_row row{0, 0, line};
    if (!read_field(fields[0], row.length) || row.length < 1)
      throw bad_input(place() + ": " + printable(fields[0]) + " is not a length: lengths are whole numbers from 1 to 2^63-1");
    if (!read_field(fields[1], row.ms) || !std::isfinite(row.ms) || row.ms <= 0)
      throw bad_input(place() + ": " + printable(fields[1]) + " is not a time: times are milliseconds above 0");
    rows.push_back(row);
  });
  if (rows.empty()) throw bad_input(name + ": there are no timings in it");
  return rows;
}

}  // namespace ballast_cli
