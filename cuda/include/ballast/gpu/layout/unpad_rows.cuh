// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/mapped.cuh>
#include <ballast/gpu/core/reduce.cuh>
#include <ballast/gpu/core/scan.cuh>
#include <ballast/gpu/core/wide.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/layout/detail/cu_entries.cuh>
#include <ballast/gpu/layout/detail/pack_rows.cuh>
#include <ballast/layout/concepts.hpp>
#include <ballast/layout/gather_rows.hpp>
#include <ballast/layout/unpad_rows.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

/// @file
/// @brief From an attention mask on the device to the indices of its tokens and the cumulative lengths of its rows.

namespace ballast::inline v0_2::gpu {

namespace detail {

inline constexpr unsigned mask_lanes = 256, mask_share = 8, mask_tile = mask_lanes * mask_share;
inline constexpr std::size_t few_masks = mask_lanes;  // that many tiles need no scan: each reads how many tokens are in the others

// A tile of a mask; each lane has consecutive places of it.
template <class Mask>
struct mask_part {
  Mask const* mask;
  std::size_t places;
  // A bit for each place of a lane that has a token.
  [[nodiscard]] BALLAST_HD unsigned present(std::size_t tile, unsigned lane) const {
    auto const first = tile * mask_tile + lane * mask_share;
    unsigned found = 0;
    if (first + mask_share <= places && is_wide(mask)) {
      Mask read[mask_share];
      load<mask_share>(mask + first, read);
      for (unsigned k = 0; k < mask_share; ++k) found |= (read[k] != 0 ? 1U : 0U) << k;
    } else {
      for (unsigned k = 0; k < mask_share && first + k < places; ++k) found |= (mask[first + k] != 0 ? 1U : 0U) << k;
    }
    return found;
  }
};
// Number of bits of a lane.
[[nodiscard]] BALLAST_HD inline unsigned count_bits(unsigned bits) {
  bits -= bits >> 1 & 0x55U;
  bits = (bits & 0x33U) + (bits >> 2 & 0x33U);
  return (bits + (bits >> 4)) & 0xfU;
}

// The block that counts the tokens of a tile.
template <class Mask>
struct count_mask {
  static constexpr unsigned most_lanes = mask_lanes;
  mask_part<Mask> part;
  std::uint32_t* counts;
  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t tile) const {
    auto const all = block.total([&](unsigned lane) { return std::uint64_t{count_bits(part.present(tile, lane))}; });
    block.each([&](unsigned lane) {
      if (lane == 0) counts[tile] = static_cast<std::uint32_t>(all);
    });
  }
};
struct mask_counts {
  std::uint32_t const* counts;
  std::size_t tiles;
  BALLAST_HD std::uint64_t operator()(std::size_t tile) const { return tile < tiles ? counts[tile] : 0; }
};

// The block that writes the indices of a tile, and the entries of the rows that begin in it. Indices are put in order in shared memory, so
// that neighbouring lanes write neighbours.
template <class Mask, class T, class Index>
struct place_mask {
  static constexpr unsigned most_lanes = mask_lanes, bundle = mask_lanes / 32;  // lanes whose counts a lane of a warp adds up
  struct storage {
    std::size_t first_row, end_row;    // rows that begin in the tile
    std::uint32_t all, of_bundle[32];  // tokens of the tile, and before each bundle
    std::uint16_t before[mask_lanes];  // tokens of the bundle before each lane
    std::uint8_t present[mask_lanes];  // which places of a lane have one
    std::uint16_t tokens[mask_tile];   // their places in the tile
    [[nodiscard]] BALLAST_HD std::uint32_t rank(unsigned place) const {
      auto const lane = place / mask_share;
      return of_bundle[lane / bundle] + before[lane] + count_bits(present[lane] & ((1U << place % mask_share) - 1));
    }
  };
  mask_part<Mask> part;
  std::size_t width;
  std::uint32_t const* counts;  // of each tile
  std::uint64_t const* sums;    // tokens before each tile; null if tiles are few, and counted here
  Index* indices;
  T* cu;
  [[nodiscard]] BALLAST_HD std::size_t row_from(std::size_t place) const {  // the first that begins there or later
    auto const at = (place < part.places ? place : part.places) + width - 1;
    return (at | width) >> 32 == 0 ? static_cast<std::uint32_t>(at) / static_cast<std::uint32_t>(width) : at / width;
  }
  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t tile) const {
    auto& kept = *block.template shared<storage>();
    auto const begin = tile * mask_tile;
    auto const earlier = sums != nullptr ? sums[tile] : block.total([&](unsigned lane) {
      std::uint64_t sum = 0;
      for (std::size_t i = lane; i < tile; i += mask_lanes) sum += counts[i];
      return sum;
    });
    block.each([&](unsigned lane) {
      kept.present[lane] = static_cast<std::uint8_t>(part.present(tile, lane));
      if (lane == 0) kept.first_row = row_from(begin);
      if (lane == 32) kept.end_row = row_from(begin + mask_tile);
    });
    block.first_warp([&](auto& warp) {
      auto const of_bundle = [&](unsigned lane) {
        std::uint32_t sum = 0;
        for (unsigned i = 0; i < bundle; ++i) sum += count_bits(kept.present[lane * bundle + i]);
        return sum;
      };
      warp.sums_before(of_bundle, [&](unsigned lane, std::uint32_t sum) {
        kept.of_bundle[lane] = sum;
        if (lane == 31) kept.all = sum + of_bundle(lane);
        std::uint32_t own = 0;
        for (unsigned i = 0; i < bundle; ++i) {
          kept.before[lane * bundle + i] = static_cast<std::uint16_t>(own);
          own += count_bits(kept.present[lane * bundle + i]);
        }
      });
    });
    block.each([&](unsigned lane) {
      auto rank = kept.rank(lane * mask_share);
      for (unsigned k = 0; k < mask_share; ++k)
        if ((kept.present[lane] >> k & 1U) != 0) kept.tokens[rank++] = static_cast<std::uint16_t>(lane * mask_share + k);
      for (auto row = kept.first_row + lane; row < kept.end_row; row += mask_lanes)
        cu[row] = static_cast<T>(earlier + kept.rank(static_cast<unsigned>(row * width - begin)));
      if (lane == 0 && begin + mask_tile >= part.places) cu[kept.end_row] = static_cast<T>(earlier + kept.all);
    });
    if (indices == nullptr) return;
    block.each([&](unsigned lane) {
      for (auto i = lane; i < kept.all; i += mask_lanes) indices[earlier + i] = static_cast<Index>(begin + kept.tokens[i]);
    });
  }
};

}  // namespace detail

