// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/next_fit.hpp>

#include <cstddef>
#include <vector>

std::size_t packs_of(std::vector<int> const& lengths) { return ballast::next_fit(lengths, {.capacity = 4}).packs.size(); }
