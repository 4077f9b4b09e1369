// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/hash.hpp>
#include <ballast/core/status.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

/// @file
/// @brief `shards`: the result of every scheduler of long samples. It says which tokens of which samples each rank trains on in each pass.

namespace ballast::inline v0_2 {

/// @brief Where ranks wait for each other, and what a pass may hold.
///
/// A *pass* is one micro-batch of one rank: a forward and a backward pass over the tokens that it holds. Ranks that share a sample run
/// their passes with it at the same time.
enum class execution : std::uint8_t {
  independent,  ///< each rank runs its own passes and meets the others at the gradient; a pass holds shared samples or whole ones, not both
  lockstep,     ///< all ranks wait for each other after every micro-batch (ZeRO-3); all have the same number of passes
  mixed,        ///< as `independent`, but a pass may hold whole samples beside its shares of samples that several ranks share
};

/// @brief The name of a policy. @param policy any enumerator @return a word, such as "lockstep"
[[nodiscard]] constexpr std::string_view to_string(execution policy) noexcept {
  constexpr std::string_view names[] = {"independent", "lockstep", "mixed"};
  return names[static_cast<std::size_t>(policy)];
}

/// @brief How many ranks may share a sample.
enum class group_sizes : std::uint8_t {
  automatic,      ///< `powers_of_two` on a power of two ranks, or with more than 2^20 pairs of a sample and a rank; otherwise `any`
  powers_of_two,  ///< 1, 2, 4, ...: groups of `plan_shards` are aligned blocks, so there are few communicators
  any,            ///< any number of neighbouring ranks
};

/// @brief How the ranks of a group cut a sample.
enum class share_layout : std::uint8_t {
  contiguous,  ///< each rank holds neighbouring tokens (Ulysses: attention is split by heads)
  zigzag,      ///< each rank holds an early and a late chunk, so that causal attention costs all ranks the same (ring, all-gather)
};

/// @brief A value of `piece::group`: the rank holds the piece for itself.
inline constexpr std::uint32_t not_shared = (std::numeric_limits<std::uint32_t>::max)();

/// @brief Neighbouring tokens of a sample, on one rank.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct piece {
  Index sample = 0;                  ///< index of the sample
  std::int64_t begin = 0;            ///< its first token
  std::int64_t end = 0;              ///< past its last token; above `begin`
  std::uint32_t group = not_shared;  ///< number of the group of ranks that shares the sample in this pass, or `not_shared`
  friend constexpr bool operator==(piece const&, piece const&) = default;
};

/// @brief What each rank trains on in each pass of one global batch.
///
/// Passes of a rank are in the order in which it runs them. A group is used in one pass of each of its ranks; the pieces of its samples
/// are in these passes. The pieces of a pass that belong to one sample are neighbours, in ascending order.
///
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct shards {
  ballast::status status = status::feasible;              ///< whether there is a plan; `infeasible` and `unknown` have no passes
  std::vector<std::uint64_t> rank_offsets{0};             ///< `ranks() + 1` entries: the passes of each rank, numbered over all ranks
  std::vector<std::uint64_t> pass_offsets{0};             ///< `passes() + 1` entries: the pieces of each pass
  std::vector<piece<Index>> pieces;                       ///< pass after pass
  groups<std::uint32_t> rank_groups;                      ///< the ranks of each group, ascending, at least two
  ballast::execution execution = execution::independent;  ///< where ranks wait for each other
  /// Modelled time until the last rank is done, in units of the cost. The lower bound holds for every plan of the same samples, ranks,
  /// capacity, cost and policy.
  certificate time;
  std::vector<Index> left_out;  ///< samples in no pass, ascending: those that a method delays to a later batch or drops

  /// @brief Number of ranks. @return at least 0
  [[nodiscard]] std::size_t ranks() const noexcept { return rank_offsets.empty() ? 0 : rank_offsets.size() - 1; }
  /// @brief Number of passes of all ranks together. @return at least 0
  [[nodiscard]] std::size_t passes() const noexcept { return pass_offsets.empty() ? 0 : pass_offsets.size() - 1; }
  /// @brief Number of passes of one rank. @param rank below `ranks()` @return at least 0
  [[nodiscard]] std::size_t passes(std::size_t rank) const noexcept {
    return static_cast<std::size_t>(rank_offsets[rank + 1] - rank_offsets[rank]);
  }
  /// @brief The pieces of one pass of one rank. @param rank below `ranks()` @param pass below `passes(rank)` @return a view of `pieces`
  [[nodiscard]] std::span<piece<Index> const> operator()(std::size_t rank, std::size_t pass) const& noexcept {
    return of_pass(static_cast<std::size_t>(rank_offsets[rank]) + pass);
  }
  std::span<piece<Index> const> operator()(std::size_t, std::size_t) const&& = delete;  ///< a view of a temporary would dangle
  /// @brief The pieces of a pass. @param pass below `passes()`, counted over all ranks @return a view of `pieces`
  [[nodiscard]] std::span<piece<Index> const> of_pass(std::size_t pass) const& noexcept {
    return std::span(pieces).subspan(static_cast<std::size_t>(pass_offsets[pass]),
                                     static_cast<std::size_t>(pass_offsets[pass + 1] - pass_offsets[pass]));
  }
  std::span<piece<Index> const> of_pass(std::size_t) const&& = delete;  ///< a view of a temporary would dangle
};

/// @brief Hash of shards: FNV-1a over their passes, pieces and groups, and the samples left out.
/// @tparam Index  index type of the shards
/// @param plan  any shards
/// @return 64 bits; equal plans have equal hashes, whatever their index type
/// @par Complexity
/// O(pieces + ranks of all groups).
template <index_type Index>
[[nodiscard]] constexpr std::uint64_t hash(shards<Index> const& plan) noexcept {
  fnv1a h;
  for (auto const* offsets : {&plan.rank_offsets, &plan.pass_offsets}) {
    h.append(offsets->size());
    for (auto const at : *offsets) h.append(at);
  }
  for (auto const& p : plan.pieces)
    for (auto const value :
         {std::uint64_t{p.sample}, static_cast<std::uint64_t>(p.begin), static_cast<std::uint64_t>(p.end), std::uint64_t{p.group}})
      h.append(value);
  h.append(hash(plan.rank_groups));
  h.append(plan.left_out.size());
  for (auto const i : plan.left_out) h.append(i);
  return h.value();
}

}  // namespace ballast::inline v0_2
