// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

// The headers of the library as text: where each stands and what it includes of ours.

namespace house {

inline std::map<std::string, int> const floors{{"core", 1},       {"cost", 2},     {"layout", 2},    {"patterns", 2},  {"graph", 2},
                                               {"packing", 3},    {"balance", 3},  {"partition", 3}, {"recompute", 3}, {"memory", 3},
                                               {"footprint", 3},  {"sharding", 3}, {"weights", 3},   {"pipeline", 3},  {"loss", 3},
                                               {"attention", 4},  {"batching", 4}, {"streams", 4},   {"chunks", 4},    {"staging", 4},
                                               {"curriculum", 4}, {"levels", 5},   {"plan", 6},      {"methods", 7}};

struct header {
  std::string path;                   // as it is included: "ballast/packing/detail/place.hpp"
  std::vector<std::string> includes;  // of ours
  std::vector<std::string> lines;     // all
};

/// "packing" for "ballast/packing/vector/check.hpp" and "ballast/gpu/packing/fold.cuh"; empty for a face such as "ballast/packing.hpp".
inline std::string room_of(std::string_view path) {
  for (std::string_view const prefix : {"ballast/", "gpu/"})
    if (path.starts_with(prefix)) path.remove_prefix(prefix.size());
  auto const end = path.find('/');
  return end == path.npos ? std::string() : std::string(path.substr(0, end));
}
inline bool is_private(std::string_view path) { return path.find("/detail/") != path.npos; }

inline std::vector<std::string> lines_of(std::filesystem::path const& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

inline std::vector<header> headers_below(std::filesystem::path const& folder) {
  std::vector<header> out;
  for (auto const& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    header h{std::filesystem::relative(entry.path(), folder).generic_string(), {}, lines_of(entry.path())};
    for (std::string_view line : h.lines)
      if (line.starts_with("#include <ballast/")) h.includes.emplace_back(line.substr(10, line.find('>') - 10));
    out.push_back(std::move(h));
  }
  std::sort(out.begin(), out.end(), [](header const& a, header const& b) { return a.path < b.path; });
  return out;
}

inline std::vector<header> all_headers() {
  auto out = headers_below(BALLAST_SOURCES "/include");
  auto const twins = headers_below(BALLAST_SOURCES "/cuda/include");
  out.insert(out.end(), twins.begin(), twins.end());
  return out;
}

}  // namespace house
