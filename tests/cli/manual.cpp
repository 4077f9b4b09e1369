// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "support/catch.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

// The console blocks of docs/cli*.md are run as a reader would, those of a page one after the other in an empty folder, and print what
// they show.
// `$ ` begins a command and `> ` goes on with it; all else is what it prints, on either output. `{...}` stands for braces with anything
// inside, a line `...` for any number of lines, and ` ...` at the end of a line for the rest of it.

namespace test_cli_manual {

namespace {

using namespace ballast_test;

using lines = std::vector<std::string>;

lines lines_of(std::string const& text) {
  lines out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

struct shown_command {
  std::size_t line;  ///< of the page, from 1
  std::string text;
  lines printed;
};

std::vector<shown_command> commands_of(lines const& page) {
  std::vector<shown_command> out;
  auto inside = false;
  for (std::size_t i = 0; i < page.size(); ++i) {
    auto const& line = page[i];
    if (line.starts_with("```")) {
      inside = line == "```console";
    } else if (inside && line.starts_with("$ ")) {
      out.push_back({i + 1, line.substr(2), {}});
    } else if (inside && line.starts_with("> ")) {
      out.back().text += "\n" + line.substr(2);
    } else if (inside) {
      out.back().printed.push_back(line);
    }
  }
  return out;
}

bool same_line(std::string_view printed, std::string_view shown) {
  if (shown.ends_with(" ...")) {
    shown.remove_suffix(4);
    printed = printed.substr(0, shown.size());
  }
  for (auto at = shown.find("{...}"); at != shown.npos; at = shown.find("{...}")) {
    auto const close = printed.find('}', at);
    if (close == printed.npos || printed.substr(0, at + 1) != shown.substr(0, at + 1)) return false;
    printed.remove_prefix(close + 1);
    shown.remove_prefix(at + 5);
  }
  return printed == shown;
}

/// Whether the lines from `p` and from `s` on agree.
bool same_lines(lines const& printed, lines const& shown, std::size_t p = 0, std::size_t s = 0) {
  for (; s < shown.size(); ++s, ++p) {
    if (shown[s] == "...") {
      for (auto after = p; after <= printed.size(); ++after)
        if (same_lines(printed, shown, after, s + 1)) return true;
      return false;
    }
    if (p >= printed.size() || !same_line(printed[p], shown[s])) return false;
  }
  return p == printed.size();
}

/// Takes a minute under sanitizers; other tests run the same code there.
constexpr char const* long_commands[] = {"--global-batch ", "ballast compare ", "ballast schedule ", "--model gpt2-xl "};
bool is_long(std::string const& command) {
  return std::any_of(std::begin(long_commands), std::end(long_commands), [&](auto part) { return command.find(part) != command.npos; });
}

}  // namespace

TEST_CASE("manual: every command prints what its page shows") {
  std::size_t commands = 0;
  for (auto const& entry : std::filesystem::directory_iterator(BALLAST_DOCS)) {
    auto const page = entry.path().filename().string();
    if (!page.starts_with("cli")) continue;
    scratch const in;
    for (auto const& command : commands_of(lines_of(read_whole(entry.path())))) {
      ++commands;
      if (sanitized && is_long(command.text)) continue;
      auto const printed = in.shell("ballast() { \"$B\" \"$@\"; }\n{ " + command.text + "\n} 2>&1").out;
      INFO(page << ':' << command.line << ": " << command.text << "\nprints\n" << printed);
      CHECK(same_lines(lines_of(printed), command.printed));
    }
  }
  CHECK(commands >= 90);
}

TEST_CASE("manual: output differs unless a mark says what may") {
  CHECK(same_lines({"a", "b"}, {"a", "b"}));
  CHECK_FALSE(same_lines({"a", "b"}, {"a"}));
  CHECK_FALSE(same_lines({"a"}, {"a", "b"}));
  CHECK_FALSE(same_lines({"a", "b"}, {}));
  CHECK(same_lines({"a", "b", "c"}, {"...", "c"}));
  CHECK(same_lines({"a", "b", "c"}, {"a", "...", "b", "c", "..."}));
  CHECK_FALSE(same_lines({"a", "b", "c"}, {"a", "...", "b"}));
  CHECK(same_lines({"x {1} y {} z"}, {"x {...} y {...} z"}));
  CHECK_FALSE(same_lines({"x {1} y"}, {"x {...} z"}));
  CHECK_FALSE(same_lines({"x ... y"}, {"x 1 y"}));
  CHECK(same_lines({"x 1   2.5 ms"}, {"x 1 ..."}));
  CHECK_FALSE(same_lines({"x 2   2.5 ms"}, {"x 1 ..."}));

  auto const commands = commands_of({"$ no", "```console", "$ a {", "> b", "c", "$ d", "```", "> no", "```text", "$ no", "```"});
  REQUIRE(commands.size() == 2);
  CHECK(commands[0].text == "a {\nb");
  CHECK(commands[0].printed == lines{"c"});
  CHECK(commands[1].line == 6);
  CHECK(commands[1].printed.empty());
}

}  // namespace test_cli_manual
