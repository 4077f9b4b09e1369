// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "house/headers.hpp"
#include "support/catch.hpp"

// Every public header is used by the library's plans and methods, by a GPU twin, by an example, or by a benchmark that a script runs. What
// only tests call goes. Users call validators and bounds, so these need no caller.

namespace test_house_callers {
using house::header;

namespace {

/// Headers that wait for their caller: of seed systems, and for trainers that execute plans.
std::set<std::string> const waiting{
    "ballast/balance/share_units.hpp",   // Whale, which trained M6: shares of equal units
    "ballast/chunks/choose_chunks.hpp",  // ChunkFlow: the size of a chunk and K
    "ballast/batching/step_shards.hpp",  // steps with samples that ranks share, as a trainer runs them
    "ballast/layout/document_mask.hpp",  // the mask of packed attention
};

std::set<std::string> words_of(std::vector<std::string> const& lines) {
  std::set<std::string> words;
  for (auto const& line : lines) {
    std::string word;
    for (char const c : line + ' ')
      if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_') {
        word += c;
      } else {
        words.insert(word);
        word.clear();
      }
  }
  return words;
}

/// The names that a header declares: words before the first parenthesis or behind `struct`, of lines that are not indented.
std::vector<std::string> declared(header const& h) {
  std::vector<std::string> names;
  for (auto const& line : h.lines) {
    if (line.empty() || std::string_view(" /#}").find(line.front()) != std::string_view::npos || line.starts_with("namespace")) continue;
    std::istringstream words(line.substr(0, line.find('(')));
    std::string word, before, last;
    for (; words >> word; before = last = word)
      if (before == "struct" || before == "class" || before == "concept" || before == "using") names.push_back(word);
    if (line.find('(') != line.npos && !line.starts_with("template") && !line.starts_with("  requires")) names.push_back(last);
  }
  return names;
}

bool needs_no_caller(std::string const& path) {
  auto const name = std::filesystem::path(path).stem().string();
  return house::is_private(path) || house::room_of(path).empty() || name.starts_with("check") || name == "fault" || name == "bounds";
}

/// The public headers that no root reaches. A file that includes a face reaches the headers of the room whose names it says.
std::vector<std::string> without_caller(std::vector<header> const& headers, std::vector<header> roots) {
  std::set<std::string> reached;
  for (std::size_t i = 0; i < roots.size(); ++i) {  // grows
    auto const root = roots[i];
    auto const words = words_of(root.lines);
    for (auto const& h : headers) {
      auto const room = "ballast/" + house::room_of(h.path) + ".hpp";
      auto const direct = std::find(root.includes.begin(), root.includes.end(), h.path) != root.includes.end();
      auto by_face = false;
      for (auto const& included : root.includes) by_face |= included == room || included == "ballast/ballast.hpp";
      auto const named = [&] {
        for (auto const& name : declared(h))
          if (words.contains(name)) return true;
        return false;
      };
      if ((direct || (by_face && !house::is_private(h.path) && named())) && !house::room_of(h.path).empty() &&
          reached.insert(h.path).second)
        roots.push_back(h);
    }
  }
  std::vector<std::string> out;
  for (auto const& h : headers)
    if (!reached.contains(h.path) && !needs_no_caller(h.path)) out.push_back(h.path);
  return out;
}

/// The benchmarks that scripts/benchmark runs: rooms=(packing balance ...).
std::set<std::string> benchmarks_run() {
  std::set<std::string> out;
  for (auto const& line : house::lines_of(BALLAST_SOURCES "/scripts/benchmark"))
    if (line.starts_with("rooms=(")) {
      std::istringstream words(line.substr(7, line.find(')') - 7));
      for (std::string word; words >> word;) out.insert(word + ".cpp");
    }
  return out;
}

}  // namespace

TEST_CASE("every header has a caller outside the tests", "[house]") {
  auto const headers = house::headers_below(BALLAST_SOURCES "/include");
  std::vector<header> roots;
  auto const add = [&](std::vector<header> const& files, auto const& wanted) {
    for (auto const& f : files)
      if (wanted(f.path)) roots.push_back(f);
  };
  auto const all = [](std::string const&) { return true; };
  auto const run = benchmarks_run();
  REQUIRE(run.size() > 5);
  add(headers, [](std::string const& path) {
    return path.starts_with("ballast/plan/") || path.starts_with("ballast/methods/") || waiting.contains(path);
  });
  add(house::headers_below(BALLAST_SOURCES "/cuda/include"), all);
  add(house::headers_below(BALLAST_SOURCES "/examples"), all);
  add(house::headers_below(BALLAST_SOURCES "/benchmarks"),
      [&](std::string const& path) { return path.starts_with("gpu/") || run.contains(path); });
  std::set<std::string> found;
  for (auto const& path : without_caller(headers, roots))
    if (!path.starts_with("ballast/plan/") && !path.starts_with("ballast/methods/")) found.insert(path);
  for (auto const& path : found)
    if (!waiting.contains(path)) FAIL_CHECK(path + " has no caller");
  for (auto const& path : waiting)
    if (!found.contains(path)) FAIL_CHECK(path + " has a caller, or is gone: take it from the list");
}

TEST_CASE("the rule about callers can be broken", "[house]") {
  std::vector<header> const headers{{"ballast/loss.hpp", {"ballast/loss/sum.hpp", "ballast/loss/mean.hpp"}, {}},
                                    {"ballast/loss/sum.hpp", {"ballast/loss/detail/add.hpp"}, {"[[nodiscard]] inline int sum(int a) {"}},
                                    {"ballast/loss/mean.hpp", {}, {"struct mean_of {"}},
                                    {"ballast/loss/check.hpp", {}, {}},
                                    {"ballast/loss/detail/add.hpp", {"ballast/core/wide.hpp"}, {}},
                                    {"ballast/core/wide.hpp", {}, {}}};
  using paths = std::vector<std::string>;
  CHECK(without_caller(headers, {}) == paths{"ballast/loss/sum.hpp", "ballast/loss/mean.hpp", "ballast/core/wide.hpp"});
  CHECK(without_caller(headers, {{"a.cpp", {"ballast/loss.hpp"}, {"auto const m = ballast::mean_of{};"}}}) ==
        paths{"ballast/loss/sum.hpp", "ballast/core/wide.hpp"});
  CHECK(without_caller(headers, {{"a.cpp", {"ballast/loss.hpp"}, {"ballast::sum(1);"}}}) == paths{"ballast/loss/mean.hpp"});
  CHECK(without_caller(headers, {{"a.cpp", {"ballast/loss/sum.hpp", "ballast/loss/mean.hpp"}, {}}}).empty());
}

}  // namespace test_house_callers
