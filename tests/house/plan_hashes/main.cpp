// SPDX-License-Identifier: Apache-2.0
#include "show.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

// plan_hashes             prints the lines of generated data, then those of the traces if BALLAST_TRACES names their folder
// plan_hashes generated   prints the lines of generated data
// plan_hashes traces      prints the lines of the traces
// plan_hashes check FILE  compares the lines of generated data with those of FILE; names the first that differs

namespace {

void generated() {
  plan_hashes::packing();
  plan_hashes::runs();
  plan_hashes::layout();
  plan_hashes::measures();
  plan_hashes::balance();
  plan_hashes::batching();
  plan_hashes::levels();
  plan_hashes::partition();
  plan_hashes::pipeline();
  plan_hashes::sharding();
  plan_hashes::schedulers();
  plan_hashes::chunks();
  plan_hashes::streams();
  plan_hashes::memory();
  plan_hashes::recompute();
  plan_hashes::staging();
  plan_hashes::curriculum();
  plan_hashes::loss();
  plan_hashes::methods();
  plan_hashes::plan();
  plan_hashes::placement();
}

int check(std::string const& file) {
  std::ifstream in(file);
  std::vector<std::string> golden;
  for (std::string line; std::getline(in, line);) golden.push_back(line);
  auto found = plan_hashes::lines();
  auto const lines = found.size();
  found.resize((std::max)(lines, golden.size()), "(no line)");
  golden.resize(found.size(), "(no line)");
  std::size_t first = found.size(), others = 0;
  for (auto i = found.size(); i-- > 0;) {
    if (found[i] == golden[i]) continue;
    others += first < found.size() ? 1U : 0U;
    first = i;
  }
  if (first < found.size()) {
    std::printf("%s:%zu: another plan\n  was %s\n  is  %s\nand %zu more of %zu lines\n", file.c_str(), first + 1, golden[first].c_str(),
                found[first].c_str(), others, found.size());
    return 1;
  }
  std::printf("%zu plans as before\n", lines);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> const arguments(argv + 1, argv + argc);
  auto const what = arguments.empty() ? std::string() : arguments[0];
  if (what != "traces") generated();
  if (what == "check" && arguments.size() == 2) return check(arguments[1]);
  if (what.empty() || what == "traces") {
    auto const* const folder = std::getenv("BALLAST_TRACES");
    if (folder != nullptr) plan_hashes::traces(folder);
    if (folder == nullptr) std::fputs("BALLAST_TRACES is not set: no traces\n", stderr);
  }
  for (auto const& line : plan_hashes::lines()) std::puts(line.c_str());
}
