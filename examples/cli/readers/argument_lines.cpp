// SPDX-License-Identifier: Apache-2.0
#include "readers/argument_lines.hpp"

#include "errors.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

namespace ballast_cli {

namespace {

struct shell_word {
  std::string text;
  std::size_t line;
  bool operator_ = false;  ///< what ends a command: a newline, |, &, ; or a redirection
};

[[nodiscard]] bool is_name(std::string_view text) {
  auto const letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

/// Whether a word is nothing but a variable, or what a command prints, so that it may be several flags.
[[nodiscard]] bool is_unset(std::string_view word) {
  if (!word.starts_with('$') || word.size() < 2) return false;
  if (word[1] == '{' || word[1] == '(') return word.find(word[1] == '{' ? '}' : ')') == word.size() - 1;
  return is_name(word.substr(1)) || (word.size() == 2 && word[1] >= '0' && word[1] <= '9');
}

[[nodiscard]] std::optional<std::int64_t> small_number(std::string const& text) {
  if (text.empty() || text.size() > 7 || !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) return {};
  auto const value = std::stoll(text);
  return value > 0 ? std::optional<std::int64_t>(value) : std::nullopt;
}

/// The words of a script, with its variables in place.
class shell_reader {
 public:
  shell_reader(std::string_view text, std::string const& name) : text_(text), name_(name) {}

  /// Reads all commands; words of assignments are not among them.
  std::vector<shell_word> read() {
    std::vector<shell_word> out;
    auto begins = true;  // a command begins, so an assignment may
    while (skip_blanks()) {
      auto const line = line_;
      if (ends_command(text_[at_])) {
        auto const end = text_[at_] == '\n';
        step();
        out.push_back({end ? "\n" : "", line, true});
        begins = true;
        continue;
      }
      if (begins && (assignment() || other_branch())) continue;
      auto const first = out.size();
      word(out);
      begins = begins && out.size() == first + 1 && out.back().text == "export";
    }
    return out;
  }
  [[nodiscard]] std::map<std::string, std::vector<std::string>> const& variables() const noexcept { return variables_; }
  [[nodiscard]] std::vector<shell_word> const& in_arrays() const noexcept { return in_arrays_; }
  /// What was passed over, with its line.
  [[nodiscard]] std::vector<shell_word> const& unread() const noexcept { return unread_; }

 private:
  [[noreturn]] void fail(std::size_t line, std::string const& why) const {
    throw bad_input(name_ + ":" + std::to_string(line) + ": " + why);
  }
  static bool ends_command(char c) { return c == '\n' || c == '|' || c == '&' || c == ';' || c == '>' || c == '<'; }
  void step() { line_ += text_[at_++] == '\n' ? 1U : 0U; }
  [[nodiscard]] bool continues() const {
    return text_[at_] == '\\' && at_ + 1 < text_.size() && (text_[at_ + 1] == '\n' || text_.substr(at_ + 1, 2) == "\r\n");
  }
  /// Skips blanks, comments and continued line ends. Returns whether there is more.
  bool skip_blanks() {
    while (at_ < text_.size()) {
      auto const c = text_[at_];
      if (c == '#') {
        at_ = (std::min)(text_.find('\n', at_), text_.size());
      } else if (continues()) {
        at_ = text_.find('\n', at_);
        step();
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else {
        return true;
      }
    }
    return false;
  }
  /// The branches of a condition behind its first one, at this place: they are skipped.
  bool other_branch() {
    auto const is = [&](std::string_view line, std::string_view word) {
      return line.starts_with(word) && (line.size() == word.size() || !is_name(line.substr(0, word.size() + 1)));
    };
    if (!is(text_.substr(at_), "else") && !is(text_.substr(at_), "elif")) return false;
    unread_.push_back({"the other branches of a condition", line_});
    for (int open = 1; at_ < text_.size() && open > 0;) {
      at_ = text_.find_first_not_of(" \t\r", at_);
      if (at_ == text_.npos) at_ = text_.size();
      auto const line = text_.substr(at_);
      open += is(line, "if") ? 1 : is(line, "fi") ? -1 : 0;
      for (at_ = (std::min)(text_.find('\n', at_), text_.size()); at_ < text_.size() && text_[at_] == '\n';) step();
    }
    return true;
  }
  /// NAME=value, NAME=( ... ) or NAME+=( ... ) at this place.
  bool assignment() {
    auto const equals = text_.find('=', at_);
    if (equals == text_.npos) return false;
    auto const appends = equals > at_ && text_[equals - 1] == '+';
    auto const given = text_.substr(at_, equals - at_ - (appends ? 1 : 0));
    if (!is_name(given)) return false;
    std::string const name(given);
    at_ = equals + 1;
    auto words = appends ? variables_[name] : std::vector<std::string>{};
    if (!appends) variables_[name].clear();
    if (at_ < text_.size() && text_[at_] == '(') {
      auto const line = line_;
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
      for (auto& w : in) {
        words.push_back(w.text);
        in_arrays_.push_back(std::move(w));
      }
    } else if (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != '\t' && !ends_command(text_[at_])) {
      std::vector<shell_word> in;
      word(in);
      for (auto& w : in) words.push_back(std::move(w.text));
    }
    variables_[name] = std::move(words);
    return true;
  }
  /// One word; several if an array stands for it.
  void word(std::vector<shell_word>& out, bool in_array = false) {
    auto const line = line_;
    std::string text;
    auto quoted = false;
    char quote = 0;
    for (; at_ < text_.size(); step()) {
      auto const c = text_[at_];
      if (quote == 0 && (c == ' ' || c == '\t' || c == '\r' || ends_command(c) || (in_array && c == ')'))) break;
      if (quote != '\'' && c == '\\' && at_ + 1 < text_.size()) {
        if (continues()) {
          if (quote == 0) break;
          while (text_[at_] != '\n') ++at_;
          continue;
        }
        step();
        text += text_[at_];
      } else if (c == quote) {
        quote = 0;
      } else if (quote == 0 && (c == '\'' || c == '"')) {
        quote = c;
        quoted = true;
      } else if (quote != '\'' && c == '$') {
        if (!expand(text, out, line, quote == 0)) return;
      } else {
        text += c;
      }
      if (text.size() > most_) fail(line, "a word is longer than 2^16 characters");
    }
    if (quote != 0) fail(line, "a quote is opened and never closed");
    auto const redirects = at_ < text_.size() && (text_[at_] == '>' || text_[at_] == '<') && small_number(text);  // 2>&1
    auto const arguments = text == "$@" || text == "$*" || text.starts_with("${@") || text.starts_with("${*");
    if (arguments) unread_.push_back({std::move(text), line});  // those of the script, which nobody knows here
    if (!arguments && !redirects && (quoted || !text.empty())) put(out, {std::move(text), line, false});
  }
  /// The words of a value between blanks, as a shell splits what is not quoted.
  void split(std::vector<shell_word>& out, std::string const& all, std::size_t line) const {
    for (auto first = all.find_first_not_of(blanks); first != all.npos;) {
      auto const end = (std::min)(all.find_first_of(blanks, first), all.size());
      put(out, {all.substr(first, end - first), line, false});
      first = all.find_first_not_of(blanks, end);
    }
  }
  /// A variable at `$`; leaves at its last character. False if it stands for several words, which are put.
  bool expand(std::string& text, std::vector<shell_word>& out, std::size_t line, bool splits) {
    auto const begin = at_;
    auto const next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    std::string_view name;
    std::optional<std::string> otherwise;
    auto array = false;
    if (next == '(') {  // a command or a sum: kept as text
      int open = 0;
      for (; at_ < text_.size(); step()) {
        open += text_[at_] == '(' ? 1 : text_[at_] == ')' ? -1 : 0;
        if (open == 0 && text_[at_] == ')') break;
      }
      if (at_ >= text_.size()) fail(line, "a bracket is opened and never closed");
      text += "$(...)";
      return true;
    }
    if (next == '{') {
      auto const end = text_.find('}', at_);
      if (end == text_.npos) fail(line, "a bracket is opened and never closed");
      auto const inside = text_.substr(at_ + 2, end - at_ - 2);
      name = inside.substr(0, inside.find_first_of(":[-"));
      array = inside.ends_with("[@]") || inside.ends_with("[*]");
      if (auto const sign = inside.find(":-"); sign != inside.npos) otherwise = std::string(inside.substr(sign + 2));
      at_ = end;
    } else {
      auto end = at_ + 1;
      while (end < text_.size() && is_name(text_.substr(at_ + 1, end + 1 - at_ - 1))) ++end;
      name = text_.substr(at_ + 1, end - at_ - 1);
      at_ = end - 1;
    }
    auto const found = variables_.find(std::string(name));
    if (array) {
      if (found == variables_.end()) fail(line, "the array " + printable(name) + " is not set in the file");
      ++at_;
      if (at_ < text_.size() && text_[at_] == '"') ++at_;
      for (auto const& w : found->second)
        if (splits)
          split(out, w, line);
        else
          put(out, {w, line, false});
      return false;
    }
    auto const set = found != variables_.end() && found->second.size() == 1;
    if (set && splits && text.empty() && found->second.front().find_first_of(blanks) != std::string::npos) {
      ++at_;
      split(out, found->second.front(), line);
      return false;
    }
    if (set)
      text += found->second.front();
    else if (otherwise)
      text += *otherwise;
    else
      text += text_.substr(begin, at_ + 1 - begin);
    return true;
  }
  void put(std::vector<shell_word>& out, shell_word word) const {
    if (out.size() >= most_) fail(word.line, "there are more than 2^16 words");
    out.push_back(std::move(word));
  }

  static constexpr auto blanks = " \t\r\n";
  static constexpr std::size_t most_ = std::size_t{1} << 16;
  std::string_view text_;
  std::string const& name_;
  std::size_t at_ = 0, line_ = 1;
  std::map<std::string, std::vector<std::string>> variables_;
  std::vector<shell_word> in_arrays_, unread_;
};

/// What a script includes from other files or leaves to variables, among the words of commands that train: those with flags or a program of
/// Python. Those variables are taken out of the words, so that they are no values of the flags before them.
void take_unset(std::vector<shell_word>& words, std::vector<shell_word>& out) {
  std::vector<shell_word> kept;
  for (std::size_t first = 0, end = 0; first < words.size(); first = end) {
    auto trains = false;
    for (end = first; end < words.size() && !words[end].operator_; ++end)
      trains = trains || words[end].text.starts_with("--") || words[end].text.ends_with(".py");
    if (end - first == 2 && (words[first].text == "source" || words[first].text == "."))
      out.push_back({words[first].text + " " + words[first + 1].text, words[first].line});
    end += end < words.size() ? 1U : 0U;  // the operator, too
    for (auto of_flag = false; first < end; ++first) {
      auto const& text = words[first].text;
      auto const value = std::exchange(of_flag, text.starts_with("--") && text.find('=') == std::string::npos);
      (trains && !value && is_unset(text) ? out : kept).push_back(words[first]);
    }
  }
  words = std::move(kept);
}

/// "--Micro-batch-size" becomes "micro_batch_size".
[[nodiscard]] std::string key_of_flag(std::string_view flag) {
  std::string key(flag.substr(2));
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

/// The key of a word such as `a.b=value`, `+a.b=value` or `++a.b=value`, and where its value begins; nothing for other words.
[[nodiscard]] std::optional<std::pair<std::string, std::size_t>> override_of(std::string const& word) {
  auto const first = (std::min)(word.find_first_not_of('+'), word.size()), equals = word.find('=');
  if (first > 2 || equals == word.npos || equals <= first) return {};
  auto const key = word.substr(first, equals - first);
  auto const plain = [](char c) { return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '/' || c == '@' || is_name({&c, 1}); };
  if (!is_name(key.substr(0, 1)) || !std::all_of(key.begin(), key.end(), plain)) return {};
  return std::pair{key, equals + 1};
}

}  // namespace

argument_lines read_argument_lines(std::string_view text, std::string const& name) {
  shell_reader reader(text, name);
  auto words = reader.read();
  argument_lines out{.flags = setting_table(name), .overrides = setting_table(name), .commands = {}, .gpus = {}, .unread = {}};
  auto const is_flag = [](shell_word const& w) { return !w.operator_ && w.text.size() > 2 && w.text.starts_with("--"); };
  auto unread = reader.unread();
  take_unset(words, unread);
  if (std::none_of(words.begin(), words.end(), is_flag)) {
    words = reader.in_arrays();
    take_unset(words, unread);
  }
  std::sort(unread.begin(), unread.end(), [](auto const& a, auto const& b) { return std::tie(a.line, a.text) < std::tie(b.line, b.text); });
  for (auto const& w : unread) out.unread.push_back("line " + std::to_string(w.line) + ": " + printable(w.text));
  std::map<std::string, std::string> launched;  // of torchrun
  auto const launches = [&](std::string const& key, std::vector<std::string> const& values) {
    for (auto const* const known : {"nproc_per_node", "nnodes"})
      if (key == known && !values.empty()) launched[key] = values.front();
  };
  for (auto const* const variable : {"NPROC_PER_NODE", "NNODES"})
    if (auto const found = reader.variables().find(variable); found != reader.variables().end() && found->second.size() == 1)
      launched[variable[1] == 'P' ? "nproc_per_node" : "nnodes"] = found->second.front();
  auto of_python = false;  // behind a program of Python
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto const& word = words[i];
    of_python = !word.operator_ && (of_python || word.text == "-m" || word.text.ends_with(".py"));
    if (word.operator_) continue;
    if (!is_flag(word)) {
      auto const given = of_python ? override_of(word.text) : std::nullopt;
      if (given)
        out.overrides.add(
            {.key = given->first, .words = {word.text.substr(given->second)}, .place = name + ":" + std::to_string(word.line)});
      else
        out.commands.push_back(word.text);
      continue;
    }
    auto const equals = word.text.find('=');
    setting_entry entry{
        .key = key_of_flag(std::string_view(word.text).substr(0, equals)), .words = {}, .place = name + ":" + std::to_string(word.line)};
    if (equals != word.text.npos)
      entry.words.push_back(word.text.substr(equals + 1));
    else
      while (i + 1 < words.size() && !words[i + 1].operator_ && !is_flag(words[i + 1])) {
        auto const given = of_python ? override_of(words[i + 1].text) : std::nullopt;
        if (given && given->first.find('.') != std::string::npos) break;
        entry.words.push_back(words[++i].text);
        of_python = of_python || entry.words.back().ends_with(".py");
        if (entry.words.back().ends_with(".py")) {  // the program behind the flags of its launcher
          out.commands.push_back(entry.words.back());
          entry.words.pop_back();
        }
      }
    launches(entry.key, entry.words);
    out.flags.add(std::move(entry));
  }
  if (auto const processes = launched.find("nproc_per_node"); processes != launched.end())
    if (auto const of_node = small_number(processes->second)) {
      auto const nodes = launched.contains("nnodes") ? small_number(launched["nnodes"]) : std::optional<std::int64_t>(1);
      if (nodes) out.gpus = *of_node * *nodes;
    }
  return out;
}

}  // namespace ballast_cli
