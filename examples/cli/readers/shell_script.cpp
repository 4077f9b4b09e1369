// SPDX-License-Identifier: Apache-2.0
#include "readers/shell_script.hpp"

#include "readers/shell_test.hpp"
#include "readers/shell_words.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <deque>
#include <iterator>
#include <optional>
#include <utility>

namespace ballast_cli {

bool is_shell_name(std::string_view text) { return !text.empty() && end_of_name(text, 0) == text.size(); }

bool is_unset(std::string_view word) {
  if (!word.starts_with('$') || word.size() < 2) return false;
  if (word[1] == '{' || word[1] == '(') return word.find(word[1] == '{' ? '}' : ')') == word.size() - 1;
  return is_shell_name(word.substr(1)) || (word.size() == 2 && word[1] >= '0' && word[1] <= '9');
}

namespace {

class script_reader : shell_words {
 public:
  using shell_words::shell_words;

  shell_script read() {
    while (at_ < text_.size() && !ended_) {
      list(0);
      if (at_ < text_.size() && !ended_) step();  // a word or bracket that closes nothing
    }
    out_.variables = std::move(variables_);
    return std::move(out_);
  }

 private:
  /// Whether a word is in the rest of the text.
  [[nodiscard]] bool comes(char const* word) {
    auto const [last, isnew] = last_.try_emplace({text_.data(), word}, 0);
    if (isnew) {
      auto const at = text_.rfind(word);
      last->second = at == text_.npos ? 0 : at;
    }
    return last->second > at_;
  }
  // ---- commands
  /// Commands up to a word that closes what is open, which is left.
  truth list(int depth) {
    if (depth > 32) fail(line_, "conditions, loops and brackets are nested more deeply than in any script");
    auto last = truth::unknown;
    while (true) {
      skip_lines();
      if (at_ >= text_.size() || ended_) return last;
      for (auto const* const word : {"then", "elif", "else", "fi", "do", "done", "esac", "}"})
        if (is_word(word)) return last;
      if (text_[at_] == ')' || is_next(";;")) return last;
      last = and_or(depth);
    }
  }
  truth and_or(int depth) {
    auto left = pipeline(depth);
    while (skip_blanks() && (is_next("&&") || is_next("||"))) {
      auto const both = text_[at_] == '&';
      at_ += 2;
      skip_lines();
      auto const was = live_;
      auto const passes = left == (both ? truth::no : truth::yes);
      live_ = live_ && !passes && (both || left != truth::unknown);  // what follows || mends an error
      ++guards_;
      auto const before = changes_;
      auto const line = line_;
      auto const right = pipeline(depth);
      if (both && left == truth::unknown && changes_ != before) pass_over(taken_to_hold, line);
      --guards_;
      live_ = was;
      if (!passes) left = both ? both_of(left, right) : either_of(left, right);
    }
    return left;
  }
  truth pipeline(int depth) {
    auto const negates = skip_blanks() && take_word("!");
    auto out = command(depth);
    while (skip_blanks() && text_[at_] == '|' && peek(1) != '|') {
      at_ += peek(1) == '&' ? 2U : 1U;
      skip_lines();
      (void)command(depth);
      out = truth::unknown;
    }
    return negates ? negated(out) : out;
  }
  truth command(int depth) {
    if (!skip_blanks()) return truth::unknown;
    spend(64);
    if (is_word("if") && comes("then")) return condition(depth);
    if ((is_word("for") || is_word("select")) && comes("do")) return for_loop(depth);
    if ((is_word("while") || is_word("until")) && comes("do")) return while_loop(depth);
    if (is_word("case") && comes("esac")) return choice(depth);
    if (is_word("[[")) return double_brackets();
    if (is_next("((")) return sum_command();
    if (is_word("{") || text_[at_] == '(') {
      auto const closes = text_[at_] == '{' ? '}' : ')';
      ++at_;
      open_ += closes == ')' ? 1 : 0;
      auto const out = list(depth + 1);
      open_ -= closes == ')' ? 1 : 0;
      if (peek() == closes) ++at_;
      redirections(nullptr);
      return out;
    }
    if (function_definition(depth)) return truth::unknown;
    return simple_command(depth);
  }
  template <class Read>
  void dead(Read const& read) {
    auto const was = std::exchange(live_, false);
    read();
    live_ = was;
  }
  /// A branch that is read unless it ends the script.
  bool branch_unless_it_ends(int depth) {
    auto const from = here();
    auto const ends = std::exchange(saw_exit_, false);
    dead([&] { (void)list(depth + 1); });
    auto const exits = std::exchange(saw_exit_, ends);
    if (exits || !live_) return false;
    go(from);
    ++guards_;
    (void)list(depth + 1);
    --guards_;
    return true;
  }
  static constexpr auto taken_to_hold = "a condition, taken to hold";
  truth condition(int depth) {
    auto taken = false;
    at_ += 2;
    for (auto more = true; more;) {
      auto holds = truth::no;
      auto const line = line_;
      guessed_ = false;
      if (taken)
        dead([&] { (void)list(depth + 1); });
      else
        holds = list(depth + 1);
      if (!take_word("then")) return truth::unknown;  // prose, or a script that ends early
      auto const guessed = guessed_;
      auto const before = changes_;
      if (taken || holds == truth::no) {
        dead([&] { (void)list(depth + 1); });
        if (!taken && guessed && changes_ != before) pass_over("a condition on what is unset, not taken", line);
      } else {
        taken = branch_unless_it_ends(depth);
        auto const others = skip_blanks() && (is_word("else") || is_word("elif"));
        if (taken && others && holds == truth::unknown)
          pass_over("the other branches of a condition", line_);
        else if (taken && (holds == truth::unknown || (guessed && holds == truth::yes)) && changes_ != before)
          pass_over(holds == truth::unknown ? taken_to_hold : "a condition on what is unset, taken", line);
      }
      more = take_word("elif");
    }
    if (take_word("else")) {
      if (taken)
        dead([&] { (void)list(depth + 1); });
      else
        (void)list(depth + 1);
    }
    if (take_word("fi")) redirections(nullptr);
    return truth::unknown;
  }
  truth for_loop(int depth) {
    auto const line = line_;
    at_ += is_word("for") ? 3U : 6U;
    (void)skip_blanks();
    std::vector<shell_word> words;
    std::string name;
    if (is_next("((")) {
      skip_brackets();
    } else {
      auto const end = text_.find_first_of(" \t\r\n;", at_);
      name = text_.substr(at_, end == text_.npos ? end : end - at_);
      step(name.size());
      skip_lines();
      if (take_word("in"))
        while (skip_blanks() && !ends_command(text_[at_])) word(words);
      if (live_ && is_shell_name(name)) {
        variables_.erase(name);
        if (!words.empty()) set(name, {words.front().text}, false);
      }
    }
    skip_lines();
    if (!take_word("do")) return truth::unknown;
    (void)list(depth + 1);
    if (words.size() > 1) {
      auto const others = words.size() - 1;
      pass_over("the other " + (others > 1 ? std::to_string(others) + " rounds" : std::string("round")) + " over " + name, line);
    }
    if (take_word("done")) redirections(nullptr);
    return truth::unknown;
  }
  truth while_loop(int depth) {
    auto const line = line_;
    auto const until = is_word("until");
    at_ += 5;
    auto holds = list(depth + 1);
    if (until) holds = negated(holds);
    if (!take_word("do")) return truth::unknown;
    if (holds == truth::yes) {
      (void)list(depth + 1);
    } else {
      dead([&] { (void)list(depth + 1); });
      if (holds == truth::unknown) pass_over("a loop", line);
    }
    if (take_word("done")) redirections(nullptr);
    return truth::unknown;
  }
  truth choice(int depth) {
    at_ += 4;
    std::vector<shell_word> of;
    if (skip_blanks()) word(of, false, true);
    skip_lines();
    if (!take_word("in")) return truth::unknown;
    auto const value = of.empty() ? std::string() : of.front().text;
    auto const decided = value.find('$') == value.npos;
    auto taken = false;
    while (true) {
      skip_lines();
      while (peek() == ';') {
        ++at_;
        skip_lines();
      }
      if (at_ >= text_.size() || ended_) return truth::unknown;
      if (take_word("esac")) break;
      auto matches = false;
      if (peek() == '(') ++at_;
      while (skip_blanks() && text_[at_] != ')') {
        auto const from = at_;
        std::vector<shell_word> pattern;
        ++open_;
        word(pattern, false, true);
        --open_;
        matches = matches || (!pattern.empty() && shell_pattern(pattern.front().text, value));
        (void)skip_blanks();
        if (peek() == '|') ++at_;
        if (at_ == from) step();
      }
      if (peek() == ')') ++at_;
      auto const line = line_;
      if (taken || (decided && !matches)) {
        dead([&] { (void)list(depth + 1); });
      } else if (decided) {
        (void)list(depth + 1);
        taken = true;
      } else {
        taken = branch_unless_it_ends(depth);
        if (taken) pass_over("the other branches of a choice", line);
      }
      if (peek() == ')')
        ++at_;
      else if (at_ < text_.size() && !is_next(";;") && !is_word("esac"))
        step();
    }
    redirections(nullptr);
    return truth::unknown;
  }
  truth double_brackets() {
    at_ += 2;
    std::vector<shell_word> words;
    while (skip_blanks() && !take_word("]]")) {
      auto const c = text_[at_];
      if (is_next("&&") || is_next("||")) {
        words.push_back({std::string(text_.substr(at_, 2)), line_});
        at_ += 2;
      } else if (ends_command(c) || c == '(' || c == ')') {
        words.push_back({std::string(1, c), line_});
        step();
      } else {
        word(words, false, true);
      }
    }
    std::vector<std::string> texts;
    for (auto& w : words) texts.push_back(std::move(w.text));
    return shell_condition(texts, guessed_);
  }
  truth sum_command() {
    auto const all = skip_brackets();
    if (!all.ends_with("))") || all.size() < 4) return truth::unknown;
    auto const value = sum(expanded(all.substr(2, all.size() - 4)));
    return !value ? truth::unknown : *value != 0 ? truth::yes : truth::no;
  }
  bool function_definition(int depth) {
    auto const from = here();
    auto const says = take_word("function");
    (void)skip_blanks();
    auto end = at_;
    while (end < text_.size() && !is_blank(text_[end]) && !ends_command(text_[end]) && text_[end] != '(' && text_[end] != '\'' &&
           text_[end] != '"' && text_[end] != '$' && text_[end] != '=')
      ++end;
    std::string const name(text_.substr(at_, end - at_));
    at_ = end;
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    auto const brackets = is_next("()");
    if (name.empty() || (!brackets && !says)) {
      go(from);
      return false;
    }
    if (brackets) at_ += 2;
    skip_lines();
    if (peek() != '{' && peek() != '(') {
      go(from);
      return false;
    }
    if (live_) functions_[name] = here();
    auto const ends = saw_exit_;
    dead([&] { (void)command(depth + 1); });
    saw_exit_ = ends;
    return true;
  }
  /// Reads other text as commands.
  void run(std::string text, std::size_t line, int depth) {
    auto const back = here();
    spend(text.size());
    texts_.push_back(std::move(text));
    go({texts_.back(), 0, line, text_.npos, 0});
    while (at_ < text_.size() && !ended_) {
      (void)list(depth + 1);
      if (at_ < text_.size() && !ended_) step();
    }
    go(back);
  }
  struct redirected {
    std::string file, document;
    bool here = false;                ///< whether there is a here-document
    std::optional<std::string> text;  ///< a string that is read, behind <<<
  };
  /// Redirections at this place, with the words of a here-document.
  void redirections(redirected* into) {
    while (skip_blanks()) {
      auto const from = at_;
      if (peek() >= '0' && peek() <= '9' && (peek(1) == '>' || peek(1) == '<')) ++at_;
      if (is_next("&>")) ++at_;
      auto const c = peek();
      if (c != '<' && c != '>') {
        at_ = from;
        return;
      }
      if (is_next("<<") && !is_next("<<<")) {
        here_document(into);
        continue;
      }
      auto const text = is_next("<<<");
      while (peek() == '<' || peek() == '>') ++at_;
      if (peek() == '(') {
        skip_brackets();
        continue;
      }
      if (peek() == '&' || peek() == '|') ++at_;
      std::vector<shell_word> target;
      if (skip_blanks() && text_[at_] != '\n' && !ends_command(text_[at_])) word(target, false, true);
      if (into != nullptr && c == '>' && !target.empty()) into->file = target.front().text;
      if (into != nullptr && text && !target.empty()) into->text = target.front().text;
    }
  }
  void here_document(redirected* into) {
    at_ += 2;
    auto const strips = peek() == '-';
    if (strips) ++at_;
    (void)skip_blanks();
    auto end = at_;
    while (end < text_.size() && !is_blank(text_[end]) && !ends_command(text_[end]) && text_[end] != ')') ++end;
    std::string mark(text_.substr(at_, end - at_));
    auto const plain = mark.find_first_of("'\"\\") != mark.npos;
    std::erase_if(mark, [](char c) { return c == '\'' || c == '"' || c == '\\'; });
    at_ = end;
    if (!comes("\n")) return;
    auto const line_end = jump_from_ != text_.npos && jump_from_ >= at_ ? jump_from_ : text_.find('\n', at_);
    if (mark.empty() || line_end == text_.npos) return;
    auto const begin = jump_from_ == line_end ? jump_to_ : line_end + 1;
    auto stop = begin, next = text_.size();
    for (; stop < text_.size(); stop = next) {
      auto const line_stop = (std::min)(text_.find('\n', stop), text_.size());
      next = (std::min)(line_stop + 1, text_.size());
      auto line = text_.substr(stop, line_stop - stop);
      if (strips) line.remove_prefix((std::min)(line.find_first_not_of('\t'), line.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line == mark) break;
    }
    jump_from_ = line_end;
    jump_to_ = next;
    if (into == nullptr || !live_) return;
    into->here = true;
    auto const document = text_.substr(begin, stop - begin);
    into->document = plain ? std::string(document) : expanded(document, true);
  }
  truth simple_command(int depth) {
    std::vector<shell_word> words;
    redirected to;
    auto begins = true, declares = false;
    std::optional<std::vector<std::pair<std::string, std::optional<shell_variable>>>> before;
    auto const line = line_;
    while (skip_blanks()) {
      auto const c = text_[at_];
      if (c == '>' || c == '<' || is_next("&>") || (c >= '0' && c <= '9' && (peek(1) == '>' || peek(1) == '<'))) {
        auto const from = at_;
        redirections(&to);
        if (at_ == from) break;
        continue;
      }
      if (ends_command(c) || (c == ')' && open_ > 0)) break;
      if (begins && end_of_name(text_, at_) != at_) {
        auto const end = end_of_name(text_, at_);
        if (end < text_.size() && (text_[end] == '=' || text_[end] == '+') && !before) before = variables_of_launchers();
        if (assignment()) continue;
      }
      word(words);
      if (declares) words.clear();
      if (declares || words.size() != 1 || !begins) {
        begins = begins && (declares || words.empty());
        continue;
      }
      auto const& text = words.back().text;
      declares = text == "export" || text == "declare" || text == "local" || text == "readonly" || text == "typeset";
      begins = declares || text == "env";
      if (begins) words.clear();
    }
    auto const started = !words.empty() && live_;
    auto const out = start(words, to, line, depth);
    if (started && before)
      for (auto const& [name, value] : *before) {
        if (value)
          variables_[name] = *value;
        else
          variables_.erase(name);
      }
    return out;
  }
  /// `read [-r] [-a ARRAY] NAME... <<< TEXT`: the words of its first line, the rest of which the last name takes.
  void read_words(std::vector<shell_word> const& words, std::string const& text) {
    auto const known = variables_.find("IFS");
    auto const separators =
        known != variables_.end() && known->second.words.size() == 1 ? known->second.words[0] : std::string(shell_blanks);
    std::vector<std::string> names;
    auto array = false, lines = false;
    for (std::size_t i = 1; i < words.size(); ++i) {
      auto const& word = words[i].text;
      if (!word.starts_with('-')) {
        names.push_back(word);
        continue;
      }
      array = array || word.ends_with('a');
      lines = lines || word.ends_with('d');
      if (word.size() > 1 && std::string_view("dinNptu").find(word.back()) != std::string_view::npos) ++i;  // an option with a value
    }
    if (names.empty() || text.find('$') != text.npos) {
      for (auto const& name : names) variables_.erase(name);
      return;
    }
    auto rest = std::string_view(text);
    if (!lines) rest = rest.substr(0, rest.find('\n'));
    auto const cut = [&] {  // one word; several blanks are one separator
      auto const end = (std::min)(rest.find_first_of(separators), rest.size());
      std::string out(rest.substr(0, end));
      rest.remove_prefix((std::min)(end + 1, rest.size()));
      while (!rest.empty() && (rest[0] == ' ' || rest[0] == '\t') && separators.find(rest[0]) != separators.npos) rest.remove_prefix(1);
      spend(out.size() + 1);
      return out;
    };
    while (!rest.empty() && is_blank(rest[0]) && separators.find(rest[0]) != separators.npos) rest.remove_prefix(1);
    if (array) {
      std::vector<std::string> all;
      while (!rest.empty() && all.size() < most_) all.push_back(cut());
      return set(names.back(), std::move(all), true);
    }
    for (std::size_t i = 0; i < names.size(); ++i)
      if (is_shell_name(names[i])) set(names[i], {i + 1 < names.size() ? cut() : std::string(rest)}, false);
  }
  /// Those that a launcher reads: set in front of a command they are its own, as is IFS.
  static constexpr char const* launcher_variables[] = {"CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "NPROC_PER_NODE", "NNODES"};
  [[nodiscard]] std::vector<std::pair<std::string, std::optional<shell_variable>>> variables_of_launchers() {
    std::vector<std::pair<std::string, std::optional<shell_variable>>> out;
    auto names = std::vector<char const*>(std::begin(launcher_variables), std::end(launcher_variables));
    names.push_back("IFS");
    for (auto const* const name : names) {
      auto const at = variables_.find(name);
      if (at != variables_.end())
        for (auto const& w : at->second.words) spend(w.size() + 1);
      out.emplace_back(name, at == variables_.end() ? std::nullopt : std::optional(at->second));
    }
    return out;
  }
  truth start(std::vector<shell_word>& words, redirected const& to, std::size_t line, int depth) {
    if (words.empty()) return truth::unknown;
    auto const& first = words.front().text;
    if (first == "exit" || first == "usage") saw_exit_ = true;
    if (std::any_of(words.begin(), words.end(), [](auto const& w) { return w.text.starts_with("--"); })) ++changes_;
    if (!live_) return truth::unknown;
    if (first == "exit") {
      ended_ = guards_ == 0;
      return truth::unknown;
    }
    if (first == "true" || first == ":") return truth::yes;
    if (first == "false") return truth::no;
    if (first == "[" || first == "test") {
      std::vector<std::string> texts;
      for (std::size_t i = 1; i < words.size(); ++i) texts.push_back(words[i].text);
      if (first == "[" && !texts.empty() && texts.back() == "]") texts.pop_back();
      return shell_condition(texts, guessed_);
    }
    if (first == "unset") {
      for (auto const& w : words) variables_.erase(w.text);
      return truth::unknown;
    }
    if (first == "source" || first == ".") {
      pass_over(first + (words.size() > 1 ? " " + words[1].text : ""), line);
      return truth::unknown;
    }
    if (first == "eval") {
      std::string text;
      for (std::size_t i = 1; i < words.size(); ++i) text += (i > 1 ? " " : "") + words[i].text;
      run(std::move(text), line, depth);
      return truth::unknown;
    }
    if (auto const known = functions_.find(first); known != functions_.end() && calls_ < 8) return call(known->second, words, depth);
    if (to.here && (first == "cat" || first == "tee") && (!to.file.empty() || words.size() > 1)) {
      auto const& file = to.file.empty() ? words.back().text : to.file;
      out_.documents[file] = to.document;
      return truth::unknown;
    }
    if (to.here && first == "read") {  // into the last name, its lines and all, as with -d ''
      variables_[words.back().text] = {.words = {to.document}, .line = line, .array = false};
      return truth::unknown;
    }
    if (to.text && first == "read") {
      read_words(words, *to.text);
      return truth::yes;
    }
    auto const shell = [](std::string const& text) {
      return text == "bash" || text == "sh" || text.ends_with("/bash") || text.ends_with("/sh");
    };
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (!shell(words[i].text)) continue;
      auto option = i + 1;
      while (option < words.size() && words[option].text.starts_with('-') &&
             !(words[option].text.ends_with('c') && words[option].text[1] != '-'))
        ++option;
      if (option + 1 < words.size() && words[option].text.starts_with('-')) {
        run(words[option + 1].text, words[option + 1].line, depth);
        words.resize(i);
        if (words.empty()) return truth::unknown;
      }
      break;
    }
    if (to.here) run(to.document, line, depth);  // for a shell, or a program that starts one
    shell_command made{.words = std::move(words), .environment = {}};
    for (auto const* const name : launcher_variables)
      if (auto const at = variables_.find(name); at != variables_.end() && at->second.words.size() == 1 && at->second.words[0].size() < 256)
        made.environment[name] = at->second.words[0];
    out_.commands.push_back(std::move(made));
    return truth::unknown;
  }
  truth call(place const& function, std::vector<shell_word> const& words, int depth) {
    auto const back = here();
    auto const outer = std::exchange(arguments_, std::vector<std::string>{});
    for (std::size_t i = 1; i < words.size(); ++i) arguments_->push_back(words[i].text);
    ++calls_;
    go(function);
    (void)command(depth + 1);
    --calls_;
    go(back);
    arguments_ = outer;
    return truth::unknown;
  }

  int calls_ = 0, guards_ = 0;
  std::map<std::string, place> functions_;
  std::map<std::pair<char const*, std::string>, std::size_t> last_;  // where words stand last in a text
  std::deque<std::string> texts_;                                    // that are read as commands
};

}  // namespace

shell_script read_shell_script(std::string_view text, std::string const& name) { return script_reader(text, name).read(); }

}  // namespace ballast_cli
