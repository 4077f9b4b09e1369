// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/layout/concepts.hpp>
#include <ballast/layout/detail/token_offsets.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief Segment ids of a packed row: 1, 2, … for its sequences, 0 for padding.

namespace ballast::inline v0_2 {

/// @brief Writes, for each token of a packed row, the number of its sequence.
///
/// Sequences are numbered from 1 in each pack; 0 is padding, after a sequence that is padded to a multiple or after the last sequence. Two
/// tokens may attend to each other if their ids are equal and not 0 (document_mask.hpp).
///
/// @tparam T  `std::int32_t` or `std::int64_t`
/// @tparam C  vector or span of token offsets
/// @param cu         cumulative lengths of one pack
/// @param cu_padded  where the sequences start: the padded cumulative lengths, or `cu` again if nothing is padded
/// @param out        the row: at least `cu_padded.back()` elements
/// @throws invalid_input if an array does not start at 0 or decreases, the two arrays do not match, a token number does not fit in `T`, or
/// the row is too short; `out` is then unchanged
/// @par Complexity
/// O(row).
template <token_offset T, cu_seqlens_range C>
void segment_ids(C const& cu, C const& cu_padded, std::span<T> out) {
  auto const bounds = detail::checked_cu_seqlens<T>(cu, "cu_seqlens");
  auto const starts = detail::checked_cu_seqlens<T>(cu_padded, "cu_seqlens_padded");
  require(bounds.size() == starts.size(),
          [&] { return sentence("cu_seqlens has ", bounds.size(), " entries but cu_seqlens_padded ", starts.size()); });
  for (std::size_t i = 1; i < starts.size(); ++i)
    require(bounds[i] - bounds[i - 1] <= starts[i] - starts[i - 1], [&] {
      return sentence("sequence ", i - 1, " has ", bounds[i] - bounds[i - 1], " tokens in cu_seqlens but room for only ",
                      starts[i] - starts[i - 1], " in cu_seqlens_padded");
    });
  detail::require_row(starts, out.size(), "segment_ids");
  std::fill(out.begin(), out.end(), T{0});
  for (std::size_t i = 1; i < starts.size(); ++i) std::fill_n(out.begin() + starts[i - 1], bounds[i] - bounds[i - 1], static_cast<T>(i));
}

/// @brief Returns the segment ids of one packed row, as the overload with `out` writes them.
///
/// @tparam T  `std::int32_t` or `std::int64_t`
/// @tparam C  vector or span of token offsets
/// @param cu         cumulative lengths of one pack
/// @param cu_padded  where the sequences start
/// @param row        tokens of the row; 0 means exactly those of the sequences, padding included
/// @return one id per token of the row
/// @throws invalid_input as the overload with `out`
template <token_offset T = std::int32_t, cu_seqlens_range C>
[[nodiscard]] std::vector<T> segment_ids(C const& cu, C const& cu_padded, std::size_t row = 0) {
  auto const used = static_cast<std::size_t>(detail::checked_cu_seqlens<T>(cu_padded, "cu_seqlens_padded").back());
  std::vector<T> out(row == 0 ? used : row);
  segment_ids(cu, cu_padded, std::span<T>(out));
  return out;
}

/// @brief Returns the segment ids of a row whose sequences are not padded. @tparam T element @tparam C vector or span of token offsets
/// @param cu cumulative lengths of one pack @param row tokens of the row; 0 means exactly those of the sequences
/// @return one id per token of the row
template <token_offset T = std::int32_t, cu_seqlens_range C>
[[nodiscard]] std::vector<T> segment_ids(C const& cu, std::size_t row = 0) {
  return segment_ids<T>(cu, cu, row);
}

}  // namespace ballast::inline v0_2
