// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast_test {

/// A number in [low, high] from a seeded generator.
inline std::int64_t between(std::int64_t low, std::int64_t high, ballast::splitmix64& draw) {
  return low + static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(high - low + 1));
}

/// Lengths in 1 … longest, in one of several shapes that packers treat differently: anything, few distinct, short, between a fifth and a
/// half, around the third.
inline std::vector<std::int64_t> random_lengths(std::size_t count, std::int64_t longest, ballast::splitmix64& draw) {
  auto const shape = draw() % 5;
  auto const low = shape == 3 ? longest / 5 + 1 : shape == 4 ? (longest + 2) / 3 - longest / 10 : 1;
  auto const high = shape == 2 ? longest / 8 + 1 : shape == 3 ? (longest + 1) / 2 : shape == 4 ? (longest + 2) / 3 + longest / 10 : longest;
  std::int64_t const few[] = {between(1, longest, draw), between(1, longest, draw), between(1, longest, draw)};
  std::vector<std::int64_t> lengths(count);
  for (auto& l : lengths) {
    l = shape == 1 ? few[draw() % 3] : between(low, high < low ? low : high, draw);
    l = l < 1 ? 1 : l > longest ? longest : l;
  }
  return lengths;
}

/// The fixed input of the golden hashes.
inline std::vector<std::int32_t> golden_lengths() {
  ballast::splitmix64 draw(2026);
  std::vector<std::int32_t> lengths(5000);
  for (auto& l : lengths) {
    auto const value = draw();  // one draw a statement: operands are evaluated in no particular order
    l = static_cast<std::int32_t>(1 + value % (draw() % 4 == 0 ? 2048 : 400));
  }
  return lengths;
}

}  // namespace ballast_test
