// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/layout/concepts.hpp>
#include <ballast/layout/detail/token_offsets.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

/// @file
/// @brief Position ids of a packed row; they restart at 0 in every sequence.

namespace ballast::inline v0_2 {

/// @brief Writes the position of each token of one packed row within its sequence.
///
/// If sequences are padded to a multiple, pass the padded cumulative lengths: positions then continue through the padding of each sequence.
/// The rest of the row, after the last sequence, gets 0.
///
/// @tparam T  `std::int32_t` or `std::int64_t`
/// @tparam C  vector or span of token offsets
/// @param cu   cumulative lengths of one pack
/// @param out  the row: at least `cu.back()` elements
/// @post token `t` of the sequence that starts at `s` holds `t - s`
/// @throws invalid_input if `cu` does not start at 0 or decreases, a token number does not fit in `T`, or the row is too short; `out` is
/// then unchanged
/// @par Complexity
/// O(row).
template <token_offset T, cu_seqlens_range C>
void position_ids(C const& cu, std::span<T> out) {
  auto const starts = detail::checked_cu_seqlens<T>(cu, "cu_seqlens");
  detail::require_row(starts, out.size(), "position_ids");
  for (std::size_t i = 1; i < starts.size(); ++i) std::iota(out.begin() + starts[i - 1], out.begin() + starts[i], T{0});
  std::fill(out.begin() + starts.back(), out.end(), T{0});
}

/// @brief Returns the position ids of one packed row, as the overload with `out` writes them.
///
/// @tparam T  `std::int32_t` or `std::int64_t`
/// @tparam C  vector or span of token offsets
/// @param cu   cumulative lengths of one pack
/// @param row  tokens of the row; 0 means exactly those of the sequences
/// @return one position per token of the row
/// @throws invalid_input as the overload with `out`
template <token_offset T = std::int32_t, cu_seqlens_range C>
[[nodiscard]] std::vector<T> position_ids(C const& cu, std::size_t row = 0) {
  auto const used = static_cast<std::size_t>(detail::checked_cu_seqlens<T>(cu, "cu_seqlens").back());
  std::vector<T> out(row == 0 ? used : row);
  position_ids(cu, std::span<T>(out));
  return out;
}

}  // namespace ballast::inline v0_2
