// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/mapped.cuh>
#include <ballast/gpu/core/reduce.cuh>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/gpu/layout/detail/cu_entries.cuh>
#include <ballast/gpu/layout/detail/pack_rows.cuh>
#include <ballast/layout/cu_seqlens.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

/// @file
/// @brief Cumulative sequence lengths of packs on the device, as variable-length attention kernels need them.

namespace ballast::inline v0_2::gpu {

/// @brief Writes the cumulative lengths of all packs, pack after pack; those of each pack start at 0; twin of `ballast::cu_seqlens`.
///
/// The entries of pack `p` are at `[offsets[p] + p, offsets[p + 1] + p + 1)`. Without `offsets`, all members are one pack: the row of a
/// micro-batch.
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
/// @param multiple      each length is rounded up to a multiple of this
/// @param out           array of `member_count + packs` entries
/// @param first_bad     one word: the lowest position in `members` of a member without a length, with a length that is not positive, or
///                      with which its pack has more tokens than `Offset` can number; `member_count` if `offsets` does not go from 0 to
///                      `member_count` without decreasing; `~0` if there is none. `out` is unspecified unless it is `~0`
/// @return the error, if any; `invalid_value` if `multiple` is not positive, there are several packs without offsets, or `bytes` is too
///         small
/// @par Complexity
/// O((members + packs) log packs). For every member, the index and, out of order, the length are read; the entry is written; and 8 bytes of
/// scratch memory are written and read.
/// @par Determinism
/// Sums of integers.
template <class On, std::integral Index, integer Length, token_offset Offset>
[[nodiscard]] typename On::error_type cu_seqlens(On on, void* temp, std::size_t& bytes, std::uint64_t const* offsets, std::size_t packs,
                                                 Index const* members, std::size_t member_count, Length const* lengths,
                                                 std::size_t length_count, std::int64_t multiple, Offset* out, std::uint64_t* first_bad) {
  if (multiple <= 0 || (offsets == nullptr && packs != 1)) return On::invalid_value;
  detail::member_tokens<Offset, Index, Length> const member{members, member_count, lengths, length_count, multiple, first_bad};
  return detail::write_cumulative<std::uint64_t>(on, temp, bytes, {offsets, packs, member_count}, member, detail::write_entry<Offset>{out},
                                                 first_bad);
}

/// @brief Returns the cumulative lengths of all packs, as the overload with `temp` writes them; allocates and waits.
///
/// @tparam Offset  `std::int32_t` or `std::int64_t`
/// @param on           the backend
/// @param offsets      offsets of the packs, or null for one pack
/// @param packs        number of packs
/// @param members      sample indices, pack after pack
/// @param member_count number of members of all packs
/// @param lengths      tokens of each sample
/// @param length_count number of samples
/// @param multiple     each length is rounded up to a multiple of this
/// @return `member_count + packs` entries on the device
/// @throws invalid_input as the host twin, with the same message
/// @throws gpu_error if the backend reports an error
template <token_offset Offset = std::int32_t, class On, index_type Index, integer Length>
[[nodiscard]] array<Offset, On> cu_seqlens(On on, std::uint64_t const* offsets, std::size_t packs, Index const* members,
                                           std::size_t member_count, Length const* lengths, std::size_t length_count,
                                           std::int64_t multiple = 1) {
  ballast::detail::require_multiple(multiple);
  array<Offset, On> out(on, member_count + packs);
  array<std::uint64_t, On> const bad(on, 1);
  call(on, "cu_seqlens", [&](void* temp, std::size_t& bytes) {
    return cu_seqlens(on, temp, bytes, offsets, packs, members, member_count, lengths, length_count, multiple, out.data(), bad.data());
  });
  auto const first_bad = fetch_one(on, bad.data());
  if (first_bad == none_bad) return out;
  auto bounds = detail::fetch_offsets(on, {offsets, packs, member_count}, "cu_seqlens: ", "members");
  auto const of_samples = fetch(on, lengths, length_count);  // for the message
  auto all = fetch(on, members, member_count);
  if (offsets == nullptr)
    static_cast<void>(ballast::cu_seqlens<Offset>(all, of_samples, multiple));
  else
    static_cast<void>(ballast::cu_seqlens<Offset>(ballast::groups<Index>{std::move(bounds), std::move(all)}, of_samples, multiple));
  return out;
}

/// @brief Computes the longest sequence, the argument `max_seqlen` of kernels; twin of `ballast::max_seqlen`.
///
/// @tparam On      the backend
/// @tparam Offset  `std::int32_t` or `std::int64_t`
/// @param on       the backend
/// @param temp     scratch memory, or null to get its size
/// @param bytes    size of `temp` in bytes; set if `temp` is null
/// @param cu       cumulative lengths of one pack, or of all packs as above
/// @param entries  number of entries of `cu`
/// @param out      one element: the largest difference of neighbouring entries, 0 if there is no sequence
/// @return the error, if any
/// @par Complexity
/// O(entries), each read once.
/// @par Determinism
/// A maximum of integers.
template <class On, token_offset Offset>
[[nodiscard]] typename On::error_type max_seqlen(On on, void* temp, std::size_t& bytes, Offset const* cu, std::size_t entries,
                                                 Offset* out) {
  return on.reduce(temp, bytes, mapped(detail::longest_step<Offset>{cu}), out, entries == 0 ? 0 : entries - 1, Offset{0},
                   detail::longer_of{});
}

/// @brief Writes the length of each sequence or stored sample; twin of `ballast::sequence_lengths`.
///
/// @tparam On      the backend
/// @tparam Offset  `std::int32_t` or `std::int64_t`
/// @tparam T       `std::int32_t` or `std::int64_t`
/// @param on         the backend
/// @param temp       scratch memory, or null to get its size
/// @param bytes      size of `temp` in bytes; set if `temp` is null
/// @param offsets    `sequences` + 1 offsets; the first need not be 0
/// @param sequences  number of sequences
/// @param out        array of `sequences` elements
/// @param first_bad  one word: the first sequence that ends below its begin or does not fit in `T`; `~0` if there is none. `out` is
///                   unspecified unless it is `~0`
/// @return the error, if any
/// @par Complexity
/// O(sequences).
/// @par Determinism
/// Each element is written once.
template <class On, token_offset Offset, token_offset T>
[[nodiscard]] typename On::error_type sequence_lengths(On on, void* temp, std::size_t& bytes, Offset const* offsets, std::size_t sequences,
                                                       T* out, std::uint64_t* first_bad) {
  using error_type = typename On::error_type;
  if (temp == nullptr) return bytes = 1, error_type{};
  return check_each(on, sequences, first_bad, detail::write_length<Offset, T>{offsets, out, first_bad});
}

/// @brief Returns the lengths, as the overload with `temp` writes them; allocates and waits.
/// @tparam T `std::int32_t` or `std::int64_t`
/// @param on the backend @param offsets `sequences` + 1 offsets @param sequences number of sequences
/// @return one length for each sequence, on the device
/// @throws invalid_input as the host twin, with the same message
/// @throws gpu_error if the backend reports an error
template <token_offset T = std::int32_t, class On, token_offset Offset>
[[nodiscard]] array<T, On> sequence_lengths(On on, Offset const* offsets, std::size_t sequences) {
  array<T, On> out(on, sequences);
  array<std::uint64_t, On> const bad(on, 1);
  call(on, "sequence_lengths",
       [&](void* temp, std::size_t& bytes) { return sequence_lengths(on, temp, bytes, offsets, sequences, out.data(), bad.data()); });
  if (fetch_one(on, bad.data()) != none_bad) static_cast<void>(ballast::sequence_lengths<T>(fetch(on, offsets, sequences + 1)));
  return out;
}

}  // namespace ballast::inline v0_2::gpu
