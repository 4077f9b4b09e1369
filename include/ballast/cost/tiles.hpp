// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>

#include <cstdint>
#include <string>

/// @file
/// @brief The cost of attention on the hardware: closed-form counts of the tiles that FlashAttention schedules, and a time model.
///
/// A kernel always computes complete tiles of `rows` queries by `columns` keys, so 16 and 128 queries cost the same. Every row of tiles
/// also has a fixed cost (loading queries, writing results) of one or two tiles.

namespace ballast::inline v0_2 {

namespace detail {

/// Sum over i in [0, count) of floor((step * i + start) / divisor), as by Euclid's algorithm.
[[nodiscard]] BALLAST_HD constexpr std::int64_t floor_sum(std::int64_t count, std::int64_t divisor, std::int64_t step,
                                                          std::int64_t start) noexcept {
  std::int64_t sum = 0;
  for (;;) {
    sum += count * (count - 1) / 2 * (step / divisor) + count * (start / divisor);
    auto const top = step % divisor * count + start % divisor;
    if (top < divisor) return sum;
    count = top / divisor;  // count the lattice points below the line by columns instead of rows
    start = top % divisor;
    auto const slope = step % divisor;
    step = divisor;
    divisor = slope;
  }
}

}  // namespace detail

/// @brief Counts the tiles that one head computes for one sequence, with the limits of FlashAttention-3 for each row of tiles.
///
/// Source: Dao-AILab/flash-attention, `hopper/block.h`; queries and keys are aligned at the end of the sequence.
/// @par Complexity
/// O(log rows) per call, for any length.
struct attention_tiles {
  std::int64_t rows = 128;     ///< number of queries in a tile, positive
  std::int64_t columns = 128;  ///< number of keys in a tile, positive
  bool causal = true;          ///< whether a query sees no later key
  std::int64_t window = 0;     ///< number of keys that a query sees, itself included; 0: all; otherwise `causal` must be true

  /// @brief Number of tiles of a complete sequence. @param length tokens, with `fits(length)`
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t length) const noexcept { return (*this)(length, length); }

  /// @brief Number of tiles of the last `queries` tokens of a sequence. @param queries 0 … keys @param keys sequence end, with `fits(keys)`
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t queries, std::int64_t keys) const noexcept {
    auto const blocks = row_blocks(queries), key_blocks = divide_up(keys, columns);
    if (blocks == 0) return 0;
    if (!causal) return blocks * key_blocks;
    auto const before = keys - queries;
    auto const all = detail::floor_sum(blocks - 1, columns, rows, rows + before + columns - 1) + key_blocks;
    if (window == 0) return all;
    // the first key block of row m is floor((m rows + hidden) / columns), from the first row where that is not negative
    auto const hidden = before - (window - 1);
    auto const first = hidden >= 0 ? 0 : divide_up(-hidden, rows);
    return first >= blocks ? all : all - detail::floor_sum(blocks - first, columns, rows, first * rows + hidden);
  }

  /// @brief Number of rows of tiles; the last one may be partly filled. @param queries tokens
  [[nodiscard]] BALLAST_HD constexpr std::int64_t row_blocks(std::int64_t queries) const noexcept { return divide_up(queries, rows); }

  /// @brief Whether the parameters are valid and the count is small enough; false if it may exceed 2^61. @param length tokens
  [[nodiscard]] BALLAST_HD constexpr bool fits(std::int64_t length) const noexcept {
    constexpr auto large = std::int64_t{1} << 60;  // keeps the sums of lengths and widths below 2^63 as well
    if (rows <= 0 || columns <= 0 || window < 0 || (window > 0 && !causal) || length < 0) return false;
    if (rows > large || columns > large || window > large || length > large) return false;
    auto const most = checked(row_blocks(length)) * checked(row_blocks(length) + divide_up(length, columns) + 1);
    return (most * checked(4)).fits();
  }
  friend constexpr bool operator==(attention_tiles const&, attention_tiles const&) = default;
};

