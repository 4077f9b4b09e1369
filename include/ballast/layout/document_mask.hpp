// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/layout/concepts.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief Who may attend to whom in a packed row: the block-diagonal mask of its documents.

namespace ballast::inline v0_2 {

/// @brief The definition of attention in a packed row: query `q` sees key `k` where both are tokens of one document and, if causal, `k <=
/// q`.
///
/// Padding neither sees nor is seen, so its rows are empty. Cheap to copy, and callable on host and device.
///
/// @tparam T  element of the segment ids
template <token_offset T = std::int32_t>
struct document_mask {
  T const* segment_ids = nullptr;  ///< ids of the row's tokens, 0 for padding (segment_ids.hpp); kept alive by the caller
  bool causal = true;              ///< whether a token sees only itself and what is before it

  /// @brief Whether `q` may attend to `k`. @param q query token of the row @param k key token of the row
  [[nodiscard]] BALLAST_HD constexpr bool operator()(std::size_t q, std::size_t k) const noexcept {
    return segment_ids[q] == segment_ids[k] && segment_ids[q] != 0 && (!causal || k <= q);
  }
};

/// @brief The mask of a row as a dense matrix: for tests, pictures and attention without variable lengths.
///
/// @tparam T  element of the segment ids
/// @param segment_ids  ids of the row's tokens, 0 for padding
/// @param causal       whether a token sees only itself and what is before it
/// @return `n * n` bytes, row-major: entry `q * n + k` is 1 where `q` may attend to `k`, else 0
/// @throws invalid_input above 65536 tokens (4 GiB)
/// @par Complexity
/// O(n^2) time and memory.
template <token_offset T>
[[nodiscard]] std::vector<std::uint8_t> dense_document_mask(std::span<T const> segment_ids, bool causal = true) {
  auto const n = segment_ids.size();
  require(n <= 65536, [&] { return "a dense mask of " + std::to_string(n) + " tokens is too large; use document_mask or cu_seqlens"; });
  auto const mask = document_mask<T>{segment_ids.data(), causal};
  std::vector<std::uint8_t> dense(n * n);
  for (std::size_t q = 0; q < n; ++q)
    for (std::size_t k = 0; k < n; ++k) dense[q * n + k] = mask(q, k) ? 1 : 0;
  return dense;
}

}  // namespace ballast::inline v0_2
