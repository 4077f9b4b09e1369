// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/version.hpp>
#include <ballast/gpu/core/atomic.cuh>

#include <cstddef>
#include <cstdint>

// The steps of next_fit.cuh. A pack that starts at sample i ends before `behind(i)`, so the packs are the chain 0, behind(0),
// behind(behind(0)), … Tiles of samples know for each of their samples where a chain through it leaves the tile, spans of tiles know it for
// the samples of their first tile; with these one lane crosses all spans, one lane a span crosses its tiles, and each tile marks its part.

namespace ballast::inline v0_2::gpu::detail {

/// The last j in [from, to] with sum[j] <= most, where sum[from] is; the fewer steps the closer it is to `from`.
BALLAST_HD inline std::size_t last_within(std::uint64_t const* sum, std::size_t from, std::size_t to, std::uint64_t most) {
  std::size_t step = 1;
  while (step <= to - from && sum[from + step] <= most) {
    from += step;
    step *= 2;
  }
  while ((step /= 2) != 0)
    if (step <= to - from && sum[from + step] <= most) from += step;
  return from;
}

/// A block's view of its tile. `sum` are the sums before each of its samples and behind the last, `hop` a sample of the tile for each.
struct next_fit_view {
  std::uint64_t const* sums;  // of all samples
  std::size_t count;
  std::size_t tile;
  std::uint64_t capacity;
  std::uint64_t max_samples;

  [[nodiscard]] BALLAST_HD std::size_t begin(std::size_t b) const { return b * tile; }
  [[nodiscard]] BALLAST_HD std::size_t samples(std::size_t b) const { return count - begin(b) < tile ? count - begin(b) : tile; }
  /// Of `sum`, two arrays of `hop`, and lanes.
  [[nodiscard]] std::size_t shared_bytes(unsigned lanes) const {
    return (tile + 1) * sizeof(std::uint64_t) + (2 * tile + lanes) * sizeof(std::uint16_t);
  }
  template <class Block>
  [[nodiscard]] BALLAST_HD std::uint16_t* hop(Block const& block, std::size_t which) const {
    return reinterpret_cast<std::uint16_t*>(block.template shared<std::uint64_t>() + tile + 1) + which * tile;
  }
  /// The start behind the pack that starts at k, or `size` if that one is not in the tile.
  [[nodiscard]] BALLAST_HD std::size_t behind(std::uint64_t const* sum, std::size_t k, std::size_t size) const {
    return last_within(sum, k + 1, max_samples < size - k ? k + static_cast<std::size_t>(max_samples) : size, sum[k] + capacity);
  }
  /// The same for one that leaves the tile, among all samples.
  [[nodiscard]] BALLAST_HD std::size_t behind_tile(std::size_t i, std::size_t tile_end) const {
    auto const to = max_samples < count - i ? i + static_cast<std::size_t>(max_samples) : count;
    return last_within(sums, tile_end, to, sums[i] + capacity);
  }
  /// The samples of one lane are neighbours: [first, last).
  [[nodiscard]] BALLAST_HD std::size_t per_lane(unsigned lanes) const { return (tile + lanes - 1) / lanes; }

