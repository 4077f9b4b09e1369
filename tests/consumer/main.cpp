// SPDX-License-Identifier: Apache-2.0
// Half of a user's program; other.cpp includes the same headers. The argument is the version the build system believes in.
#include <ballast/packing/next_fit.hpp>

#include <cstddef>
#include <string>
#include <vector>

std::size_t packs_of(std::vector<int> const& lengths);

int main(int argc, char** argv) {
  auto const v = ballast::version;
  auto const version = std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch);
  if (argc > 1 && version != argv[1]) return 1;
  std::vector<int> const lengths{3, 1, 2, 4};
  return ballast::next_fit(lengths, {.capacity = 4}).packs.size() == packs_of(lengths) ? 0 : 2;
}
