// SPDX-License-Identifier: Apache-2.0
#include "readers/layers.hpp"

#include "errors.hpp"
#include "readers/rows.hpp"
#include "report/output.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <unordered_map>
#include <utility>

namespace ballast_cli {

namespace {

enum column : std::size_t { name_column, forward_column, backward_column, first_part, first_bytes = first_part + 2 };
constexpr std::array<std::string_view, 9> column_names{"name",
                                                       "forward",
                                                       "backward",
                                                       "forward_per_batch",
                                                       "backward_per_batch",
                                                       "parameter_bytes",
                                                       "activation_bytes",
                                                       "checkpoint_bytes",
                                                       "boundary_bytes"};
constexpr std::array time_members{&layer_row::forward, &layer_row::backward, &layer_row::forward_per_batch, &layer_row::backward_per_batch};
constexpr std::array byte_members{&layer_row::parameter_bytes, &layer_row::activation_bytes, &layer_row::checkpoint_bytes,
                                  &layer_row::boundary_bytes};
constexpr double most_units = 1125899906842624.0;  // 2^50: below it a decimal times a power of ten still rounds to the right integer
constexpr auto most_bytes = std::int64_t{1} << 58;
constexpr int most_decimals = 15;

/// The position of each known column; none for a missing one.
[[nodiscard]] std::array<std::size_t, column_names.size()> columns_of(std::vector<std::string> const& header, std::string const& place) {
  std::array<std::size_t, column_names.size()> at{};
  at.fill(header.size());
  for (std::size_t i = 0; i < header.size(); ++i) {
    auto const known = std::find(column_names.begin(), column_names.end(), header[i]);
    if (known == column_names.end())
      throw bad_input(place + ": " + printable(header[i]) +
                      " is no column of layers; these are name, forward, backward, forward_per_batch, backward_per_batch, "
                      "parameter_bytes, activation_bytes, checkpoint_bytes and boundary_bytes");
    auto& place_of = at[static_cast<std::size_t>(known - column_names.begin())];
    if (place_of != header.size()) throw bad_input(place + ": the column " + header[i] + " occurs a second time");
    place_of = i;
  }
  for (auto const needed : {name_column, forward_column, backward_column})
    if (at[needed] == header.size()) throw bad_input(place + ": the column " + std::string(column_names[needed]) + " is missing");
  return at;
}

/// Decimals that a number needs, as it is written.
[[nodiscard]] int decimals_of(std::string_view text) {
  auto const e = (std::min)(text.find_first_of("eE"), text.size());
  int exponent = 0;
  if (e != text.size()) {
    auto digits = text.substr(e + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    if (!read_field(digits, exponent)) exponent = digits.starts_with('-') ? -most_decimals : 0;
  }
  auto const mantissa = text.substr(0, e);
  auto const point = (std::min)(mantissa.find('.'), mantissa.size());
  auto const last = mantissa.find_last_not_of("0.");
  if (last == std::string_view::npos) return 0;
  auto const behind = last > point && point != mantissa.size() ? static_cast<std::ptrdiff_t>(last - point) : 0;
  return static_cast<int>(std::clamp<std::ptrdiff_t>(behind - exponent, 0, most_decimals + 1));
}

using raw_times = std::array<double, time_members.size()>;

/// Chooses the scale, and turns the times into integers.
void scale(layer_table& out, std::vector<raw_times> const& times, int decimals, int wanted, double total) {
  auto taken = (std::min)((std::max)(decimals, wanted), most_decimals);
  auto units = [](int d) {
    std::int64_t power = 1;
    while (d-- > 0) power *= 10;
    return power;
  };
  while (taken > 0 && total * static_cast<double>(units(taken)) >= most_units) --taken;
  out.units_per_1 = units(taken);
  out.rounded = taken < decimals;
  auto const rounded = [&](double time) { return (static_cast<std::int64_t>(2.0 * time * static_cast<double>(out.units_per_1)) + 1) / 2; };
  for (std::size_t i = 0; i < times.size(); ++i) {
    for (std::size_t k = 0; k < time_members.size(); ++k) out.layers[i].*time_members[k] = rounded(times[i][k]);
  }
}

}  // namespace

layer_table read_layers(std::string_view bytes, std::string const& name, int wanted) {
  layer_table out;
  std::vector<raw_times> times;
  std::unordered_map<std::string, std::size_t> line_of;
  std::array<std::size_t, column_names.size()> at{};
  std::array<std::int64_t, byte_members.size()> sums{};
  std::size_t columns = 0, line = 0;
  int decimals = 0;
  double total = 0;
  auto const place = [&] { return name + ":" + std::to_string(line); };
  auto const time_of = [&](std::string const& field, std::string_view column) {
    double time = 0;
    if (!read_field(field, time) || !std::isfinite(time) || field.starts_with('-'))
      throw bad_input(place() + ": " + printable(field) + " is not a " + std::string(column) + " time: times are numbers from 0");
    decimals = (std::max)(decimals, decimals_of(field));
    return time;
  };
  if (bytes.starts_with("\xef\xbb\xbf")) bytes.remove_prefix(3);
  while (!bytes.empty()) {
    ++line;
    auto const stop = (std::min)(bytes.find('\n'), bytes.size());
    auto const text = bytes.substr(0, stop);
    bytes.remove_prefix((std::min)(stop + 1, bytes.size()));
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto fields = csv_fields(text, place);
    if (columns == 0) {
      columns = fields.size();
      at = columns_of(fields, place());
      out.parameters = at[first_bytes] != columns;
      out.activations = at[first_bytes + 1] != columns;
      continue;
    }
    if (fields.size() != columns)
      throw bad_input(place() + ": " + counted(fields.size(), "column") + " where the header has " + std::to_string(columns));
    auto& row = out.layers.emplace_back();
    row.name = std::move(fields[at[name_column]]);
    if (row.name.empty()) throw bad_input(place() + ": the layer has no name");
    if (auto const [before, fresh] = line_of.emplace(row.name, line); !fresh)
      throw bad_input(place() + ": layer " + printable(row.name) + " is in line " + std::to_string(before->second) + " already");
    auto& time = times.emplace_back();
    for (std::size_t k = 0; k < time_members.size(); ++k) {
      auto const from = at[forward_column + k];
      if (from != columns) time[k] = time_of(fields[from], column_names[forward_column + k]);
      if (k >= 2 && time[k] > time[k - 2])
        throw bad_input(place() + ": " + printable(fields[from]) + " of " + std::string(column_names[forward_column + k]) +
                        " exceeds the layer's time of " + printable(fields[at[forward_column + k - 2]]) +
                        ", of which it is the part that any micro-batch takes");
    }
    total += 2 * time[0] + time[1];  // recomputed, a layer runs forward twice
    if (!(total < most_units)) throw bad_input(place() + ": the times add up to 2^50 or more; choose a larger unit");
    for (std::size_t k = 0; k < byte_members.size(); ++k) {
      auto const from = at[first_bytes + k];
      if (from == columns) continue;
      auto const& field = fields[from];
      auto& value = row.*byte_members[k];
      if (!read_field(field, value) || value < 0)
        throw bad_input(place() + ": " + printable(field) + " is not a number of bytes: " + std::string(column_names[first_bytes + k]) +
                        " are whole numbers from 0");
      if (value > most_bytes - sums[k])
        throw bad_input(place() + ": " + std::string(column_names[first_bytes + k]) + " add up to more than 2^58");
      sums[k] += value;
    }
  }
  if (out.layers.empty()) throw bad_input(name + ": there are no layers in it");
  scale(out, times, decimals, wanted, total);
  return out;
}

}  // namespace ballast_cli
