// SPDX-License-Identifier: Apache-2.0
#include "readers/shell_test.hpp"

#include "readers/shell_script.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <system_error>

namespace ballast_cli {

bool shell_pattern(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = pattern.npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == pattern.npos;
}

namespace {

class condition_reader {
 public:
  condition_reader(std::vector<std::string> const& words, bool& guessed) : words_(words), guessed_(guessed) {}

  truth read() {
    if (words_.empty()) return truth::no;
    if (words_.size() > 4096) return truth::unknown;
    auto const out = either();
    return at_ == words_.size() && !broken_ ? out : truth::unknown;
  }

 private:
  bool take(std::string_view word, std::string_view other = "") {
    if (at_ >= words_.size() || (words_[at_] != word && (other.empty() || words_[at_] != other))) return false;
    ++at_;
    return true;
  }
  truth either() {
    auto out = both();
    while (take("||", "-o")) out = either_of(out, both());
    return out;
  }
  truth both() {
    auto out = one();
    while (take("&&", "-a")) out = both_of(out, one());
    return out;
  }
  truth one() {
    auto negates = false;
    while (take("!")) negates = !negates;
    auto const out = plain();
    return negates ? negated(out) : out;
  }
  [[nodiscard]] static truth as_truth(bool holds) { return holds ? truth::yes : truth::no; }
  [[nodiscard]] static bool known(std::string const& word) { return word.find('$') == word.npos; }
  [[nodiscard]] truth filled(std::string const& word) {
    auto const named = is_unset(word) && word[1] != '(' && !(word.back() >= '0' && word.back() <= '9' && word.size() == 2);
    guessed_ = guessed_ || named;
    if (named) return truth::no;
    if (known(word)) return as_truth(!word.empty());
    return word.starts_with('$') ? truth::unknown : truth::yes;
  }
  truth plain() {
    if (at_ >= words_.size() || depth_ > 64) {
      broken_ = true;
      return truth::unknown;
    }
    if (take("(")) {
      ++depth_;
      auto const out = either();
      --depth_;
      broken_ = broken_ || !take(")");
      return out;
    }
    auto const& first = words_[at_++];
    auto const left = words_.size() - at_;
    if (left >= 2 && is_comparison(words_[at_])) {
      auto const& how = words_[at_];
      auto const& second = words_[at_ + 1];
      at_ += 2;
      return compare(first, how, second);
    }
    if (first.size() == 2 && first[0] == '-' && left >= 1) {
      auto const& of = words_[at_++];
      if (first == "-n") return filled(of);
      if (first == "-z") return negated(filled(of));
      return truth::unknown;  // files
    }
    if (first == "-z") return truth::yes;  // of a variable that is empty and not quoted
    if (first == "-n") return truth::no;
    return filled(first);
  }
  [[nodiscard]] static bool is_comparison(std::string_view word) {
    for (auto const* const known : {"==", "=", "!=", "-eq", "-ne", "-gt", "-ge", "-lt", "-le", "=~", "<", ">", "-nt", "-ot", "-ef"})
      if (word == known) return true;
    return false;
  }
  [[nodiscard]] static std::optional<std::int64_t> whole(std::string const& text) {
    std::int64_t value = 0;
    auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && stop == text.data() + text.size() ? std::optional(value) : std::nullopt;
  }
  [[nodiscard]] static truth compare(std::string const& a, std::string_view how, std::string const& b) {
    if (!known(a) || !known(b)) return truth::unknown;
    if (how == "=" || how == "==") return as_truth(shell_pattern(b, a));
    if (how == "!=") return as_truth(!shell_pattern(b, a));
    auto const x = whole(a), y = whole(b);
    if (!x || !y || how.size() != 3) return truth::unknown;
    auto const is = [&](std::string_view word) { return how == word; };
    return as_truth(is("-eq")   ? *x == *y
                    : is("-ne") ? *x != *y
                    : is("-gt") ? *x > *y
                    : is("-ge") ? *x >= *y
                    : is("-lt") ? *x < *y
                                : *x <= *y);
  }

  std::vector<std::string> const& words_;
  bool& guessed_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool broken_ = false;
};

}  // namespace

truth shell_condition(std::vector<std::string> const& words, bool& guessed) { return condition_reader(words, guessed).read(); }

}  // namespace ballast_cli
