// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

// The words of a table, however they are written, and the one nearest to a mistyped one, for sentences that teach.

namespace ballast_cli {

/// The text with capital letters of ASCII made small.
[[nodiscard]] inline std::string lower_case(std::string_view text) {
  std::string out(text);
  for (auto& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

/// The text as words of tables are written: in small letters, with - for _.
[[nodiscard]] inline std::string plain_word(std::string_view text) {
  auto out = lower_case(text);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

/// The fewest letters to insert, remove, replace, or exchange with their neighbour, that make `a` of `b`; the case of letters is free.
[[nodiscard]] inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  auto const x = lower_case(a), y = lower_case(b);
  std::vector<std::size_t> before(y.size() + 1), last(y.size() + 1), row(y.size() + 1);  // of two letters less, one less, and all
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= x.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= y.size(); ++j) {
      row[j] = (std::min)({last[j] + 1, row[j - 1] + 1, last[j - 1] + (x[i - 1] == y[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1]) row[j] = (std::min)(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[y.size()];
}

/// The word nearest to `text`, the first of equals; empty if none is as near as a third of its letters, or two, or begins with `text`.
template <class Words>
[[nodiscard]] std::string nearest(std::string_view text, Words const& words) {
  constexpr std::size_t longest = 64, least_beginning = 3;
  std::string best;
  if (text.size() > longest) return best;
  auto least = (std::max)(std::size_t{2}, text.size() / 3) + 1;
  for (std::string_view const word : words) {
    if (word.size() > longest) continue;
    auto distance = edit_distance(text, word);
    if (distance >= (std::max)(text.size(), word.size())) continue;  // not a letter in common
    if (text.size() >= least_beginning && lower_case(word).starts_with(lower_case(text))) distance = (std::min)(distance, std::size_t{2});
    if (distance >= least) continue;
    least = distance;
    best = word;
  }
  return best;
}

/// " did you mean WORD?", or nothing.
template <class Words>
[[nodiscard]] std::string did_you_mean(std::string_view text, Words const& words) {
  auto const word = nearest(text, words);
  return word.empty() ? "" : "; did you mean " + word + "?";
}

/// The word of an entry of a table, which the library's tables call a name.
[[nodiscard]] constexpr std::string_view entry_word(auto const& entry) {
  if constexpr (requires { entry.word; })
    return entry.word;
  else
    return entry.name;
}

/// The entry of a table with this word, in letters of any case, with - or _; null if there is none.
template <class Table>
[[nodiscard]] auto const* find_word(std::string_view text, Table const& table) {
  auto const at =
      std::find_if(std::begin(table), std::end(table), [&](auto const& e) { return plain_word(entry_word(e)) == plain_word(text); });
  return at == std::end(table) ? nullptr : &*at;
}

/// What a word is expected to be: "a100, h100; did you mean h100?".
template <class Table>
[[nodiscard]] std::string one_of(std::string_view text, Table const& table) {
  std::vector<std::string_view> words;
  std::string out;
  for (auto const& entry : table) {
    words.push_back(entry_word(entry));
    out += (out.empty() ? "" : ", ") + std::string(words.back());
  }
  return out + did_you_mean(text, words);
}

}  // namespace ballast_cli
