// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/version.hpp>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "house/headers.hpp"
#include "support/catch.hpp"

// What a reader may expect of names: a header's test has its name, a face names all of its room, the inline namespace is the version.

namespace test_house_names {
namespace {

/// Options, results, concepts and other data, which the tests of the functions that take or return them go through.
std::set<std::string> const data{
    "balance/options",
    "balance/result",
    "balance/unequal_options",
    "balance/workspace",
    "partition/consecutive_options",
    "batching/fault",
    "batching/options",
    "batching/vector_options",
    "core/config",
    "core/level",
    "cost/parallelism",
    "graph/subgraphs",
    "levels/options",
    "loss/normaliser",
    "memory/allocator_types",
    "memory/buffer",
    "methods/local_or_distributed_options",
    "packing/options",
    "packing/result",
    "packing/runs",
    "packing/vector/options",
    "packing/vector/result",
    "partition/options",
    "partition/result",
    "partition/workspace",
    "pipeline/result",
    "pipeline/tasks",
    "plan/searched_settings",
    "plan/training_options",
    "sharding/fault",
    "sharding/options",
    "sharding/result",
    "staging/result",
    "weights/layout_model",
};

}  // namespace

TEST_CASE("every public header has a test of its name, or is data", "[house]") {
  std::set<std::string> untested;
  for (auto const& h : house::headers_below(BALLAST_SOURCES "/include")) {
    if (house::room_of(h.path).empty() || house::is_private(h.path)) continue;
    auto const name = h.path.substr(8, h.path.size() - 12);  // packing/pack
    if (!std::filesystem::exists(BALLAST_SOURCES "/tests/" + name + ".cpp")) untested.insert(name);
  }
  CHECK(untested == data);
}

TEST_CASE("the face of a room includes every public header of it", "[house]") {
  auto const all = house::headers_below(BALLAST_SOURCES "/include");
  for (auto const& [room, floor] : house::floors) {
    std::set<std::string> room_has, face_has;
    for (auto const& h : all) {
      if (house::room_of(h.path) == room && !house::is_private(h.path)) room_has.insert(h.path);
      if (h.path == "ballast/" + room + ".hpp") face_has.insert(h.includes.begin(), h.includes.end());
    }
    for (auto const* const by_name : {"ballast/cost/calibrate.hpp", "ballast/plan/calibrate_steps.hpp", "ballast/plan/observe.hpp"})
      room_has.erase(by_name);  // need Eigen
    CAPTURE(room);
    CHECK(std::includes(face_has.begin(), face_has.end(), room_has.begin(), room_has.end()));
  }
}

TEST_CASE("the inline namespace is the version", "[house]") {
  auto const wanted = "v" + std::to_string(BALLAST_VERSION_MAJOR) + "_" + std::to_string(BALLAST_VERSION_MINOR);
  for (auto const& h : house::all_headers())
    for (auto const& line : h.lines) {
      auto const at = line.find("::inline v");
      if (at == line.npos) continue;
      CAPTURE(h.path, line);
      CHECK(line.compare(at + 9, wanted.size(), wanted) == 0);
    }
}

}  // namespace test_house_names
