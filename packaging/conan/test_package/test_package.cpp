// SPDX-License-Identifier: Apache-2.0
// The argument is the version that the package manager believes in. With the option `compiled`, the program links the library's instances.
#include <ballast/packing/next_fit.hpp>
#ifdef BALLAST_COMPILED
#include <ballast/packing/pack.hpp>
#endif

#include <string>
#include <vector>

int main(int argc, char** argv) {
  auto const v = ballast::version;
  if (argc != 2 || std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch) != argv[1]) return 1;
#ifdef BALLAST_COMPILED
  if (ballast::pack(std::vector{3, 1, 2, 4}, {.capacity = 5}).packs.size() != 2) return 3;
#endif
  return ballast::next_fit(std::vector{3, 1, 2, 4}, {.capacity = 4}).packs.size() == 3 ? 0 : 2;
}
