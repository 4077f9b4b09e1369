// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/version.hpp>
#include <ballast/gpu/core/atomic.cuh>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief Rows that are cut into segments (sequences of a pack, packs of a batch), visited place by place or summed by segment.
///
/// A row is cut into tiles of equal size, one block each, so that neither one long segment nor many short ones unbalance the work. Where a
/// segment begins is read from a bounds object: `bounds.count` segments, segment i at [bounds(i), bounds(i + 1)), bounds(0) = 0. Bounds
/// that are not rising give wrong segments, but never a place outside the row nor a segment above `count`.

namespace ballast::inline v0_2::gpu::detail {

inline constexpr unsigned tile_lanes = 256;
inline constexpr unsigned tile_share = 8;  // places of a lane
inline constexpr unsigned tile_size = tile_lanes * tile_share;
inline constexpr unsigned tile_ahead = 4;  // places that a lane reads before it works on the first, so that enough reads are under way

// One place of a row and the segment around it; a place behind the last segment is not inside.
struct row_place {
  std::size_t row = 0, at = 0, segment = 0;
  std::uint64_t begin = 0, end = 0;
  bool inside = false;
};

// What a visitor without inputs reads.
struct no_input {};

// The bounds of an array of cumulative lengths.
template <class Offset>
struct offset_bounds {
  Offset const* offsets;
  std::size_t count;
  BALLAST_HD std::uint64_t operator()(std::size_t i) const { return static_cast<std::uint64_t>(offsets[i]); }
};

// Rows that all have the same segments.
template <class Bounds>
struct same_bounds {
  Bounds bounds;
  BALLAST_HD Bounds operator()(std::size_t) const { return bounds; }
};

// The last segment in [low, high] that begins at or before `at`.
template <class Bounds>
[[nodiscard]] BALLAST_HD std::size_t segment_at(Bounds const& bounds, std::size_t low, std::size_t high, std::uint64_t at) {
  while (low < high) {
    auto const middle = high - (high - low) / 2;
    if (bounds(middle) <= at)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

// The tile of a block: `size` places of a row from `first` on. `head` in shared memory holds its first and its last segment.
template <class Bounds>
struct row_tile {
  Bounds bounds;
  std::size_t row, first, length;
  unsigned size;

  BALLAST_HD void find_ends(unsigned lane, std::size_t* head) const {
    if (lane < 2) head[lane] = segment_at(bounds, 0, bounds.count, lane == 0 ? first : first + size - 1);
  }
  // Calls body(offset in the tile, place, input) for every place of a lane; neighbouring lanes are at neighbouring places.
  template <class Visit, class Body>
  BALLAST_HD void visit(unsigned lane, std::size_t const* head, Visit const& visitor, Body const& body) const {
    row_place place{.row = row, .segment = head[0]};
    unsigned end = 0;  // of the segment, in the tile
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
        if (offset >= end) {
          place.segment = segment_at(bounds, place.segment, head[1], place.at);
          place.begin = bounds(place.segment);
          place.inside = place.segment < bounds.count;
          place.end = place.inside ? bounds(place.segment + 1) : length;
          end = place.end > first + size ? size : static_cast<unsigned>(place.end - first);
        }
        body(offset, place, input[k]);
      }
    }
  }
};

template <class Rows>
[[nodiscard]] BALLAST_HD auto tile_of(Rows const& rows, std::size_t length, std::size_t block) {
  auto const tiles = (length + tile_size - 1) / tile_size;
  auto const row = block / tiles, first = block % tiles * tile_size;
  return row_tile<decltype(rows(row))>{rows(row), row, first, length,
                                       length - first < tile_size ? static_cast<unsigned>(length - first) : tile_size};
}

// The block of visit_rows.
template <class Rows, class Visit>
struct visit_tile {
  Rows rows;
  std::size_t length;
  Visit visitor;
  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t b) const {
    auto const tile = tile_of(rows, length, b);
    auto* const head = block.template shared<std::size_t>();
    block.each([&](unsigned lane) { tile.find_ends(lane, head); });
    block.each([&](unsigned lane) {
      tile.visit(lane, head, visitor, [&](unsigned, row_place const& place, auto const& input) { visitor(place, input); });
    });
  }
};

// Calls visitor(place, visitor.read(place)) for every place of `count` rows of `length` places each; rows(r) gives the bounds of row r.
template <class On, class Rows, class Visit>
[[nodiscard]] typename On::error_type visit_rows(On on, Rows rows, std::size_t count, std::size_t length, Visit visitor) {
  auto const blocks = (length + tile_size - 1) / tile_size * count;
  return on.blocks(blocks, tile_lanes, 2 * sizeof(std::size_t), visit_tile<Rows, Visit>{rows, length, visitor});
}

