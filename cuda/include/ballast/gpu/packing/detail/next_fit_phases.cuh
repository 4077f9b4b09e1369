// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/version.hpp>
#include <ballast/gpu/core/atomic.cuh>

#include <cstddef>
#include <cstdint>

// The steps of next_fit.cuh. A pack that starts at sample i ends before sample `behind(i)`, so the packs start at the chain 0, behind(0),
// behind(behind(0)), … Each tile of samples computes, for each of its samples, where a chain through it leaves the tile. Each span of tiles
// computes the same for the samples of its first tile. Then one lane crosses all spans, one lane per span crosses its tiles, and each tile
// marks its starts.

namespace ballast::inline v0_2::gpu::detail {

/// Returns the last j in [from, to] with sum[j] <= most, given sum[from] <= most; takes fewer steps the closer j is to `from`.
template <class Place>
[[nodiscard]] BALLAST_HD Place last_within(std::uint64_t const* sum, Place from, Place to, std::uint64_t most) {
  Place step = 1;
  while (step <= to - from && sum[from + step] <= most) {
    from += step;
    step *= 2;
  }
  while ((step /= 2) != 0)
    if (step <= to - from && sum[from + step] <= most) from += step;
  return from;
}

/// A block's view of its tile: `sum` has the prefix sums before each sample and after the last; `hop` has one sample of the tile for each.
/// Places in a tile are 32-bit integers, and no place is divided: both are what a device is fast at.
struct next_fit_view {
  std::uint64_t const* sums;  // prefix sums of all samples
  std::size_t count;
  std::uint32_t tile;
  std::uint32_t per_lane;  // the samples of one lane are neighbours
  std::uint64_t capacity;
  std::uint64_t max_samples;

  [[nodiscard]] BALLAST_HD std::size_t begin(std::size_t b) const { return b * tile; }
  [[nodiscard]] BALLAST_HD std::uint32_t samples(std::size_t b) const {
    return count - begin(b) < tile ? static_cast<std::uint32_t>(count - begin(b)) : tile;
  }
  /// Bytes of shared memory for `sum`, two arrays `hop`, and every fourth lane's `chain`.
  [[nodiscard]] std::size_t shared_bytes(unsigned lanes) const {
    return (std::size_t{tile} + 1) * sizeof(std::uint64_t) + (2 * std::size_t{tile} + lanes / 4) * sizeof(std::uint16_t);
  }
  template <class Block>
  [[nodiscard]] BALLAST_HD std::uint16_t* hop(Block const& block, std::uint32_t which) const {
    return reinterpret_cast<std::uint16_t*>(block.template shared<std::uint64_t>() + tile + 1) + which * tile;
  }
  template <class Block>
  [[nodiscard]] BALLAST_HD std::uint16_t* chain(Block const& block) const {
    return hop(block, 2);
  }
  /// The start of the next pack after the pack that starts at k, or `size` if it is not in the tile.
  [[nodiscard]] BALLAST_HD std::uint32_t behind(std::uint64_t const* sum, std::uint32_t k, std::uint32_t size) const {
    return last_within(sum, k + 1, max_samples < size - k ? k + static_cast<std::uint32_t>(max_samples) : size, sum[k] + capacity);
  }
  /// The same for a pack that leaves the tile, as an index among all samples.
  [[nodiscard]] BALLAST_HD std::size_t behind_tile(std::size_t i, std::size_t tile_end) const {
    auto const to = max_samples < count - i ? i + static_cast<std::size_t>(max_samples) : count;
    return last_within(sums, tile_end, to, sums[i] + capacity);
  }

