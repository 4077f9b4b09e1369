// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

// Stand-ins for the instruction-tuning mixture of OmniBal (arXiv 2407.20761), of whose ten files four are published. The other vision files
// are drawn: shares of tiles and a lognormal text length each, calibrated so that random batches show the padding and imbalance that the
// paper reports. All draws are integers, so every machine has the same samples.

namespace surrogate {

/// Samples of two measures, in the order of the data set.
struct samples {
  std::vector<std::int64_t> tiles, tokens;
  void push_back(std::int64_t t, std::int64_t n) {
    tiles.push_back(t);
    tokens.push_back(n);
  }
};

inline constexpr std::int64_t longest = 4096;         // samples are cut to it
inline constexpr std::int64_t tokens_per_tile = 256;  // and the images of a sample stand between two marks

/// A number in units of 2^-16 whose distribution is close to the standard normal one: the sum of twelve uniform ones, less its mean.
inline std::int64_t normal(ballast::splitmix64& random) {
  std::int64_t sum = -6 * 65536;
  for (int word = 0; word < 3; ++word) {
    auto const bits = random();
    for (int part = 0; part < 64; part += 16) sum += static_cast<std::int64_t>(bits >> part & 0xffffU);
  }
  return sum;
}

/// 2^(x / 65536) times `scale`, rounded, within 0.02 %; x is at most 2^20 in size.
inline std::int64_t scaled_power_of_two(std::int64_t scale, std::int64_t x) {
  auto const whole = (x + (std::int64_t{1} << 24)) / 65536 - 256, part = x - whole * 65536;
  auto const cubic = 65536 + part * (45565 + part * (14825 + part * 5146 / 65536) / 65536) / 65536;  // 2^(part / 65536) * 65536
  auto const shift = 16 - whole;
  return (scale * cubic + (std::int64_t{1} << (shift - 1))) >> shift;
}

/// median * exp(sigma * z), sigma in hundredths.
inline std::int64_t lognormal(std::int64_t median, std::int64_t sigma, ballast::splitmix64& random) {
  return scaled_power_of_two(median, normal(random) * sigma * 94548 / (std::int64_t{100} * 65536));  // log2(e) = 94548 / 65536
}

/// One of 1, 3, 4 and 5 tiles by its share.
inline std::int64_t draw_tiles(std::array<std::uint64_t, 4> const& share, ballast::splitmix64& random) {
  constexpr std::array<std::int64_t, 4> tiles{1, 3, 4, 5};
  auto at = ballast::uniform_below(share[0] + share[1] + share[2] + share[3], random);
  std::size_t t = 0;
  for (; at >= share[t]; ++t) at -= share[t];
  return tiles[t];
}

inline std::int64_t whole_length(std::int64_t tiles, std::int64_t text) { return (std::min)(longest, tokens_per_tile * tiles + 2 + text); }

/// The four published files, redrawn from their counts of tiles and 17 quantiles of their text length; for where the files are not at hand.
inline samples four_files_redrawn() {
  constexpr std::array<std::uint64_t, 17> per_million{0,      1000,   10000,  50000,  100000, 200000, 300000, 400000, 500000,
                                                      600000, 700000, 800000, 900000, 950000, 990000, 999000, 1000000};
  struct file {
    std::array<std::uint64_t, 4> tiles;
    std::array<std::int64_t, 17> text;
  };
  constexpr file files[]{
      // ai2d, docvqa, chartqa, synthdog
      {{5793, 3710, 603, 2307}, {35, 36, 38, 39, 41, 43, 46, 48, 50, 52, 55, 58, 65, 73, 97, 161, 345}},
      {{15, 1895, 35, 8266}, {51, 54, 54, 64, 71, 121, 144, 191, 229, 280, 337, 427, 575, 695, 864, 1052, 1256}},
      {{579, 1096, 14, 16628}, {31, 32, 35, 37, 38, 40, 42, 45, 64, 79, 90, 137, 168, 216, 319, 417, 550}},
      {{0, 17276, 0, 12489}, {34, 41, 49, 59, 66, 77, 87, 97, 108, 120, 135, 154, 185, 214, 276, 349, 501}},
  };
  samples out;
  ballast::splitmix64 random(1);
  for (auto const& f : files)
    for (auto left = f.tiles; left[0] + left[1] + left[2] + left[3] != 0;) {
      auto const tiles = draw_tiles(left, random);
      --left[tiles == 1 ? 0U : static_cast<std::size_t>(tiles - 2)];
      auto const at = ballast::uniform_below(per_million.back(), random);
      auto const above = static_cast<std::size_t>(std::upper_bound(per_million.begin(), per_million.end(), at) - per_million.begin());
      auto const width = static_cast<std::uint64_t>(f.text[above] - f.text[above - 1]) + 1;
      auto const text = f.text[above - 1] + static_cast<std::int64_t>(ballast::uniform_below(width, random));
      out.push_back(tiles, whole_length(tiles, text));
    }
  return out;
}

/// The four published files: tokens, tiles and number of the file of a sample in each line.
inline samples read_four_files(std::string const& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  samples out;
  std::int64_t tokens = 0, tiles = 0, file = 0;
  while (in >> tokens >> tiles >> file) out.push_back(tiles, tokens);
  return out;
}

/// The 1,267,819 samples of the vision mixture: the four files as given, and the other five drawn (the last one in two parts).
inline samples vision_mixture(samples const& four_files) {
  struct part {
    std::size_t count;
    std::array<std::uint64_t, 4> tiles;  // shares in hundredths
    std::int64_t median, sigma, least;   // of the text
  };
  constexpr part parts[]{
      {200000, {100, 0, 0, 0}, 240, 25, 20},   // dvqa
      {72318, {60, 30, 4, 6}, 150, 45, 20},    // geoqa
      {157712, {74, 22, 1, 3}, 260, 60, 20},   // llava, Chinese
      {102025, {45, 20, 2, 33}, 230, 35, 40},  // sharegpt4v captions
      {624400, {56, 32, 2, 10}, 150, 70, 15},  // sharegpt4v mix with images
  };
  auto out = four_files;
  ballast::splitmix64 random(20240730);
  for (auto const& p : parts)
    for (std::size_t i = 0; i < p.count; ++i) {
      auto const tiles = draw_tiles(p.tiles, random);
      out.push_back(tiles, whole_length(tiles, (std::max)(p.least, lognormal(p.median, p.sigma, random))));
    }
  for (std::size_t i = 0; i < 40658; ++i)  // sharegpt4v mix without images: one dummy tile, which the text does not see
    out.push_back(1, std::clamp(lognormal(800, 80, random), std::int64_t{20}, longest));
  return out;
}

/// The million samples of the pure-text file: no tile.
inline samples pure_text() {
  samples out;
  ballast::splitmix64 random(20240731);
  for (std::size_t i = 0; i < 1000000; ++i) out.push_back(0, std::clamp(lognormal(420, 100, random), std::int64_t{16}, longest));
  return out;
}

}  // namespace surrogate
