// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/lengths.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Lengths in JSON as a plain parser reads them, which has the whole document before it looks for one, and documents to read them from.

namespace ballast_cli::fuzz {

/// Rows of measures with their places, or none where the input is refused.
struct expected_rows {
  std::optional<std::vector<std::int64_t>> values;
  std::vector<std::string> places;
};

class json_oracle {
 public:
  explicit json_oracle(selection const& select) : select_(select), wanted_(select.fields.empty() ? select.measures : select.fields) {}

  /// Nothing where only the letters of a number decide, not its value: 5.0 is a length, 5e0 is none.
  [[nodiscard]] std::optional<expected_rows> operator()(std::string_view text, std::string const& name) {
    out_ = {.values = std::vector<std::int64_t>{}, .places = {}};
    unclear_ = false;
    auto const array = text[text.find_first_not_of(" \t\r\n")] == '[';
    auto good = !select_.histogram;
    if (array) {
      auto const document = parse(text);
      good = good && document.is_array();
      for (std::size_t i = 0; good && i < document.size(); ++i) good = entry(document[i], name + ": entry " + std::to_string(i + 1));
    } else {
      std::size_t line = 1;
      for (std::size_t at = 0; good && at < text.size(); ++line) {
        auto const stop = (std::min)(text.find('\n', at), text.size());
        auto const one = text.substr(at, stop - at);
        at = stop + 1;
        if (one.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        auto const document = parse(one);
        good = document.is_object() && entry(document, name + ":" + std::to_string(line));
      }
    }
    if (unclear_) return std::nullopt;
    if (!good || out_.places.empty()) out_.values.reset();
    return out_;
  }

 private:
  /// Discarded where it is no JSON, or an object has a key twice.
  [[nodiscard]] static nlohmann::json parse(std::string_view text) {
    using event = nlohmann::json::parse_event_t;
    std::vector<std::set<std::string>> open;
    auto twice = false;
    auto document = nlohmann::json::parse(
        text.begin(), text.end(),
        [&](int, event what, nlohmann::json& parsed) {
          if (what == event::object_start) open.emplace_back();
          if (what == event::key) twice = !open.back().insert(parsed.get<std::string>()).second || twice;
          if (what == event::object_end) open.pop_back();
          return true;
        },
        false);
    return twice ? nlohmann::json(nlohmann::json::value_t::discarded) : document;
  }
  [[nodiscard]] std::optional<std::int64_t> length(nlohmann::json const& value) {
    unclear_ = unclear_ || value.is_number_float();
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > static_cast<std::uint64_t>(largest_length)) return std::nullopt;
    return value.get<std::int64_t>();
  }
  /// Every value whose keys, joined by dots, are `field`.
  static void find(nlohmann::json const& object, std::string const& before, std::string const& field,
                   std::vector<nlohmann::json const*>& found) {
    for (auto const& [key, value] : object.items()) {
      if (before + key == field) found.push_back(&value);
      if (value.is_object()) find(value, before + key + ".", field, found);
    }
  }
  /// False where the entry is refused.
  [[nodiscard]] bool entry(nlohmann::json const& value, std::string const& place) {
    std::vector<std::int64_t> row;
    if (wanted_.empty()) {
      auto const of = length(value);
      if (!of) return false;
      row.push_back(*of);
    }
    for (auto const& sum : wanted_) {
      row.push_back(0);
      for (auto const& field : sum) {
        std::vector<nlohmann::json const*> found;
        if (value.is_object()) find(value, "", field, found);
        if (found.size() != 1) return false;
        if (found[0]->is_array() && !select_.turns)
          for (auto const& turn : *found[0])
            if (turn.is_object() && (turn.contains("role") || turn.contains("from"))) return false;
        auto const of = found[0]->is_array() ? static_cast<std::int64_t>(found[0]->size()) : length(*found[0]);
        if (!of || *of > largest_length - row.back()) return false;
        row.back() += *of;
      }
    }
    if (std::all_of(row.begin(), row.end(), [](auto v) { return v == 0; })) return select_.skip_zeros;
    out_.values->insert(out_.values->end(), row.begin(), row.end());
    out_.places.push_back(place);
    return true;
  }

  selection const& select_;
  std::vector<std::vector<std::string>> wanted_;
  expected_rows out_;
  bool unclear_ = false;
};

/// Writes a document from bytes that decide what comes next, so that a small change of the bytes is a small change of its structure: most
/// documents are valid, and have the fields that are asked for, in objects and arrays of any depth.
class json_writer {
 public:
  explicit json_writer(std::span<std::uint8_t const> decisions) : in_(decisions) {}

  [[nodiscard]] std::string document(selection const& select) {
    auto const& wanted = select.fields.empty() ? select.measures : select.fields;
    for (auto const& sum : wanted) fields_.insert(fields_.end(), sum.begin(), sum.end());
    auto const lines = draw(2) == 0;
    if (!lines) out_ += '[';
    do {
      if (fields_.empty() && !lines)
        value(0);
      else
        entry();
      if (in_.empty()) break;
      out_ += lines ? "\n" : ", ";
    } while (true);
    if (!lines) out_ += ']';
    return out_;
  }

