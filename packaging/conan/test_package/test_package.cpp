// SPDX-License-Identifier: Apache-2.0
// The argument is the version that the package manager believes in.
#include <ballast/packing/next_fit.hpp>

#include <string>
#include <vector>

int main(int argc, char** argv) {
  auto const v = ballast::version;
  if (argc != 2 || std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch) != argv[1]) return 1;
  return ballast::next_fit(std::vector{3, 1, 2, 4}, {.capacity = 4}).packs.size() == 3 ? 0 : 2;
}
