// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/check.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/row_tiles.cuh>
#include <ballast/gpu/core/rows.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

// The cumulative lengths of many packs as rows of segments, with their checks.

namespace ballast::inline v0_2::gpu::detail {

// The largest T: an upper bound on the places or tokens of a row.
template <class T>
inline constexpr auto largest = static_cast<std::uint64_t>((std::numeric_limits<T>::max)());

// Where the entries of each pack begin: a pack has one entry more than members. Without offsets there is one pack.
struct entry_bounds {
  std::uint64_t const* offsets;
  std::size_t count;    // number of packs
  std::size_t members;  // number of members of all packs
  [[nodiscard]] BALLAST_HD std::uint64_t members_before(std::size_t p) const {
    return offsets != nullptr ? offsets[p] : p == 0 ? 0 : members;
  }
  BALLAST_HD std::uint64_t operator()(std::size_t p) const { return members_before(p) + p; }
};

// Finds offsets that do not go from 0 to the number of members without decreasing.
struct check_packs {
  entry_bounds bounds;
  std::uint64_t index;  // reported if an offset is bad
  std::uint64_t* first_bad;
  BALLAST_HD void operator()(std::size_t p) const {
    auto const here = bounds.members_before(p);
    auto const good = (p == 0 ? here == 0 : here >= bounds.members_before(p - 1)) && (p < bounds.count || here == bounds.members);
    if (!good) atomic_min(*first_bad, index);
  }
};

// The sequences of pack p. Invalid offsets give wrong sequences, but none outside `cu`.
template <class Offset>
struct pack_rows {
  Offset const* cu;
  entry_bounds entries;
  BALLAST_HD offset_bounds<Offset> operator()(std::size_t p) const {
    auto begin = entries.members_before(p), end = entries.members_before(p + 1);
    if (begin > entries.members) begin = entries.members;
    if (end > entries.members) end = entries.members;
    return {cu + begin + p, end < begin ? 0 : static_cast<std::size_t>(end - begin)};
  }
};

// Tokens of a sequence whose cumulative lengths do not decrease.
template <class Offset>
[[nodiscard]] BALLAST_HD std::uint64_t tokens_between(Offset begin, Offset end) {
  return static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
}

// Finds the first entry that is not 0 where a pack begins, is below its predecessor, or is above `most` where a pack ends. If `padded` is
// given, it must leave room for each sequence, and its ends are compared with `most`.
template <class Offset>
struct check_entries {
  Offset const* cu;
  Offset const* padded;
  std::uint64_t most;
  std::uint64_t* first_bad;
  BALLAST_HD void operator()(std::size_t at, std::uint64_t begin, std::uint64_t end) const {
    auto const begins = at == 0 || at == begin;
    auto good = begins ? cu[at] == 0 && padded[at] == 0
                       : cu[at - 1] <= cu[at] && padded[at - 1] <= padded[at] &&
                             tokens_between(cu[at - 1], cu[at]) <= tokens_between(padded[at - 1], padded[at]);
    if (at + 1 == end && static_cast<std::uint64_t>(padded[at]) > most) good = false;
    if (!good) atomic_min(*first_bad, at);
  }
};

// What comes before the pass over rows: the checks, and the first sequence of each tile.
template <class Offset>
struct open_packs {
  entry_bounds entries;
  std::size_t all;  // number of entries
  check_packs packs;
  check_entries<Offset> check;
  std::size_t tiles;
  find_tile<pack_rows<Offset>> find;
  BALLAST_HD void operator()(std::size_t i) const {
    if (i <= entries.count) packs(i);
    if (i < all && entries.count != 0) {
      auto const pack = segment_at(entries, 0, entries.count - 1, i);
      check(i, entries(pack), entries(pack + 1));
    }
    if (i < tiles) find(i);
  }
};

// Initialises `first_bad` and queues the checks of rows whose places are numbered with T; `starts` gets the tiles of the rows.
template <class T, class On, class Offset>
[[nodiscard]] typename On::error_type check_rows(On on, Offset const* cu, Offset const* padded, entry_bounds entries, std::size_t row,
                                                 std::uint64_t* starts, std::uint64_t* first_bad) {
  auto const all = entries.members + entries.count, tiles = tile_words(entries.count, row);
  auto const find = find_tiles(pack_rows<Offset>{padded, entries}, row, starts);
  auto const most = row < largest<T> ? row : largest<T>;
  return check_each(on, (std::max)({entries.count + 1, all, tiles}), first_bad,
                    open_packs<Offset>{entries, all, {entries, all, first_bad}, {cu, padded, most, first_bad}, tiles, find});
}

// Returns where the members of each pack begin; throws unless that rises from 0 to all. They may be bad beside an entry that is bad, too.
template <class On>
[[nodiscard]] std::vector<std::uint64_t> fetch_offsets(On on, entry_bounds entries, char const* what, char const* members) {
  auto out = entries.offsets == nullptr ? std::vector<std::uint64_t>{0, entries.members} : fetch(on, entries.offsets, entries.count + 1);
  require(ballast::check_offsets(out, entries.members).valid(),
          [&] { return sentence(what, "offsets must rise from 0 to the ", entries.members, " ", members); });
  return out;
}

// If `bad` has an index, calls body(entries of the bad pack in each array) on the host, which throws with the message of the host twin.
template <class On, class Offset, class Body>
void require_rows(On on, std::uint64_t const* bad, std::vector<Offset const*> const& arrays, entry_bounds entries, Body const& body) {
  auto const first_bad = fetch_one(on, bad);
  if (first_bad == none_bad) return;
  auto const offsets = fetch_offsets(on, entries, "", "sequences");
  std::size_t pack = 0;
  while (offsets[pack + 1] + pack < first_bad) ++pack;
  std::vector<std::vector<Offset>> parts;
  for (auto const* const array : arrays)
    parts.push_back(fetch(on, array + offsets[pack] + pack, static_cast<std::size_t>(offsets[pack + 1] - offsets[pack] + 1)));
  body(parts);
}

}  // namespace ballast::inline v0_2::gpu::detail
