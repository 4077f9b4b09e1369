// SPDX-License-Identifier: Apache-2.0
#include "readers/dimensions.hpp"

#include "errors.hpp"
#include "nearest.hpp"

#include <ballast/core/error.hpp>

#include <charconv>
#include <cstddef>
#include <optional>
#include <system_error>
#include <utility>

namespace ballast_cli {

namespace {

constexpr auto most_value = (std::int64_t{1} << 62) - 1;

[[nodiscard]] bool begins_dimension(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
[[nodiscard]] bool is_decimal(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] std::size_t name_size(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && (begins_dimension(text[n]) || (n > 0 && is_decimal(text[n])))) ++n;
  return n;
}

/// A whole number from 0 to 2^62-1 that is all of the text.
[[nodiscard]] std::optional<std::int64_t> whole_text(std::string_view text) {
  std::int64_t value = 0;
  auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() || value < 0 || value > most_value) return std::nullopt;
  return value;
}

[[nodiscard]] std::optional<std::size_t> dimension_of(std::string_view name, std::span<ballast::dimension const> dimensions) {
  for (std::size_t d = 0; d < dimensions.size(); ++d)
    if (dimensions[d].name == name) return d;
  return std::nullopt;
}
[[nodiscard]] std::string no_such_dimension(std::string_view name, std::span<ballast::dimension const> dimensions) {
  std::string all;
  std::vector<std::string_view> names;
  for (auto const& d : dimensions) {
    all += (all.empty() ? "" : ", ") + printable(d.name);
    names.push_back(d.name);
  }
  return "there is no dimension " + printable(name) + "; --dimensions has " + all + did_you_mean(name, names);
}

/// Calls `take(name, value)` for the parts of "name=value,name=value".
template <class Take>
void for_each_pair(std::string const& option, std::string_view text, char const* expected, Take const& take) {
  while (true) {
    auto const part = text.substr(0, text.find(','));
    auto const name = part.substr(0, name_size(part));
    if (name.empty() || name.size() >= part.size() || part[name.size()] != '=')
      throw bad_input(option + " " + printable(part) + ": expected " + expected);
    take(part, name, part.substr(name.size() + 1));
    if (part.size() == text.size()) return;
    text.remove_prefix(part.size() + 1);
  }
}

/// Reads one polynomial, term by term.
class polynomial_text {
 public:
  polynomial_text(std::string_view text, std::span<ballast::dimension const> dimensions)
      : all_(text), left_(text), dimensions_(dimensions) {}

  [[nodiscard]] ballast::symbolic read() {
    try {
      ballast::symbolic out;
      blanks();
      auto negative = take("-");
      do {
        auto const next = term();
        out = negative ? out - next : out + next;
        negative = take("-");
      } while (negative || take("+"));
      if (!left_.empty()) fail(malformed);
      return out;
    } catch (ballast::invalid_input const&) {
      fail("a coefficient reaches 2^63, or a power 256");
    }
  }

 private:
  static constexpr auto malformed = R"(expected a polynomial of whole numbers and dimensions, as in "4 batch length^2 + 12")";

  [[noreturn]] void fail(std::string const& why) const { throw bad_input(printable(all_) + ": " + why); }
  void blanks() {
    while (!left_.empty() && left_.front() == ' ') left_.remove_prefix(1);
  }
  bool take(std::string_view sign) {
    if (!left_.starts_with(sign)) return false;
    left_.remove_prefix(sign.size());
    blanks();
    return true;
  }
  [[nodiscard]] std::int64_t number() {
    std::size_t n = 0;
    while (n < left_.size() && is_decimal(left_[n])) ++n;
    auto const value = whole_text(left_.substr(0, n));
    if (!value) fail(n == 0 ? malformed : "a number in it is above 2^62-1");
    left_.remove_prefix(n);
    blanks();
    return *value;
  }
  [[nodiscard]] ballast::symbolic term() {
    auto out = factor();
    while (take("*") || (!left_.empty() && (begins_dimension(left_.front()) || is_decimal(left_.front())))) out = out * factor();
    return out;
  }
  [[nodiscard]] ballast::symbolic factor() {
    auto const n = name_size(left_);
    if (n == 0) return number();
    auto const name = left_.substr(0, n);
    auto const d = dimension_of(name, dimensions_);
    if (!d) fail(no_such_dimension(name, dimensions_));
    left_.remove_prefix(n);
    blanks();
    auto const power = take("^") || take("**") ? number() : 1;
    if (power > 255) fail("a power is above 255");
    std::vector<std::uint16_t> powers(*d + 1, 0);
    powers[*d] = static_cast<std::uint16_t>(power);
    return ballast::symbolic::monomial(std::move(powers), 1);
  }

  std::string_view all_, left_;
  std::span<ballast::dimension const> dimensions_;
};

}  // namespace

std::vector<ballast::dimension> read_dimensions(std::string const& option, std::string const& text) {
  constexpr auto expected = "NAME=LOW..HIGH with whole numbers from 0 to 2^62-1, as in batch=1..64,length=16..4096";
  std::vector<ballast::dimension> out;
  for_each_pair(option, text, expected, [&](std::string_view part, std::string_view name, std::string_view range) {
    auto const fail = [&](std::string const& why) { throw bad_input(option + " " + printable(part) + ": " + why); };
    auto const dots = range.find("..");
    auto const low = whole_text(range.substr(0, dots));
    auto const high = dots == std::string_view::npos ? low : whole_text(range.substr(dots + 2));
    if (!low || !high) fail(std::string("expected ") + expected);
    if (*low > *high) fail("the range ends before it begins; write the smaller number first");
    if (dimension_of(name, out)) fail("the dimension " + std::string(name) + " is named twice");
    out.push_back({std::string(name), *low, *high});
  });
  return out;
}

std::vector<std::int64_t> read_values(std::string const& option, std::string const& text, std::span<ballast::dimension const> dimensions) {
  std::vector<std::optional<std::int64_t>> found(dimensions.size());
  constexpr auto expected = "NAME=VALUE with whole numbers, as in batch=8,length=512";
  for_each_pair(option, text, expected, [&](std::string_view part, std::string_view name, std::string_view number) {
    auto const fail = [&](std::string const& why) { throw bad_input(option + " " + printable(part) + ": " + why); };
    auto const d = dimension_of(name, dimensions);
    if (!d) fail(no_such_dimension(name, dimensions));
    auto const value = whole_text(number);
    if (!value) fail(std::string("expected ") + expected);
    auto const& range = dimensions[*d];
    if (*value < range.low || *value > range.high)
      fail("--dimensions has " + range.name + " from " + std::to_string(range.low) + " to " + std::to_string(range.high));
    if (found[*d]) fail("the dimension " + range.name + " has two values");
    found[*d] = value;
  });
  std::vector<std::int64_t> out;
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    if (!found[d]) throw bad_input(option + " " + printable(text) + ": the dimension " + dimensions[d].name + " has no value");
    out.push_back(*found[d]);
  }
  return out;
}

ballast::symbolic read_polynomial(std::string_view text, std::span<ballast::dimension const> dimensions) {
  return polynomial_text(text, dimensions).read();
}

std::string shown_values(std::span<std::int64_t const> values, std::span<ballast::dimension const> dimensions) {
  std::string out;
  for (std::size_t d = 0; d < values.size(); ++d) out += (d == 0 ? "" : ",") + dimensions[d].name + "=" + std::to_string(values[d]);
  return out;
}

}  // namespace ballast_cli
