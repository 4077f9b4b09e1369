// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/gpu/core/search.cuh>
#include <ballast/gpu/core/wide.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

// The blocks of row_tiles.cuh: a tile of a row, and the passes over it.

namespace ballast::inline v0_2::gpu::detail {

inline constexpr unsigned tile_lanes = 256;
inline constexpr unsigned tile_share = 8;  // number of places per lane
inline constexpr unsigned tile_size = tile_lanes * tile_share;

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

// Words of memory for the first segment of each tile, and of what follows the last one of a row.
[[nodiscard]] BALLAST_HD constexpr std::size_t tile_starts_in(std::size_t length) { return length == 0 ? 0 : tiles_in(length) + 1; }

// Writes one of these words.
template <class Rows>
struct find_tile {
  Rows rows;
  std::size_t length;
  std::uint64_t* starts;
  BALLAST_HD void operator()(std::size_t i) const {
    auto const each = tile_starts_in(length), row = i / each, at = i % each * tile_size;
    auto const bounds = rows(row);
    starts[i] = segment_at(bounds, 0, bounds.count, at < length ? at : length - 1);
  }
};

// The ends of a tile from these words, and without them.
struct found_ends {
  std::uint64_t const* starts;
  template <class Block, class Tile>
  [[nodiscard]] BALLAST_HD tile_ends operator()(Block&, Tile const& tile) const {
    auto const own = tile.number + tile.row;  // a row has a word more than tiles
    return {static_cast<std::size_t>(starts[own]), static_cast<std::size_t>(starts[own + 1])};
  }
};
struct searched_ends {
  template <class Block, class Tile>
  [[nodiscard]] BALLAST_HD tile_ends operator()(Block& block, Tile const& tile) const {
    auto const& bounds = tile.bounds;
    auto const from = segment_at(block, bounds, 0, bounds.count, tile.first, false);
    return {from, segment_at(block, bounds, from, bounds.count, tile.first + tile.size - 1, true)};
  }
};

// Where a lane is in its tile.
struct tile_cursor {
  row_place place;
  unsigned end = 0;     // end of the segment in the tile
  unsigned passed = 0;  // number of segments of the tile before it
};

// The tile of a block: `size` places of a row from `first` on. Where the second and later segments begin in it is read once, and kept in
// shared memory; if that many do not fit, most of them are empty, and they are searched where they are.
template <class Bounds>
struct row_tile {
  Bounds bounds;
  std::size_t number, row, first, length;
  unsigned size;
  std::uint16_t* begins;
  tile_ends ends{};
  std::uint64_t begin = 0, end = 0;  // of the first and the last segment

