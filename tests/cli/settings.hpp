// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "errors.hpp"
#include "readers/framework_setting.hpp"

#include <algorithm>
#include <string>

// What readers of settings say to tests.

namespace ballast_test {

/// The sentence, or "accepted".
[[nodiscard]] inline std::string refused_setting(std::string const& text, std::string const& name,
                                                 ballast_cli::setting_request const& asked) {
  try {
    (void)ballast_cli::read_framework_setting(text, name, asked);
  } catch (ballast_cli::bad_input const& e) {
    return e.what();
  }
  return "accepted";
}
[[nodiscard]] inline bool has_note(ballast_cli::imported_setting const& of, std::string const& part) {
  return std::any_of(of.notes.begin(), of.notes.end(), [&](auto const& n) { return n.find(part) != n.npos; });
}

}  // namespace ballast_test
