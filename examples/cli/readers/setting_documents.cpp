// SPDX-License-Identifier: Apache-2.0
#include "readers/setting_documents.hpp"

#include "errors.hpp"
#include "readers/json_document.hpp"

#include <toml++/toml.h>
#include <yaml-cpp/yaml.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace ballast_cli {

namespace {

[[nodiscard]] std::string in_section(std::string const& section, std::string const& key) {
  return section.empty() ? key : section + "." + key;
}

/// In front of each list that is in a list.
constexpr auto inner_list = "/";

void add_json(setting_table& table, nlohmann::json const& value, std::string const& key, std::string const& name) {
  if (value.is_object()) {
    for (auto const& [inner, of] : value.items()) add_json(table, of, in_section(key, inner), name);
    return;
  }
  auto const text = [](nlohmann::json const& v) { return v.is_string() ? v.get<std::string>() : v.dump(); };
  setting_entry entry{.key = key, .words = {}, .place = name};
  auto const add = [&](auto const& self, nlohmann::json const& v, bool inner) -> void {
    if (!v.is_array()) return entry.words.push_back(text(v));
    if (inner) entry.words.emplace_back(inner_list);
    for (auto const& element : v) self(self, element, true);
  };
  add(add, value, false);
  table.add(std::move(entry));
}

[[nodiscard]] std::string yaml_text(YAML::Node const& node) {
  if (node.IsScalar()) return node.Scalar();
  if (node.IsNull()) return "null";
  std::string out = "[";
  for (auto const& element : node) out += (out.size() == 1 ? "" : ",") + yaml_text(element);
  return out + "]";
}

/// The flags of a functional test, of which a program takes the last where one is given twice.
[[nodiscard]] YAML::Node last_of_each(YAML::Node const& flags) {
  std::map<std::string, YAML::Node> last;
  for (auto const& pair : flags)
    if (pair.first.IsScalar()) last.insert_or_assign(pair.first.Scalar(), pair.second);
  YAML::Node out;
  for (auto const& pair : flags) {
    auto const at = pair.first.IsScalar() ? last.find(pair.first.Scalar()) : last.end();
    if (at == last.end() || !at->second.is(pair.second)) continue;
    out.force_insert(pair.first, pair.second);
  }
  return out;
}

/// Counts what a document holds with its aliases in place, which could make a small text a huge one.
void count_yaml(YAML::Node const& node, std::size_t& left, int depth, std::string const& name) {
  if (left == 0 || depth == 0) throw bad_input(name + ": this is larger or deeper than any setting");
  --left;
  if (node.IsMap())
    for (auto const& pair : node) count_yaml(pair.second, left, depth - 1, name);
  if (node.IsSequence())
    for (auto const& element : node) count_yaml(element, left, depth - 1, name);
}

using yaml_pairs = std::vector<std::pair<YAML::Node, YAML::Node>>;
/// The keys and values of a map; those that it takes from others by `<<` are behind its own, which replace them.
[[nodiscard]] yaml_pairs pairs_of(YAML::Node const& map, std::string const& name) {
  yaml_pairs own, taken;
  for (auto const& pair : map) {
    if (!pair.first.IsScalar()) throw bad_input(name + ":" + std::to_string(pair.first.Mark().line + 1) + ": a key is not a word");
    if (pair.first.Scalar() != "<<") {
      own.emplace_back(pair.first, pair.second);
      continue;
    }
    auto const take = [&](YAML::Node const& from) {
      for (auto& other : pairs_of(from, name)) taken.push_back(std::move(other));
    };
    if (pair.second.IsMap()) take(pair.second);
    if (pair.second.IsSequence())
      for (auto const& element : pair.second) take(element);
  }
  std::set<std::string> keys;
  for (auto const& pair : own) keys.insert(pair.first.Scalar());
  for (auto const& pair : taken)
    if (keys.insert(pair.first.Scalar()).second) own.push_back(pair);
  return own;
}

void add_yaml(setting_table& table, YAML::Node const& node, std::string const& section, std::string const& name) {
  for (auto const& pair : pairs_of(node, name)) {
    auto const place = name + ":" + std::to_string(pair.first.Mark().line + 1);
    auto key = pair.first.Scalar();
    key.erase(0, key.find_first_not_of('-'));  // flags may be keys
    std::replace(key.begin(), key.end(), '-', '_');
    key = in_section(section, key);
    if (pair.second.IsMap()) {
      add_yaml(table, pair.second, key, name);
      continue;
    }
    setting_entry entry{.key = key, .words = {}, .place = place};
    if (pair.second.IsSequence()) {
      std::size_t number = 0, maps = 0;
      for (auto const& element : pair.second) {
        if (element.IsMap())
          add_yaml(table, element, key + "." + std::to_string(number), name), ++maps;
        else
          entry.words.push_back(yaml_text(element));
        ++number;
      }
      if (maps > 0 && entry.words.empty()) continue;
    } else
      entry.words.push_back(yaml_text(pair.second));
    table.add(std::move(entry));
  }
}

/// Flags in the sections language_model and model_parallel, of which some have other names.
void add_sections(setting_table& table, YAML::Node const& node, std::string const& name) {
  YAML::Node rest;
  for (auto const& pair : node)
    if (pair.first.IsScalar() && pair.second.IsMap() &&
        (pair.first.Scalar() == "language_model" || pair.first.Scalar() == "model_parallel"))
      add_yaml(table, pair.second, {}, name);
    else
      rest.force_insert(pair.first, pair.second);
  if (rest.size() > 0) add_yaml(table, rest, {}, name);
  auto const flag = [&](char const* key) { table.add({.key = key, .words = {}, .place = name}); };
  auto const model = node["language_model"];
  if (auto const function = model["activation_func"]; function && function.IsScalar()) {
    if (function.Scalar() == "swiglu") flag("swiglu");
    if (function.Scalar() == "squaredrelu") flag("squared_relu");
  }
  if (auto const groups = model["num_query_groups"]; groups && !groups.IsNull()) flag("group_query_attention");
}

/// Whether a document is deeper than any setting; readers of documents recurse. Aliases could make a small text a huge document.
void require_plain(std::string_view text, std::string const& name) {
  std::size_t open = 0, deepest = 0;
  for (auto const c : text) {
    if (c == '[' || c == '{') deepest = (std::max)(deepest, ++open);
    if ((c == ']' || c == '}') && open > 0) --open;
  }
  if (deepest > 64 || text.size() > std::size_t{1} << 22) throw bad_input(name + ": this is larger or deeper than any setting");
}

/// Where a string of TOML ends that begins at `first`: at its last quote or, if it is never closed, before the end of the line or text.
[[nodiscard]] std::size_t end_of_string(std::string_view text, std::size_t first) {
  auto const quote = text[first];
  std::size_t const quotes = text.substr(first).starts_with(std::string(3, quote)) ? 3 : 1;
  for (auto i = first + quotes; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (quotes == 1 && text[i] == '\n') {
      return i - 1;
    } else if (text.substr(i).starts_with(std::string(quotes, quote))) {
      i += quotes - 1;
      for (auto more = quotes - 1; more > 0 && i + 1 < text.size() && text[i + 1] == quote; --more) ++i;  // two may stand before the end
      return i;
    }
  }
  return text.size() - 1;
}

/// Refuses what the parser of TOML does not withstand outside of strings and comments: a key of so many parts that the tables which it
/// makes are deeper than any setting, and letters beyond ASCII, which TOML does not allow there.
void require_plain_toml(std::string_view text, std::string const& name) {
  std::size_t dots = 0;
  for (std::size_t i = text.starts_with("\xef\xbb\xbf") ? 3 : 0; i < text.size(); ++i) {
    if (text[i] == '#') i = text.find('\n', i);
    if (i == text.npos) return;
    auto const c = text[i];
    if (c == '\n' || c == '=' || c == ',') dots = 0;
    if (c == '.' && ++dots > 64) throw bad_input(name + ": this is larger or deeper than any setting");
    if (static_cast<unsigned char>(c) >= 0x80)
      throw bad_input(name + ":" + std::to_string(1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(i), '\n')) +
                      ": letters beyond ASCII must be in quotes or in a comment");
    if (c == '"' || c == '\'') i = end_of_string(text, i);
  }
}

