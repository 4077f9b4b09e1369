// SPDX-License-Identifier: Apache-2.0
// A pack is a view into its plan: of a plan that ends with the statement it would dangle.
#include <ballast/packing/next_fit.hpp>

#include <cstddef>
#include <utility>
#include <vector>

std::size_t count(ballast::groups<> const& packs) { return packs[0].size(); }
std::size_t keep(ballast::groups<> packs) { return packs[0].size(); }

int main() {
  std::vector<int> const lengths{3, 1, 2};
#ifdef BALLAST_EXPECT_FAIL
  auto const pack = ballast::next_fit(lengths, {.capacity = 4}).packs[0];  // expected-error: deleted
#else
  auto plan = ballast::next_fit(lengths, {.capacity = 4});
  auto const pack = plan.packs[0];
#endif
  auto samples = pack.size();
  for (auto const other : ballast::next_fit(lengths, {.capacity = 4}).packs)
    samples += other.size();  // this plan lives as long as the loop
  samples += count(ballast::next_fit(lengths, {.capacity = 4}).packs);
  samples += keep(ballast::next_fit(lengths, {.capacity = 4}).packs);
#ifndef BALLAST_EXPECT_FAIL
  samples += keep(std::move(plan).packs);
#endif
  return samples == 11 ? 0 : 1;
}
