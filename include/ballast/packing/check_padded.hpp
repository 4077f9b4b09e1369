// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/check.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/packing/check.hpp>
#include <ballast/packing/options.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <string>

/// @file
/// @brief `check_padded`: the validator of batches whose rows are padded to the longest one, of this library or any other.

namespace ballast::inline v0_2 {

/// @brief Checks batches in which each row is padded to the longest: every sample occurs exactly once or, under `oversize::set_aside`, not
/// at all where it exceeds the capacity; no batch is empty, has more than `max_samples` rows, or more than `capacity` tokens with padding.
///
/// @tparam Index  index type of the groups
/// @tparam R      range of integers
/// @param batches  sample indices of each batch; offsets and members may have any values
/// @param lengths  tokens of each sample, each at least 1
/// @param options  `capacity`, `max_samples`, `sample_multiple` and `oversize`: `reject`, `set_aside` or `truncate`
/// @return the first broken rule of `packing_fault`
/// @throws invalid_input unless every length and option is valid
/// @par Complexity
/// O(samples + members).
template <index_type Index, length_range R>
[[nodiscard]] verdict check_padded(groups<Index> const& batches, R const& lengths, packing_options const& options) {
  using broken = packing_fault;
  require(options.oversize != oversize::split && options.oversize != oversize::alone,
          [] { return std::string("oversize: a padded row can be rejected, set aside or truncated"); });
  auto limits = options;  // rows without padding need no more than this, and are checked as packs
  limits.pack_count = 0;
  limits.pack_count_multiple = 1;
  limits.pack_multiple = 1;
  if (auto const v = check_packing(batches, lengths, limits); !v.valid()) return v;
  auto const capacity = static_cast<std::uint64_t>(options.capacity), multiple = static_cast<std::uint64_t>(options.sample_multiple);
  auto const at = std::ranges::begin(lengths);
  for (std::size_t b = 0; b < batches.size(); ++b) {
    std::uint64_t longest = 0;
    for (auto const i : batches[b]) {
      auto const length = static_cast<std::uint64_t>(at[static_cast<std::ptrdiff_t>(i)]);
      if (length > longest) longest = length;
    }
    auto row = (longest + (multiple - 1)) / multiple * multiple;
    if (row > capacity) row = capacity / multiple * multiple;  // it is truncated
    auto const rows = std::uint64_t{batches[b].size()};
    if (row != 0 && rows > capacity / row)
      return {broken::overfull_pack, b, rows > (std::numeric_limits<std::uint64_t>::max)() / row ? rows : rows * row, capacity};
  }
  return {};
}

}  // namespace ballast::inline v0_2
