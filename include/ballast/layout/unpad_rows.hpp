// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/layout/concepts.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief From an attention mask of padded rows to what variable-length kernels take, as `unpad_input` of flash-attention does.

namespace ballast::inline v0_2 {

/// @brief The tokens of padded rows without the padding.
/// @tparam T      element of the cumulative lengths
/// @tparam Index  element of the indices, by which tensors are often read as `std::int64_t`
template <token_offset T = std::int32_t, token_offset Index = std::int64_t>
struct unpadded_rows {
  std::vector<Index> indices;  ///< place of each token in the flattened mask, ascending
  std::vector<T> cu_seqlens;   ///< tokens before each row, and of all rows
  T longest = 0;               ///< most tokens of a row: the argument `max_seqlen` of kernels
};

namespace detail {
/// Throws unless the places of a mask can be numbered. Returns its rows.
template <token_offset T, token_offset Index>
std::size_t require_mask(std::size_t places, std::size_t width) {
  require(width > 0, [] { return std::string("width = 0 must be positive"); });
  require(places % width == 0, [&] { return sentence("unpad_rows: a mask of ", places, " elements has no rows of ", width); });
  require(std::in_range<T>(places) && std::in_range<Index>(places),
          [&] { return sentence("unpad_rows: a mask of ", places, " elements needs more than 32 bits; use std::int64_t"); });
  return places / width;
}
}  // namespace detail

/// @brief Returns where the tokens of padded rows are, and the cumulative lengths of the rows. Padding may be anywhere.
///
/// @tparam T      `std::int32_t` or `std::int64_t`
/// @tparam Index  `std::int32_t` or `std::int64_t`
/// @tparam M      vector or span of integers or bools
/// @param mask   rows of `width` elements, not 0 where there is a token
/// @param width  elements of a row
/// @return indices, cumulative lengths, and the longest row
/// @throws invalid_input if `width` is 0 or does not divide the mask, or `T` or `Index` cannot number its elements
/// @par Complexity
/// O(elements of the mask).
template <token_offset T = std::int32_t, token_offset Index = std::int64_t, std::ranges::contiguous_range M>
  requires std::integral<std::ranges::range_value_t<M>>
[[nodiscard]] unpadded_rows<T, Index> unpad_rows(M const& mask, std::size_t width) {
  auto const rows = detail::require_mask<T, Index>(std::ranges::size(mask), width);
  auto const* const at = std::ranges::data(mask);
  unpadded_rows<T, Index> out;
  out.cu_seqlens.reserve(rows + 1);
  out.cu_seqlens.push_back(0);
  for (std::size_t r = 0; r < rows; ++r) {
    for (auto i = r * width; i < (r + 1) * width; ++i)
      if (at[i] != 0) out.indices.push_back(static_cast<Index>(i));
    out.cu_seqlens.push_back(static_cast<T>(out.indices.size()));
    out.longest = (std::max)(out.longest, static_cast<T>(out.cu_seqlens[r + 1] - out.cu_seqlens[r]));
  }
  return out;
}

}  // namespace ballast::inline v0_2
