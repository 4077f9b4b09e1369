// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/tiles.hpp>

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <utility>

/// @file
/// @brief Bounds on the time of an attention kernel on all multiprocessors of a device (its makespan), from its work tiles.
///
/// A work tile is one row of tiles of one head; it takes `per_row_block + per_tile * (tiles of the row)` units of a `tile_cost`. Each
/// multiprocessor pulls the next work tile when it has finished one; the order of the work tiles is not known.

namespace ballast::inline v0_2 {

/// @brief The work tiles of one kernel, summarised: their sum and the largest determine both bounds on the makespan.
struct tile_work {
  std::int64_t total = 0;    ///< cost of all work tiles, in units
  std::int64_t largest = 0;  ///< cost of the most expensive work tile, in units

  /// @brief Lower bound on the makespan; a good estimate if there are many work tiles. @param processors multiprocessors, at least 1
  [[nodiscard]] BALLAST_HD constexpr std::int64_t at_least(std::int64_t processors) const noexcept {
    auto const mean = divide_up(total, processors);
    return mean < largest ? largest : mean;
  }
  /// @brief Upper bound on the makespan for any order of the work tiles: until the last one starts, no multiprocessor is idle.
  ///
  /// Source: Graham, "Bounds for certain multiprocessing anomalies", Bell System Technical Journal 45 (1966).
  /// @param processors multiprocessors, at least 1
  [[nodiscard]] BALLAST_HD constexpr std::int64_t at_most(std::int64_t processors) const noexcept {
    return (total - largest) / processors + largest;
  }
  friend constexpr bool operator==(tile_work const&, tile_work const&) = default;
};

/// @brief Number of tiles in the widest row of tiles of a sequence.
/// @param tiles   the shape and the mask
/// @param length  tokens, with `tiles.fits(length)`
/// @return the number of tiles; 0 if there are no tokens
/// @par Complexity
/// O(1); with a window O(columns / gcd(rows, columns)), which is at most 8 for the shapes of FlashAttention-3.
[[nodiscard]] BALLAST_HD constexpr std::int64_t widest_row(attention_tiles const& tiles, std::int64_t length) noexcept {
  auto const blocks = tiles.row_blocks(length), key_blocks = divide_up(length, tiles.columns);
  if (blocks == 0 || tiles.window == 0) return key_blocks;
  auto const first = divide_up(tiles.window - 1, tiles.rows);  // from this row on, a window does not reach back to key 0
  auto const width = [&](std::int64_t row) {
    auto const begin = row < first ? 0 : (row * tiles.rows - (tiles.window - 1)) / tiles.columns;
    auto const end = row == blocks - 1 ? key_blocks : divide_up((row + 1) * tiles.rows, tiles.columns);
    return end - begin;
  };
  auto divisor = tiles.rows, other = tiles.columns;
  while (other != 0) {
    auto const rest = divisor % other;
    divisor = other;
    other = rest;
  }
  auto widest = width(blocks - 1);
  if (first > 0 && first < blocks && width(first - 1) > widest) widest = width(first - 1);         // rows that begin at key 0 grow wider
  for (auto row = first, end = first + tiles.columns / divisor; row < blocks && row < end; ++row)  // after that, widths repeat
    if (width(row) > widest) widest = width(row);
  return widest;
}

/// @brief Summarises the work tiles of one sequence.
/// @param length  tokens, with `cost.fits(length)`
/// @param cost    units per tile and row, and number of heads
/// @return the sum of all work tiles, and the most expensive one
/// @par Complexity
/// O(log length), plus the time of `widest_row`.
[[nodiscard]] BALLAST_HD constexpr tile_work tile_work_of(std::int64_t length, tile_cost const& cost) noexcept {
  if (length == 0 || cost.heads == 0) return {};
  return {cost(length), cost.per_row_block + cost.per_tile * widest_row(cost.tiles, length)};
}

/// @brief Summarises the work tiles of all sequences that one kernel computes, such as the samples of a pack.
///
/// @tparam R  range of integers
/// @param lengths  tokens of each sequence, not negative; may be empty
/// @param cost     units per tile and row, and number of heads
/// @return the sum of all work tiles, and the most expensive one
/// @throws invalid_input if a length has a cost that is negative or too large for 63 bits, or their sum reaches 2^63
/// @par Complexity
/// O(sequences) times the complexity for one sequence.
/// @par Source
/// The form of the time model is fitted to published throughputs of FlashAttention-3: pytorch/benchmark, pull request 2391.
template <length_range R>
[[nodiscard]] tile_work tile_work_of(R const& lengths, tile_cost const& cost) {
  tile_work work;
  auto const at = std::ranges::begin(lengths);
  for (std::size_t i = 0, n = static_cast<std::size_t>(std::ranges::size(lengths)); i < n; ++i) {
    auto const length = at[static_cast<std::ranges::range_difference_t<R const>>(i)];
    auto const entry = [&] { return ballast::entry("lengths", i, length); };
    require(std::in_range<std::int64_t>(length) && cost.fits(static_cast<std::int64_t>(length)),
            [&] { return entry() + " has a cost that is negative, not a number or too large for 63 bits"; });
    auto const one = tile_work_of(static_cast<std::int64_t>(length), cost);
    require(one.total <= checked::most - work.total, [&] { return entry() + " brings the sum of costs to 2^63 or more"; });
    work.total += one.total;
    work.largest = one.largest < work.largest ? work.largest : one.largest;
  }
  return work;
}

}  // namespace ballast::inline v0_2
