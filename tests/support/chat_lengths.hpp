// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ballast_test {

/// Lengths like those of LMSYS-Chat-1M, the set of `ballast generate --like chat-sft`, cut to `longest` tokens; uniform between quantiles.
inline std::vector<std::int64_t> chat_lengths(std::size_t count, std::int64_t longest, std::uint64_t seed) {
  constexpr std::pair<std::uint64_t, std::int64_t> quantiles[] = {
      {0, 4},         {1000, 14},     {10000, 30},    {50000, 59},     {100000, 86},    {200000, 135},    {300000, 188},    {400000, 248},
      {500000, 321},  {600000, 416},  {700000, 549},  {800000, 761},   {871200, 1024},  {900000, 1194},   {950000, 1733},   {980000, 2636},
      {993500, 4096}, {997000, 5717}, {998700, 8192}, {999300, 12963}, {999800, 32768}, {999900, 131072}, {1000000, 303000}};
  ballast::splitmix64 draw(seed);
  std::vector<std::int64_t> out(count);
  for (auto& length : out) {
    auto const at = draw() % 1000000;
    std::size_t q = 1;
    while (quantiles[q].first <= at) ++q;
    auto const low = quantiles[q - 1].second, high = quantiles[q].second;
    length = (std::min)(longest, low + static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(high - low + 1)));
  }
  return out;
}

}  // namespace ballast_test
