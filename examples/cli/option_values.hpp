// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "errors.hpp"

#include <charconv>
#include <limits>
#include <string>
#include <system_error>

// Values of options; our own sentences say what is wrong with one.

namespace ballast_cli {

/// A number given to an option. Throws bad_input with a sentence that says what would be one.
template <class Integer>
[[nodiscard]] Integer number(std::string const& option, std::string const& text, Integer least) {
  Integer value = 0;
  auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() || value < least)
    throw bad_input(option + " " + printable(text) + ": expected is a whole number from " + std::to_string(least) + " to 2^" +
                    std::to_string(std::numeric_limits<Integer>::digits) + "-1");
  return value;
}

}  // namespace ballast_cli
