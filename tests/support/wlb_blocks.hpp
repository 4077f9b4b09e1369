// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/wlb_lengths.hpp"

namespace ballast_test {

/// Blocks of lengths as `wlb_lengths` draws them, each of `tokens` tokens or a little more.
inline std::vector<std::vector<std::int64_t>> wlb_blocks(std::size_t count, std::int64_t tokens, std::uint64_t seed) {
  std::vector<std::vector<std::int64_t>> out(1);
  std::int64_t sum = 0;
  for (auto const l : wlb_lengths(count * static_cast<std::size_t>(tokens / 2000 + 40), seed)) {
    if (sum >= tokens) {
      if (out.size() == count) break;
      out.emplace_back();
      sum = 0;
    }
    out.back().push_back(l);
    sum += l;
  }
  return out;
}

}  // namespace ballast_test
