// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/memory/buffer.hpp>

#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace ballast_test {

/// The benchmark files of MiniMalloc (github.com/google/minimalloc) in the folder minimalloc of BALLAST_TRACES: name and buffers of each.
[[nodiscard]] inline std::vector<std::pair<std::string, std::vector<ballast::buffer>>> layout_files() {
  std::vector<std::pair<std::string, std::vector<ballast::buffer>>> out;
  auto const* const folder = std::getenv("BALLAST_TRACES");
  if (folder == nullptr) {
    WARN("BALLAST_TRACES is not set: the files of MiniMalloc are not laid out");
    return out;
  }
  for (std::string const name : {"C", "D", "F", "G", "I", "K"}) {
    std::ifstream file(std::string(folder) + "/minimalloc/" + name + ".1048576.csv");
    std::string line;
    REQUIRE(std::getline(file, line));
    REQUIRE(line == "id,lower,upper,size");
    auto& buffers = out.emplace_back(name, std::vector<ballast::buffer>{}).second;
    for (std::string id, lower, upper, size;
         std::getline(file, id, ',') && std::getline(file, lower, ',') && std::getline(file, upper, ',') && std::getline(file, size);)
      buffers.push_back({.lower = std::stoll(lower), .upper = std::stoll(upper), .size = std::stoll(size)});
  }
  return out;
}

}  // namespace ballast_test
