// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ballast_test {

/// Lengths with the percentiles of the set like WLB-LLM's (arXiv 2503.17924) that DistCA measures on, uniform in between.
inline std::vector<std::int64_t> wlb_lengths(std::size_t count, std::uint64_t seed) {
  constexpr std::pair<std::uint64_t, std::int64_t> quantiles[] = {{0, 64},      {5000, 3227},  {7500, 4832},   {9000, 5784},
                                                                  {9500, 6110}, {9900, 26070}, {9990, 119836}, {10000, 125000}};
  ballast::splitmix64 draw(seed);
  std::vector<std::int64_t> out(count);
  for (auto& length : out) {
    auto const at = draw() % 10000;
    std::size_t q = 1;
    while (quantiles[q].first <= at) ++q;
    auto const low = quantiles[q - 1].second, high = quantiles[q].second;
    length = low + static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(high - low + 1));
  }
  return out;
}

}  // namespace ballast_test
