// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/layout/concepts.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief What kernels and loaders take, for one pass of one rank: its samples, cumulative lengths, position ids, token indices.
///
/// The row of a pass is its pieces one after the other, so the tokens of a sample are neighbours: its shared ones first the early chunk,
/// then the late one.

namespace ballast::inline v0_2 {

namespace detail {

template <index_type Index>
[[nodiscard]] std::span<piece<Index> const> checked_pass(shards<Index> const& plan, std::size_t rank, std::size_t pass) {
  require(rank < plan.ranks(), [&] { return sentence("rank = ", rank, " must be below ", plan.ranks()); });
  require(pass < plan.passes(rank),
          [&] { return sentence("pass = ", pass, " must be below ", plan.passes(rank), ", the passes of rank ", rank); });
  return plan(rank, pass);
}
/// Throws unless `T` can hold every number up to `largest`.
template <token_offset T, std::integral Number>
void require_offset(Number largest, char const* what) {
  require(std::in_range<T>(largest), [&] { return sentence(what, ": ", largest, " does not fit in ", 8 * sizeof(T), " bits"); });
}

}  // namespace detail

/// @brief The samples of a pass, in the order of its row. `cu_seqlens(samples, lengths)` of them are the lengths of the complete samples:
/// those of the keys, where a rank attends to the keys of its whole group.
///
/// @tparam Index  index type of the shards
/// @param plan  the shards
/// @param rank  below `plan.ranks()`
/// @param pass  below `plan.passes(rank)`
/// @return sample indices, each once
/// @throws invalid_input if there is no such rank or pass
/// @par Complexity
/// O(pieces of the pass).
template <index_type Index>
[[nodiscard]] std::vector<Index> shard_samples(shards<Index> const& plan, std::size_t rank, std::size_t pass) {
  std::vector<Index> samples;
  for (auto const& p : detail::checked_pass(plan, rank, pass))
    if (samples.empty() || samples.back() != p.sample) samples.push_back(p.sample);
  return samples;
}

/// @brief The cumulative lengths of the tokens that a rank holds in a pass: one sequence for each sample, its pieces joined.
///
/// For zigzag shares of lengths that are multiples of twice the number of ranks, these are the cumulative lengths of the complete samples
/// divided by the number of ranks, as Transformer Engine expects them.
///
/// @tparam T      `std::int32_t` or `std::int64_t`
/// @tparam Index  index type of the shards
/// @param plan  the shards
/// @param rank  below `plan.ranks()`
/// @param pass  below `plan.passes(rank)`
/// @return one entry more than the pass has samples, from 0 to its number of tokens
/// @throws invalid_input if there is no such rank or pass, or the tokens do not fit in `T`
/// @par Complexity
/// O(pieces of the pass).
template <token_offset T = std::int32_t, index_type Index>
[[nodiscard]] std::vector<T> shard_cu_seqlens(shards<Index> const& plan, std::size_t rank, std::size_t pass) {
  std::vector<T> out{0};
  std::uint64_t tokens = 0;  // 2^63 tokens fit in no offset
  piece<Index> const* before = nullptr;
  for (auto const& p : detail::checked_pass(plan, rank, pass)) {
    tokens += static_cast<std::uint64_t>(p.end) - static_cast<std::uint64_t>(p.begin);
    detail::require_offset<T>(tokens, "shard_cu_seqlens");
    if (before == nullptr || before->sample != p.sample) out.push_back(0);
    out.back() = static_cast<T>(tokens);
    before = &p;
  }
  return out;
}

/// @brief The position of each token of a pass within its sample.
/// @tparam T `std::int32_t` or `std::int64_t` @tparam Index index type of the shards
/// @param plan the shards @param rank below `plan.ranks()` @param pass below `plan.passes(rank)`
/// @return one position for each token of the row
/// @throws invalid_input if there is no such rank or pass, or a position does not fit in `T`
/// @par Complexity
/// O(tokens of the pass).
template <token_offset T = std::int32_t, index_type Index>
[[nodiscard]] std::vector<T> shard_position_ids(shards<Index> const& plan, std::size_t rank, std::size_t pass) {
  std::vector<T> out;
  for (auto const& p : detail::checked_pass(plan, rank, pass)) {
    detail::require_offset<T>(p.end, "shard_position_ids");
    for (auto t = p.begin; t < p.end; ++t) out.push_back(static_cast<T>(t));
  }
  return out;
}

/// @brief The place of each token of a pass in an array that holds all samples: `starts[sample]` plus its position.
///
/// With the offsets of a memory-mapped data set this is what a loader reads. With `cu_seqlens` of the samples of one shared pass it is the
/// zigzag index of each token in the packed row of the group (`zigzag_indices`).
///
/// @tparam T      `std::int32_t` or `std::int64_t`
/// @tparam Index  index type of the shards
/// @param plan    the shards
/// @param rank    below `plan.ranks()`
/// @param pass    below `plan.passes(rank)`
/// @param starts  place of the first token of each sample, not negative
/// @return one index for each token of the row
/// @throws invalid_input if there is no such rank or pass, a sample has no start, or an index does not fit in `T`
/// @par Complexity
/// O(tokens of the pass).
template <token_offset T = std::int64_t, index_type Index>
[[nodiscard]] std::vector<T> shard_token_indices(shards<Index> const& plan, std::size_t rank, std::size_t pass,
                                                 std::span<std::int64_t const> starts) {
  std::vector<T> out;
  for (auto const& p : detail::checked_pass(plan, rank, pass)) {
    require(p.sample < starts.size(), [&] { return sentence("starts has ", starts.size(), " entries, none for sample ", p.sample); });
    auto const start = starts[p.sample];
    require(start >= 0 && start <= (std::numeric_limits<std::int64_t>::max)() - p.end,
            [&] { return entry("starts", p.sample, start) + " must not be negative, nor bring an index to 2^63"; });
    detail::require_offset<T>(start + p.end, "shard_token_indices");
    for (auto t = p.begin; t < p.end; ++t) out.push_back(static_cast<T>(start + t));
  }
  return out;
}

}  // namespace ballast::inline v0_2
