// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/gpu/core/search.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

// The blocks of row_tiles.cuh: a tile of a row, and the passes over it.

namespace ballast::inline v0_2::gpu::detail {

inline constexpr unsigned tile_lanes = 256;
inline constexpr unsigned tile_share = 8;  // number of places per lane
inline constexpr unsigned tile_size = tile_lanes * tile_share;
inline constexpr unsigned tile_ahead =
    4;  // number of places that a lane reads before it works on the first, to keep enough reads in flight

[[nodiscard]] BALLAST_HD constexpr std::size_t tiles_in(std::size_t length) { return divide_up(length, std::size_t{tile_size}); }

// The last segment in [low, high] that begins at or before `at`.
template <class Bounds>
[[nodiscard]] BALLAST_HD std::size_t segment_at(Bounds const& bounds, std::size_t low, std::size_t high, std::uint64_t at) {
  return low +
         static_cast<std::size_t>(first_where(low < high ? high - low : 0, [&](std::uint64_t i) { return bounds(low + 1 + i) > at; }));
}

// The same by all lanes of a block, which try so many segments at once: a few rounds instead of twenty reads that wait for each other. If
// the segment is likely to be `near` low, the lanes first try those that follow it.
template <class Block, class Bounds>
[[nodiscard]] BALLAST_HD std::size_t segment_at(Block& block, Bounds const& bounds, std::size_t low, std::size_t high, std::uint64_t at,
                                                bool near) {
  while (low < high) {
    auto const step = near ? 1 : divide_up(high - low, std::size_t{tile_lanes});
    auto const tried = [&](unsigned k) { return high - low < k * step ? high : low + k * step; };
    auto const later = block.least([&](unsigned lane) { return bounds(tried(lane + 1)) > at ? lane : tile_lanes; });
    auto const end = later == tile_lanes ? high : tried(later + 1) - 1;
    low = tried(later);
    high = end < low ? low : end;  // that is, if bounds decrease
    near = false;
  }
  return low;
}

// The first and the last segment of a tile.
struct tile_ends {
  std::size_t first, last;
};

// The tile of a block: `size` places of a row from `first` on.
template <class Bounds>
struct row_tile {
  Bounds bounds;
  std::size_t row, first, length;
  unsigned size;

  template <class Block>
  [[nodiscard]] BALLAST_HD tile_ends ends(Block& block) const {
    auto const from = segment_at(block, bounds, 0, bounds.count, first, false);
    return {from, segment_at(block, bounds, from, bounds.count, first + size - 1, true)};
  }
  // Turns to the segment of place.at, which is not before place.segment. @return its end in the tile
  BALLAST_HD unsigned enter(row_place& place, tile_ends const& ends) const {
    place.segment = segment_at(bounds, place.segment, ends.last, place.at);
    place.begin = bounds(place.segment);
    place.inside = place.segment < bounds.count;
    place.end = place.inside ? bounds(place.segment + 1) : length;
    return place.end > first + size ? size : static_cast<unsigned>(place.end - first);
  }
  // Calls visitor(place, input) for every place of a lane; neighbouring lanes have neighbouring places.
  template <class Visit>
  BALLAST_HD void visit(unsigned lane, tile_ends const& ends, Visit const& visitor) const {
    row_place place{.row = row, .segment = ends.first};
    unsigned end = 0;  // end of the segment in the tile
    for (auto start = lane; start < size; start += tile_ahead * tile_lanes) {
      decltype(visitor.read(place)) input[tile_ahead]{};
      for (unsigned k = 0; k < tile_ahead; ++k) {
        place.at = first + start + k * tile_lanes;
        if (start + k * tile_lanes < size) input[k] = visitor.read(place);
      }
      for (unsigned k = 0; k < tile_ahead; ++k) {
        auto const offset = start + k * tile_lanes;
        if (offset >= size) return;
        place.at = first + offset;
        if (offset >= end) end = enter(place, ends);
        visitor(place, input[k]);
      }
    }
  }
};

template <class Rows>
[[nodiscard]] BALLAST_HD auto tile_of(Rows const& rows, std::size_t length, std::size_t block) {
  auto const tiles = tiles_in(length);
  auto const row = block / tiles, first = block % tiles * tile_size;
  return row_tile<decltype(rows(row))>{rows(row), row, first, length,
                                       length - first < tile_size ? static_cast<unsigned>(length - first) : tile_size};
}

// The block of visit_rows.
template <class Rows, class Visit>
struct visit_tile {
  static constexpr unsigned most_lanes = tile_lanes;
  Rows rows;
  std::size_t length;
  Visit visitor;
  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t b) const {
    auto const tile = tile_of(rows, length, b);
    auto const ends = tile.ends(block);
    block.each([&](unsigned lane) { tile.visit(lane, ends, visitor); });
  }
};

// What is written at a place beside the sums, if anything.
struct no_output {};
template <class Term>
struct output_of {
  using type = no_output;
};
template <class Term>
  requires requires { typename Term::output; }
struct output_of<Term> {
  using type = typename Term::output;
};

