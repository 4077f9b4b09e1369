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

nlohmann::json parse_document(std::string_view text, std::string const& name) {
  using event = nlohmann::json::parse_event_t;
  open_keys keys;
  constexpr int deepest = 512;  // what copies or prints a value calls itself for each list inside
  auto const watch = [&](int depth, event what, nlohmann::json& parsed) {
    if (depth > deepest) throw bad_input(name + ": objects and lists are more than " + std::to_string(deepest) + " deep in each other");
    if (what == event::object_start) keys.open();
    if (what == event::key) keys.add(parsed.get_ref<std::string const&>());
    if (what == event::object_end)
      if (auto const twice = keys.close()) throw bad_input(name + ": the key " + printable(*twice) + " occurs twice in one object");
    return true;
  };
  return nlohmann::json::parse(text.begin(), text.end(), watch, false);
}

}  // namespace ballast_cli
