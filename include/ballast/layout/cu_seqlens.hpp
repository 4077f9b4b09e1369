// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/layout/concepts.hpp>
#include <ballast/layout/detail/token_offsets.hpp>

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief Cumulative sequence lengths of packs, as variable-length attention kernels need them.
///
/// `cu_seqlens` of a pack starts at 0 and has one entry more than the pack has sequences: sequence `i` has
/// `cu_seqlens[i + 1] - cu_seqlens[i]` tokens (FlashAttention, Transformer Engine). If each sequence is padded to a multiple, a kernel
/// needs two arrays: the actual one (`multiple = 1`), and the padded one (`multiple = m`), which says where in the row each sequence
/// starts. Lengths are indexed by member; for a packing with cut samples pass `apply_oversize(…).tokens`.

namespace ballast::inline v0_2 {

/// @brief Writes the cumulative lengths of one pack.
///
/// @tparam T  `std::int32_t` or `std::int64_t`
/// @tparam P  range of members
/// @tparam R  range of lengths
/// @param pack      members of the pack, in the order of the row
/// @param lengths   tokens of each member
/// @param out       array of `pack.size() + 1` elements
/// @param multiple  each length is rounded up to a multiple of this (2 * CP for zigzag, see zigzag.hpp)
/// @post `out` starts at 0 and never decreases; its last entry is the number of tokens of the pack
/// @throws invalid_input if `multiple` or a length is not positive, a member has no length, `out` has another size, or the tokens of the
/// pack do not fit in `T`; `out` is then unchanged
/// @par Complexity
/// O(members).
template <token_offset T, pack_range P, length_range R>
void cu_seqlens(P const& pack, R const& lengths, std::span<T> out, std::int64_t multiple = 1) {
  detail::require_multiple(multiple);
  detail::require_room(out.size(), static_cast<std::size_t>(std::ranges::size(pack)) + 1, "cu_seqlens");
  detail::require_addressable<T>(pack, lengths, multiple);
  detail::write_cu_seqlens(pack, lengths, multiple, out.data());
}

/// @brief Returns the cumulative lengths of one pack, as the overload with `out` writes them.
/// @tparam T `std::int32_t` or `std::int64_t` @tparam P range of members @tparam R range of lengths
/// @param pack members of the pack @param lengths tokens of each member @param multiple each length is rounded up to a multiple of this
/// @return `pack.size() + 1` offsets
/// @throws invalid_input as the overload with `out`
template <token_offset T = std::int32_t, pack_range P, length_range R>
[[nodiscard]] std::vector<T> cu_seqlens(P const& pack, R const& lengths, std::int64_t multiple = 1) {
  std::vector<T> out(static_cast<std::size_t>(std::ranges::size(pack)) + 1);
  cu_seqlens(pack, lengths, std::span<T>(out), multiple);
  return out;
}

/// @brief Writes the cumulative lengths of all packs, pack after pack; those of each pack start at 0.
///
/// The entries of pack `p` are at `[packs.offsets[p] + p, packs.offsets[p + 1] + p + 1)`; `cu_seqlens_of` returns them.
///
/// @tparam T      `std::int32_t` or `std::int64_t`
/// @tparam Index  index type of the packs
/// @tparam R      range of lengths
/// @param packs     the packs
/// @param lengths   tokens of each member
/// @param out       array of `packs.members.size() + packs.size()` elements
/// @param multiple  each length is rounded up to a multiple of this
/// @throws invalid_input as for one pack, naming the pack; `out` is then unchanged
/// @par Complexity
/// O(members + packs).
template <token_offset T, index_type Index, length_range R>
void cu_seqlens(groups<Index> const& packs, R const& lengths, std::span<T> out, std::int64_t multiple = 1) {
  detail::require_multiple(multiple);
  detail::require_room(out.size(), packs.members.size() + packs.size(), "cu_seqlens");
  for (std::size_t p = 0; p < packs.size(); ++p) detail::require_addressable<T>(packs[p], lengths, multiple, static_cast<std::int64_t>(p));
  for (std::size_t p = 0; p < packs.size(); ++p) detail::write_cu_seqlens(packs[p], lengths, multiple, out.data() + packs.offsets[p] + p);
}

/// @brief Returns the cumulative lengths of all packs, as the overload with `out` writes them.
/// @tparam T `std::int32_t` or `std::int64_t` @tparam Index index type of the packs @tparam R range of lengths
/// @param packs the packs @param lengths tokens of each member @param multiple each length is rounded up to a multiple of this
/// @return `packs.members.size() + packs.size()` offsets
/// @throws invalid_input as the overload with `out`
template <token_offset T = std::int32_t, index_type Index, length_range R>
[[nodiscard]] std::vector<T> cu_seqlens(groups<Index> const& packs, R const& lengths, std::int64_t multiple = 1) {
  std::vector<T> out(packs.members.size() + packs.size());
  cu_seqlens(packs, lengths, std::span<T>(out), multiple);
  return out;
}

/// @brief Returns the entries of one pack in the array of all packs.
///
/// @tparam T      `std::int32_t` or `std::int64_t`
/// @tparam Index  index type of the packs
/// @param all    array that `cu_seqlens(packs, …)` returned
/// @param packs  the same packs
/// @param p      pack number, below `packs.size()`
/// @return a view into `all`
template <token_offset T, index_type Index>
[[nodiscard]] std::span<T const> cu_seqlens_of(std::vector<T> const& all, groups<Index> const& packs, std::size_t p) noexcept {
  return std::span<T const>(all).subspan(packs.offsets[p] + p, packs[p].size() + 1);
}

/// @brief Returns the longest sequence, the argument `max_seqlen` of kernels, of one pack or of the array of all packs.
///
/// @tparam C  vector or span of token offsets
/// @param cu  cumulative lengths; padded ones give the padded maximum
/// @return the largest difference of neighbouring entries, 0 if there is no sequence
/// @par Complexity
/// O(entries).
template <cu_seqlens_range C>
[[nodiscard]] auto max_seqlen(C const& cu) noexcept {
  auto const at = std::ranges::data(cu);
  auto longest = std::ranges::range_value_t<C const>{0};
  for (std::size_t i = 1; i < std::ranges::size(cu); ++i)
    if (at[i] - at[i - 1] > longest) longest = at[i] - at[i - 1];  // from one pack to the next, the difference is never positive
  return longest;
}

/// @brief Returns the length of each sequence or stored sample: the differences of neighbouring offsets.
///
/// @tparam T  `std::int32_t` or `std::int64_t`
/// @tparam C  vector or span of token offsets
/// @param offsets  cumulative lengths of one pack, or where samples are stored one after another; the first need not be 0
/// @return one length less than there are offsets; none if there is no offset
/// @throws invalid_input if an offset is below its predecessor, or a length does not fit in `T`
/// @par Complexity
/// O(offsets).
template <token_offset T = std::int32_t, cu_seqlens_range C>
[[nodiscard]] std::vector<T> sequence_lengths(C const& offsets) {
  auto const at = std::span<std::ranges::range_value_t<C const> const>(offsets);
  std::vector<T> out(at.empty() ? 0 : at.size() - 1);
  for (std::size_t i = 1; i < at.size(); ++i) {
    require(at[i - 1] <= at[i], [&] { return sentence(entry("offsets", i, at[i]), " is below its predecessor ", at[i - 1]); });
    auto const length = static_cast<std::uint64_t>(at[i]) - static_cast<std::uint64_t>(at[i - 1]);
    require(std::in_range<T>(length),
            [&] { return sentence("sequence ", i - 1, " of ", length, " tokens does not fit in ", 8 * sizeof(T), " bits"); });
    out[i - 1] = static_cast<T>(length);
  }
  return out;
}

}  // namespace ballast::inline v0_2
