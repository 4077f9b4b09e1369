// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/layout/concepts.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief The attention mask of a packed row: block-diagonal, one block per sequence.

namespace ballast::inline v0_2 {

/// @brief The attention mask of a packed row: query `q` sees key `k` if both belong to the same sequence and, if causal, `k <= q`.
///
/// Padding sees nothing and is seen by nothing, so its rows are empty. The mask is cheap to copy and can be called on host and device.
///
/// @tparam T  element of the segment ids
template <token_offset T = std::int32_t>
struct document_mask {
  T const* segment_ids = nullptr;  ///< ids of the row's tokens, 0 for padding (segment_ids.hpp); the caller keeps the array alive
  bool causal = true;              ///< whether a token sees only itself and the tokens before it

  /// @brief Whether `q` may attend to `k`. @param q query token of the row @param k key token of the row
  [[nodiscard]] BALLAST_HD constexpr bool operator()(std::size_t q, std::size_t k) const noexcept {
    return segment_ids[q] == segment_ids[k] && segment_ids[q] != 0 && (!causal || k <= q);
  }
};

/// @brief Returns the mask of a row as a dense matrix, for tests, pictures and attention without variable lengths.
///
/// @tparam T  element of the segment ids
/// @param segment_ids  ids of the row's tokens, 0 for padding
/// @param causal       whether a token sees only itself and the tokens before it
/// @return `n * n` bytes, row-major: entry `q * n + k` is 1 if `q` may attend to `k`, otherwise 0
/// @throws invalid_input if there are more than 65536 tokens (4 GiB)
/// @par Complexity
/// O(n^2) time and memory.
template <token_offset T>
[[nodiscard]] std::vector<std::uint8_t> dense_document_mask(std::span<T const> segment_ids, bool causal = true) {
  auto const n = segment_ids.size();
  require(n <= 65536, [&] { return sentence("a dense mask of ", n, " tokens is too large; use document_mask or cu_seqlens"); });
  auto const mask = document_mask<T>{segment_ids.data(), causal};
  std::vector<std::uint8_t> dense(n * n);
  for (std::size_t q = 0; q < n; ++q)
    for (std::size_t k = 0; k < n; ++k) dense[q * n + k] = mask(q, k) ? 1 : 0;
  return dense;
}

}  // namespace ballast::inline v0_2
