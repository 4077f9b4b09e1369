// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/layout/concepts.hpp>
#include <ballast/layout/detail/token_offsets.hpp>
#include <ballast/layout/zigzag.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief The cumulative lengths of packs under context parallelism, actual and padded, of the whole rows or of one rank.
///
/// Each sample is padded to a multiple of `2 * ranks`, as Transformer Engine's THD format wants, whose attention takes both arrays of the
/// whole row (`cu_seqlens_q`, `cu_seqlens_q_padded`). A rank holds two chunks of each sample (zigzag.hpp). The padding is at the end of a
/// sample, so the tokens that a rank holds of it come before the padding that it holds.

namespace ballast::inline v0_2 {

/// @brief In place of a rank: the row before it is divided.
inline constexpr std::int64_t whole_row = -1;

/// @brief Cumulative lengths of all packs, pack after pack, as `cu_seqlens(packs, …)`. @tparam T `std::int32_t` or `std::int64_t`
template <token_offset T = std::int32_t>
struct context_lengths {
  std::vector<T> cu_seqlens;         ///< the tokens of each sequence, padding not counted
  std::vector<T> cu_seqlens_padded;  ///< where each sequence starts
  friend bool operator==(context_lengths const&, context_lengths const&) = default;
};

namespace detail {
// How many tokens of a sample of `length`, padded to `padded`, a rank holds.
[[nodiscard]] BALLAST_HD constexpr std::int64_t held_tokens(std::int64_t length, std::int64_t padded, zigzag rule, std::int64_t rank) {
  if (rank == whole_row) return length;
  auto const chunk = padded / (2 * rule.ranks), early = length - rank * chunk, late = length - (2 * rule.ranks - 1 - rank) * chunk;
  return (early < 0 ? 0 : early < chunk ? early : chunk) + (late < 0 ? 0 : late < chunk ? late : chunk);
}
inline void require_context(zigzag rule, std::int64_t rank) {
  require(rule.ranks > 0 && rule.ranks < (std::int64_t{1} << 31),
          [&] { return sentence("ranks = ", rule.ranks, " must be positive and below 2^31"); });
  require(rank == whole_row || (rank >= 0 && rank < rule.ranks),
          [&] { return sentence("rank = ", rank, " must be in [0, ", rule.ranks, "), or whole_row"); });
}
}  // namespace detail

/// @brief Writes the actual and the padded cumulative lengths of all packs.
///
/// @tparam T      `std::int32_t` or `std::int64_t`
/// @tparam Index  index type of the packs
/// @tparam R      range of lengths
/// @param packs          the packs
/// @param lengths        tokens of each member
/// @param rule           the context-parallel degree
/// @param rank           0 … ranks - 1, or `whole_row`
/// @param cu             array of `packs.members.size() + packs.size()` elements
/// @param cu_padded      array of the same size
/// @post the tokens of a sequence on all ranks are those of the sample; padded, each rank has as many
/// @throws invalid_input as `cu_seqlens` with a multiple of `2 * ranks`, or if a rank is out of range; the arrays are then unchanged
/// @par Complexity
/// O(members + packs).
template <token_offset T, index_type Index, length_range R>
void context_cu_seqlens(groups<Index> const& packs, R const& lengths, zigzag rule, std::int64_t rank, std::span<T> cu,
                        std::span<T> cu_padded) {
  detail::require_context(rule, rank);
  detail::require_room(cu.size(), packs.members.size() + packs.size(), "cu_seqlens");
  detail::require_room(cu_padded.size(), packs.members.size() + packs.size(), "cu_seqlens_padded");
  auto const multiple = 2 * rule.ranks;
  for (std::size_t p = 0; p < packs.size(); ++p) detail::require_addressable<T>(packs[p], lengths, multiple, static_cast<std::int64_t>(p));
  auto const length_at = read_by_position(lengths);
  std::size_t to = 0;
  for (auto const pack : packs) {
    std::int64_t held = 0, room = 0;
    for (auto const member : pack) {
      cu[to] = static_cast<T>(held);
      cu_padded[to++] = static_cast<T>(room);
      auto const length = static_cast<std::int64_t>(length_at[static_cast<std::size_t>(member)]);
      auto const padded = static_cast<std::int64_t>(detail::padded(length, multiple));
      held += detail::held_tokens(length, padded, rule, rank);
      room += rank == whole_row ? padded : padded / rule.ranks;
    }
    cu[to] = static_cast<T>(held);
    cu_padded[to++] = static_cast<T>(room);
  }
}

/// @brief Returns both arrays, as the overload that writes them.
/// @tparam T `std::int32_t` or `std::int64_t` @tparam Index index type of the packs @tparam R range of lengths
/// @param packs the packs @param lengths tokens of each member @param rule the context-parallel degree
/// @param rank 0 … ranks - 1, or `whole_row`
/// @return `packs.members.size() + packs.size()` entries each
/// @throws invalid_input as the overload that writes them
template <token_offset T = std::int32_t, index_type Index, length_range R>
[[nodiscard]] context_lengths<T> context_cu_seqlens(groups<Index> const& packs, R const& lengths, zigzag rule,
                                                    std::int64_t rank = whole_row) {
  auto const entries = packs.members.size() + packs.size();
  context_lengths<T> out{std::vector<T>(entries), std::vector<T>(entries)};
  context_cu_seqlens(packs, lengths, rule, rank, std::span<T>(out.cu_seqlens), std::span<T>(out.cu_seqlens_padded));
  return out;
}

}  // namespace ballast::inline v0_2
