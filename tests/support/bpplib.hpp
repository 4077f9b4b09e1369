// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace ballast_test {

/// An instance of the bin packing library BPPLIB (Delorme, Iori, Martello 2018).
struct bpplib_instance {
  std::string name;
  std::int64_t capacity = 0;
  std::uint64_t bound = 0, best = 0;  ///< packs: proven lower bound, best known
  ballast::histogram lengths;
};

/// The named instances of bpplib/instances.txt in the folder BALLAST_TRACES: "name capacity bound best" and lengths, or "LENGTHxCOUNT".
inline std::vector<bpplib_instance> bpplib(std::vector<std::string> const& names) {
  std::vector<bpplib_instance> out;
  auto const* const folder = std::getenv("BALLAST_TRACES");
  std::ifstream in(folder != nullptr ? std::string(folder) + "/bpplib/instances.txt" : std::string());
  if (!in) {
    WARN("BALLAST_TRACES names no folder with bpplib/instances.txt: published instances are not solved");
    return out;
  }
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    bpplib_instance each;
    words >> each.name >> each.capacity >> each.bound >> each.best;
    if (std::find(names.begin(), names.end(), each.name) == names.end()) continue;
    std::vector<std::int64_t> lengths;
    for (std::string word; words >> word;) {
      auto const times = word.find('x');
      lengths.insert(lengths.end(), times == word.npos ? 1 : std::stoul(word.substr(times + 1)), std::stoll(word));
    }
    each.lengths = ballast::fold(lengths);
    out.push_back(each);
  }
  CHECK(out.size() == names.size());
  return out;
}

}  // namespace ballast_test
