// SPDX-License-Identifier: Apache-2.0
#include "readers/timings.hpp"

#include "errors.hpp"
#include "readers/rows.hpp"

#include <cmath>
#include <utility>

namespace ballast_cli {

namespace {

std::int64_t read_length(std::string_view field, std::string const& place) {
  std::int64_t length = 0;
  if (!read_field(field, length) || length < 1)
    throw bad_input(place + ": " + printable(field) + " is not a length: lengths are whole numbers from 1 to 2^63-1");
  return length;
}

double read_ms(std::string_view field, std::string const& place) {
  double ms = 0;
  if (!read_field(field, ms) || !std::isfinite(ms) || ms <= 0)
    throw bad_input(place + ": " + printable(field) + " is not a time: times are milliseconds above 0");
  return ms;
}

}  // namespace

std::vector<timing_row> read_timings(std::string_view bytes, std::string const& name) {
  std::vector<timing_row> rows;
  for_each_row(bytes, [&](std::span<std::string_view const> fields, std::size_t line) {
    auto const place = name + ":" + std::to_string(line);
    if (fields.size() != 2)
      throw bad_input(place + ": two columns are expected, length and milliseconds; there are " + std::to_string(fields.size()));
    rows.push_back({read_length(fields[0], place), read_ms(fields[1], place), line});
  });
  if (rows.empty()) throw bad_input(name + ": there are no timings in it");
  return rows;
}

std::vector<micro_batch_row> read_micro_batches(std::string_view bytes, std::string const& name) {
  std::vector<micro_batch_row> rows;
  for_each_row(bytes, [&](std::span<std::string_view const> fields, std::size_t line) {
    auto const place = name + ":" + std::to_string(line);
    if (fields.size() < 2) throw bad_input(place + ": the lengths of a micro-batch and its milliseconds are expected; there is one column");
    micro_batch_row row;
    for (auto const field : fields.first(fields.size() - 1)) row.lengths.push_back(read_length(field, place));
    row.ms = read_ms(fields.back(), place);
    rows.push_back(std::move(row));
  });
  if (rows.empty()) throw bad_input(name + ": there are no timings in it");
  return rows;
}

}  // namespace ballast_cli
