// SPDX-License-Identifier: Apache-2.0
#include "readers/json_document.hpp"

#include "errors.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

namespace ballast_cli {

void open_keys::add(std::string const& key) {
  if (used_ == keys_.size()) keys_.emplace_back();
  keys_[used_++] = key;
}

std::optional<std::string> open_keys::close() {
  auto const first = keys_.begin() + static_cast<std::ptrdiff_t>(starts_.back()), last = keys_.begin() + static_cast<std::ptrdiff_t>(used_);
  std::sort(first, last);
  std::optional<std::string> twice;
  if (auto const at = std::adjacent_find(first, last); at != last) {
    twice.emplace();
    for (auto const start : starts_)
      if (start != 0) *twice += keys_[start - 1] + ".";
    *twice += *at;
  }
  used_ = starts_.back();
  starts_.pop_back();
  return twice;
}

namespace {

/// Finds keys that occur twice and values that are too deep, in one pass that keeps no values.
class document_rules : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit document_rules(std::string const& name) : name_(name) {}
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, string_t const&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    keys_.open();
    return start_array(0);
  }
  bool key(string_t& key) override {
    keys_.add(key);
    return true;
  }
  bool end_object() override {
    if (auto const twice = keys_.close()) throw bad_input(name_ + ": the key " + printable(*twice) + " occurs twice in one object");
    return end_array();
  }
  bool start_array(std::size_t) override {
    constexpr int deepest = 512;  // what copies or prints a value calls itself for each list inside
    if (++depth_ > deepest) throw bad_input(name_ + ": objects and lists are more than " + std::to_string(deepest) + " deep in each other");
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t, std::string const&, nlohmann::json::exception const&) override { return false; }

 private:
  std::string const& name_;
  open_keys keys_;
  int depth_ = 0;
};

/// Finds where a text stops being JSON.
class first_slip : public document_rules {
 public:
  using document_rules::document_rules;
  bool parse_error(std::size_t position, std::string const& token, nlohmann::json::exception const&) override {
    at = position;
    last = token;
    return false;
  }
  std::size_t at = 0;  // bytes up to there; 0: nowhere
  std::string last;    // read there
};

}  // namespace

std::string json_slip(std::string_view text, std::string const& name) {
  first_slip rules(name);
  if (nlohmann::json::sax_parse(text, &rules) || rules.at == 0) return {};
  auto const before = text.substr(0, (std::min)(rules.at - 1, text.size()));
  auto const line = std::to_string(1 + std::count(before.begin(), before.end(), '\n'));
  auto const left = before.find_last_not_of(" \t\r\n");
  auto const closes = !rules.last.empty() && (rules.last.back() == '}' || rules.last.back() == ']');
  if (closes && left != std::string_view::npos && before[left] == ',')
    return ": line " + line + " closes behind a comma, which JSON does not allow";
  return rules.at > text.size() ? ": it ends in the middle" : ": there is a fault in line " + line;
}

nlohmann::json parse_document(std::string_view text, std::string const& name) {
  document_rules rules(name);
  static_cast<void>(nlohmann::json::sax_parse(text, &rules));
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace ballast_cli
