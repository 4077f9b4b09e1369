// SPDX-License-Identifier: Apache-2.0
#include "readers/shell_sum.hpp"

#include <charconv>
#include <cstddef>
#include <limits>
#include <string>

namespace ballast_cli {

namespace {

using sum_value = std::optional<std::int64_t>;

class sum_reader {
 public:
  sum_reader(std::string_view text, std::function<sum_value(std::string_view)> const& value_of) : text_(text), value_of_(value_of) {}

  sum_value read() {
    auto const value = choice();
    skip();
    return at_ == text_.size() ? value : std::nullopt;
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
  }
  /// Whether the operator is next, and not the beginning of a longer one.
  bool takes(std::string_view sign) {
    skip();
    if (at_ >= text_.size()) return false;
    auto const rest = text_.substr(at_);
    if (!rest.starts_with(sign)) return false;
    auto const next = rest.size() > sign.size() ? rest[sign.size()] : ' ';
    if (sign.size() == 1 && (((sign == "<" || sign == ">" || sign == "!") && next == '=') || (sign == "*" && next == '*'))) return false;
    at_ += sign.size();
    return true;
  }
  sum_value choice() {  // a ? b : c
    auto const which = level(0);
    if (!takes("?")) return which;
    auto const yes = choice();
    if (!takes(":")) return {};
    auto const no = choice();
    if (!which) return {};
    return *which != 0 ? yes : no;
  }
  [[nodiscard]] static sum_value apply(std::string_view sign, std::int64_t a, std::int64_t b) {
    std::int64_t out = 0;
    if (sign == "+") return __builtin_add_overflow(a, b, &out) ? sum_value{} : out;
    if (sign == "-") return __builtin_sub_overflow(a, b, &out) ? sum_value{} : out;
    if (sign == "*") return __builtin_mul_overflow(a, b, &out) ? sum_value{} : out;
    if (sign == "/" || sign == "%") {
      if (b == 0 || (a == std::numeric_limits<std::int64_t>::min() && b == -1)) return {};
      return sign == "/" ? a / b : a % b;
    }
    return sign == "||"   ? (a != 0 || b != 0)
           : sign == "&&" ? (a != 0 && b != 0)
           : sign == "==" ? a == b
           : sign == "!=" ? a != b
           : sign == "<=" ? a <= b
           : sign == ">=" ? a >= b
           : sign == "<"  ? a < b
                          : a > b;
  }
  /// Operators that bind as `depth` does or closer.
  sum_value level(std::size_t depth) {
    static constexpr std::string_view signs[][4] = {{"||"}, {"&&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/", "%"}};
    if (depth == std::size(signs)) return power();
    auto left = level(depth + 1);
    for (auto more = true; more;) {
      more = false;
      for (auto const sign : signs[depth]) {
        if (sign.empty() || !takes(sign)) continue;
        auto const right = level(depth + 1);
        left = left && right ? apply(sign, *left, *right) : std::nullopt;
        more = true;
        break;
      }
    }
    return left;
  }
  sum_value power() {
    auto const base = unary();
    if (!takes("**")) return base;
    if (++open_ > 64) return {};
    auto const exponent = power();
    --open_;
    if (!base || !exponent || *exponent < 0 || *exponent > 63) return {};
    sum_value out = 1;
    for (std::int64_t i = 0; i < *exponent && out; ++i) out = apply("*", *out, *base);
    return out;
  }
  sum_value unary() {
    if (++open_ > 64) {
      at_ = text_.size() + 1;  // no sum
      return {};
    }
    auto const value = of_sign();
    --open_;
    return value;
  }
  sum_value of_sign() {
    skip();
    if (at_ >= text_.size()) return {};
    if (takes("+")) return unary();
    if (takes("-")) {
      auto const value = unary();
      return value ? apply("-", 0, *value) : value;
    }
    if (takes("!")) {
      auto const value = unary();
      return value ? sum_value(*value == 0) : value;
    }
    if (takes("(")) {
      auto const value = choice();
      if (at_ > text_.size() || !takes(")")) return {};
      return value;
    }
    auto const end = text_.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789", at_);
    auto const word = text_.substr(at_, end == text_.npos ? end : end - at_);
    if (word.empty()) {
      at_ = text_.size() + 1;
      return {};
    }
    at_ += word.size();
    if (word[0] < '0' || word[0] > '9') return value_of_(word);
    std::int64_t value = 0;
    auto const hexadecimal = word.starts_with("0x");
    auto const digits = hexadecimal ? word.substr(2) : word;
    auto const [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, hexadecimal ? 16 : 10);
    return error == std::errc{} && stop == digits.data() + digits.size() ? sum_value(value) : std::nullopt;
  }

  std::string_view text_;
  std::function<sum_value(std::string_view)> const& value_of_;
  std::size_t at_ = 0;
  int open_ = 0;
};

}  // namespace

std::optional<std::int64_t> shell_sum(std::string_view text, std::function<sum_value(std::string_view)> const& value_of) {
  return text.size() > 4096 ? std::nullopt : sum_reader(text, value_of).read();
}

}  // namespace ballast_cli
