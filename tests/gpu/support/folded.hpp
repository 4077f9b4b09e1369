// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdio>
#include <initializer_list>
#include <string_view>

namespace ballast_test {

/// @brief One test of a program that has several.
struct folded_test {
  std::string_view name;
  int (*run)(int, char**);
};

/// @brief Runs the test that the first argument names, with the arguments behind it.
/// @param argc number of arguments @param argv the arguments of the program @param tests the tests @return the program's exit status
[[nodiscard]] inline int run_folded(int argc, char** argv, std::initializer_list<folded_test> tests) {
  for (auto const& test : tests)
    if (argc > 1 && test.name == argv[1]) return test.run(argc - 1, argv + 1);
  std::puts("no test of this program is named; these are there:");
  for (auto const& test : tests) std::printf("%.*s\n", static_cast<int>(test.name.size()), test.name.data());
  return 2;
}

}  // namespace ballast_test