  template <class Block>
  BALLAST_HD void load(Block& block, std::size_t b) const {
    auto* const sum = block.template shared<std::uint64_t>();
    auto const* const from = sums + begin(b);
    auto const size = samples(b);
    block.each([&](unsigned lane) {
      for (auto k = lane; k <= size; k += block.lanes()) sum[k] = from[k];
    });
  }
  /// Sets hop[k] to the first start after k's lane, or to the last start of the tile; to k for the last start itself.
  template <class Block>
  BALLAST_HD void hop_lanes(Block& block, std::size_t b) const {
    auto const* const sum = block.template shared<std::uint64_t>();
    auto* const to = hop(block, 0);
    auto const size = samples(b);
    block.each([&](unsigned lane) {
      auto const first = lane * per_lane;
      auto const last = first + per_lane < size ? first + per_lane : size;
      for (auto k = last; k-- > first;) {
        auto const next = behind(sum, k, size);
        to[k] = next == size ? static_cast<std::uint16_t>(k) : next < last ? to[next] : static_cast<std::uint16_t>(next);
      }
    });
  }
  /// Sets to[k] to what four hops from k reach. A phase of four reads costs less than two of two; each lane follows four samples at once.
  template <class Block>
  BALLAST_HD void hop_four(Block& block, std::uint16_t const* from, std::uint16_t* to, std::uint32_t size) const {
    block.each([&](unsigned lane) {
      for (auto k = lane; k < size; k += 4 * block.lanes()) {
        std::uint32_t place[4], at[4];
        for (unsigned j = 0; j < 4; ++j) at[j] = place[j] = k + j * block.lanes() < size ? k + j * block.lanes() : k;
        for (unsigned hops = 0; hops < 4; ++hops)
          for (auto& reached : at) reached = from[reached];
        for (unsigned j = 0; j < 4; ++j) to[place[j]] = static_cast<std::uint16_t>(at[j]);
      }
    });
  }
};

/// Sets leave[i] to the first start after the tile of i on the chain through i. It also finds the first bad length.
template <class Index>
struct next_fit_leave {
  static constexpr unsigned most_lanes = 256;
  next_fit_view tiles;
  Index* leave;
  std::uint64_t* bad;

  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t b) const {
    tiles.load(block, b);
    tiles.hop_lanes(block, b);
    auto const first = tiles.begin(b);
    auto const size = tiles.samples(b);
    auto* const out = leave + first;
    auto* from = tiles.hop(block, 0);
    auto* to = tiles.hop(block, 1);
    block.each([&](unsigned lane) {
      auto const* const sum = block.template shared<std::uint64_t>();
      for (auto k = lane; k < size; k += block.lanes()) {
        if (sum[k + 1] == sum[k] || sum[k + 1] >> 63 != 0) atomic_min(*bad, first + k);
        if (from[k] == k) out[k] = static_cast<Index>(tiles.behind_tile(first + k, first + size));
      }
    });
    for (unsigned lanes = 1; lanes < block.lanes(); lanes *= 4) {  // each hop crosses this many lanes or ends
      tiles.hop_four(block, from, to, size);
      auto* const swapped = from;
      from = to;
      to = swapped;
    }
    block.each([&](unsigned lane) {
      for (auto k = lane; k < size; k += block.lanes())
        if (from[k] != k) out[k] = out[from[k]];
    });
  }
};

/// Follows `leave` from `at` to the first start at or after `end`.
template <class Index>
BALLAST_HD inline std::size_t leave_until(Index const* leave, std::size_t at, std::size_t end) {
  while (at < end) at = leave[at];
  return at;
}

/// Sets leave_span[s * tile + k] to where the chain through sample k of span s leaves the span.
template <class Index>
struct next_fit_leave_span {
  Index const* leave;
  Index* leave_span;
  std::size_t count, tile, span;  // number of samples, in total, per tile and per span

  BALLAST_HD void operator()(std::size_t i) const {
    auto const s = i / tile;
    auto const end = count - s * span < span ? count : (s + 1) * span;
    auto const at = s * span + i % tile;
    if (at < end) leave_span[i] = static_cast<Index>(leave_until(leave, at, end));
  }
};

/// Runs on one lane: finds where the chain from sample 0 enters each span.
template <class Index>
struct next_fit_enter_spans {
  Index const* leave;
  Index const* leave_span;
  Index* entry;
  std::size_t count, tile, span;