// A sum in two words, high * 2^32 + low, so that any number of 64-bit terms fits.
struct two_words {
  std::int64_t high = 0, low = 0;
  BALLAST_HD void add(std::int64_t term) {
    high += term >> 32;
    low += term & 0xffffffff;
  }
  BALLAST_HD void add(two_words const& other) {
    high += other.high;
    low += other.low;
  }
};

// The block of sum_segments. Terms, of at most 2^55, are laid into shared memory, whose prefix sums at the ends of a segment give its sum:
// the same work whether a tile holds one segment or a thousand.
template <class Rows, class Term>
struct sum_tile {
  static constexpr unsigned group = 16;  // lanes whose sums one lane adds up
  struct storage {
    std::size_t head[2];
    two_words of_lanes[tile_lanes];           // up to and with a lane, inside its group
    two_words of_groups[tile_lanes / group];  // before a group
    std::int64_t terms[tile_size + tile_lanes];
  };
  Rows rows;
  std::size_t length;
  Term term;

  // One word is left free behind each lane's terms, so that lanes meet in different banks.
  [[nodiscard]] static BALLAST_HD unsigned slot(unsigned i) { return i + i / tile_share; }

  [[nodiscard]] static BALLAST_HD two_words before(storage const& kept, unsigned count) {
    auto const lanes = count / tile_share;
    two_words sum;
    if (lanes != 0) {
      sum = kept.of_groups[(lanes - 1) / group];
      sum.add(kept.of_lanes[lanes - 1]);
    }
    std::int64_t rest = 0;
    for (auto i = lanes * tile_share; i < count; ++i) rest += kept.terms[slot(i)];
    sum.add(rest);
    return sum;
  }

  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t b) const {
    auto const tile = tile_of(rows, length, b);
    auto& kept = *block.template shared<storage>();
    block.each([&](unsigned lane) { tile.find_ends(lane, kept.head); });
    block.each([&](unsigned lane) {
      tile.visit(lane, kept.head, term,
                 [&](unsigned offset, row_place const& place, auto const& input) { kept.terms[slot(offset)] = term(place, input); });
      for (auto offset = tile.size + lane; offset < tile_size; offset += tile_lanes) kept.terms[slot(offset)] = 0;
    });
    block.each([&](unsigned lane) {
      std::int64_t sum = 0;
      for (unsigned i = 0; i < tile_share; ++i) sum += kept.terms[slot(lane * tile_share) + i];
      kept.of_lanes[lane] = {};
      kept.of_lanes[lane].add(sum);
    });
    block.each([&](unsigned lane) {
      if (lane >= tile_lanes / group) return;
      for (auto i = lane * group + 1; i < (lane + 1) * group; ++i) kept.of_lanes[i].add(kept.of_lanes[i - 1]);
    });
    block.each([&](unsigned lane) {
      if (lane != 0) return;
      two_words sum;
      for (unsigned g = 0; g < tile_lanes / group; ++g) {
        kept.of_groups[g] = sum;
        sum.add(kept.of_lanes[(g + 1) * group - 1]);
      }
    });
    block.each([&](unsigned lane) {
      for (auto segment = kept.head[0] + lane; segment <= kept.head[1] && segment < tile.bounds.count; segment += tile_lanes) {
        auto const begin = tile.bounds(segment), end = tile.bounds(segment + 1), last = std::uint64_t{tile.first + tile.size};
        auto const from = begin > tile.first ? begin : tile.first, to = end < last ? end : last;
        if (from >= to) continue;
        auto sum = before(kept, static_cast<unsigned>(to - tile.first));
        auto const less = before(kept, static_cast<unsigned>(from - tile.first));
        sum.high -= less.high;
        sum.low -= less.low;  // below 0 where the shift has to borrow
        term.emit(segment, two_words{sum.high + (sum.low >> 32), sum.low & 0xffffffff});
      }
    });
  }
};

// Calls term.emit(segment, sum) with parts of the sum of term(place, term.read(place)) over each segment of a row; empty parts are left
// out.
template <class On, class Bounds, class Term>
[[nodiscard]] typename On::error_type sum_segments(On on, Bounds bounds, std::size_t length, Term term) {
  using tile = sum_tile<same_bounds<Bounds>, Term>;
  return on.blocks((length + tile_size - 1) / tile_size, tile_lanes, sizeof(typename tile::storage), tile{{bounds}, length, term});
}

// Finds the first entry of cumulative lengths that is not 0 at the begin, below its predecessor, or above `most` at the end.
template <class Offset>
struct check_offsets {
  Offset const* offsets;
  std::size_t count;
  std::uint64_t most;
  std::uint64_t* first_bad;
  BALLAST_HD void operator()(std::size_t i) const {
    auto const wrong = i == 0 ? offsets[0] != 0 : offsets[i] < offsets[i - 1];
    if (wrong || (i == count && static_cast<std::uint64_t>(offsets[i]) > most)) atomic_min(*first_bad, i);
  }
};

}  // namespace ballast::inline v0_2::gpu::detail