  [[nodiscard]] BALLAST_HD std::size_t later() const { return ends.last - ends.first; }  // number of segments after the first one
  [[nodiscard]] BALLAST_HD bool keeps() const { return later() <= tile_size; }
  [[nodiscard]] BALLAST_HD unsigned in_tile(std::uint64_t at) const {
    return at <= first ? 0 : at - first < size ? static_cast<unsigned>(at - first) : size;
  }
  // Where the segment after `passed` others begins.
  [[nodiscard]] BALLAST_HD unsigned begin_of(std::size_t passed) const {
    return passed == 0 ? 0 : keeps() ? begins[passed - 1] : in_tile(bounds(ends.first + passed));
  }
  template <class Block>
  BALLAST_HD void open(Block& block, tile_ends found) {
    ends = {found.first, found.last < found.first ? found.first : found.last};  // that is, if bounds decrease
    begin = bounds(ends.first);
    end = ends.last < bounds.count ? bounds(ends.last + 1) : length;
    if (later() == 0 || !keeps()) return;
    block.each([&](unsigned lane) {
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
      for (auto i = lane; i < static_cast<unsigned>(later()); i += tile_lanes)
        begins[i] = static_cast<std::uint16_t>(in_tile(bounds(ends.first + 1 + i)));
    });
  }
  // Turns to the segment of a place, which is not before that of the cursor.
  BALLAST_HD void enter(tile_cursor& at, unsigned offset) const {
    auto& place = at.place;
    place.at = first + offset;
    if (keeps()) {
      auto const all = static_cast<unsigned>(later());
      for (auto high = all; at.passed < high;) {
        auto const middle = (at.passed + high) / 2;
        if (begins[middle] > offset)
          high = middle;
        else
          at.passed = middle + 1;
      }
      place.segment = ends.first + at.passed;
      place.begin = at.passed == 0 ? begin : first + begins[at.passed - 1];
      at.end = at.passed == all ? size : begins[at.passed];
      place.end = at.passed == all ? end : first + at.end;
    } else {
      place.segment = segment_at(bounds, place.segment, ends.last, place.at);
      place.begin = bounds(place.segment);
      place.end = place.segment < bounds.count ? bounds(place.segment + 1) : length;
      at.end = in_tile(place.end);
    }
    place.inside = place.segment < bounds.count;
  }
  [[nodiscard]] BALLAST_HD tile_cursor enter(unsigned offset) const {
    tile_cursor at{.place = {.row = row, .segment = ends.first}};
    enter(at, offset);
    return at;
  }
};

// The tile of block b.
template <class Rows, class Block, class Ends>
[[nodiscard]] BALLAST_HD auto open_tile(Block& block, Rows const& rows, std::size_t length, std::size_t b, Ends const& ends,
                                        std::uint16_t* begins) {
  auto const tiles = tiles_in(length);
  std::size_t row = 0;
  if (b >= tiles) row = (b | tiles) >> 32 == 0 ? static_cast<std::uint32_t>(b) / static_cast<std::uint32_t>(tiles) : b / tiles;
  auto const first = (b - row * tiles) * tile_size;
  row_tile<decltype(rows(row))> tile{
      rows(row), b, row, first, length, length - first < tile_size ? static_cast<unsigned>(length - first) : tile_size, begins};
  tile.open(block, ends(block, tile));
  return tile;
}

// What is written at a place, if anything.
struct no_output {};
template <class Visit>
struct output_of {
  using type = no_output;
};
template <class Visit>
  requires requires { typename Visit::output; }
struct output_of<Visit> {
  using type = typename Visit::output;
};
template <class Visit>
inline constexpr bool writes = !std::is_same_v<typename output_of<Visit>::type, no_output>;
template <class Visit>
using input_of = decltype(std::declval<Visit const&>().read(row_place{}));

// What is called for the places of a segment.
template <class Visit>
struct plain_work {
  Visit const* visitor;
  template <class Input>
  BALLAST_HD auto operator()(row_place const& place, Input const& input, no_output&) const {
    return (*visitor)(place, input);
  }
};
template <class Visit>
[[nodiscard]] BALLAST_HD auto work_in(Visit const& visitor, row_place const& segment) {
  if constexpr (requires { visitor.in(segment); })
    return visitor.in(segment);
  else
    return plain_work<Visit>{&visitor};
}

// Whether the arrays of a row can be read and written 16 bytes at a time.
template <class Visit>
[[nodiscard]] BALLAST_HD bool wide_row(Visit const& visitor, std::size_t row) {
  auto wide = true;
  if constexpr (requires { visitor.wide(row); }) wide = visitor.wide(row);
  if constexpr (requires { visitor.target(row); }) wide = wide && is_wide(visitor.target(row));
  return wide;
}
// Writes what is kept of N neighbours.
template <unsigned N, class Visit, class Output>
BALLAST_HD void write_at(Visit const& visitor, row_place const& place, Output const* out) {
  if constexpr (requires { visitor.template write<N>(place, out); })
    visitor.template write<N>(place, out);
  else
    store<N>(visitor.target(place.row) + place.at, out);
}

// How many neighbours are read and written together.
template <class Visit>
[[nodiscard]] constexpr unsigned width_of() {
  if constexpr (requires { Visit::together; })
    return Visit::together;
  else
    return !writes<Visit> ? 1 : sizeof(typename output_of<Visit>::type) > 4 ? 2 : 4;
}

// A lane takes four places of a tile in a turn, N neighbours together; neighbouring lanes take the next ones.
inline constexpr unsigned turn_share = 4;

// Calls f(0) … f(3). Not a loop: what the numbers index stays in registers.
template <class F>
BALLAST_HD void in_turn(F const& f) {
  f(0U);
  f(1U);
  f(2U);
  f(3U);
}

// Does a turn of a lane: step(place, input, output) for each place, and turned(k, offset) before place k if it is in another segment than
// the place before. If all four are in the segment of the cursor, they are read and written together, otherwise one after the other.
template <unsigned N, class Bounds, class Visit, class Turned, class Step>
BALLAST_HD void take_turn(row_tile<Bounds> const& tile, Visit const& visitor, unsigned turn, unsigned lane, bool wide, tile_cursor& at,
                          Turned const& turned, Step const& step) {
  using output = typename output_of<Visit>::type;
  auto const distance = [](unsigned k) { return k / N * tile_lanes * N + k % N; };
  auto const offset = (turn * (turn_share / N) * tile_lanes + lane) * N;
  auto const first = tile.first + offset;
  auto const place_of = [&](unsigned k) { return row_place{.row = tile.row, .at = first + distance(k)}; };
  if (offset + distance(turn_share - 1) < at.end) {
    input_of<Visit> in[turn_share];
    output out[turn_share];
    auto together = false;
    if constexpr (requires { visitor.template read<N>(row_place{}, in); })
      if (together = N > 1 && wide; together)
        for (unsigned k = 0; k < turn_share; k += N) visitor.template read<N>(place_of(k), in + k);
    if (!together) in_turn([&](unsigned k) { in[k] = visitor.read(place_of(k)); });
    in_turn([&](unsigned k) { step(first + distance(k), in[k], out[k]); });
    if constexpr (writes<Visit>) {
      if (N > 1 && wide)
        for (unsigned k = 0; k < turn_share; k += N) write_at<N>(visitor, place_of(k), out + k);
      else
        in_turn([&](unsigned k) { write_at<1>(visitor, place_of(k), out + k); });
    }
    return;
  }
#if defined(__CUDA_ARCH__)
#pragma unroll 1  // or four copies take twice the registers
#endif
  for (unsigned k = 0; k < turn_share; ++k) {
    auto const own = offset + distance(k);
    if (own >= at.end) {
      if (own >= tile.size) return;
      tile.enter(at, own);
      turned(k, own);
    }
    output out;
    step(first + distance(k), visitor.read(place_of(k)), out);
    if constexpr (writes<Visit>) write_at<1>(visitor, place_of(k), &out);
  }
}

// The block of visit_rows.
template <class Rows, class Visit, class Ends>
struct visit_tile {
  static constexpr unsigned most_lanes = tile_lanes;
  using output = typename output_of<Visit>::type;
  static constexpr unsigned width = width_of<Visit>();
  using storage = std::uint16_t[tile_size];
  Rows rows;
  std::size_t length;
  Visit visitor;
  Ends ends;

