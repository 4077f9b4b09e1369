// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/shell_script.hpp"

#include "errors.hpp"
#include "readers/shell_sum.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// The words of a shell script, for shell_script.cpp.

namespace ballast_cli {

/// Where the name ends that begins at `first`; `first` if none does.
[[nodiscard]] inline std::size_t end_of_name(std::string_view text, std::size_t first) {
  auto const letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  auto end = first;
  while (end < text.size() && (letter(text[end]) || (end > first && text[end] >= '0' && text[end] <= '9'))) ++end;
  return end;
}

/// A place in a script, and the words that begin there, with what variables stand for.
class shell_words {
 public:
  shell_words(std::string_view text, std::string const& name) : text_(text), name_(name) {}

 protected:
  static constexpr auto shell_blanks = " \t\r\n";
  static constexpr std::size_t most_ = std::size_t{1} << 16, most_expanded_ = std::size_t{1} << 24;
  struct place {
    std::string_view text;
    std::size_t at, line, jump_from, jump_to;
  };
  [[noreturn]] void fail(std::size_t line, std::string const& why) const {
    throw bad_input(name_ + ":" + std::to_string(line) + ": " + why);
  }
  [[nodiscard]] place here() const { return {text_, at_, line_, jump_from_, jump_to_}; }
  void go(place const& to) {
    text_ = to.text;
    at_ = to.at;
    line_ = to.line;
    jump_from_ = to.jump_from;
    jump_to_ = to.jump_to;
  }
  void spend(std::size_t bytes) {
    if ((spent_ += bytes) > most_expanded_) fail(line_, "what variables, loops and functions stand for is larger than any script");
  }
  // ---- letters
  static bool ends_command(char c) { return c == '\n' || c == '|' || c == '&' || c == ';' || c == '>' || c == '<'; }
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
  [[nodiscard]] char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  [[nodiscard]] bool is_next(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  void step() {
    if (text_[at_] != '\n') {
      ++at_;
      return;
    }
    ++line_;
    if (at_ != jump_from_) {
      ++at_;
      return;
    }
    line_ += static_cast<std::size_t>(
        std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_ + 1), text_.begin() + static_cast<std::ptrdiff_t>(jump_to_), '\n'));
    at_ = jump_to_;
    jump_from_ = text_.npos;
  }
  void step(std::size_t letters) {
    for (; letters > 0 && at_ < text_.size(); --letters) step();
  }
  /// The length of a backslash with the line end behind it, blanks between them too; 0 if it is none.
  [[nodiscard]] std::size_t continuation() const {
    if (text_[at_] != '\\') return 0;
    auto const end = text_.find_first_not_of(" \t\r", at_ + 1);
    return end != text_.npos && text_[end] == '\n' ? end + 1 - at_ : 0;
  }
  /// Skips blanks, comments and continued line ends. Returns whether there is more.
  bool skip_blanks() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        auto const end = (std::min)(text_.find('\n', at_), text_.size());
        if (is_next("#SBATCH")) split(batch_, std::string(text_.substr(at_ + 7, end - at_ - 7)), line_);
        at_ = end;
      } else if (auto const letters = continuation(); letters > 0) {
        step(letters);
      } else if (is_blank(text_[at_])) {
        ++at_;
      } else {
        return true;
      }
    }
    return false;
  }
  void skip_lines() {
    while (skip_blanks() && (text_[at_] == '\n' || (text_[at_] == ';' && peek(1) != ';') || text_[at_] == '&')) step();
  }
  /// Whether a reserved word is next.
  [[nodiscard]] bool is_word(std::string_view word) const {
    if (!is_next(word)) return false;
    auto const c = peek(word.size());
    return c == '\0' || is_blank(c) || ends_command(c) || c == ')' || c == '(';
  }
  bool take_word(std::string_view word) {
    if (!is_word(word)) return false;
    at_ += word.size();
    return true;
  }
  void pass_over(std::string what, std::size_t line) {
    if (live_) out_.unread.push_back({std::move(what), line});
  }
  /// The text between brackets that open here, which are left behind; the text in all if they are never closed.
  std::string_view skip_brackets() {
    auto const from = at_;
    auto const line = line_;
    auto open = 0;
    char quote = 0;
    for (; at_ < text_.size(); step()) {
      auto const c = text_[at_];
      if (c == '\\' && quote != '\'') {
        step();
        if (at_ >= text_.size()) break;
      } else if (quote != 0) {
        quote = c == quote ? '\0' : quote;
      } else if (c == '\'' || c == '"') {
        quote = c;
      } else {
        open += c == '(' ? 1 : c == ')' ? -1 : 0;
        if (open == 0 && c == ')') break;
      }
    }
    if (at_ >= text_.size()) fail(line, "a bracket is opened and never closed");
    step();
    return text_.substr(from, at_ - from);
  }
  void set(std::string const& name, std::vector<std::string> words, bool array, std::vector<std::size_t> lines = {}) {
    ++changes_;
    if (live_) variables_[name] = {std::move(words), line_, array, std::move(lines)};
  }
  /// NAME=value, NAME=( ... ) or NAME+=( ... ) at this place.
  bool assignment() {
    auto const end = end_of_name(text_, at_);
    auto const appends = text_.substr((std::min)(end, text_.size())).starts_with("+=");
    if (end == at_ || (!appends && (end >= text_.size() || text_[end] != '='))) return false;
    std::string const name(text_.substr(at_, end - at_));
    at_ = end + (appends ? 2 : 1);
    auto const line = line_;
    auto const known = variables_.find(name);
    auto words = appends && known != variables_.end() ? known->second.words : std::vector<std::string>{};
    if (peek() == '(') {
      ++at_;
      std::vector<shell_word> in;
      while (true) {
        if (!skip_blanks()) fail(line, "the array " + printable(name) + " is not closed");
        if (text_[at_] == ')') break;
        if (ends_command(text_[at_]))
          step();
        else
          word(in, true);
      }
      ++at_;
      auto lines = appends && known != variables_.end() ? known->second.lines : std::vector<std::size_t>{};
      lines.resize(words.size(), line);
      for (auto& w : in) {
        words.push_back(std::move(w.text));
        lines.push_back(w.line);
      }
      spend(words.size());
      if (words.size() > most_) fail(line, "there are more than 2^16 words");
      set(name, std::move(words), true, std::move(lines));
      return true;
    }
    std::vector<shell_word> in;
    if (at_ < text_.size() && !is_blank(text_[at_]) && !ends_command(text_[at_]) && !(text_[at_] == ')' && open_ > 0))
      word(in, false, true);
    auto text = in.empty() ? std::string() : std::move(in.front().text);
    if (appends && !words.empty()) text = words.front() + text;
    if (text.size() > most_) fail(line, "a word is longer than 2^16 characters");
    spend(text.size());
    set(name, {std::move(text)}, false);
    return true;
  }
  // ---- words
  void put(std::vector<shell_word>& out, std::string text, std::size_t line) {
    if (out.size() >= most_) fail(line, "there are more than 2^16 words");
    if (text.size() > most_) fail(line, "a word is longer than 2^16 characters");
    spend(text.size() + 1);
    out.push_back({std::move(text), line});
  }
  /// The words of a value between blanks, as a shell splits what is not quoted.
  template <class Out>
  void split(Out& out, std::string const& all, std::size_t line) {
    for (auto first = all.find_first_not_of(shell_blanks); first != all.npos;) {
      auto const end = (std::min)(all.find_first_of(shell_blanks, first), all.size());
      if constexpr (std::is_same_v<typename Out::value_type, shell_word>)
        put(out, all.substr(first, end - first), line);
      else
        out.push_back(all.substr(first, end - first));
      first = all.find_first_not_of(shell_blanks, end);
    }
  }
  /// Whether `'` stands in a word of prose, as in "don't".
  [[nodiscard]] bool apostrophe(std::string const& before) const {
    if (before.empty() || !std::all_of(before.begin(), before.end(), [](char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }))
      return false;
    for (auto const* const end : {"t", "s", "re", "ve", "ll", "d", "m"})
      if (text_.substr(at_ + 1).starts_with(end)) {
        auto const c = peek(1 + std::string_view(end).size());
        if (is_blank(c) || c == '\n' || c == '.' || c == ',' || c == '\0') return true;
      }
    return false;
  }
  /// One word; several if an array, or a value that is not quoted, stands for them, unless `whole`.
  void word(std::vector<shell_word>& out, bool in_array = false, bool whole = false) {
    auto const line = line_;
    element_line_ = 0;
    std::string text;
    auto quoted = false, several = false;
    char quote = 0;
    auto open = 0;
    // a layout has `|` and brackets, and people forget its quotes
    auto const is_layout = [](std::string_view flag) {
      return flag.starts_with("--pipeline-model-parallel-layout") || flag.starts_with("--pipeline_model_parallel_layout");
    };
    auto const literal_value = !out.empty() && is_layout(out.back().text) && out.back().text.back() == 't';
    for (; at_ < text_.size(); step()) {
      auto const c = text_[at_];
      if (quote == 0) {
        if (c == '(') ++open;
        auto const closes = c == ')' && open == 0 && (in_array || open_ > 0);
        if (c == ')' && open > 0) --open;
        if (is_blank(c) || c == '\n' || closes || (ends_command(c) && !literal_value && !is_layout(text))) break;
      }
      if (quote != '\'' && c == '\\' && at_ + 1 < text_.size()) {
        if (auto const letters = continuation(); letters > 0) {
          if (quote == 0) break;
          step(letters - 1);
          continue;
        }
        step();
        if (quote == '"' && std::string_view("$`\"\\").find(text_[at_]) == std::string_view::npos) text += '\\';
        text += text_[at_];
      } else if (c == quote) {
        quote = 0;
      } else if (quote == 0 && (c == '"' || (c == '\'' && !apostrophe(text)))) {
        quote = c;
        quoted = true;
      } else if (quote != '\'' && (c == '$' || c == '`')) {
        if (c == '$' && quote == 0 && (peek(1) == '\'' || peek(1) == '"')) continue;
        expand(text, out, line, quote == 0 && !whole, whole, several);
        if (at_ >= text_.size()) break;
      } else {
        text += c;
      }
      if (text.size() > most_) fail(line, "a word is longer than 2^16 characters");
    }
    if (quote != 0) fail(line, "a quote is opened and never closed");
    auto const arguments = text == "$@" || text == "$*" || text.starts_with("${@") || text.starts_with("${*");
    if (arguments) return pass_over(std::move(text), line);  // those of the script, which nobody knows here
    auto const of_array = std::exchange(element_line_, 0);
    if ((quoted && !several) || !text.empty()) put(out, std::move(text), of_array == 0 ? line : of_array);
  }
  /// A text with what its variables stand for, all in one piece.
  std::string expanded(std::string_view text, bool document = false) {
    auto const back = here();
    std::string out;
    std::vector<shell_word> none;
    auto several = false;
    spend(text.size());
    go({text, 0, line_, text.npos, 0});
    if (++nested_ > 32) fail(line_, "variables are nested more deeply than in any script");
    char quote = 0;
    for (; at_ < text_.size(); step()) {
      auto const c = text_[at_];
      if (c == '\\' && at_ + 1 < text_.size() && quote != '\'') {
        step();
        if (document && text_[at_] == '\n') continue;
        if (document && std::string_view("$`\\").find(text_[at_]) == std::string_view::npos) out += '\\';
        out += text_[at_];
      } else if (!document && c == quote) {
        quote = 0;
      } else if (!document && quote == 0 && (c == '\'' || c == '"')) {
        quote = c;
      } else if (quote != '\'' && (c == '$' || c == '`')) {
        expand(out, none, line_, false, true, several);
        if (at_ >= text_.size()) break;
      } else {
        out += c;
      }
      if (out.size() > most_ && !document) fail(line_, "a word is longer than 2^16 characters");
    }
    --nested_;
    go(back);
    return out;
  }
  [[nodiscard]] std::optional<std::int64_t> sum(std::string const& text) const {
    return shell_sum(text, [&](std::string_view name) -> std::optional<std::int64_t> {
      auto const at = variables_.find(std::string(name));
      if (at == variables_.end() || at->second.words.empty()) return {};
      auto const& word = at->second.words.front();
      std::int64_t value = 0;
      auto const [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      return error == std::errc{} && stop == word.data() + word.size() ? std::optional(value) : std::nullopt;
    });
  }
  /// What a command prints: a sum of `expr`, or nothing that is known.
  std::string printed(std::string_view of) {
    auto const first = of.find_first_not_of(shell_blanks);
    if (first == of.npos || !of.substr(first).starts_with("expr ")) return "$(...)";
    auto text = expanded(of.substr(first + 5));
    if (auto const value = sum(text)) return std::to_string(*value);
    std::erase_if(text, [](char c) { return std::string_view(shell_blanks).find(c) != std::string_view::npos; });
    return "$((" + text + "))";
  }
  /// A variable at `$`, or a command at '`'; leaves at its last letter. Words of an array, and those of a value that is split, are put into
  /// `out` but for the last one, which the rest of the word may follow.
  void expand(std::string& text, std::vector<shell_word>& out, std::size_t line, bool splits, bool joins, bool& several) {
    auto const add = [&](std::string const& value) {
      spend(value.size());
      if (!splits || value.find_first_of(shell_blanks) == value.npos) {
        text += value;
        return;
      }
      std::vector<std::string> words;
      split(words, value, line);
      if (is_shell_blank(value.front()) && !text.empty()) put(out, std::exchange(text, {}), line);
      for (std::size_t i = 0; i < words.size(); ++i) {
        text += words[i];
        if (i + 1 < words.size() || is_shell_blank(value.back())) put(out, std::exchange(text, {}), line);
      }
    };
    if (text_[at_] == '`') {
      auto const end = text_.find('`', at_ + 1);
      if (end == text_.npos) fail(line, "a command between ` is opened and never closed");
      auto const inside = text_.substr(at_ + 1, end - at_ - 1);
      step(end - at_);
      return add(printed(inside));
    }
    auto const next = peek(1);
    if (next == '(') {
      ++at_;
      auto const all = skip_brackets();
      --at_;
      if (!all.starts_with("((") || !all.ends_with("))")) return add(printed(all.substr(1, all.size() - 2)));
      auto in = expanded(all.substr(2, all.size() - 4));
      if (auto const value = sum(in)) return add(std::to_string(*value));
      std::erase_if(in, [](char c) { return is_shell_blank(c); });
      return add("$((" + in + "))");
    }
    if (next == '{') {
      auto const end = closing_brace();
      if (end == text_.npos) fail(line, "a bracket is opened and never closed");
      auto const inside = text_.substr(at_ + 2, end - at_ - 2);
      step(end - at_);
      if (arguments_ && (inside == "@" || inside == "*"))
        return add_array({*arguments_, line, true}, text, out, line, splits, joins, several, add);
      if (inside.ends_with("[@]") || inside.ends_with("[*]")) {
        auto const found = variables_.find(std::string(inside.substr(0, inside.size() - 3)));
        if (found == variables_.end() && is_shell_name(inside.substr(0, inside.size() - 3))) return add("${" + std::string(inside) + "}");
        if (found != variables_.end())
          return add_array(found->second, text, out, line, splits, joins || (!splits && inside.ends_with("[*]")), several, add);
      }
      return add(of_braces(inside));
    }
    auto end = end_of_name(text_, at_ + 1);
    if (end == at_ + 1 && end < text_.size() && std::string_view("@*#?$!-0123456789").find(text_[end]) != std::string_view::npos) ++end;
    auto const name = text_.substr(at_ + 1, end - at_ - 1);
    auto const written = text_.substr(at_, end - at_);
    at_ = end - 1;
    if (arguments_ && (name == "@" || name == "*"))
      return add_array({*arguments_, line, true}, text, out, line, splits, joins, several, add);
    auto const value = value_of(name);
    add(value ? *value : std::string(written));
  }
  /// The words of an array: each for itself, or all in one where they are joined.
  template <class Add>
  void add_array(shell_variable const& of, std::string& text, std::vector<shell_word>& out, std::size_t line, bool splits, bool joins,
                 bool& several, Add const& add) {
    several = true;
    for (std::size_t i = 0; i < of.words.size(); ++i) {
      auto const& word = of.words[i];
      element_line_ = i < of.lines.size() ? of.lines[i] : line;
      if (splits) {
        add(word);
      } else {
        text += word;
        spend(word.size());
      }
      if (i + 1 == of.words.size()) break;
      if (joins)
        text += ' ';
      else if (!splits || !text.empty())
        put(out, std::exchange(text, {}), element_line_);
    }
  }
  static bool is_shell_blank(char c) { return std::string_view(shell_blanks).find(c) != std::string_view::npos; }
  [[nodiscard]] std::size_t closing_brace() const {
    auto open = 0;
    for (auto i = at_ + 1; i < text_.size(); ++i) {
      if (text_[i] == '\\') {
        ++i;
        continue;
      }
      open += text_[i] == '{' ? 1 : text_[i] == '}' ? -1 : 0;
      if (open == 0) return i;
    }
    return text_.npos;
  }
  [[nodiscard]] std::optional<std::string> value_of(std::string_view name) const {
    if (arguments_ && name == "#") return std::to_string(arguments_->size());
    if (arguments_ && name.size() == 1 && name[0] >= '1' && name[0] <= '9') {
      auto const index = static_cast<std::size_t>(name[0] - '1');
      return index < arguments_->size() ? std::optional((*arguments_)[index]) : std::nullopt;
    }
    auto const at = variables_.find(std::string(name));
    if (at == variables_.end()) return {};
    return at->second.words.empty() ? std::string() : at->second.words.front();
  }
  /// What stands between ${ and }.
  std::string of_braces(std::string_view inside) {
    auto const written = "${" + std::string(inside) + "}";
    auto end = end_of_name(inside, 0);
    if (end == 0 && !inside.empty() && inside[0] >= '0' && inside[0] <= '9') end = 1;
    auto const name = inside.substr(0, end);
    auto rest = inside.substr(end);
    if (inside.starts_with('#') && inside.size() > 1) {  // how many
      auto const of = inside.substr(1);
      auto const array = of.ends_with("[@]") || of.ends_with("[*]");
      auto const at = variables_.find(std::string(array ? of.substr(0, of.size() - 3) : of));
      if (at == variables_.end()) return written;
      return std::to_string(array ? at->second.words.size() : value_of(at->first)->size());
    }
    auto value = value_of(name);
    if (rest.empty()) return value ? *value : written;
    if (rest[0] == '[' && rest.ends_with(']')) {
      auto const at = variables_.find(std::string(name));
      auto const index = sum(expanded(rest.substr(1, rest.size() - 2)));
      if (at == variables_.end() || !index || *index < 0 || std::cmp_greater_equal(*index, at->second.words.size())) return written;
      return at->second.words[static_cast<std::size_t>(*index)];
    }
    auto const empty_too = rest[0] == ':';
    if (empty_too) rest.remove_prefix(1);
    if (rest.empty()) return written;
    auto const given = value && !(empty_too && value->empty());
    switch (rest[0]) {
      case '-': return given ? *value : expanded(rest.substr(1));
      case '=': {
        if (given) return *value;
        auto text = expanded(rest.substr(1));
        if (is_shell_name(name)) set(std::string(name), {text}, false);
        return text;
      }
      case '+': return given ? expanded(rest.substr(1)) : std::string();
      case '?': return given ? *value : "$" + std::string(name);
      default: break;
    }
    if (!value || empty_too || value->find('$') != value->npos) return written;
    if (rest == "^^" || rest == ",,")
      for (auto& c : *value) {
        if (rest[0] == '^' && c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
        if (rest[0] == ',' && c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
      }
    else
      return written;
    return *value;
  }

  std::string_view text_;
  std::string const& name_;
  std::size_t element_line_ = 0;  // of the last word of an array that became part of a word
  std::size_t at_ = 0, line_ = 1, spent_ = 0;
  std::size_t jump_from_ = std::string_view::npos, jump_to_ = 0;  // the body of a here-document, which is passed over at the line's end
  bool live_ = true, ended_ = false, saw_exit_ = false;
  shell_script out_;
  std::vector<std::string>& batch_ = out_.batch;
  std::map<std::string, shell_variable> variables_;
  std::optional<std::vector<std::string>> arguments_;  // of a function
  int open_ = 0, nested_ = 0;                          // brackets of commands, and variables in variables
  std::size_t changes_ = 0;                            // assignments and commands with flags, those of branches that are not taken too
  bool guessed_ = false;                               // whether a condition is decided by a variable that is not set
};

}  // namespace ballast_cli
