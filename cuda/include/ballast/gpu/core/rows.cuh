// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/version.hpp>
#include <ballast/gpu/core/atomic.cuh>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief Rows that are cut into segments (sequences of a pack, packs of a batch), for the passes of row_tiles.cuh.
///
/// A bounds object says where segments begin: it has `bounds.count` segments, segment i at [bounds(i), bounds(i + 1)), and bounds(0) = 0.
/// If bounds decrease, segments are wrong, but no place is outside the row and no segment is above `count`.

namespace ballast::inline v0_2::gpu {

/// @brief One place of a row, with its segment.
struct row_place {
  std::size_t row = 0;      ///< number of the row
  std::size_t at = 0;       ///< the place in the row
  std::size_t segment = 0;  ///< the segment that has the place; `bounds.count` after the last one
  std::uint64_t begin = 0;  ///< where the segment begins
  std::uint64_t end = 0;    ///< where the segment ends
  bool inside = false;      ///< whether the place is in a segment; false after the last one
};

/// @brief The result of `read` for a visitor without inputs.
struct no_input {};

/// @brief Bounds from an array of cumulative lengths.
/// @tparam Offset  an integer
template <class Offset>
struct offset_bounds {
  Offset const* offsets;  ///< count + 1 entries in memory of the backend
  std::size_t count;      ///< number of segments
  /// @brief Where a segment begins. @param i number of the segment, or `count` @return its first place
  BALLAST_HD std::uint64_t operator()(std::size_t i) const { return static_cast<std::uint64_t>(offsets[i]); }
};

/// @brief Rows that all have the same segments.
/// @tparam Bounds  a bounds object
template <class Bounds>
struct same_bounds {
  Bounds bounds;  ///< bounds of every row
  /// @brief The bounds of a row, the same for every row.
  BALLAST_HD Bounds operator()(std::size_t) const { return bounds; }
};

/// @brief A sum in two words, high * 2^32 + low, so that any number of 64-bit terms fits.
struct two_words {
  std::int64_t high = 0;  ///< in units of 2^32
  std::int64_t low = 0;   ///< in units of 1; may pass 2^32
  /// @brief Adds an integer. @param term any integer
  BALLAST_HD void add(std::int64_t term) {
    high += term >> 32;
    low += term & 0xffffffff;
  }
  /// @brief Adds another sum. @param other the sum
  BALLAST_HD void add(two_words const& other) {
    high += other.high;
    low += other.low;
  }
};

/// @brief Finds the first entry of cumulative lengths that is not 0 at the begin, is below its predecessor, or is above `most` at the end.
/// @tparam Offset  an integer
template <class Offset>
struct check_offsets {
  Offset const* offsets;     ///< count + 1 entries in memory of the backend
  std::size_t count;         ///< number of segments
  std::uint64_t most;        ///< largest value of the last entry
  std::uint64_t* first_bad;  ///< one word for the index of the first bad entry; must be `none_bad` before
  /// @brief Checks one entry. @param i index of the entry, at most `count`
  BALLAST_HD void operator()(std::size_t i) const {
    auto const wrong = i == 0 ? offsets[0] != 0 : offsets[i] < offsets[i - 1];
    if (wrong || (i == count && static_cast<std::uint64_t>(offsets[i]) > most)) atomic_min(*first_bad, i);
  }
};

}  // namespace ballast::inline v0_2::gpu
