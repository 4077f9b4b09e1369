// SPDX-License-Identifier: Apache-2.0
// Members of groups are 32- or 64-bit unsigned indices, nothing else.
#include <ballast/core/groups.hpp>

#ifdef BALLAST_EXPECT_FAIL
ballast::groups<int> packs;  // expected-error: constraint
#else
ballast::groups<unsigned> packs;
#endif

int main() { return packs.empty() ? 0 : 1; }