void add_toml(setting_table& table, toml::table const& in, std::string const& section, std::string const& name) {
  for (auto const& [inner, value] : in) {
    auto const key = in_section(section, std::string(inner.str()));
    if (auto const* const of = value.as_table()) {
      add_toml(table, *of, key, name);
      continue;
    }
    setting_entry entry{.key = key, .words = {}, .place = name + ":" + std::to_string(value.source().begin.line)};
    auto const add = [&](auto const& self, toml::node const& node, bool in_list) -> void {
      if (auto const* const word = node.as_string()) return entry.words.push_back(word->get());
      if (auto const* const number = node.as_floating_point()) {  // as it was written: a stream prints 17 digits
        char text[32];
        return (void)entry.words.emplace_back(text, std::to_chars(text, text + sizeof text, number->get()).ptr);
      }
      if (auto const* const list = node.as_array()) {
        if (in_list) entry.words.emplace_back(inner_list);
        for (auto const& element : *list) self(self, element, true);
        return;
      }
      std::ostringstream out;
      node.visit([&](auto const& v) { out << v; });
      entry.words.push_back(out.str());
    };
    add(add, value, false);
    table.add(std::move(entry));
  }
}

/// Where a text stops to be JSON.
[[nodiscard]] std::string fault_of(std::string_view text) {
  try {
    [[maybe_unused]] auto const whole = nlohmann::json::parse(text);
  } catch (nlohmann::json::parse_error const& e) {
    auto const end = (std::min)(e.byte == 0 ? e.byte : e.byte - 1, text.size());
    auto const line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
    auto const before = text.substr(0, end).find_last_not_of(" \t\r\n");
    auto const start = end == 0 ? text.npos : text.rfind('\n', end - 1);  // of the line
    auto const begin = (std::min)(text.find_first_not_of(" \t\r\n", start == text.npos ? 0 : start), text.size());
    auto const closes = end < text.size() && (text[end] == '}' || text[end] == ']');
    auto const comma = closes && before != text.npos && text[before] == ',';
    return ":" + std::to_string(line) +
           (end == text.size() ? ": JSON ends before it is complete"
            : comma            ? ": a comma is before " + std::string(1, text[end]) + ", which JSON does not allow"
                               : ": not JSON at " + printable(text.substr(begin, text.find('\n', begin) - begin)));
  }
  return ": not JSON";
}

}  // namespace