// What is called for the places of a segment.
template <class Term>
[[nodiscard]] BALLAST_HD auto work_in(Term const& term, row_place const& segment) {
  if constexpr (requires { typename Term::output; })
    return term.in(segment);
  else
    return [&term](row_place const& place, auto const& read, no_output&) { return term(place, read); };
}

// The block of sum_segments. Neighbouring lanes read neighbouring places into shared memory, and write there what goes out; in between each
// lane works on consecutive places, so that it looks for a segment once. Summands, of at most 2^55, stay in shared memory. The difference
// of their prefix sums at the ends of a segment is its sum, so a tile with one segment takes as much work as one with a thousand.
template <class Rows, class Term>
struct sum_tile {
  static constexpr unsigned most_lanes = tile_lanes;
  using input = decltype(std::declval<Term const&>().read(row_place{}));
  using output = typename output_of<Term>::type;
  static constexpr bool writes = !std::is_same_v<output, no_output>;
  static constexpr unsigned bundle = 16;                      // number of lanes whose sums one lane adds up
  static constexpr unsigned places = tile_size + tile_lanes;  // one is left free after those of a lane, which avoids bank conflicts
  union place_value {
    input read;
    std::int64_t units;
  };
  struct storage {
    two_words of_lanes[tile_lanes];             // prefix sum up to and including a lane, within its bundle
    two_words of_bundles[tile_lanes / bundle];  // prefix sum before a bundle
    place_value values[places];
    output out[writes ? places : 1];
  };
  Rows rows;
  std::size_t length;
  Term term;

  [[nodiscard]] static BALLAST_HD unsigned slot(unsigned i) { return i + i / tile_share; }

  [[nodiscard]] static BALLAST_HD two_words before(storage const& kept, unsigned count) {
    auto const lanes = count / tile_share;
    two_words sum;
    if (lanes != 0) {
      sum = kept.of_bundles[(lanes - 1) / bundle];
      sum.add(kept.of_lanes[lanes - 1]);
    }
    std::int64_t rest = 0;
    for (auto i = lanes * tile_share; i < count; ++i) rest += kept.values[slot(i)].units;
    sum.add(rest);
    return sum;
  }

  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t b) const {
    auto const tile = tile_of(rows, length, b);
    auto& kept = *block.template shared<storage>();
    auto const ends = tile.ends(block);
    block.each([&](unsigned lane) {
      input read[tile_share]{};
      for (unsigned k = 0; k < tile_share; ++k)
        if (auto const offset = lane + k * tile_lanes; offset < tile.size)
          read[k] = term.read({.row = tile.row, .at = tile.first + offset});
      for (unsigned k = 0; k < tile_share; ++k) kept.values[slot(lane + k * tile_lanes)].read = read[k];
    });
    block.each([&](unsigned lane) {
      row_place place{.row = tile.row, .segment = ends.first};
      auto const last = (lane + 1) * tile_share;
      auto const stop = last < tile.size ? last : tile.size;
      std::int64_t sum = 0;
      for (auto offset = lane * tile_share; offset < stop;) {
        place.at = tile.first + offset;
        auto const end = tile.enter(place, ends);
        auto const work = work_in(term, place);
        auto const next = end < stop ? end : stop;
        do {
          auto const here = slot(offset);
          auto const read = kept.values[here].read;
          place.at = tile.first + offset;
          auto const units = work(place, read, kept.out[writes ? here : 0]);
          kept.values[here].units = units;
          sum += units;
        } while (++offset < next);
      }
      kept.of_lanes[lane] = {};
      kept.of_lanes[lane].add(sum);
    });
    block.each([&](unsigned lane) {
      if constexpr (writes)
        for (auto offset = lane; offset < tile.size; offset += tile_lanes) term.write(tile.first + offset, kept.out[slot(offset)]);
      if (lane >= tile_lanes / bundle) return;
      for (auto i = lane * bundle + 1; i < (lane + 1) * bundle; ++i) kept.of_lanes[i].add(kept.of_lanes[i - 1]);
    });
    block.each([&](unsigned lane) {
      if (lane != 0) return;
      two_words sum;
      for (unsigned g = 0; g < tile_lanes / bundle; ++g) {
        kept.of_bundles[g] = sum;
        sum.add(kept.of_lanes[(g + 1) * bundle - 1]);
      }
    });
    block.each([&](unsigned lane) {
      for (auto segment = ends.first + lane; segment <= ends.last && segment < tile.bounds.count; segment += tile_lanes) {
        auto const begin = tile.bounds(segment), end = tile.bounds(segment + 1), last = std::uint64_t{tile.first + tile.size};
        auto const from = begin > tile.first ? begin : tile.first, to = end < last ? end : last;
        if (from >= to) continue;
        auto sum = before(kept, static_cast<unsigned>(to - tile.first));
        auto const less = before(kept, static_cast<unsigned>(from - tile.first));
        sum.high -= less.high;
        sum.low -= less.low;  // negative if the shift has to borrow
        term.emit(segment, two_words{sum.high + (sum.low >> 32), sum.low & 0xffffffff});
      }
    });
  }
};

}  // namespace ballast::inline v0_2::gpu::detail
