// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/gpu/layout/detail/cu_entries.cuh>
#include <ballast/gpu/layout/detail/pack_rows.cuh>
#include <ballast/layout/context_cu_seqlens.hpp>
#include <ballast/layout/zigzag.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief The cumulative lengths of packs under context parallelism on the device, actual and padded, of whole rows or of one rank.

namespace ballast::inline v0_2::gpu {

/// @brief Writes the actual and the padded cumulative lengths of all packs; twin of `ballast::context_cu_seqlens`.
///
/// @tparam On      the backend
/// @tparam Index   type of the members
/// @tparam Length  an integer
/// @tparam Offset  `std::int32_t` or `std::int64_t`
/// @param on            the backend
/// @param temp          scratch memory, or null to get its size
/// @param bytes         size of `temp` in bytes; set if `temp` is null
/// @param offsets       `packs` + 1 numbers: how many members come before each pack; or null for one pack
/// @param packs         number of packs; 1 without offsets
/// @param members       sample indices, pack after pack
/// @param member_count  number of members of all packs
/// @param lengths       tokens of each sample
/// @param length_count  number of samples
/// @param rule          the context-parallel degree
/// @param rank          0 … ranks - 1, or `whole_row`
/// @param cu            array of `member_count + packs` entries
/// @param cu_padded     array of as many entries
/// @param first_bad     one word, as that of `gpu::cu_seqlens` with a multiple of `2 * ranks`. The arrays are unspecified unless it is `~0`
/// @return the error, if any; `invalid_value` if ranks or rank are out of range, there are several packs without offsets, or `bytes` is
///         too small
/// @par Complexity
/// As `gpu::cu_seqlens`, with two entries and 16 bytes of scratch memory for a member.
/// @par Determinism
/// Sums of integers.
template <class On, index_type Index, integer Length, token_offset Offset>
[[nodiscard]] typename On::error_type context_cu_seqlens(On on, void* temp, std::size_t& bytes, std::uint64_t const* offsets,
                                                         std::size_t packs, Index const* members, std::size_t member_count,
                                                         Length const* lengths, std::size_t length_count, zigzag rule, std::int64_t rank,
                                                         Offset* cu, Offset* cu_padded, std::uint64_t* first_bad) {
  if (rule.ranks <= 0 || rule.ranks >= (std::int64_t{1} << 31) || rank < whole_row || rank >= rule.ranks) return On::invalid_value;
  if (offsets == nullptr && packs != 1) return On::invalid_value;
  detail::member_context<Offset, Index, Length> const member{
      {members, member_count, lengths, length_count, 2 * rule.ranks, first_bad}, rule, rank};
  auto const most = detail::largest<Offset> / (rank == whole_row ? 1 : static_cast<std::uint64_t>(rule.ranks));
  return detail::write_cumulative<detail::context_tokens>(on, temp, bytes, {offsets, packs, member_count}, member,
                                                          detail::write_context<Offset>{most, cu, cu_padded}, first_bad);
}

/// @brief Cumulative lengths of all packs in memory of a backend, as `ballast::context_lengths`.
/// @tparam On the backend @tparam T `std::int32_t` or `std::int64_t`
template <class On, token_offset T = std::int32_t>
struct context_lengths {
  array<T, On> cu_seqlens;         ///< the tokens of each sequence, padding not counted
  array<T, On> cu_seqlens_padded;  ///< where each sequence starts
};

/// @brief Returns both arrays, as the overload with `temp` writes them; allocates and waits.
/// @tparam Offset `std::int32_t` or `std::int64_t`
/// @param on the backend @param offsets offsets of the packs, or null for one pack @param packs number of packs
/// @param members sample indices, pack after pack @param member_count number of members of all packs @param lengths tokens of each sample
/// @param length_count number of samples @param rule the context-parallel degree @param rank 0 … ranks - 1, or `whole_row`
/// @return `member_count + packs` entries each, on the device
/// @throws invalid_input as the host twin, with the same message
/// @throws gpu_error if the backend reports an error
template <token_offset Offset = std::int32_t, class On, index_type Index, integer Length>
[[nodiscard]] context_lengths<On, Offset> context_cu_seqlens(On on, std::uint64_t const* offsets, std::size_t packs, Index const* members,
                                                             std::size_t member_count, Length const* lengths, std::size_t length_count,
                                                             zigzag rule, std::int64_t rank = whole_row) {
  ballast::detail::require_context(rule, rank);
  context_lengths<On, Offset> out{{on, member_count + packs}, {on, member_count + packs}};
  array<std::uint64_t, On> const bad(on, 1);
  call(on, "context_cu_seqlens", [&](void* temp, std::size_t& bytes) {
    return context_cu_seqlens(on, temp, bytes, offsets, packs, members, member_count, lengths, length_count, rule, rank,
                              out.cu_seqlens.data(), out.cu_seqlens_padded.data(), bad.data());
  });
  if (fetch_one(on, bad.data()) == none_bad) return out;
  ballast::groups<Index> const all{detail::fetch_offsets(on, {offsets, packs, member_count}, "cu_seqlens: ", "members"),
                                   fetch(on, members, member_count)};
  static_cast<void>(ballast::context_cu_seqlens<Offset>(all, fetch(on, lengths, length_count), rule, rank));
  return out;
}

}  // namespace ballast::inline v0_2::gpu
