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
/// @brief Position ids of a packed row: they restart at 0 with every sequence.

namespace ballast::inline v0_2 {

/// @brief Writes the position of each token of one packed row inside its sequence.
///
/// Where sequences are padded to a multiple, pass the padded cumulative lengths: positions run on through a sequence's own padding. The
/// rest of the row, behind the last sequence, holds 0.
///
/// @tparam T  `std::int32_t` or `std::int64_t`
/// @tparam C  vector or span of token offsets
/// @param cu   cumulative lengths of one pack
/// @param out  the row: at least `cu.back()` elements
/// @post token `t` of the sequence that starts at `s` holds `t - s`
/// @throws invalid_input if `cu` does not start at 0 or decreases, a token number does not fit in `T`, or the row is too short; `out` is
/// untouched then
/// @par Complexity
/// O(row).
template <token_offset T, cu_seqlens_range C>
void position_ids(C const& cu, std::span<T> out) {
  auto const starts = detail::checked_cu_seqlens<T>(cu, "cu_seqlens");
  detail::require_row(starts, out.size(), "position_ids");
  for (std::size_t i = 1; i < starts.size(); ++i) std::iota(out.begin() + starts[i - 1], out.begin() + starts[i], T{0});
  std::fill(out.begin() + starts.back(), out.end(), T{0});
}

/// @brief The position ids of one packed row, by value. See the form above.
///
/// @tparam T  `std::int32_t` or `std::int64_t`
/// @tparam C  vector or span of token offsets
/// @param cu   cumulative lengths of one pack
/// @param row  tokens of the row; 0 means no more than the sequences
/// @return `row` positions
/// @throws invalid_input as above
template <token_offset T = std::int32_t, cu_seqlens_range C>
[[nodiscard]] std::vector<T> position_ids(C const& cu, std::size_t row = 0) {
  auto const used = static_cast<std::size_t>(detail::checked_cu_seqlens<T>(cu, "cu_seqlens").back());
  std::vector<T> out(row == 0 ? used : row);
  position_ids(cu, std::span<T>(out));
  return out;
}

}  // namespace ballast::inline v0_2
