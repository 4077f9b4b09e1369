// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/row_tiles.cuh>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/gpu/core/wide.cuh>
#include <ballast/loss/detail/segment_part.hpp>
#include <ballast/loss/fixed_point_sum.hpp>
#include <ballast/loss/segment_figures.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

// The passes of segment_figures.cuh.

namespace ballast::inline v0_2::gpu::detail {

// What atomics collect of a sequence: keys, and the words of its sum.
struct figure_words {
  std::uint64_t least, largest, sum[4];
  BALLAST_HD void clear() { *this = {~std::uint64_t{0}, 0, {}}; }
  BALLAST_HD void add(ballast::detail::segment_part const& part) {
    atomic_min(least, part.least);
    atomic_max(largest, part.largest);
    std::int64_t const words[4] = {part.high, part.low, part.saturated, part.not_finite};
    for (int k = 0; k < 4; ++k)
      if (words[k] != 0) atomic_add(sum[k], static_cast<std::uint64_t>(words[k]));
  }
};

// Checks the entry before sequence i, clears the words of the sequence, and finds the first sequence of tile i.
template <class Offset>
struct open_figures {
  check_offsets<Offset> check;
  figure_words* words;
  std::size_t tiles;
  find_tile<same_bounds<offset_bounds<Offset>>> find;
  BALLAST_HD void operator()(std::size_t i) const {
    if (i < tiles) find(i);
    if (i <= check.count) check(i);
    if (i < check.count) words[i].clear();
  }
};

// What is known of at most 128 floating-point values, whose units fit in a word; keys have the size of a value.
template <class Value>
struct float_part {
  using key = std::conditional_t<sizeof(Value) == 4, std::uint32_t, std::uint64_t>;
  static constexpr auto top = key{1} << (8 * sizeof(key) - 1);
  key least = static_cast<key>(~key{0}), largest = 0;
  std::uint32_t saturated = 0, not_finite = 0;
  std::int64_t units = 0;
  BALLAST_HD void add(key low, key high) {
    least = low < least ? low : least;
    largest = largest < high ? high : largest;
  }
  BALLAST_HD void add(Value value) {
    auto const bits = __builtin_bit_cast(key, value), own = static_cast<key>(bits >= top ? ~bits : bits | top);
    auto const term = ballast::detail::to_fixed_point(static_cast<double>(value), 0x1p24);
    units += term.units;
    saturated += term.saturated ? 1 : 0;
    not_finite += term.not_finite ? 1 : 0;
    if (value != value)  // NaN
      add(0, static_cast<key>(~key{0}));
    else
      add(own, own);
  }
  BALLAST_HD void add(float_part const& other) {
    add(other.least, other.largest);
    saturated += other.saturated;
    not_finite += other.not_finite;
    units += other.units;
  }
  [[nodiscard]] BALLAST_HD ballast::detail::segment_part whole() const {
    return {wide(least), wide(largest), units >> 32, units & 0xffffffff, saturated, not_finite, 0};
  }

 private:
  [[nodiscard]] static BALLAST_HD std::uint64_t wide(key of) {
    if (of == 0) return 0;
    if (of == static_cast<key>(~key{0})) return ~std::uint64_t{0};
    return ballast::detail::ordered_key(__builtin_bit_cast(Value, static_cast<key>(of >= top ? of ^ top : ~of)));
  }
};
// The same of integers.
template <class Value>
struct integer_part : ballast::detail::segment_part {
  using ballast::detail::segment_part::add;
  BALLAST_HD void add(Value value) { add(ballast::detail::part_of(value)); }
  [[nodiscard]] BALLAST_HD ballast::detail::segment_part const& whole() const { return *this; }
};
template <class Value>
using value_part = std::conditional_t<std::is_floating_point_v<Value>, float_part<Value>, integer_part<Value>>;

// The block of a tile. Each lane has consecutive values and adds them to one part, and 16 lanes to one more. A sequence is then made of
// bundles, lanes and, at its ends, values: about 60 steps at most for a sequence of any length.
template <class Value, class Offset>
struct figure_tile {
  static constexpr unsigned most_lanes = tile_lanes, share = tile_share, bundle = 16, size = tile_size;
  using part = value_part<Value>;
  struct storage {
    part of_lanes[most_lanes], of_bundles[most_lanes / bundle];
  };
  Value const* values;
  std::size_t row;
  Offset const* cu;
  std::size_t sequences;
  std::uint64_t const* starts;  // the first sequence of each tile
  figure_words* words;