/// @brief Writes the indices of the tokens of padded rows, the cumulative lengths of the rows, and the longest; twin of
/// `ballast::unpad_rows`, as `unpad_input` of flash-attention.
///
/// @tparam On     the backend
/// @tparam Mask   an integer or bool
/// @tparam Index  `std::int32_t` or `std::int64_t`
/// @tparam T      `std::int32_t` or `std::int64_t`
/// @param on       the backend
/// @param temp     scratch memory, or null to get its size
/// @param bytes    size of `temp` in bytes; set if `temp` is null
/// @param mask     `rows` rows of `width` elements, not 0 where there is a token
/// @param rows     number of rows
/// @param width    elements of a row
/// @param indices  array of as many elements as there are tokens, at most `rows * width`; gets the place of each token in the mask; null if
///                 it is not wanted
/// @param cu       array of `rows` + 1 elements: tokens before each row, and of all rows
/// @param longest  one element: most tokens of a row
/// @return the error, if any; `invalid_value` if `width` is 0, `T` or `Index` cannot number the mask, or `bytes` is too small
/// @par Complexity
/// O(rows * width); reads the mask twice and writes each index once, with 12 bytes of scratch memory for 2,048 elements.
/// @par Determinism
/// Each element is written once.
template <class On, std::integral Mask, token_offset Index, token_offset T>
[[nodiscard]] typename On::error_type unpad_rows(On on, void* temp, std::size_t& bytes, Mask const* mask, std::size_t rows,
                                                 std::size_t width, Index* indices, T* cu, T* longest) {
  using error_type = typename On::error_type;
  auto const most = detail::largest<T> < detail::largest<Index> ? detail::largest<T> : detail::largest<Index>;
  if (width == 0 || rows > most / width) return On::invalid_value;
  detail::mask_part<Mask> const part{mask, rows * width};
  auto const tiles = rows == 0 ? 1 : divide_up(part.places, std::size_t{detail::mask_tile});
  workspace cut(temp);
  auto* const counts = cut.take<std::uint32_t>(tiles);
  auto* const before = cut.take<std::uint64_t>(tiles + 1);
  auto const scan = [&](void* room, std::size_t& need) {
    return on.exclusive_sum(room, need, mapped(detail::mask_counts{counts, tiles}), before, tiles + 1, std::uint64_t{0});
  };
  auto const reduce = [&](void* room, std::size_t& need) {
    return on.reduce(room, need, mapped(detail::longest_step<T>{cu}), longest, rows, T{0}, detail::longer_of{});
  };
  auto room = cut.finish<On>(bytes, scan, reduce);
  if (room.ends) return room.error;
  if (auto const error = on.blocks(tiles, detail::mask_lanes, 0, detail::count_mask<Mask>{part, counts}); error != error_type{})
    return error;
  auto const few = tiles <= detail::few_masks;
  if (auto const error = few ? error_type{} : scan(room.memory, room.bytes); error != error_type{}) return error;
  using place = detail::place_mask<Mask, T, Index>;
  place const work{part, width, counts, few ? nullptr : before, indices, cu};
  if (auto const error = on.blocks(tiles, detail::mask_lanes, sizeof(typename place::storage), work); error != error_type{}) return error;
  return reduce(room.memory, room.bytes);
}

