// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "house/headers.hpp"
#include "support/catch.hpp"

// Lines of prose in the manual end at 120 columns, as an editor and a difference show them. Its links lead somewhere.

namespace test_house_docs {
namespace {

constexpr std::size_t columns = 120;

/// The numbers, from 1, of the lines of prose that are longer than that. Tables, code and pictures are not prose, nor is a lone link.
std::vector<std::size_t> long_lines(std::vector<std::string> const& lines) {
  std::vector<std::size_t> out;
  bool code = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = lines[i];
    auto const indent = (std::min)(line.find_first_not_of(' '), line.size());
    auto const text = line.substr(indent);
    if (text.starts_with("```")) code = !code;
    if (code || line.starts_with("    ") || text.starts_with('|') || text.starts_with('<') || text.find(' ') == text.npos) continue;
    auto const width = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });  // of UTF-8
    if (static_cast<std::size_t>(width) > columns) out.push_back(i + 1);
  }
  return out;
}

std::vector<std::filesystem::path> all_pages() {
  std::filesystem::path const root = BALLAST_SOURCES;
  std::vector<std::filesystem::path> pages{root / "README.md", root / "CONTRIBUTING.md", root / "CHANGELOG.md", root / "SECURITY.md"};
  for (auto const& entry : std::filesystem::directory_iterator(root / "docs"))
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  return pages;
}

/// The anchors of a page, as its readers' browsers know them: headings in small letters, with dashes for spaces, without punctuation.
std::set<std::string> anchors_of(std::filesystem::path const& page) {
  std::set<std::string> out;
  bool code = false;  // where # begins a comment
  for (auto const& line : house::lines_of(page)) {
    if (line.starts_with("```")) code = !code;
    if (code || !line.starts_with('#')) continue;
    std::string anchor;
    for (char const c : line.substr((std::min)(line.find_first_not_of("# "), line.size())))
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == ' ')
        anchor += c == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    out.insert(anchor);
  }
  return out;
}

/// What is wrong with a link of a page; empty if it leads to a file, and to a heading where it names one.
std::string fault_of(std::string const& link, std::filesystem::path const& page) {
  if (link.starts_with("http")) return {};
  auto const hash = (std::min)(link.find('#'), link.size());
  auto const file = hash == 0 ? page : page.parent_path() / link.substr(0, hash);
  if (!std::filesystem::exists(file)) return link + ": no such file";
  if (hash < link.size() && !anchors_of(file).contains(link.substr(hash + 1))) return link + ": no such heading";
  return {};
}

}  // namespace

TEST_CASE("links of the manual lead to files and headings", "[house]") {
  static std::regex const pattern(R"~(\]\(([^) ]+)\)|src="([^"]+)")~");
  std::size_t links = 0;
  for (auto const& page : all_pages()) {
    bool code = false;
    for (auto const& line : house::lines_of(page)) {
      if (line.starts_with("```")) code = !code;
      if (code || line.starts_with("    ")) continue;
      for (std::sregex_iterator at(line.begin(), line.end(), pattern), end; at != end; ++at, ++links)
        if (auto const fault = fault_of((*at)[1].matched ? (*at)[1] : (*at)[2], page); !fault.empty())
          FAIL_CHECK(page.filename().string() + ": " + fault);
    }
  }
  CHECK(links > 150);
  std::filesystem::path const page = BALLAST_SOURCES "/docs/cli.md";
  CHECK(fault_of("nowhere.md", page) == "nowhere.md: no such file");
  CHECK(fault_of("#nothing", page) == "#nothing: no such heading");
}

TEST_CASE("the page of a room opens with what to fill and what to call", "[house]") {
  for (auto const& [room, floor] : house::floors) {
    if (room == "core" || room == "methods") continue;
    auto lines = house::lines_of(BALLAST_SOURCES "/docs/" + room + ".md");
    lines.resize((std::min)(lines.size(), std::size_t{20}));
    for (auto const* const word : {"fill ", "call ", "then "}) {
      CAPTURE(room, word);
      CHECK(std::any_of(lines.begin(), lines.end(), [&](auto const& line) { return line.starts_with(word); }));
    }
  }
}

TEST_CASE("prose of the manual ends at 120 columns", "[house]") {
  for (auto const& page : all_pages())
    for (auto const line : long_lines(house::lines_of(page))) FAIL_CHECK(page.filename().string() + ":" + std::to_string(line));
}

TEST_CASE("a long line of prose is found, and nothing else is", "[house]") {
  auto const words = [](std::string line, std::size_t width) {
    while (line.size() < width) line += line.size() % 6 == 5 ? ' ' : 'a';
    return line;
  };
  auto const umlauts = words("", 119) + "\xC3\xA4";
  CHECK(long_lines({words("", 120), words("- ", 121), umlauts, umlauts + "b"}) == std::vector<std::size_t>{2, 4});
  CHECK(long_lines({words("| ", 200), words("    ", 200), "<img " + words("", 200), std::string(200, 'a')}).empty());
  CHECK(long_lines({"```cpp", words("", 200), "```", words("", 200)}) == std::vector<std::size_t>{4});
}

}  // namespace test_house_docs
