// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/gpu/core/search.cuh>
#include <ballast/loss/detail/segment_part.hpp>
#include <ballast/loss/segment_figures.hpp>

#include <cstddef>
#include <cstdint>

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

// Checks the entry before sequence i, and clears the words of the sequence.
template <class Offset>
struct open_figures {
  check_offsets<Offset> check;
  figure_words* words;
  BALLAST_HD void operator()(std::size_t i) const {
    check(i);
    if (i < check.count) words[i].clear();
  }
};

// The block of a tile. Each lane has consecutive values and adds them to one part, and 16 lanes to one more. A sequence is then made of
// bundles, lanes and, at its ends, values: about 60 steps at most for a sequence of any length.
template <class Value, class Offset>
struct figure_tile {
  static constexpr unsigned most_lanes = 256, share = 8, bundle = 16, size = most_lanes * share;
  struct storage {
    ballast::detail::segment_part of_lanes[most_lanes], of_bundles[most_lanes / bundle];
    std::uint64_t ends[2];  // the first sequence that ends behind the begin of the tile, and the first that begins behind its end
  };
  Value const* values;
  std::size_t row;
  Offset const* cu;
  std::size_t sequences;
  figure_words* words;

  [[nodiscard]] BALLAST_HD ballast::detail::segment_part range(storage const& kept, Value const* value, unsigned at, unsigned to) const {
    ballast::detail::segment_part out;
    for (; at < to && at % share != 0; ++at) out.add(ballast::detail::part_of(value[at]));
    for (; at + share <= to && at / share % bundle != 0; at += share) out.add(kept.of_lanes[at / share]);
    for (; at + share * bundle <= to; at += share * bundle) out.add(kept.of_bundles[at / (share * bundle)]);
    for (; at + share <= to; at += share) out.add(kept.of_lanes[at / share]);
    for (; at < to; ++at) out.add(ballast::detail::part_of(value[at]));
    return out;
  }

  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t tile) const {
    auto& kept = *block.template shared<storage>();
    auto const first = tile * size, last = row - first < size ? row : first + size;
    auto const* const value = values + first;
    block.each([&](unsigned lane) {
      ballast::detail::segment_part part;
      auto const begin = lane * share, held = static_cast<unsigned>(last - first);
      for (auto i = begin; i < begin + share && i < held; ++i) part.add(ballast::detail::part_of(value[i]));
      kept.of_lanes[lane] = part;
      if (lane >= 2) return;
      auto const at = lane == 0 ? first + 1 : last;
      kept.ends[lane] =
          first_where(sequences, [&](std::uint64_t i) { return static_cast<std::uint64_t>(cu[lane == 0 ? i + 1 : i]) >= at; });
    });
    block.each([&](unsigned lane) {
      if (lane >= most_lanes / bundle) return;
      auto part = kept.of_lanes[lane * bundle];
      for (unsigned i = 1; i < bundle; ++i) part.add(kept.of_lanes[lane * bundle + i]);
      kept.of_bundles[lane] = part;
    });
    block.each([&](unsigned lane) {
      for (auto i = kept.ends[0] + lane; i < kept.ends[1]; i += most_lanes) {
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
