// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace ballast::inline v0_2::detail {

/// A load up to which every set may be filled at once: among the `count` smallest of the loads that adding items of `cost` one by one
/// to every set would start from, are all those below it. Water poured on the loads rises to W; below W - cost that holds, since a set
/// then takes less than its share of water.
[[nodiscard]] inline std::int64_t safe_load(std::vector<std::int64_t> const& loads, std::int64_t cost, std::int64_t count) {
  auto water = (std::numeric_limits<std::int64_t>::max)();
  for (std::size_t active = 0, before = loads.size() + 1; active != before;) {
    before = active != 0 ? active : before;
    active = 0;
    std::int64_t sum = cost * count;
    for (auto const l : loads)
      if (l < water) {
        sum += l;
        ++active;
      }
    water = sum / static_cast<std::int64_t>(active);
  }
  return water - cost;
}

}  // namespace ballast::inline v0_2::detail
