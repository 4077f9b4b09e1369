// SPDX-License-Identifier: Apache-2.0
// What a rank trains on is a view into the plan of steps: a loop over it must not end the plan before its first turn.
#include <ballast/batching/result.hpp>

#include <cstddef>

ballast::batching<> made() {
  ballast::batching<> plan;
  plan.packs = {{0, 2}, {0, 1}};
  plan.table = {0};
  return plan;
}

int main() {
  std::size_t samples = 0;
#ifdef BALLAST_EXPECT_FAIL
  for (auto const pack : made().packs_of(0, 0)) samples += pack.size();  // expected-error: deleted
#else
  auto const plan = made();
  for (auto const pack : plan.packs_of(0, 0)) samples += pack.size();
#endif
  return samples == 2 ? 0 : 1;
}
