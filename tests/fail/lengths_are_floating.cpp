// SPDX-License-Identifier: Apache-2.0
// A length is a count of tokens.
#include <ballast/packing/next_fit.hpp>

#include <vector>

int main() {
#ifdef BALLAST_EXPECT_FAIL
  std::vector<double> const lengths{3, 1, 2};  // expected-error: constraints not satisfied
#else
  std::vector<int> const lengths{3, 1, 2};
#endif
  return ballast::next_fit(lengths, {.capacity = 4}).packs.size() == 2 ? 0 : 1;
}