 private:
  [[nodiscard]] std::size_t draw(std::size_t below) {
    if (in_.empty()) return 0;
    auto const byte = in_.front();
    in_ = in_.subspan(1);
    return byte % below;
  }
  /// An object with the fields that are asked for, between others.
  void entry() {
    out_ += '{';
    auto first = true;
    for (auto const& field : fields_) {
      others(first, 1);
      auto const dot = field.find('.');
      auto const inside = dot != std::string::npos && draw(4) != 0;
      comma(first);
      key(inside ? field.substr(0, dot) : field);
      if (inside) {
        out_ += '{';
        key(field.substr(dot + 1));
      }
      draw(3) == 0 ? number() : draw(6) == 0 ? value(1) : array(1);
      if (inside) out_ += '}';
    }
    others(first, 1);
    out_ += '}';
  }
  void others(bool& first, int depth) {
    static constexpr char const* names[] = {"x", "y", "role", "a", "b", "c", "n", "1", "2", "length", "a.b", "", "\xc3\xa9", "q\"\\"};
    for (auto more = draw(4); more > 1; --more) {
      comma(first);
      key(names[draw(std::size(names))] + (draw(8) == 0 ? "" : std::to_string(keys_++)));
      value(depth);
    }
  }
  void comma(bool& first) {
    if (!first) out_ += draw(8) == 1 ? " ,\t" : ",";
    first = false;
  }
  /// A key and its colon, perhaps with letters as escapes.
  void key(std::string const& name) {
    static constexpr char digits[] = "0123456789abcdef";
    auto const escaped = draw(6) == 1;
    out_ += '"';
    for (auto const c : name)
      if (c == '"' || c == '\\')
        (out_ += '\\') += c;
      else if (escaped && c > 0 && draw(2) == 0)
        (((out_ += "\\u00") += digits[(c >> 4) & 15]) += digits[c & 15]);
      else
        out_ += c;
    out_ += draw(8) == 1 ? "\" : " : "\":";
  }
  void array(int depth) {
    out_ += '[';
    for (auto size = draw(5); size > 0; --size) {
      value(depth + 1);
      if (size > 1) out_ += ',';
    }
    out_ += ']';
  }
  void value(int depth) {
    static constexpr char const* words[] = {"true",
                                            "false",
                                            "null",
                                            "\"text\"",
                                            "\"\\u00e9 \\\" long enough for a block\"",
                                            "\"]}\"",
                                            "-1",
                                            "1.5",
                                            "5.0",
                                            "5e0",
                                            "1e999",
                                            "-0",
                                            "0",
                                            "\"\xf0\x9f\x98\x80\"",
                                            "9223372036854775808",
                                            "{]",
                                            "\"\\q\"",
                                            "01"};
    switch (depth < 40 ? draw(6) : 0) {
      case 0: return number();
      case 1: out_ += words[draw(draw(16) == 1 ? std::size(words) : 14)]; return;
      case 2:
      case 3: return array(depth);
      default: break;
    }
    out_ += '{';
    auto first = true;
    others(first, depth + 1);
    out_ += '}';
  }
  void number() {
    static constexpr char const* numbers[] = {"1", "7", "0", "512", "9223372036854775807", "1000000000000000000", "999999999999999999"};
    out_ += numbers[draw(draw(8) == 1 ? std::size(numbers) : 4)];
  }

  std::span<std::uint8_t const> in_;
  std::vector<std::string> fields_;
  std::string out_;
  std::uint32_t keys_ = 0;  // so that most keys differ
};

/// What is asked of a file, by a small number.
[[nodiscard]] inline selection const& asked_of(std::size_t number) {
  static selection const asked[] = {
      {},
      {.measures = {}, .fields = {{"n"}}},
      {.measures = {{"1", "length"}}, .fields = {}},
      {.measures = {}, .fields = {}, .histogram = true},
      {.measures = {{"2"}, {"1"}}, .fields = {}},
      {.measures = {}, .fields = {{"n", "a.b"}, {"c"}}, .histogram = false, .skip_zeros = true},
      {.measures = {}, .fields = {{"a.b"}}},
      {.measures = {}, .fields = {{"n"}}, .histogram = false, .skip_zeros = false, .turns = true},
  };
  return asked[number % std::size(asked)];
}

/// How the rows of a JSON text differ from those of a plain parser; empty where they do not, or the text is no JSON.
[[nodiscard]] inline std::string difference(std::string_view text, selection const& select, table const* rows) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  auto const first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (text[first] != '[' && text[first] != '{')) return {};
  auto const expected = json_oracle(select)(text, "input");
  if (!expected) return {};
  if (expected->values.has_value() != (rows != nullptr)) return rows != nullptr ? "it is read, not refused" : "it is refused, not read";
  if (rows == nullptr) return {};
  if (*expected->values != rows->values()) return "other values are read";
  for (std::size_t row = 0; row < rows->rows(); ++row)
    if (rows->where(row) != expected->places[row]) return "row " + std::to_string(row) + " is said to be at " + rows->where(row);
  return {};
}

}  // namespace ballast_cli::fuzz
