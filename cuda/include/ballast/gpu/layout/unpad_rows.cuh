// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/mapped.cuh>
#include <ballast/gpu/core/reduce.cuh>
#include <ballast/gpu/core/scan.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/layout/detail/cu_entries.cuh>
#include <ballast/gpu/layout/detail/pack_rows.cuh>
#include <ballast/layout/concepts.hpp>
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

// A tile of a mask; each lane has consecutive places of it.
template <class Mask>
struct mask_part {
  Mask const* mask;
  std::size_t places;
  [[nodiscard]] BALLAST_HD std::size_t begin(std::size_t tile, unsigned lane) const {
    auto const at = tile * mask_tile + lane * mask_share;
    return at < places ? at : places;
  }
  [[nodiscard]] BALLAST_HD std::uint64_t tokens(std::size_t tile, unsigned lane) const {
    std::uint64_t found = 0;
    auto const first = begin(tile, lane), end = places - first < mask_share ? places : first + mask_share;
    for (auto i = first; i < end; ++i) found += mask[i] != 0 ? 1U : 0U;
    return found;
  }
};

// The block that counts the tokens of a tile.
template <class Mask>
struct count_mask {
  static constexpr unsigned most_lanes = mask_lanes;
  mask_part<Mask> part;
  std::uint32_t* counts;
  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t tile) const {
    auto const all = block.total([&](unsigned lane) { return part.tokens(tile, lane); });
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

// The block that writes the indices of a tile, and the entries of the rows that begin in it.
template <class Mask, class T, class Index>
struct place_mask {
  static constexpr unsigned most_lanes = mask_lanes;
  static constexpr unsigned bundle = 16;  // number of lanes whose counts one lane adds up
  mask_part<Mask> part;
  std::size_t width;
  std::uint64_t const* before;  // tokens before each tile, and of all
  Index* indices;
  T* cu;
  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t tile) const {
    auto* const count = block.template shared<std::uint32_t>();
    auto* const of_bundle = count + mask_lanes;
    block.each([&](unsigned lane) { count[lane] = static_cast<std::uint32_t>(part.tokens(tile, lane)); });
    block.each([&](unsigned lane) {
      if (lane >= mask_lanes / bundle) return;
      std::uint32_t sum = 0;
      for (auto i = lane * bundle; i < (lane + 1) * bundle; ++i) {
        auto const own = count[i];
        count[i] = sum;
        sum += own;
      }
      of_bundle[lane] = sum;
    });
    block.each([&](unsigned lane) {
      auto const first = part.begin(tile, lane), end = part.begin(tile, lane + 1);
      auto rank = before[tile] + count[lane];
      for (unsigned i = 0; i < lane / bundle; ++i) rank += of_bundle[i];
      if (lane == 0 && (tile + 1) * mask_tile >= part.places) cu[part.places / width] = static_cast<T>(before[tile + 1]);
      auto row = divide_up(first, width);  // the next that begins
      auto begin = row * width;
      for (auto i = first; i < end; ++i) {
        if (i == begin) {
          cu[row++] = static_cast<T>(rank);
          begin += width;
        }
        if (part.mask[i] == 0) continue;
        if (indices != nullptr) indices[rank] = static_cast<Index>(i);
        ++rank;
      }
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
  if (auto const error = scan(room.memory, room.bytes); error != error_type{}) return error;
  using place = detail::place_mask<Mask, T, Index>;
  auto const shared = (detail::mask_lanes + detail::mask_lanes / place::bundle) * sizeof(std::uint32_t);
  if (auto const error = on.blocks(tiles, detail::mask_lanes, shared, place{part, width, before, indices, cu}); error != error_type{})
    return error;
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
  static_cast<void>(ballast::detail::require_mask<T, Index>(rows * width, width));
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