setting_table read_json_setting(std::string_view text, std::string const& name) {
  require_plain(text, name);
  auto const json = parse_document(text, name);
  if (json.is_discarded()) throw bad_input(name + fault_of(text));
  if (!json.is_object()) throw bad_input(name + ": not a JSON object");
  setting_table table(name);
  add_json(table, json, {}, name);
  return table;
}

setting_table read_yaml_setting(std::string_view text, std::string const& name) {
  require_plain(text, name);
  try {
    auto const node = YAML::Load(std::string(text));
    if (!node.IsMap()) throw bad_input(name + ": not a YAML mapping");
    std::size_t most = std::size_t{1} << 16;
    count_yaml(node, most, 64, name);
    setting_table table(name);
    if (auto const flags = node["MODEL_ARGS"]; flags && flags.IsMap()) {  // a functional test of Megatron-LM
      add_yaml(table, last_of_each(flags), {}, name);
      if (auto const variables = node["ENV_VARS"]; variables && variables.IsMap()) add_yaml(table, variables, "environment", name);
    } else if (auto const model = node["language_model"]; model && model.IsMap()) {  // the file of Megatron-LM's --yaml-cfg
      add_sections(table, node, name);
    } else {
      add_yaml(table, node, {}, name);
    }
    return table;
  } catch (YAML::Exception const& e) {
    throw bad_input(name + ":" + std::to_string(e.mark.line + 1) + ": " + printable(e.msg));
  }
}

setting_table read_toml_setting(std::string_view text, std::string const& name) {
  require_plain(text, name);
  require_plain_toml(text, name);
  try {
    auto const document = toml::parse(text);
    setting_table table(name);
    add_toml(table, document, {}, name);
    return table;
  } catch (toml::parse_error const& e) {
    throw bad_input(name + ":" + std::to_string(e.source().begin.line) + ": " + printable(e.description()));
  }
}

}  // namespace ballast_cli