/// @brief The tokens of padded rows without the padding, in memory of a backend, as `ballast::unpadded_rows`.
/// @tparam On the backend @tparam T element of the cumulative lengths @tparam Index element of the indices
template <class On, token_offset T = std::int32_t, token_offset Index = std::int64_t>
struct unpadded_rows {
  array<Index, On> indices;  ///< place of each token in the flattened mask, ascending
  array<T, On> cu_seqlens;   ///< tokens before each row, and of all rows
  T longest = 0;             ///< most tokens of a row, on the host
};

/// @brief Returns the tokens of padded rows, as the overload with `temp` writes them; allocates and waits.
/// @tparam T `std::int32_t` or `std::int64_t` @tparam Index `std::int32_t` or `std::int64_t`
/// @param on the backend @param mask rows of `width` elements, not 0 where there is a token @param rows number of rows
/// @param width elements of a row
/// @return indices and cumulative lengths on the device, and the longest row
/// @throws invalid_input as the host twin, with the same message
/// @throws gpu_error if the backend reports an error
template <token_offset T = std::int32_t, token_offset Index = std::int64_t, class On, std::integral Mask>
[[nodiscard]] unpadded_rows<On, T, Index> unpad_rows(On on, Mask const* mask, std::size_t rows, std::size_t width) {
  static_cast<void>(ballast::detail::require_mask<T, Index>(ballast::detail::values_of<Mask>("unpad_rows", rows, {width}), width));
  unpadded_rows<On, T, Index> out{{on, rows * width}, {on, rows + 1}};
  array<T, On> const longest(on, 1);
  call(on, "unpad_rows", [&](void* temp, std::size_t& bytes) {
    return unpad_rows(on, temp, bytes, mask, rows, width, out.indices.data(), out.cu_seqlens.data(), longest.data());
  });
  out.longest = fetch_one(on, longest.data());
  out.indices.shrink(static_cast<std::size_t>(fetch_one(on, out.cu_seqlens.data() + rows)));
  return out;
}

}  // namespace ballast::inline v0_2::gpu