  [[nodiscard]] BALLAST_HD ballast::detail::segment_part range(storage const& kept, Value const* value, unsigned at, unsigned to) const {
    ballast::detail::segment_part out;
    part ends;  // less than `share` values at each
    for (; at < to && at % share != 0; ++at) ends.add(value[at]);
    for (; at + share <= to && at / share % bundle != 0; at += share) out.add(kept.of_lanes[at / share].whole());
    for (; at + share * bundle <= to; at += share * bundle) out.add(kept.of_bundles[at / (share * bundle)].whole());
    for (; at + share <= to; at += share) out.add(kept.of_lanes[at / share].whole());
    for (; at < to; ++at) ends.add(value[at]);
    out.add(ends.whole());
    return out;
  }

  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t tile) const {
    auto& kept = *block.template shared<storage>();
    auto const first = tile * size, last = row - first < size ? row : first + size;
    auto const* const value = values + first;
    block.each([&](unsigned lane) {
      part own;
      auto const begin = lane * share, held = static_cast<unsigned>(last - first);
      if (begin + share <= held && is_wide(values)) {
        Value read[share];
        load<share>(value + begin, read);
        for (auto const v : read) own.add(v);
      } else {
        for (auto i = begin; i < begin + share && i < held; ++i) own.add(value[i]);
      }
      kept.of_lanes[lane] = own;
    });
    block.each([&](unsigned lane) {
      if (lane >= most_lanes / bundle) return;
      auto all = kept.of_lanes[lane * bundle];
      for (unsigned i = 1; i < bundle; ++i) all.add(kept.of_lanes[lane * bundle + i]);
      kept.of_bundles[lane] = all;
    });
    block.each([&](unsigned lane) {
      for (auto i = starts[tile] + lane; i <= starts[tile + 1] && i < sequences; i += most_lanes) {
        auto const begin = static_cast<std::uint64_t>(cu[i]), end = static_cast<std::uint64_t>(cu[i + 1]);
        auto const from = begin > first ? begin : first, to = end < last ? end : last;
        if (from < to) words[i].add(range(kept, value, static_cast<unsigned>(from - first), static_cast<unsigned>(to - first)));
      }
    });
  }
};

// Figures of sequence i from its words.
template <class Value, class Offset, class Out>
struct close_figures {
  Offset const* cu;
  figure_words const* words;
  Out out;
  BALLAST_HD void operator()(std::size_t i) const {
    auto const& found = words[i];
    ballast::detail::segment_part part;
    auto const begin = static_cast<std::uint64_t>(cu[i]), end = static_cast<std::uint64_t>(cu[i + 1]);
    part.count = cu[i] < cu[i + 1] ? static_cast<std::int64_t>(end - begin) : 0;
    part.least = found.least;
    part.largest = found.largest;
    auto const high = static_cast<std::int64_t>(found.sum[0]), low = static_cast<std::int64_t>(found.sum[1]);
    part.high = high + (low >> 32);
    part.low = low & 0xffffffff;
    part.saturated = static_cast<std::int64_t>(found.sum[2]);
    part.not_finite = static_cast<std::int64_t>(found.sum[3]);
    if (out.least != nullptr) out.least[i] = ballast::detail::segment_least<Value>(part);
    if (out.largest != nullptr) out.largest[i] = ballast::detail::segment_largest<Value>(part);
    if (out.mean != nullptr) out.mean[i] = ballast::detail::segment_mean<Value>(part);
    if (out.sum == nullptr) return;
    auto* const sum = reinterpret_cast<std::int64_t*>(out.sum + i);
    sum[0] = part.high;
    sum[1] = part.low;
    sum[2] = part.saturated;
    sum[3] = part.not_finite;
  }
};

}  // namespace ballast::inline v0_2::gpu::detail
