// SPDX-License-Identifier: Apache-2.0
#include "readers/stages.hpp"

#include "errors.hpp"
#include "readers/json_document.hpp"
#include "readers/rows.hpp"
#include "report/output.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

namespace ballast_cli {

namespace {

constexpr std::array<std::pair<std::string_view, layer_choice>, 3> choice_words{
    {{"keep", layer_choice::keep}, {"recompute", layer_choice::recompute}, {"offload", layer_choice::offload}}};
constexpr auto stage_forms =
    "expected boundaries as in 0,8,16, a JSON object as partition --json or recompute --json print it, or CSV with the columns name and "
    "stage or choice";

[[nodiscard]] std::uint64_t read_boundary(std::string_view field, std::string const& place) {
  std::uint64_t value = 0;
  if (!read_field(field, value))
    throw bad_input(place + ": " + printable(field) + " is not a boundary: boundaries are whole numbers from 0");
  return value;
}

[[nodiscard]] stages_of_layers stages_of_json(std::string_view text, std::string const& name) {
  auto const json = parse_document(text, name);
  if (!json.is_object()) throw bad_input(name + ": not a JSON object" + json_slip(text, name) + "; " + stage_forms);
  stages_of_layers out;
  auto const list = [&](std::string_view key) {
    auto const found = json.find(key);
    if (found == json.end()) return nlohmann::json::array();
    if (!found->is_array())
      throw bad_input(name + ": " + std::string(key) + ": expected a list, not " + printable(found->dump(-1, ' ', true)));
    return *found;
  };
  for (auto const& entry : list("boundaries"))
    out.boundaries.push_back(read_boundary(entry.dump(), name + ": boundaries[" + std::to_string(out.boundaries.size()) + "]"));
  for (auto const& [word, choice] : choice_words) {
    std::size_t at = 0;
    out.chosen = out.chosen || json.contains(word);
    for (auto const& entry : list(word)) {
      auto place = name + ": " + std::string(word) + "[" + std::to_string(at++) + "]";
      if (!entry.is_string()) throw bad_input(place + ": expected the name of a layer, not " + printable(entry.dump(-1, ' ', true)));
      out.layers.push_back({.name = entry.get<std::string>(), .choice = choice, .place = std::move(place)});
    }
  }
  if (out.boundaries.empty() && !out.chosen) throw bad_input(name + ": has neither boundaries nor layers to recompute; " + stage_forms);
  return out;
}

[[nodiscard]] stages_of_layers stages_of_csv(std::string_view text, std::string const& name) {
  enum column : std::size_t { name_of_layer, stage_of_layer, choice_of_layer, number_of_columns };
  constexpr std::array<std::string_view, number_of_columns> words{"name", "stage", "choice"};
  stages_of_layers out;
  std::array<std::optional<std::size_t>, number_of_columns> at{};
  std::size_t columns = 0;
  for (std::size_t line = 1; !text.empty(); ++line) {
    auto const stop = (std::min)(text.find('\n'), text.size());
    auto const row = text.substr(0, stop);
    text.remove_prefix((std::min)(stop + 1, text.size()));
    if (row.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto place = name + ":" + std::to_string(line);
    auto fields = csv_fields(row, [&] { return place; });
    if (columns == 0) {
      columns = fields.size();
      for (std::size_t i = 0; i < columns; ++i) {
        auto const known = std::find(words.begin(), words.end(), fields[i]);
        if (known == words.end()) throw bad_input(place + ": " + printable(fields[i]) + " is no column of stages; " + stage_forms);
        auto& column = at[static_cast<std::size_t>(known - words.begin())];
        if (column) throw bad_input(place + ": the column " + fields[i] + " occurs a second time");
        column = i;
      }
      out.staged = at[stage_of_layer].has_value();
      out.chosen = at[choice_of_layer].has_value();
      if (!at[name_of_layer] || !(out.staged || out.chosen)) throw bad_input(place + ": a column is missing; " + stage_forms);
      continue;
    }
    if (fields.size() != columns)
      throw bad_input(place + ": " + counted(fields.size(), "column") + " where the header has " + std::to_string(columns));
    auto& layer = out.layers.emplace_back();
    layer.name = fields[*at[name_of_layer]];
    if (out.staged && !read_field(fields[*at[stage_of_layer]], layer.stage))
      throw bad_input(place + ": " + printable(fields[*at[stage_of_layer]]) + " is not a stage: stages are whole numbers from 0");
    if (out.chosen) {
      auto const& field = fields[*at[choice_of_layer]];
      auto const known = std::find_if(choice_words.begin(), choice_words.end(), [&](auto const& c) { return c.first == field; });
      if (known == choice_words.end())
        throw bad_input(place + ": " + printable(field) + " is no choice of a layer; these are keep, recompute and offload");
      layer.choice = known->second;
    }
    layer.place = std::move(place);
  }
  return out;
}

}  // namespace

stages_of_layers read_stages(std::string_view text, std::string const& name) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  auto const first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) throw bad_input(name + ": is empty; " + stage_forms);
  if (text[first] == '{') return stages_of_json(text, name);
  if (text[first] != '[' && (text[first] < '0' || text[first] > '9')) return stages_of_csv(text, name);
  constexpr std::string_view between = " \t\r\n,[]";
  stages_of_layers out;
  for (auto at = text.find_first_not_of(between); at != std::string_view::npos; at = text.find_first_not_of(between, at)) {
    auto const field = text.substr(at, text.find_first_of(between, at) - at);
    out.boundaries.push_back(read_boundary(
        field, name + ":" + std::to_string(1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'))));
    at += field.size();
  }
  if (out.boundaries.empty()) throw bad_input(name + ": there are no boundaries in it; " + stage_forms);
  return out;
}

bool names_layers(std::string_view bytes) {
  bytes.remove_prefix((std::min)(bytes.find_first_not_of(" \t\r\n\xef\xbb\xbf"), bytes.size()));
  auto const line = bytes.substr(0, bytes.find('\n'));
  auto const names = [&](std::string_view column) { return line.find(column) != std::string_view::npos; };
  return names(",") && names("name") && names("forward") && names("backward");
}

}  // namespace ballast_cli