  template <class Block>
  BALLAST_HD void load(Block& block, std::size_t b) const {
    auto* const sum = block.template shared<std::uint64_t>();
    auto const first = begin(b), size = samples(b);
    block.each([&](unsigned lane) {
      for (std::size_t k = lane; k <= size; k += block.lanes()) sum[k] = sums[first + k];
    });
  }
  /// hop[k] becomes the first start behind k's lane, or the last start of the tile; k for that one.
  template <class Block>
  BALLAST_HD void hop_lanes(Block& block, std::size_t b) const {
    auto const* const sum = block.template shared<std::uint64_t>();
    auto* const to = hop(block, 0);
    auto const size = samples(b);
    block.each([&](unsigned lane) {
      auto const first = lane * per_lane(block.lanes());
      auto const last = first + per_lane(block.lanes()) < size ? first + per_lane(block.lanes()) : size;
      for (auto k = last; k-- > first;) {
        auto const next = behind(sum, k, size);
        to[k] = next == size ? static_cast<std::uint16_t>(k) : next < last ? to[next] : static_cast<std::uint16_t>(next);
      }
    });
  }
};

/// leave[i] = the first start behind the tile of i on the chain through i. Finds the first bad length on its way.
template <class Index>
struct next_fit_leave {
  next_fit_view tiles;
  Index* leave;
  std::uint64_t* bad;

  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t b) const {
    tiles.load(block, b);
    tiles.hop_lanes(block, b);
    auto const first = tiles.begin(b), size = tiles.samples(b);
    auto* from = tiles.hop(block, 0);
    auto* to = tiles.hop(block, 1);
    block.each([&](unsigned lane) {
      auto const* const sum = block.template shared<std::uint64_t>();
      for (std::size_t k = lane; k < size; k += block.lanes()) {
        if (sum[k + 1] == sum[k] || sum[k + 1] >> 63 != 0) atomic_min(*bad, first + k);
        if (from[k] == k) leave[first + k] = static_cast<Index>(tiles.behind_tile(first + k, first + size));
      }
    });
    for (unsigned lanes = 1; lanes < block.lanes(); lanes *= 2) {  // a hop crosses that many lanes or ends
      block.each([&](unsigned lane) {
        for (std::size_t k = lane; k < size; k += block.lanes()) to[k] = from[from[k]];
      });
      auto* const swapped = from;
      from = to;
      to = swapped;
    }
    block.each([&](unsigned lane) {
      for (std::size_t k = lane; k < size; k += block.lanes())
        if (from[k] != k) leave[first + k] = leave[first + from[k]];
    });
  }
};

/// Follows leaves from `at` to the first start from `end` on.
template <class Index>
BALLAST_HD inline std::size_t leave_until(Index const* leave, std::size_t at, std::size_t end) {
  while (at < end) at = leave[at];
  return at;
}

/// leave_span[s * tile + k] = where the chain through sample k of span s leaves the span.
template <class Index>
struct next_fit_leave_span {
  Index const* leave;
  Index* leave_span;
  std::size_t count, tile, span;  // samples of each

  BALLAST_HD void operator()(std::size_t i) const {
    auto const s = i / tile;
    auto const end = count - s * span < span ? count : (s + 1) * span;
    auto const at = s * span + i % tile;
    if (at < end) leave_span[i] = static_cast<Index>(leave_until(leave, at, end));
  }
};

/// The one lane: where the chain from sample 0 enters each span.
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

/// A lane a span: where the chain enters each of its tiles. Entries start as the greatest index, which is no sample's.
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

/// Marks the starts of a tile. Flags start as 0.
template <class Index>
struct next_fit_mark {
  next_fit_view tiles;
  Index const* entry;
  std::uint8_t* starts;

  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t b) const {
    auto const first = tiles.begin(b), size = tiles.samples(b);
    if (entry[b] >= tiles.count) return;  // one pack goes on through the whole tile
    tiles.load(block, b);
    tiles.hop_lanes(block, b);
    auto const per_lane = tiles.per_lane(block.lanes());
    auto const* const sum = block.template shared<std::uint64_t>();
    auto const* const hop = tiles.hop(block, 0);
    auto* const lane_entry = tiles.hop(block, 1);
    block.each([&](unsigned lane) { lane_entry[lane] = none; });
    block.each([&](unsigned lane) {
      if (lane != 0) return;
      auto k = static_cast<std::size_t>(entry[b] - first);
      for (; lane_entry[k / per_lane] == none; k = hop[k]) lane_entry[k / per_lane] = static_cast<std::uint16_t>(k);
    });
    block.each([&](unsigned lane) {
      auto const last = (lane + 1) * per_lane < size ? (lane + 1) * per_lane : size;
      for (std::size_t k = lane_entry[lane]; k < last; k = tiles.behind(sum, k, size)) starts[first + k] = 1;
    });
  }

 private:
  static constexpr std::uint16_t none = 0xffff;
};

/// What the pack numbers are sums of: 1 where a pack starts that is not the first.
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

/// What is known before: the output of no samples.
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