/// @brief Time of one sequence's attention in integer units: `per_tile` for each tile plus `per_row_block` for each row of tiles.
///
/// With the defaults, a row of tiles has a fixed cost of 1.8 tiles, in units of a tenth of a tile. With tiles of 128 x 128 they reproduce
/// published throughputs of FlashAttention-3 on H100 within 0.8 % from 512 to 16,384 tokens, where FLOPs alone are 44 % off. `calibrate`
/// fits the coefficients to a machine.
struct tile_cost {
  attention_tiles tiles{};          ///< the tiles of one head
  std::int64_t per_tile = 10;       ///< units per tile, not negative
  std::int64_t per_row_block = 18;  ///< units per row of tiles, not negative
  std::int64_t heads = 1;           ///< number of query heads, not negative

  /// @brief The cost. @param length tokens, with `fits(length)`
  BALLAST_HD constexpr std::int64_t operator()(std::int64_t length) const noexcept {
    return heads * (per_tile * tiles(length) + per_row_block * tiles.row_blocks(length));
  }
  /// @brief Whether the cost is below 2^63 and the parameters valid. @param length tokens
  [[nodiscard]] BALLAST_HD constexpr bool fits(std::int64_t length) const noexcept {
    return tiles.fits(length) &&
           (checked(heads) * (checked(per_tile) * checked(tiles(length)) + checked(per_row_block) * checked(tiles.row_blocks(length))))
               .fits();
  }
  friend constexpr bool operator==(tile_cost const&, tile_cost const&) = default;
};

static_assert(bounded_cost_model<attention_tiles> && bounded_cost_model<tile_cost>);

/// @brief The tile shape of FlashAttention-3's forward kernel on Hopper, for 16-bit formats.
///
/// @param qk_width  width of a query and key head, 1 … 256
/// @param v_width   width of a value head, 1 … 512
/// @param causal    whether a query sees no later key
/// @param window    number of keys a query sees, itself included; 0: all
/// @return the tile shape, with `causal` and `window` filled in
/// @throws invalid_input if a width is out of range
/// @par Source
/// Dao-AILab/flash-attention, `hopper/tile_size.h`.
[[nodiscard]] constexpr attention_tiles flash_attention_3_forward(std::int64_t qk_width, std::int64_t v_width, bool causal,
                                                                  std::int64_t window = 0) {
  require(qk_width > 0 && qk_width <= 256, [&] { return "qk_width = " + std::to_string(qk_width) + " must be in [1, 256]"; });
  require(v_width > 0 && v_width <= 512, [&] { return "v_width = " + std::to_string(v_width) + " must be in [1, 512]"; });
  auto const local = window > 0;
  auto const shape = [&](std::int64_t rows, std::int64_t columns) { return attention_tiles{rows, columns, causal, window}; };
  if (qk_width <= 64) return v_width > 256 ? shape(64, 64) : v_width > 128 ? shape(128, 96) : shape(192, causal || local ? 128 : 192);
  if (qk_width <= 96) return shape(192, local ? 128 : 144);
  if (qk_width <= 128) return shape(128, causal || local ? 128 : 176);
  if (qk_width <= 192) return shape(128, local ? 96 : v_width <= 128 ? 128 : 112);
  return shape(128, local ? 64 : 80);
}

/// @brief The tile shape of FlashAttention-3's backward kernel on Hopper, for 16-bit formats.
///
/// @param qk_width  width of a head, 1 … 256
/// @param causal    whether a query sees no later key
/// @param window    number of keys a query sees, itself included; 0: all
/// @return the tile shape, with `causal` and `window` filled in
/// @throws invalid_input if the width is out of range
/// @par Source
/// Dao-AILab/flash-attention, `hopper/flash_bwd_launch_template.h`, without soft-capping.
[[nodiscard]] constexpr attention_tiles flash_attention_3_backward(std::int64_t qk_width, bool causal, std::int64_t window = 0) {
  require(qk_width > 0 && qk_width <= 256, [&] { return "qk_width = " + std::to_string(qk_width) + " must be in [1, 256]"; });
  auto const shape = [&](std::int64_t rows, std::int64_t columns) { return attention_tiles{rows, columns, causal, window}; };
  if (qk_width <= 64) return shape(128, 128);
  if (qk_width <= 96) return shape(64, 128);
  if (qk_width <= 128) return shape(causal || window > 0 ? 64 : 80, 128);
  return qk_width <= 192 ? shape(64, 96) : shape(64, 80);
}

}  // namespace ballast::inline v0_2
