// SPDX-License-Identifier: Apache-2.0
// Prints the data of the figures of docs/. With a file it prints nothing, and returns 1 where the file has other data.
#include "figures.hpp"

#include <fstream>
#include <iostream>
#include <sstream>

int main(int argc, char** argv) {
  std::ostringstream text;
  figures::writer show(text);
  for (auto const room :
       {figures::packing,  figures::near_optimal, figures::omnibal,       figures::layout,     figures::balance,   figures::loss,
        figures::batching, figures::sharding,     figures::execution,     figures::plan,       figures::levels,    figures::curriculum,
        figures::cost,     figures::memory_model, figures::memory_layout, figures::randomness, figures::partition, figures::recompute,
        figures::staging,  figures::pipeline,     figures::memory})
    room(show);
  show.end();
  if (argc < 2) return std::cout << text.str() << std::flush ? 0 : 1;
  std::ostringstream kept;
  kept << std::ifstream(argv[1]).rdbuf();
  if (kept.str() == text.str()) return 0;
  std::istringstream now(text.str()), before(kept.str());
  for (std::string is, was; std::getline(now, is);)
    if (!std::getline(before, was) || is != was) std::cerr << "differs: " << is.substr(0, is.find(':')) << '\n';
  std::cerr << "If a plan was meant to change, run scripts/figures, look at the figures and commit them.\n";
  return 1;
}
