// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief The tokens of every member of a packing, whatever the over-size policy did to the samples.

namespace ballast::inline v0_2 {

/// @brief Tokens of each member of a packing: entry `m` belongs to member `m` of `plan.packs`.
///
/// A sample that was cut counts what is left of it: the largest number of tokens that a pack holds after both roundings. Pieces of split
/// samples follow the samples, as their member numbers do. The entry of a sample that was set aside is its own length; no pack refers to
/// it. The other builders (cu_seqlens.hpp and the like) read members through this vector; where no sample exceeded the capacity, the
/// lengths themselves serve as well.
///
/// @tparam R      range of integers
/// @tparam Index  index type of the packing
/// @param lengths  the lengths that were packed
/// @param plan     what the packer returned for them
/// @param options  what it was asked
/// @return `lengths.size() + plan.pieces.size()` token counts
/// @throws invalid_input if a multiple in `options` is not positive, or a length does not fit in 63 bits
/// @par Complexity
/// O(samples + pieces).
template <length_range R, index_type Index>
[[nodiscard]] std::vector<std::int64_t> member_lengths(R const& lengths, packing<Index> const& plan, packing_options const& options) {
  require(options.sample_multiple > 0 && options.pack_multiple > 0,
          [] { return std::string("sample_multiple and pack_multiple must be positive"); });
  auto const in_packs = options.capacity - options.capacity % options.pack_multiple;
  auto const largest = in_packs - in_packs % options.sample_multiple;
  auto const cut = options.oversize == oversize::truncate || options.oversize == oversize::split;
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  auto const length_at = read_by_position(lengths);
  std::vector<std::int64_t> tokens;
  tokens.reserve(n + plan.pieces.size());
  for (std::size_t i = 0; i < n; ++i) {
    auto const raw = length_at[i];
    require(std::in_range<std::int64_t>(raw),
            [&] { return "lengths[" + std::to_string(i) + "] = " + std::to_string(raw) + " must be below 2^63"; });
    auto const length = static_cast<std::int64_t>(raw);
    tokens.push_back(cut ? (std::min)(length, largest) : length);
  }
  for (auto const& piece : plan.pieces) tokens.push_back(piece.length);
  return tokens;
}

}  // namespace ballast::inline v0_2
