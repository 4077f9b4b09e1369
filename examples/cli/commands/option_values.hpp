// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "errors.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

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

/// Bytes given to an option: a whole number, perhaps with Ki, Mi, Gi or Ti. Throws bad_input.
[[nodiscard]] inline std::int64_t bytes(std::string const& option, std::string const& text, std::int64_t least) {
  constexpr std::array<std::pair<std::string_view, int>, 4> suffixes{{{"Ki", 10}, {"Mi", 20}, {"Gi", 30}, {"Ti", 40}}};
  constexpr auto most = std::int64_t{1} << 58;
  std::string_view digits = text;
  int shift = 0;
  for (auto const& [suffix, of_suffix] : suffixes) {
    if (!text.ends_with(suffix)) continue;
    digits.remove_suffix(suffix.size());
    shift = of_suffix;
  }
  std::int64_t value = 0;
  auto const [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || stop != digits.data() + digits.size() || value < least || value > most >> shift)
    throw bad_input(option + " " + printable(text) + ": expected is a whole number of bytes from " + std::to_string(least) +
                    " to 2^58, as in 4096 or 24Gi");
  return value << shift;
}

}  // namespace ballast_cli
