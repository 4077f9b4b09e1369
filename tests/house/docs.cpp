// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "house/headers.hpp"
#include "support/catch.hpp"

// Lines of prose in the manual end at 120 columns, as an editor and a difference show them.

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

}  // namespace

TEST_CASE("prose of the manual ends at 120 columns", "[house]") {
  std::vector<std::filesystem::path> pages{BALLAST_SOURCES "/README.md", BALLAST_SOURCES "/CONTRIBUTING.md"};
  for (auto const& entry : std::filesystem::directory_iterator(BALLAST_SOURCES "/docs"))
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  for (auto const& page : pages)
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
