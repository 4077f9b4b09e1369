// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/row_tiles.cuh>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/layout/detail/pack_rows.cuh>
#include <ballast/layout/zigzag.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

// The passes of zigzag.cuh.

namespace ballast::inline v0_2::gpu::detail {

// The sequences of the row that a rank holds.
template <class Offset>
struct rank_bounds {
  Offset const* cu;
  std::size_t count;
  std::uint64_t ranks;
  BALLAST_HD std::uint64_t operator()(std::size_t i) const {
    using word = std::make_unsigned_t<Offset>;  // a device divides 32 bits in a quarter of the time
    return static_cast<word>(cu[i]) / static_cast<word>(ranks);
  }
};

// Finds the first entry that is not 0 at the begin, is below its predecessor, is not a multiple of the chunks, or at the end is not `row`;
// and the first sequence of each tile.
template <class Offset>
struct check_zigzag {
  Offset const* cu;
  std::size_t sequences;
  std::uint64_t row, chunks, most;
  std::uint64_t* first_bad;
  std::size_t tiles;
  find_tile<same_bounds<rank_bounds<Offset>>> find;
  BALLAST_HD void operator()(std::size_t i) const {
    if (i < tiles) find(i);
    if (i > sequences) return;
    auto good = i == 0 ? cu[0] == 0 : cu[i - 1] <= cu[i] && tokens_between(cu[i - 1], cu[i]) % chunks == 0;
    if (i == sequences) good = good && static_cast<std::uint64_t>(cu[i]) == row && row <= most;
    if (!good) atomic_min(*first_bad, i);
  }
};

// The tokens of a sequence that a rank holds, by their places in the rank's own row.
struct zigzag_tokens {
  std::int64_t middle = 0, early = 0, late = 0;  // where the second chunk begins, and what both chunks add to a place
  zigzag_tokens() = default;
  BALLAST_HD zigzag_tokens(zigzag rule, std::int64_t rank, row_place const& sequence) {
    auto const begin = static_cast<std::int64_t>(sequence.begin), held = static_cast<std::int64_t>(sequence.end) - begin;
    middle = begin + held / 2;
    early = rule.source(rank, begin, begin, held) - begin;
    late = rule.source(rank, middle, begin, held) - middle;
  }
  [[nodiscard]] BALLAST_HD std::int64_t operator()(std::size_t place) const {
    auto const at = static_cast<std::int64_t>(place);
    return at + (at < middle ? early : late);
  }
};

// Writes the tokens that a rank holds.
template <class T>
struct write_zigzag {
  using output = T;
  struct of_sequence {
    zigzag_tokens tokens;
    BALLAST_HD void operator()(row_place const& place, no_input, T& to) const { to = static_cast<T>(tokens(place.at)); }
  };
  zigzag rule;
  std::int64_t rank;
  T* out;
  std::uint64_t const* first_bad;
  [[nodiscard]] BALLAST_HD no_input read(row_place const&) const { return {}; }
  [[nodiscard]] BALLAST_HD of_sequence in(row_place const& place) const {
    return place.inside && *first_bad == none_bad ? of_sequence{{rule, rank, place}} : of_sequence{};  // else products may overflow
  }
  [[nodiscard]] BALLAST_HD T* target(std::size_t) const { return out; }
};

// Writes where the tokens of all ranks, a row each, are after gathering the rows.
template <class T>
struct write_zigzag_inverse {
  struct of_sequence {
    zigzag_tokens tokens;
    std::size_t before;  // places of the ranks before
    T* out;              // null if nothing may be written
    BALLAST_HD void operator()(row_place const& place, no_input, no_output&) const {
      if (out != nullptr) out[tokens(place.at)] = static_cast<T>(before + place.at);
    }
  };
  zigzag rule;
  std::size_t length;
  T* out;
  std::uint64_t const* first_bad;
  [[nodiscard]] BALLAST_HD no_input read(row_place const&) const { return {}; }
  [[nodiscard]] BALLAST_HD of_sequence in(row_place const& place) const {
    if (!place.inside || *first_bad != none_bad) return {};  // two tokens may have one place, or one outside the row
    return {{rule, static_cast<std::int64_t>(place.row), place}, place.row * length, out};
  }
};

template <class T, bool Inverse, class On, class Offset>
[[nodiscard]] typename On::error_type zigzag_rows(On on, void* temp, std::size_t& bytes, Offset const* cu, std::size_t sequences,
                                                  zigzag rule, std::int64_t rank, std::size_t length, T* out, std::uint64_t* first_bad) {
  using error_type = typename On::error_type;
  if (rule.ranks <= 0 || rule.ranks >= (std::int64_t{1} << 31) || rank < 0 || rank >= rule.ranks) return On::invalid_value;
  auto const ranks = static_cast<std::uint64_t>(rule.ranks);
  std::size_t const rows = Inverse ? ranks : 1;
  workspace cut(temp);
  auto const tiles = tile_words(rows, length);
  auto* const starts = cut.take<std::uint64_t>(tiles);
  if (auto const room = cut.finish<On>(bytes); room.ends) return room.error;
  same_bounds<rank_bounds<Offset>> const bounds{{cu, sequences, ranks}};
  check_zigzag<Offset> const check{cu,         sequences, length * ranks, 2 * ranks,
                                   largest<T>, first_bad, tiles,          find_tiles(bounds, length, starts)};
  if (auto const error = check_each(on, (std::max)(sequences + 1, tiles), first_bad, check); error != error_type{}) return error;
  if constexpr (Inverse)
    return visit_rows(on, bounds, rows, length, starts, write_zigzag_inverse<T>{rule, length, out, first_bad});
  else
    return visit_rows(on, bounds, rows, length, starts, write_zigzag<T>{rule, rank, out, first_bad});
}

}  // namespace ballast::inline v0_2::gpu::detail
