// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/groups.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief Cumulative sequence lengths of packs, as variable-length attention kernels take them.
///
/// `cu_seqlens` of a pack starts at 0 and has one entry per sequence more: sequence `i` has `cu_seqlens[i + 1] - cu_seqlens[i]` tokens
/// (FlashAttention, Transformer Engine). Where each sequence is padded to a multiple, a kernel wants both: the actual one
/// (`multiple = 1`), and the padded one (`multiple = m`), which says where in the row each sequence starts. Lengths are read by member;
/// for a packing with cut samples pass `member_lengths(…)`.

namespace ballast::inline v0_2 {

/// @brief Element type of token offsets: `std::int32_t`, which attention kernels take, or `std::int64_t`.
template <class T>
concept token_offset = std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t>;

/// @brief Cumulative lengths in contiguous memory: a vector or span of token offsets.
template <class C>
concept cu_seqlens_range =
    std::ranges::contiguous_range<C const> && std::ranges::sized_range<C const> && token_offset<std::ranges::range_value_t<C const>>;

/// @brief The members of one pack: a range of integers.
template <class P>
concept pack_range = std::ranges::forward_range<P> && std::ranges::sized_range<P> && std::integral<std::ranges::range_value_t<P>>;

namespace detail {

/// Tokens that `length` takes when rounded up. Never overflows: a positive length and a gap below `multiple` stay under 2^64.
[[nodiscard]] BALLAST_HD constexpr std::uint64_t padded(std::int64_t length, std::int64_t multiple) noexcept {
  auto const rest = length % multiple;
  return static_cast<std::uint64_t>(length) + static_cast<std::uint64_t>(rest == 0 ? 0 : multiple - rest);
}

/// Refuses a member that is no sample, a length that is none, and more tokens than `T` can address. `name()` says which pack it is.
template <token_offset T, pack_range P, length_range R, class Name>
void require_addressable(P const& pack, R const& lengths, std::int64_t multiple, Name const& name) {
  constexpr auto most = static_cast<std::uint64_t>((std::numeric_limits<T>::max)());
  constexpr auto top = std::uint64_t{1} << 63;
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  auto const length_at = read_by_position(lengths);
  std::uint64_t total = 0;  // stops at `top`
  for (auto const member : pack) {
    require(std::cmp_greater_equal(member, 0) && std::cmp_less(member, n), [&] {
      return "cu_seqlens: " + name() + " holds member " + std::to_string(member) + ", but there are " + std::to_string(n) + " lengths";
    });
    auto const length = length_at[static_cast<std::size_t>(member)];
    require(std::cmp_greater(length, 0) && std::in_range<std::int64_t>(length),
            [&] { return "lengths[" + std::to_string(member) + "] = " + std::to_string(length) + " must be positive and below 2^63"; });
    auto const tokens = padded(static_cast<std::int64_t>(length), multiple);
    total = tokens < top - total ? total + tokens : top;
  }
  require(total <= most, [&] {
    return "cu_seqlens: " + name() + " holds " + (total == top ? "2^63 or more" : std::to_string(total)) + " tokens, more than a " +
           std::to_string(8 * sizeof(T)) + "-bit cu_seqlens can address" + (sizeof(T) < 8 ? "; use std::int64_t" : "");
  });
}

/// Writes the `size + 1` entries of a pack that has been checked.
template <token_offset T, pack_range P, length_range R>
void write_cu_seqlens(P const& pack, R const& lengths, std::int64_t multiple, T* out) {
  auto const length_at = read_by_position(lengths);
  T at = 0;
  *out++ = at;
  for (auto const member : pack) {
    at += static_cast<T>(padded(static_cast<std::int64_t>(length_at[static_cast<std::size_t>(member)]), multiple));
    *out++ = at;
  }
}

inline void require_multiple(std::int64_t multiple) {
  require(multiple > 0, [&] { return "multiple = " + std::to_string(multiple) + " must be positive"; });
}
inline void require_room(std::size_t have, std::size_t need, char const* what) {
  require(have == need,
          [&] { return std::string(what) + ": out has " + std::to_string(have) + " elements, " + std::to_string(need) + " are written"; });
}

/// Refuses what is not a cu_seqlens (it starts at 0 and never decreases), and one whose tokens `T` cannot number.
template <token_offset T, cu_seqlens_range C>
[[nodiscard]] auto checked_cu_seqlens(C const& range, char const* name) {
  auto const cu = std::span<std::ranges::range_value_t<C const> const>(range);
  require(!cu.empty() && cu[0] == 0, [&] { return std::string(name) + " must start with 0"; });
  for (std::size_t i = 1; i < cu.size(); ++i)
    require(cu[i - 1] <= cu[i], [&] {
      return std::string(name) + "[" + std::to_string(i) + "] = " + std::to_string(cu[i]) + " is below its predecessor " +
             std::to_string(cu[i - 1]);
    });
  require(std::in_range<T>(cu.back()), [&] {
    return std::string(name) + " addresses " + std::to_string(cu.back()) + " tokens, more than " + std::to_string(8 * sizeof(T)) +
           " bits can; use std::int64_t";
  });
  return cu;
}

/// Refuses a row that cannot hold the sequences.
template <token_offset T>
void require_row(std::span<T const> cu, std::size_t row, char const* name) {
  require(std::cmp_greater_equal(row, cu.back()), [&] {
    return std::string(name) + ": a row of " + std::to_string(row) + " tokens is too short for sequences of " + std::to_string(cu.back());
  });
}

}  // namespace detail

/// @brief Writes the cumulative lengths of one pack.
///
/// @tparam T  `std::int32_t` or `std::int64_t`
/// @tparam P  range of members
/// @tparam R  range of lengths
/// @param pack      members of the pack, in row order
/// @param lengths   tokens of each member
/// @param out       `pack.size() + 1` elements
/// @param multiple  each sequence takes its length rounded up to a multiple of this (2 * CP for zigzag, see zigzag.hpp)
/// @post `out` starts at 0 and never decreases; its last entry is the tokens of the pack
/// @throws invalid_input if `multiple` or a length is not positive, a member has no length, `out` has another size, or the tokens of the
/// pack do not fit in `T`; `out` is untouched then
/// @par Complexity
/// O(members).
template <token_offset T, pack_range P, length_range R>
void cu_seqlens(P const& pack, R const& lengths, std::span<T> out, std::int64_t multiple = 1) {
  detail::require_multiple(multiple);
  detail::require_room(out.size(), static_cast<std::size_t>(std::ranges::size(pack)) + 1, "cu_seqlens");
  detail::require_addressable<T>(pack, lengths, multiple, [] { return std::string("the pack"); });
  detail::write_cu_seqlens(pack, lengths, multiple, out.data());
}

/// @brief The cumulative lengths of one pack, by value. See the form above.
/// @tparam T `std::int32_t` or `std::int64_t` @tparam P range of members @tparam R range of lengths
/// @param pack members of the pack @param lengths tokens of each member @param multiple each sequence is rounded up to a multiple of this
/// @return `pack.size() + 1` offsets
/// @throws invalid_input as above
template <token_offset T = std::int32_t, pack_range P, length_range R>
[[nodiscard]] std::vector<T> cu_seqlens(P const& pack, R const& lengths, std::int64_t multiple = 1) {
  std::vector<T> out(static_cast<std::size_t>(std::ranges::size(pack)) + 1);
  cu_seqlens(pack, lengths, std::span<T>(out), multiple);
  return out;
}

/// @brief Writes the cumulative lengths of all packs, pack after pack, each starting again at 0.
///
/// Pack `p` stands at `[packs.offsets[p] + p, packs.offsets[p + 1] + p + 1)`; `cu_seqlens_of` returns it.
///
/// @tparam T      `std::int32_t` or `std::int64_t`
/// @tparam Index  index type of the packs
/// @tparam R      range of lengths
/// @param packs     the packs
/// @param lengths   tokens of each member
/// @param out       `packs.members.size() + packs.size()` elements
/// @param multiple  each sequence takes its length rounded up to a multiple of this
/// @throws invalid_input as for one pack, naming the pack; the packs before it are written then
/// @par Complexity
/// O(members + packs).
template <token_offset T, index_type Index, length_range R>
void cu_seqlens(groups<Index> const& packs, R const& lengths, std::span<T> out, std::int64_t multiple = 1) {
  detail::require_multiple(multiple);
  detail::require_room(out.size(), packs.members.size() + packs.size(), "cu_seqlens");
  for (std::size_t p = 0; p < packs.size(); ++p)
    detail::require_addressable<T>(packs[p], lengths, multiple, [&] { return "pack " + std::to_string(p); });
  for (std::size_t p = 0; p < packs.size(); ++p) detail::write_cu_seqlens(packs[p], lengths, multiple, out.data() + packs.offsets[p] + p);
}

/// @brief The cumulative lengths of all packs, by value. See the form above for the layout.
/// @tparam T `std::int32_t` or `std::int64_t` @tparam Index index type of the packs @tparam R range of lengths
/// @param packs the packs @param lengths tokens of each member @param multiple each sequence is rounded up to a multiple of this
/// @return `packs.members.size() + packs.size()` offsets
/// @throws invalid_input as above
template <token_offset T = std::int32_t, index_type Index, length_range R>
[[nodiscard]] std::vector<T> cu_seqlens(groups<Index> const& packs, R const& lengths, std::int64_t multiple = 1) {
  std::vector<T> out(packs.members.size() + packs.size());
  cu_seqlens(packs, lengths, std::span<T>(out), multiple);
  return out;
}

/// @brief The entries of one pack in the array of all packs.
///
/// @tparam T      `std::int32_t` or `std::int64_t`
/// @tparam Index  index type of the packs
/// @param all    what `cu_seqlens(packs, …)` wrote
/// @param packs  the same packs
/// @param p      pack number, below `packs.size()`
/// @return a view into `all`
template <token_offset T, index_type Index>
[[nodiscard]] std::span<T const> cu_seqlens_of(std::vector<T> const& all, groups<Index> const& packs, std::size_t p) noexcept {
  return std::span<T const>(all).subspan(packs.offsets[p] + p, packs[p].size() + 1);
}

/// @brief The longest sequence, which kernels take as `max_seqlen`: of one pack, or of all packs laid out as above.
///
/// @tparam C  vector or span of token offsets
/// @param cu  cumulative lengths; padded ones give the padded maximum
/// @return the largest step, 0 if there is no sequence
/// @par Complexity
/// O(entries).
template <cu_seqlens_range C>
[[nodiscard]] auto max_seqlen(C const& cu) noexcept {
  auto const at = std::ranges::data(cu);
  auto longest = std::ranges::range_value_t<C const>{0};
  for (std::size_t i = 1; i < std::ranges::size(cu); ++i)
    if (at[i] - at[i - 1] > longest) longest = at[i] - at[i - 1];  // the step back to the next pack's 0 is never positive
  return longest;
}

}  // namespace ballast::inline v0_2
