// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

// The commands that a shell script would start, as far as its text alone decides them.

namespace ballast_cli {

struct shell_word {
  std::string text;
  std::size_t line;
};

/// A command with its words, which hold what variables stand for, and those variables of its environment that launchers read.
struct shell_command {
  std::vector<shell_word> words;
  std::map<std::string, std::string> environment;
};

/// A variable: one word, or the words of an array.
struct shell_variable {
  std::vector<std::string> words;
  std::size_t line = 0;
  bool array = false;
  std::vector<std::size_t> lines{};  ///< of the words of an array
};

struct shell_script {
  std::vector<shell_command> commands;
  std::map<std::string, shell_variable> variables;  ///< at the end
  std::vector<shell_word> unread;                   ///< what is passed over: other branches, included files, the script's arguments
  std::vector<std::string> batch;                   ///< words behind `#SBATCH`
  std::map<std::string, std::string> documents;     ///< here-documents that are written to a file, by its name
};

/// Whether a word is a name of a variable.
[[nodiscard]] bool is_shell_name(std::string_view text);
/// Whether a word is nothing but a variable, or what a command prints, so that it may be several words.
[[nodiscard]] bool is_unset(std::string_view word);

/// Runs a script without starting anything. Understood are quotes, comments, `NAME=value`, arrays, the usual forms of `${NAME}`, sums,
/// conditions and patterns of variables, loops, functions, here-documents, `eval` and `sh -c`. A variable that is not set stays as it is
/// written. Of a condition that the text does not decide, the first branch is read unless it ends the script; of a loop, the first round.
/// Throws bad_input, naming `name` and the line, where the text is no script, or becomes larger than any script.
[[nodiscard]] shell_script read_shell_script(std::string_view text, std::string const& name);

}  // namespace ballast_cli
