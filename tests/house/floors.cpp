// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "house/headers.hpp"
#include "support/catch.hpp"

// A room includes lower floors and itself: no neighbour, no higher floor, no other room's detail/, and nothing in a circle.

namespace test_house_floors {
using house::header;

namespace {

std::vector<std::string> broken_rules(std::vector<header> const& headers) {
  std::vector<std::string> broken;
  for (auto const& h : headers) {
    auto const room = house::room_of(h.path);
    if (room.empty()) continue;  // a face
    if (!house::floors.contains(room)) {
      broken.push_back(h.path + " is in a room without a floor");
      continue;
    }
    for (auto const& included : h.includes) {
      auto const other = house::room_of(included);
      if (other.empty() || !house::floors.contains(other)) {
        broken.push_back(h.path + " includes " + included + ", which is in no room");
      } else if (other != room) {
        if (house::is_private(included)) broken.push_back(h.path + " includes the private " + included);
        if (house::floors.at(other) >= house::floors.at(room)) broken.push_back(h.path + " includes " + included + " of no lower floor");
      }
    }
  }
  return broken;
}

/// A header that includes itself through others, or nothing.
std::string circle(std::vector<header> const& headers) {
  std::map<std::string, header const*> by_path;
  for (auto const& h : headers) by_path[h.path] = &h;
  std::map<std::string, int> seen;  // 1 while it is being visited, 2 when done
  std::function<std::string(std::string const&)> const visit = [&](std::string const& path) -> std::string {
    if (seen[path] == 2 || !by_path.contains(path)) return {};
    if (seen[path] == 1) return path;
    seen[path] = 1;
    for (auto const& included : by_path.at(path)->includes)
      if (auto const found = visit(included); !found.empty()) return found;
    seen[path] = 2;
    return {};
  };
  for (auto const& h : headers)
    if (auto const found = visit(h.path); !found.empty()) return found;
  return {};
}

}  // namespace

TEST_CASE("headers include lower floors and their own room alone", "[house]") {
  for (auto const& rule : broken_rules(house::all_headers())) FAIL_CHECK(rule);
  CHECK(circle(house::all_headers()).empty());
}

TEST_CASE("a room has no more than one person can oversee", "[house]") {
  std::map<std::string, std::size_t> files, lines;
  for (auto const& h : house::headers_below(BALLAST_SOURCES "/include")) {
    ++files[house::room_of(h.path)];
    lines[house::room_of(h.path)] += h.lines.size();
  }
  for (auto const& [room, floor] : house::floors) {
    CAPTURE(room);  // packing has a search engine and packs of several measures, in folders of their own
    CHECK(files[room] <= (room == "packing" ? 85u : 60u));
    CHECK(lines[room] <= (room == "packing" ? 10'000u : 7'500u));
  }
}

TEST_CASE("each rule of the floors can be broken", "[house]") {
  auto const breaks = [](char const* path, char const* included) { return broken_rules({{path, {included}, {}}}).size() == 1; };
  CHECK(breaks("ballast/packing/pack.hpp", "ballast/balance/bulk.hpp"));               // a neighbour
  CHECK(breaks("ballast/layout/zigzag.hpp", "ballast/cost/table.hpp"));                // a neighbour
  CHECK(breaks("ballast/packing/pack.hpp", "ballast/batching/options.hpp"));           // a higher floor
  CHECK(breaks("ballast/plan/balance_report.hpp", "ballast/cost/detail/checks.hpp"));  // what another room keeps to itself
  CHECK(breaks("ballast/gpu/loss/totals.cuh", "ballast/gpu/core/detail/x.cuh"));       // so on the device
  CHECK(breaks("ballast/attic/pack.hpp", "ballast/core/error.hpp"));                   // no room
  CHECK(breaks("ballast/packing/pack.hpp", "ballast/core.hpp"));                       // a face
  CHECK(broken_rules({{"ballast/gpu/loss/totals.cuh", {"ballast/loss/detail/power.hpp", "ballast/gpu/core/call.cuh"}, {}}}).empty());
  CHECK_FALSE(circle({{"a", {"b"}, {}}, {"b", {"c"}, {}}, {"c", {"a"}, {}}}).empty());
  CHECK(circle({{"a", {"b", "c"}, {}}, {"b", {"c"}, {}}, {"c", {}, {}}}).empty());
}

}  // namespace test_house_floors
