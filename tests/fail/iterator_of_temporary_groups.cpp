// SPDX-License-Identifier: Apache-2.0
// An iterator over groups must not outlive them.
#include <ballast/core/groups.hpp>

#include <algorithm>
#include <ranges>

ballast::groups<> made() { return {{0, 2, 3}, {0, 1, 2}}; }

int main() {
#ifdef BALLAST_EXPECT_FAIL
  auto const first = made().begin();  // expected-error: deleted
#else
  auto const packs = made();
  auto const first = packs.begin();
#endif
  auto const is_pair = [](auto const pack) { return pack.size() == 2; };
  auto const pairs = std::ranges::count_if(made(), is_pair);  // the groups live as long as the call, or in the view
  auto singles = 0;
  for (bool const pair : made() | std::views::transform(is_pair)) singles += pair ? 0 : 1;
  return pairs == 1 && singles == 1 && (*first).size() == 2 ? 0 : 1;
}
