// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

/// @file
/// @brief `verdict`: the result of a validator, and the rules that results of many kinds can break.

namespace ballast::inline v0_2 {

/// @brief A rule that a result can break, as the sentence that says so.
///
/// In the sentence, `{index}`, `{found}` and `{expected}` stand for the numbers of a verdict. Rules are equal if their sentences are.
struct rule {
  std::string_view sentence{};  ///< empty: no rule is broken
  friend constexpr bool operator==(rule const&, rule const&) = default;
};

/// @brief The rules of every validator. Those of one kind of result derive from them, as `packing_fault` does.
struct common_fault {
  static constexpr rule none{};
  static constexpr rule bad_offsets{"offsets[{index}] = {found}: offsets must rise from 0 to {expected}"};
  static constexpr rule wrong_value{"the value of the certificate is {found}, not {expected}"};
  static constexpr rule wrong_bound{"the lower bound {found} contradicts {expected}, the value or the limit"};
};

/// @brief The first rule that a result breaks, the place, and the two numbers that show it.
///
/// Each room's check.hpp lists its rules, and the sentence of each says what `index` counts.
struct verdict {
  rule fault = common_fault::none;  ///< the broken rule; `common_fault::none` if all rules hold
  std::uint64_t index = 0;          ///< where it is broken; the rule says what is counted; 0 if the rule is about the whole result
  std::int64_t found = 0;           ///< value in the result, at most 2^63 - 1; 0 if the rule is not about a number
  std::int64_t expected = 0;        ///< value the result should have, or the largest or smallest allowed

  constexpr verdict() = default;
  /// @brief A rule that is broken. @param broken the rule @param at the index @param is value found @param should value expected
  template <std::integral At = int, std::integral Is = int, std::integral Should = int>
  constexpr verdict(rule broken, At at = 0, Is is = 0, Should should = 0) noexcept
      : fault(broken), index(static_cast<std::uint64_t>(at)), found(capped(is)), expected(capped(should)) {}

  /// @brief Whether all rules hold.
  [[nodiscard]] constexpr bool valid() const noexcept { return fault.sentence.empty(); }

  friend constexpr bool operator==(verdict const&, verdict const&) = default;

 private:
  template <std::integral Number>
  [[nodiscard]] static constexpr std::int64_t capped(Number n) noexcept {
    constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
    return std::cmp_greater(n, most) ? most : static_cast<std::int64_t>(n);
  }
};

namespace detail {

/// The sentence of a verdict; behind each number, `name_of(words before the number, number)` is added.
template <class Name>
[[nodiscard]] std::string fill_sentence(verdict const& v, Name const& name_of) {
  if (v.valid()) return "valid";
  std::string out;
  for (auto rest = v.fault.sentence; !rest.empty();) {
    auto const open = (std::min)(rest.find('{'), rest.size()), close = (std::min)(rest.find('}', open), rest.size() - 1);
    append_words(out, rest.substr(0, open));
    if (open != rest.size()) {
      auto const key = rest.substr(open + 1, 1);
      auto const number = key == "f" ? v.found : key == "e" ? v.expected : static_cast<std::int64_t>(v.index);
      auto const name = name_of(std::string_view(out), number);
      out += key == "i" ? std::to_string(v.index) : std::to_string(number);
      if (key == "f" && number == (std::numeric_limits<std::int64_t>::max)()) out += " or more";
      out += name;
    }
    rest.remove_prefix(close + 1);
  }
  return out;
}

}  // namespace detail

/// @brief Describes a verdict in a sentence, such as "pack 17 holds 9000, more than its capacity 8192".
/// @param v  any verdict
/// @return the sentence; "valid" if all rules hold
template <class = when_called>
[[nodiscard]] std::string describe(verdict const& v) {
  return detail::fill_sentence(v, [](std::string_view, std::int64_t) { return std::string(); });
}

}  // namespace ballast::inline v0_2
