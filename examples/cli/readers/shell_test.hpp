// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Conditions of a shell, as in `[ "$N" -gt 1 ]` and `[[ -z $N || $M == x* ]]`.

namespace ballast_cli {

enum class truth : std::uint8_t { no, yes, unknown };

[[nodiscard]] constexpr truth negated(truth t) { return t == truth::unknown ? t : t == truth::yes ? truth::no : truth::yes; }
[[nodiscard]] constexpr truth both_of(truth a, truth b) {
  return a == truth::no || b == truth::no ? truth::no : a == truth::yes && b == truth::yes ? truth::yes : truth::unknown;
}
[[nodiscard]] constexpr truth either_of(truth a, truth b) { return negated(both_of(negated(a), negated(b))); }

/// Whether `text` matches a pattern with `*` and `?`.
[[nodiscard]] bool shell_pattern(std::string_view pattern, std::string_view text);
/// Whether the words between the brackets hold. A variable that is not set is empty for -z and -n, and sets `guessed`; compared, it is not
/// known. So are files.
[[nodiscard]] truth shell_condition(std::vector<std::string> const& words, bool& guessed);

}  // namespace ballast_cli
