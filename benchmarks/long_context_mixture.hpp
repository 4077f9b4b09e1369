// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

// A stand-in for the data of HBP (arXiv 2503.07680), Tulu 3 and 2,000 samples of LongCite, whose lengths are not published: a lognormal
// and a uniform part. All draws are integers, so every machine has the same samples.

namespace mixture {

/// Von Neumann's trick: true with probability exp(-1/2), from comparisons alone.
inline bool half_exponential(ballast::splitmix64& draw) {
  auto u = draw();
  if (u >> 63 != 0) return true;
  for (;;) {
    auto const v = draw();
    if (v >= u) return false;
    u = draw();
    if (u >= v) return true;
  }
}

/// A standard normal number in units of 2^-24, exact but for the last bit. Source: Karney, "Sampling exactly from the normal
/// distribution", ACM TOMS 42 (2016), algorithm N.
inline std::int64_t normal(ballast::splitmix64& draw) {
  for (;;) {
    std::uint64_t k = 0;
    while (half_exponential(draw)) ++k;
    auto accepted = true;
    for (std::uint64_t i = 0; accepted && i < k * (k - (k > 0 ? 1 : 0)); ++i) accepted = half_exponential(draw);
    if (!accepted) continue;
    auto const x = draw();
    for (std::uint64_t i = 0; accepted && i <= k; ++i) {  // each true with probability exp(-x (2 k + x) / (2 k + 2))
      auto y = x;
      for (;; accepted = !accepted) {
        auto const z = draw();
        if (z >= y) break;
        auto const at = ballast::uniform_below(2 * k + 2, draw);
        if (at > 2 * k) break;
        if (at == 2 * k)
          if (draw() >= x) break;
        y = z;
      }
    }
    if (!accepted) continue;
    auto const size = static_cast<std::int64_t>((k << 24) + (x >> 40));
    return draw() >> 63 == 0 ? size : -size;
  }
}

/// Square root, rounded down.
constexpr std::uint64_t root(std::uint64_t square) {
  std::uint64_t low = 0, high = std::uint64_t{1} << 32;
  while (high - low > 1) {
    auto const middle = (low + high) / 2;
    (middle * middle <= square ? low : high) = middle;
  }
  return low;
}

/// 2^(x / 2^32), rounded down, within 10^-7; x from 0 to below 32 * 2^32.
inline std::int64_t power_of_two(std::int64_t x) {
  static constexpr auto roots = [] {  // of 2, of that, and so on, in units of 2^-30
    std::array<std::uint64_t, 25> r{};
    r[0] = std::uint64_t{2} << 30;
    for (std::size_t b = 1; b < r.size(); ++b) r[b] = root(r[b - 1] << 30);
    return r;
  }();
  auto mantissa = std::uint64_t{1} << 30;
  for (std::size_t b = 1; b < roots.size(); ++b)
    if ((x >> (32 - b) & 1) != 0) mantissa = mantissa * roots[b] >> 30;
  return static_cast<std::int64_t>(mantissa << (x >> 32) >> 30);
}

/// floor(exp(mu + sigma * z)), mu and sigma in tenths; the exponent may not be negative.
inline std::int64_t lognormal(std::int64_t mu, std::int64_t sigma, ballast::splitmix64& draw) {
  constexpr std::int64_t log2_of_e = 6196328019;  // in units of 2^-32
  auto const shift = normal(draw) * (sigma * log2_of_e / 10 >> 8) >> 16;
  return power_of_two((std::max)(mu * log2_of_e / 10 + shift, std::int64_t{0}));
}

/// `shorts` lengths floor(exp(N(6.2, 1))) within 32 … 32768 and `longs` uniform ones within 32769 … 131072, in random order.
inline std::vector<std::int64_t> lengths(std::size_t shorts = 939344, std::size_t longs = 2000, std::uint64_t seed = 1) {
  ballast::splitmix64 draw(seed);
  std::vector<std::int64_t> drawn;
  drawn.reserve(shorts + longs);
  for (std::size_t i = 0; i < shorts; ++i) drawn.push_back(std::clamp(lognormal(62, 10, draw), std::int64_t{32}, std::int64_t{32768}));
  for (std::size_t i = 0; i < longs; ++i) drawn.push_back(32769 + static_cast<std::int64_t>(ballast::uniform_below(131072 - 32768, draw)));
  auto mixed = drawn;
  auto const order = ballast::random_permutation(drawn.size(), seed);
  for (std::size_t i = 0; i < order.size(); ++i) mixed[i] = drawn[order[i]];
  return mixed;
}

}  // namespace mixture
