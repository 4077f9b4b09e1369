// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief The lengths that twins are tested on: five shapes that differ in what is hard about them, from integer draws alone.

namespace ballast_test {

inline constexpr int distributions = 5;  ///< 0 … 4

/// Lengths in 1 … capacity: 0 bell-shaped over octaves as a lognormal is, 1 heavy-tailed as a Pareto of exponent 1, 2 uniform, 3 big items,
/// 4 half short and half big.
template <class Length = std::int64_t>
std::vector<Length> lengths_of(int distribution, std::size_t count, std::int64_t capacity, std::uint64_t seed = 1) {
  ballast::splitmix64 draw(seed + 1000 * static_cast<std::uint64_t>(distribution));
  auto const c = static_cast<std::uint64_t>(capacity);
  auto const big = [&](std::uint64_t low, std::uint64_t high) {
    return c * low / 100 + ballast::uniform_below(c * (high - low) / 100 + 1, draw);
  };
  std::vector<Length> lengths(count);
  for (auto& l : lengths) {
    std::uint64_t value = 0;
    if (distribution == 0) {
      unsigned octave = 5;
      for (auto coins = draw() & 0xff; coins != 0; coins &= coins - 1) ++octave;
      value = std::uint64_t{1} << octave;
      value += ballast::uniform_below(value, draw);
    } else if (distribution == 1) {
      value = (std::uint64_t{128} << 32) / (1 + (draw() >> 32));
    } else if (distribution == 2) {
      value = big(0, 100);
    } else if (distribution == 3) {
      value = big(15, 65);
    } else {
      value = draw() % 2 == 0 ? 256 + ballast::uniform_below(513, draw) : big(20, 50);
    }
    l = static_cast<Length>(value < 1 ? 1 : value > c ? c : value);
  }
  return lengths;
}

}  // namespace ballast_test