  BALLAST_HD void operator()(std::size_t) const {
    for (std::size_t at = 0; at < count;) {
      auto const s = at / span;
      entry[s] = static_cast<Index>(at);
      auto const end = count - s * span < span ? count : (s + 1) * span;
      at = at - s * span < tile ? leave_span[s * tile + (at - s * span)] : leave_until(leave, at, end);
    }
  }
};

/// Runs on one lane per span: finds where the chain enters each of its tiles. Entries are initialised to the largest index, which is no
/// sample.
template <class Index>
struct next_fit_enter_tiles {
  Index const* leave;
  Index const* span_entry;
  Index* entry;
  std::size_t count, tile, span;

  BALLAST_HD void operator()(std::size_t s) const {
    auto const end = count - s * span < span ? count : (s + 1) * span;
    for (std::size_t at = span_entry[s]; at < end; at = leave[at]) entry[at / tile] = static_cast<Index>(at);
  }
};

/// Marks the starts of a tile. Flags are initialised to 0.
///
/// Hops from the first start reach a chain of at most one start for each lane, and then the last start again and again. One lane follows it
/// in steps of four hops; then every lane finds its own start of the chain, by at most three hops, and marks up to the next.
template <class Index>
struct next_fit_mark {
  static constexpr unsigned most_lanes = 256;
  next_fit_view tiles;
  Index const* entry;
  std::uint8_t* starts;

  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t b) const {
    if (entry[b] >= tiles.count) return;  // one pack covers the complete tile
    auto const first = tiles.begin(b);
    auto const size = tiles.samples(b);
    tiles.load(block, b);
    tiles.hop_lanes(block, b);
    auto const* const sum = block.template shared<std::uint64_t>();
    auto const* const hop = tiles.hop(block, 0);
    auto* const four = tiles.hop(block, 1);
    auto* const chain = tiles.chain(block);
    tiles.hop_four(block, hop, four, size);
    block.each([&](unsigned lane) {
      if (lane != 0) return;
      auto k = static_cast<std::uint16_t>(entry[b] - first);
      for (unsigned l = 0; l < block.lanes(); l += 4, k = four[k]) chain[l / 4] = k;
    });
    block.each([&](unsigned lane) {
      std::uint32_t k = chain[lane / 4];
      for (auto hops = lane % 4; hops != 0; --hops) k = hop[k];
      auto const next = hop[k];
      auto* const out = starts + first;
      for (; k < next; k = tiles.behind(sum, k, size)) out[k] = 1;
      if (lane + 1 == block.lanes()) out[next] = 1;  // the last start: there are no more hops than lanes
    });
  }
};

/// Summands of the pack numbers: 1 where a pack other than the first starts.
template <class Index>
struct next_fit_step {
  std::uint8_t const* starts;
  BALLAST_HD Index operator()(std::size_t i) const { return i != 0 && starts[i] != 0 ? Index{1} : Index{0}; }
};
struct next_fit_sum {
  template <class T>
  BALLAST_HD T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};

/// Initialises the output for zero samples.
struct next_fit_begin {
  std::uint64_t* sums;
  std::uint64_t* offsets;
  std::uint64_t* packs;
  std::uint64_t* bad;
  BALLAST_HD void operator()(std::size_t) const {
    *bad = none_bad;
    *packs = 0;
    *offsets = 0;
    *sums = 0;
  }
};

template <class Index>
struct next_fit_end {
  std::uint8_t const* starts;
  Index const* pack;
  std::uint64_t* offsets;
  std::uint64_t* packs;
  std::size_t count;
  BALLAST_HD void operator()(std::size_t i) const {
    if (starts[i] != 0) offsets[pack[i]] = i;
    if (i + 1 < count) return;
    *packs = std::uint64_t{pack[i]} + 1;
    offsets[std::size_t{pack[i]} + 1] = count;
  }
};

}  // namespace ballast::inline v0_2::gpu::detail