  template <unsigned N, class Bounds>
  BALLAST_HD void visit(row_tile<Bounds> const& tile, unsigned lane) const {
    if (lane * N >= tile.size) return;
    auto at = tile.enter(lane * N);
    auto work = work_in(visitor, at.place);
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (unsigned turn = 0; turn < tile_share / turn_share; ++turn)
      take_turn<N>(
          tile, visitor, turn, lane, true, at, [&](unsigned, unsigned) { work = work_in(visitor, at.place); },
          [&](std::size_t place, input_of<Visit> const& in, output& out) {
            at.place.at = place;
            work(at.place, in, out);
          });
  }
  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t b) const {
    auto const tile = open_tile(block, rows, length, b, ends, *block.template shared<storage>());
    if (width > 1 && wide_row(visitor, tile.row))
      block.each([&](unsigned lane) { visit<width>(tile, lane); });
    else
      block.each([&](unsigned lane) { visit<1>(tile, lane); });
  }
};

// The block of sum_segments. A lane works on four neighbouring places at a time, a chunk, and keeps their sum. The difference of the sums
// before the ends of a segment is its own, so a tile with one segment takes as much work as one with a thousand.
template <class Rows, class Term, class Ends>
struct sum_tile {
  static constexpr unsigned most_lanes = tile_lanes;
  using output = typename output_of<Term>::type;
  static constexpr unsigned width = turn_share;
  static constexpr unsigned chunks = tile_size / width;
  static constexpr unsigned bundle = 16;  // number of chunks whose sums one lane adds up: 64 summands of at most 2^55 fit in a word
  static constexpr unsigned bundles = chunks / bundle;
  static_assert(bundles == 32);  // the lanes of a warp
  struct storage {
    two_words of_bundles[bundles];             // sum before a bundle
    std::int64_t of_chunks[chunks + bundles];  // sum up to and including a chunk, within its bundle; gaps avoid bank conflicts
    std::int64_t in_chunk[tile_size];          // sum before a place within its chunk, where a segment begins inside a chunk
    std::uint16_t begins[tile_size];
  };
  Rows rows;
  std::size_t length;
  Term term;
  Ends ends;

