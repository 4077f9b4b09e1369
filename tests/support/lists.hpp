// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/groups.hpp>

#include <cstdint>
#include <vector>

// Groups as lists, which a test can write down.

namespace ballast_test {

using lists = std::vector<std::vector<std::uint32_t>>;

[[nodiscard]] inline lists as_lists(ballast::groups<> const& packs) {
  lists out;
  for (auto const p : packs) out.emplace_back(p.begin(), p.end());
  return out;
}

}  // namespace ballast_test
