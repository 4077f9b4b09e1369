// SPDX-License-Identifier: Apache-2.0
#include "readers/step_times.hpp"

#include "errors.hpp"
#include "nearest.hpp"
#include "readers/rows.hpp"
#include "report/output.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace ballast_cli {

namespace {

struct count_column {
  std::string_view name;
  std::optional<std::int64_t> step_time_row::* value;
};
constexpr std::array count_columns{count_column{"gpus", &step_time_row::gpus},
                                   count_column{"seq_length", &step_time_row::sequence},
                                   count_column{"micro_batch", &step_time_row::micro_batch},
                                   count_column{"micro_batches", &step_time_row::micro_batches},
                                   count_column{"tokens", &step_time_row::tokens},
                                   count_column{"squares", &step_time_row::squares}};

/// Calls `row(fields, line)` for each line that is not blank.
template <class Row>
void for_each_line(std::string_view bytes, std::string const& name, Row const& row) {
  if (bytes.starts_with("\xef\xbb\xbf")) bytes.remove_prefix(3);
  for (std::size_t line = 1; !bytes.empty(); ++line) {
    auto const stop = (std::min)(bytes.find('\n'), bytes.size());
    auto const text = bytes.substr(0, stop);
    bytes.remove_prefix((std::min)(stop + 1, bytes.size()));
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    row(csv_fields(text, [&] { return name + ":" + std::to_string(line); }), line);
  }
}

/// The columns in the order of the file.
[[nodiscard]] std::vector<std::string> read_header(std::vector<std::string> fields, std::string const& place) {
  std::vector<std::string_view> known{"setting", "ms"};
  for (auto const& c : count_columns) known.push_back(c.name);
  for (auto at = fields.begin(); at != fields.end(); ++at) {
    *at = lower_case(*at);
    if (std::find(known.begin(), known.end(), *at) == known.end())
      throw bad_input(place + ": " + printable(*at) +
                      " is no column of measured steps; these are setting, ms, tokens, squares, gpus, seq_length, micro_batch and "
                      "micro_batches" +
                      did_you_mean(*at, known));
    if (std::find(fields.begin(), at, *at) != at) throw bad_input(place + ": the column " + *at + " occurs a second time");
  }
  if (std::find(fields.begin(), fields.end(), "ms") == fields.end()) throw bad_input(place + ": the column ms is missing");
  return fields;
}

}  // namespace

bool has_step_times(std::string_view bytes) {
  constexpr std::string_view blanks = " \t\r\n", between = "\xef\xbb\xbf\" \t\r,";
  auto const first = (std::min)(bytes.find_first_not_of(blanks), bytes.size());
  auto line = lower_case(bytes.substr(first, bytes.find('\n', first) - first));
  for (auto& c : line) c = between.find(c) == std::string_view::npos ? c : ',';
  return ("," + line + ",").find(",setting,") != std::string::npos;
}

std::vector<step_time_row> read_step_times(std::string_view bytes, std::string const& name) {
  constexpr auto most = std::int64_t{(std::numeric_limits<std::int32_t>::max)()};
  std::vector<step_time_row> out;
  std::vector<std::string> columns;
  for_each_line(bytes, name, [&](std::vector<std::string> fields, std::size_t line) {
    auto const place = name + ":" + std::to_string(line);
    if (columns.empty()) {
      columns = read_header(std::move(fields), place);
      return;
    }
    if (fields.size() != columns.size())
      throw bad_input(place + ": " + counted(fields.size(), "column") + " where the header has " + std::to_string(columns.size()));
    step_time_row row{.setting = {},
                      .gpus = {},
                      .sequence = {},
                      .micro_batch = {},
                      .micro_batches = {},
                      .tokens = {},
                      .squares = {},
                      .ms = 0,
                      .line = line};
    for (std::size_t i = 0; i < fields.size(); ++i) {
      auto const& field = fields[i];
      if (columns[i] == "setting") {
        row.setting = field;
      } else if (columns[i] == "ms") {
        if (!read_field(field, row.ms) || !std::isfinite(row.ms) || row.ms <= 0)
          throw bad_input(place + ": " + printable(field) + " is not a time: times are milliseconds above 0");
      } else if (!field.empty()) {
        auto const& column = *std::find_if(count_columns.begin(), count_columns.end(), [&](auto const& c) { return c.name == columns[i]; });
        auto const limit = column.value == &step_time_row::squares ? most * most : most;
        std::int64_t value = 0;
        if (!read_field(field, value) || value < 1 || value > limit)
          throw bad_input(place + ": " + printable(field) + " is not a number of " + columns[i] + ": these are whole numbers from 1 to " +
                          std::to_string(limit));
        row.*column.value = value;
      }
    }
    if (row.setting.empty()) throw bad_input(place + ": the setting is missing");
    if (row.tokens.has_value() != row.squares.has_value())
      throw bad_input(place + ": tokens and squares of a micro-batch belong together; without both, sequences are full");
    if (row.tokens && (*row.squares < *row.tokens || *row.squares > *row.tokens * *row.tokens))
      throw bad_input(place + ": " + std::to_string(*row.tokens) + " tokens have squares from " + std::to_string(*row.tokens) + " to " +
                      std::to_string(*row.tokens * *row.tokens) + ": those of the lengths of samples, added up");
    out.push_back(std::move(row));
  });
  if (out.empty()) throw bad_input(name + ": there are no measured steps in it");
  return out;
}

}  // namespace ballast_cli
