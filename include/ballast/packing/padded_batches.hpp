// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/oversize.hpp>
#include <ballast/packing/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `padded_batches`: samples into the fewest batches whose rows are padded to the longest one.

namespace ballast::inline v0_2 {

/// @brief The length to which each sample is padded: that of the longest of its batch, rounded up.
///
/// @tparam Index  type of the sample indices
/// @param batches  sample indices of each batch
/// @param tokens   tokens of each sample
/// @param multiple rows have a multiple of this many tokens
/// @return one entry for each sample; a sample in no batch keeps its own tokens
/// @throws invalid_input if a sample has no tokens in the list
/// @par Complexity
/// O(samples).
template <index_type Index>
[[nodiscard]] std::vector<std::int64_t> padded_lengths(groups<Index> const& batches, std::span<std::int64_t const> tokens,
                                                       std::int64_t multiple = 1) {
  std::vector<std::int64_t> out(tokens.begin(), tokens.end());
  for (auto const batch : batches) {
    std::int64_t longest = 0;
    for (auto const i : batch) {
      require(i < tokens.size(), [&] { return sentence("a batch holds ", i, ", which is no sample"); });
      longest = (std::max)(longest, tokens[static_cast<std::size_t>(i)]);
    }
    for (auto const i : batch) out[static_cast<std::size_t>(i)] = round_up(longest, multiple);
  }
  return out;
}

/// @brief Puts samples into the fewest batches of at most `capacity` tokens, where every row of a batch is padded to its longest one:
/// rows times longest row is at most the capacity, the `max_tokens` batches of frameworks.
///
/// The longest sample opens a batch, which takes as many of the next longest as it has rows for; and so on with what is left. No plan has
/// fewer batches: the batch of the longest sample has the same number of rows whoever shares it, and longer rows in it only leave shorter
/// ones for others.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths  tokens of each sample, at least 1
/// @param options  `capacity`, `max_samples`, `sample_multiple` (rows have a multiple of it) and `oversize`, but not `split`, `alone`;
/// numbers of packs cannot be demanded
/// @return batches, longest first; `tokens` are those of the samples, without padding
/// @post no batch has more than `capacity` tokens with padding; the number of batches is the least possible
/// @throws invalid_input as `apply_oversize`, or for another option
/// @par Complexity
/// O(n log n).
/// @par Determinism
/// A pure function of its arguments; equal lengths keep their order.
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] packing<Index> padded_batches(R const& lengths, packing_options const& options) {
  require(options.oversize != oversize::split && options.oversize != oversize::alone,
          [] { return std::string("oversize: a padded row can be rejected, set aside or truncated"); });
  require(options.pack_count == 0 && options.pack_count_multiple == 1 && options.pack_multiple == 1,
          [] { return std::string("pack_count, pack_count_multiple and pack_multiple are not for padded batches"); });
  auto items = apply_oversize<Index>(lengths, options);
  packing<Index> out;
  std::vector<keyed_item<Index>> order, scratch;
  for (std::size_t i = 0, aside = 0; i < items.tokens.size(); ++i)
    if (aside < items.set_aside.size() && items.set_aside[aside] == i)
      ++aside;
    else
      order.push_back({items.tokens[i], static_cast<Index>(i)});
  sort_largest_first(order, scratch);
  auto const most =
      options.max_samples == 0 ? order.size() : static_cast<std::size_t>((std::min)(options.max_samples, std::uint64_t{order.size()}));
  for (std::size_t first = 0; first < order.size();) {
    auto const rows = static_cast<std::uint64_t>(options.capacity / round_up(order[first].key, options.sample_multiple));
    auto const last =
        first + (std::min)({order.size() - first, most, static_cast<std::size_t>((std::min)(rows, std::uint64_t{order.size()}))});
    for (; first < last; ++first) out.packs.members.push_back(order[first].item);
    out.packs.offsets.push_back(last);
  }
  auto const batches = static_cast<std::int64_t>(out.packs.size());
  out.count = {batches, batches};
  out.bound = batches == 0 ? packing_bound::none : packing_bound::longest_rows;
  out.tokens = items.all_tokens;
  out.set_aside = std::move(items.set_aside);
  return out;
}

}  // namespace ballast::inline v0_2
