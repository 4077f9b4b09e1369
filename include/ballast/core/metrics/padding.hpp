// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/math.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// @file
/// @brief How much of micro-batches is padding, if each is padded to its longest sample.

namespace ballast::inline v0_2 {

/// @brief How much of micro-batches is padding, if each is padded to its longest sample.
struct padding_figures {
  double mean_ratio = 0;     ///< as published: mean over the micro-batches of sum(max - length) / (max * samples)
  double total_ratio = 0;    ///< as in OmniBal's code: all padding tokens over all tokens with padding
  std::int64_t padding = 0;  ///< number of padding tokens
  std::int64_t padded = 0;   ///< number of tokens with padding
  friend constexpr bool operator==(padding_figures const&, padding_figures const&) = default;
};

/// @brief Padding Ratio (PR) of micro-batches.
/// @tparam Index index type of the groups
/// @param micro_batches  sample indices of each micro-batch; an empty micro-batch has no padding but counts in the mean
/// @param lengths        length of every sample, not negative
/// @return both forms of the ratio
/// @throws invalid_input if a sample index is out of range, a length is negative or a sum reaches 2^63
/// @par Complexity
/// O(members).
/// @par Source
/// OmniBal, arXiv 2407.20761, section 3, and its code; HBP, arXiv 2503.07680, table 3.
template <index_type Index>
[[nodiscard]] padding_figures padding_ratio(groups<Index> const& micro_batches, std::span<std::int64_t const> lengths) {
  padding_figures f;
  double sum_of_ratios = 0;
  for (auto const batch : micro_batches) {
    std::int64_t longest = 0, padded = 0, tokens = 0;
    for (auto const i : batch) {
      require(i < lengths.size(), [&] { return "a micro-batch holds " + std::to_string(i) + ", which is no sample"; });
      longest = (std::max)(longest, lengths[static_cast<std::size_t>(i)]);
      add_checked(tokens, lengths[static_cast<std::size_t>(i)], "lengths", static_cast<std::size_t>(i));
    }
    for (std::size_t i = 0; i < batch.size(); ++i) add_checked(padded, longest, "longest of micro-batch", i);
    add_checked(f.padded, padded, "padded micro-batch", 0);
    f.padding += padded - tokens;
    if (padded != 0) sum_of_ratios += static_cast<double>(padded - tokens) / static_cast<double>(padded);
  }
  if (!micro_batches.empty()) f.mean_ratio = sum_of_ratios / static_cast<double>(micro_batches.size());
  if (f.padded != 0) f.total_ratio = static_cast<double>(f.padding) / static_cast<double>(f.padded);
  return f;
}

}  // namespace ballast::inline v0_2
