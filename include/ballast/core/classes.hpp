// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/fold_values.hpp>
#include <ballast/core/histogram.hpp>
#include <ballast/core/kept_memory.hpp>
#include <ballast/core/lengths.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

/// @file
/// @brief Folds sample lengths into a histogram. Lengths repeat, so planners decide on distinct lengths and their counts.

namespace ballast::inline v0_2 {

/// @brief Folds sample lengths into caller-owned memory; later calls reuse the memory and allocate nothing when it is large enough.
/// @param lengths    sample lengths in tokens, each at least 1, in any order; may be empty
/// @param out        overwritten with the histogram
/// @param workspace  scratch memory, kept between calls
/// @throws invalid_input if a length is not positive or the sum reaches 2^63; `out` is then unchanged
template <length_range R>
void fold(R const& lengths, histogram& out, fold_workspace& workspace) {
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  auto const at = read_by_position(lengths);
  // Most lengths are short: this limit skips the pass that would find the longest.
  auto const limit = (std::min)(longest_for_a_table(n), std::int64_t{16383});
  if (fold_by_table(at, n, limit, false, out, detail::memory_of(workspace).table)) return;
  fold(at, n, extent_of(lengths).longest, out, workspace);
}

/// @brief Folds sample lengths into their histogram.
///
/// @tparam R  range of integers
/// @param lengths  sample lengths in tokens, each at least 1, in any order; may be empty
/// @return the histogram
/// @throws invalid_input if a length is not positive or the sum reaches 2^63
/// @par Complexity
/// O(n) if the longest length is at most about 8 n and at most 2^24, O(n log n) otherwise.
template <length_range R>
[[nodiscard]] histogram fold(R const& lengths) {
  histogram h;
  fold_workspace workspace;
  fold(lengths, h, workspace);
  return h;
}

}  // namespace ballast::inline v0_2