  [[nodiscard]] static BALLAST_HD unsigned slot(unsigned chunk) { return chunk + chunk / bundle; }

  // The sum before a place, which is the end of the tile or the begin of a segment.
  [[nodiscard]] static BALLAST_HD two_words before(storage const& kept, unsigned place, unsigned size) {
    auto const whole = place == size ? divide_up(size, width) : place / width;
    two_words sum;
    if (whole != 0) {
      sum = kept.of_bundles[(whole - 1) / bundle];
      sum.add(kept.of_chunks[slot(whole - 1)]);
    }
    if (whole * width < place) sum.add(kept.in_chunk[place]);
    return sum;
  }

  template <class Bounds>
  BALLAST_HD void add_up(row_tile<Bounds> const& tile, storage& kept, bool wide, unsigned lane) const {
    auto at = tile.enter(lane * width < tile.size ? lane * width : tile.size - 1);
    auto work = work_in(term, at.place);
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (unsigned turn = 0; turn < tile_share / width; ++turn) {
      std::int64_t sum = 0;
      take_turn<width>(
          tile, term, turn, lane, wide, at,
          [&](unsigned k, unsigned offset) {
            work = work_in(term, at.place);
            if (k != 0) kept.in_chunk[offset] = sum;
          },
          [&](std::size_t place, input_of<Term> const& in, output& out) {
            at.place.at = place;
            sum += work(at.place, in, out);
          });
      kept.of_chunks[slot(turn * tile_lanes + lane)] = sum;
    }
  }

  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t b) const {
    auto& kept = *block.template shared<storage>();
    auto const tile = open_tile(block, rows, length, b, ends, kept.begins);
    auto const wide = wide_row(term, tile.row);
    block.each([&](unsigned lane) { add_up(tile, kept, wide, lane); });
    block.first_warp([&](auto& warp) {
      warp.each([&](unsigned lane) {
        auto* const chunk = kept.of_chunks + slot(lane * bundle);
        std::int64_t sum = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
        for (unsigned i = 0; i < bundle; ++i) chunk[i] = sum += chunk[i];
      });
      auto const whole = [&](unsigned lane) { return kept.of_chunks[slot((lane + 1) * bundle - 1)]; };
      warp.sums_before([&](unsigned lane) { return whole(lane) >> 32; },
                       [&](unsigned lane, std::int64_t sum) { kept.of_bundles[lane].high = sum; });
      warp.sums_before([&](unsigned lane) { return whole(lane) & 0xffffffff; },
                       [&](unsigned lane, std::int64_t sum) { kept.of_bundles[lane].low = sum; });
    });
    block.each([&](unsigned lane) {
      for (std::size_t i = lane; i <= tile.later() && tile.ends.first + i < tile.bounds.count; i += tile_lanes) {
        auto const from = tile.begin_of(i), to = i == tile.later() ? tile.size : tile.begin_of(i + 1);
        if (from >= to) continue;
        auto sum = before(kept, to, tile.size);
        auto const less = before(kept, from, tile.size);
        sum.high -= less.high;
        sum.low -= less.low;  // negative if the shift has to borrow
        term.emit(tile.ends.first + i, two_words{sum.high + (sum.low >> 32), sum.low & 0xffffffff});
      }
    });
  }
};

inline constexpr std::size_t few_items = 4096;  // so many are done by one block: another node would take longer

// Initialises `first_bad`, and calls f for all indices.
template <class F>
struct check_block {
  static constexpr unsigned most_lanes = 1024;
  F f;
  std::size_t count;
  std::uint64_t* first_bad;
  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t) const {
    block.each([&](unsigned lane) {
      if (lane == 0) *first_bad = none_bad;
    });
    block.each([&](unsigned lane) {
      for (std::size_t i = lane; i < count; i += block.lanes()) f(i);
    });
  }
};

}  // namespace ballast::inline v0_2::gpu::detail
