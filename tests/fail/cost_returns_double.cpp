// SPDX-License-Identifier: Apache-2.0
// Planners decide on integers: a floating cost must pass through `scaled` first.
#include <ballast/packing/next_fit.hpp>

#include <cstdint>
#include <vector>

int main() {
  std::vector<int> const lengths{3, 1, 2};
#ifdef BALLAST_EXPECT_FAIL
  auto const cost = [](std::int64_t length) { return 0.5 * static_cast<double>(length); };  // expected-error: constraints not satisfied
#else
  auto const cost = [](std::int64_t length) { return 2 * length; };
#endif
  return ballast::next_fit(lengths, {.capacity = 8}, cost).packs.size() == 2 ? 0 : 1;
}
