// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/layout/concepts.hpp>
#include <ballast/layout/detail/token_offsets.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief All arrays of a packed row at once: cumulative lengths, the longest sequence, position ids and segment ids.
///
/// `packed_row` holds them in one allocation; `write_packed_row` writes them into tensors, whose sizes `packed_row_size` tells before.

namespace ballast::inline v0_2 {

/// @brief How sequences are laid out in a row.
struct row_options {
  std::int64_t multiple = 1;  ///< each sequence is padded to a multiple of this (2 * CP for zigzag, see zigzag.hpp)
  std::size_t tokens = 0;     ///< tokens of the whole row; 0 means exactly those of the sequences, their padding included
  /// Number of sequences of the row, for arrays whose size never changes, as CUDA graphs need: behind those of the pack come empty ones.
  /// The first of them holds the padding at the end of the row, in `cu_seqlens_padded` alone, whose last entry is then the row's end. 0
  /// means those of the pack.
  std::size_t sequences = 0;
  std::int64_t longest = 0;  ///< what is returned as the longest sequence, at least that; 0 means the longest of the pack
  friend constexpr bool operator==(row_options const&, row_options const&) = default;
};

/// @brief The number of elements in each array of a row.
struct row_size {
  std::size_t offsets = 1;  ///< elements of `cu_seqlens` and of `cu_seqlens_padded`: one more than there are sequences
  std::size_t tokens = 0;   ///< elements of `position_ids` and of `segment_ids`
  friend constexpr bool operator==(row_size const&, row_size const&) = default;
};

/// @brief Where `write_packed_row` writes. An array that is left empty is not written.
///
/// @tparam T   element of the cumulative lengths: kernels take `std::int32_t`
/// @tparam Id  element of position and segment ids, which embeddings often take as `std::int64_t`
template <token_offset T, token_offset Id = T>
struct row_spans {
  std::span<T> cu_seqlens{};         ///< the tokens of each sequence, padding not counted
  std::span<T> cu_seqlens_padded{};  ///< where each sequence starts in the row; equal to `cu_seqlens` if `multiple` is 1
  std::span<Id> position_ids{};      ///< position of each token in its sequence, which continues through the sequence's padding
  std::span<Id> segment_ids{};       ///< number of each token's sequence, from 1; 0 for padding
};

/// @brief Returns the sizes of a row's arrays, so that a trainer can allocate its tensors before they are written.
///
/// @tparam P  range of members
/// @tparam R  range of lengths
/// @param pack     members of the pack, in the order of the row
/// @param lengths  tokens of each member
/// @param options  padding
/// @return the number of elements of each array
/// @throws invalid_input if `multiple` or a length is not positive, a member has no length, or the row is too short for the sequences
/// @par Complexity
/// O(members).
template <pack_range P, length_range R>
[[nodiscard]] row_size packed_row_size(P const& pack, R const& lengths, row_options const& options = {}) {
  detail::require_multiple(options.multiple);
  auto const used = detail::require_addressable<std::int64_t>(pack, lengths, options.multiple);
  require(options.tokens == 0 || std::cmp_less_equal(used, options.tokens),
          [&] { return sentence("packed_row: a row of ", options.tokens, " tokens is too short for sequences of ", used); });
  require(std::in_range<std::size_t>(used), [&] { return sentence("packed_row: a row of ", used, " tokens is too long"); });
  auto const sequences = static_cast<std::size_t>(std::ranges::size(pack));
  require(options.sequences == 0 || sequences <= options.sequences,
          [&] { return sentence("packed_row: ", options.sequences, " sequences are too few for the ", sequences, " of the pack"); });
  return {(options.sequences == 0 ? sequences : options.sequences) + 1,
          options.tokens == 0 ? static_cast<std::size_t>(used) : options.tokens};
}

/// @brief Returns options under which the rows of all packs have arrays of one size and one `max_seqlen`.
///
/// @tparam Index  index type of the packs
/// @tparam R      range of lengths
/// @param packs     the packs of a plan
/// @param lengths   tokens of each member
/// @param multiple  each sequence is padded to a multiple of this
/// @param tokens    tokens of each row; 0 means those of the fullest pack
/// @return as many sequences as the largest pack has, and one more for the padding at the end of a row; the longest sequence of all packs,
/// or the longest padding, which is a sequence to kernels that take `cu_seqlens_padded` alone
/// @throws invalid_input as `packed_row_size`
/// @par Complexity
/// O(members).
template <index_type Index, length_range R>
[[nodiscard]] row_options static_rows(groups<Index> const& packs, R const& lengths, std::int64_t multiple = 1, std::size_t tokens = 0) {
  row_options out{.multiple = multiple, .tokens = tokens};
  auto const length_at = read_by_position(lengths);
  std::size_t fullest = 0, emptiest = (std::numeric_limits<std::size_t>::max)(), most = 0;
  for (auto const pack : packs) {
    auto const used = packed_row_size(pack, lengths, {.multiple = multiple}).tokens;
    require(tokens == 0 || used <= tokens, [&] { return sentence("static_rows: ", tokens, " tokens are too few for a pack of ", used); });
    fullest = (std::max)(fullest, used);
    emptiest = (std::min)(emptiest, used);
    most = (std::max)(most, pack.size());
    for (auto const member : pack) {
      auto const length = static_cast<std::int64_t>(length_at[static_cast<std::size_t>(member)]);
      out.longest = (std::max)(out.longest, static_cast<std::int64_t>(detail::padded(length, multiple)));
    }
  }
  out.tokens = tokens == 0 ? fullest : tokens;
  out.sequences = most + 1;
  if (!packs.empty()) out.longest = (std::max)(out.longest, static_cast<std::int64_t>(out.tokens - emptiest));
  return out;
}

/// @brief Writes the arrays of a packed row into memory of the caller. It allocates nothing.
///
/// @tparam T   element of the cumulative lengths
/// @tparam Id  element of position and segment ids
/// @tparam P   range of members
/// @tparam R   range of lengths
/// @param pack     members of the pack, in the order of the row
/// @param lengths  tokens of each member
/// @param out      arrays of the sizes that `packed_row_size` returns; those that are not wanted stay empty
/// @param options  padding
/// @return the longest sequence with its padding, or `options.longest`: the argument `max_seqlen` of kernels; 0 if there is no sequence
/// @throws invalid_input as `packed_row_size`, or if an array has another size, or the tokens of the row do not fit in `T` or `Id`;
/// the arrays are then unchanged
/// @par Complexity
/// O(members + row).
template <token_offset T, token_offset Id, pack_range P, length_range R>
T write_packed_row(P const& pack, R const& lengths, row_spans<T, Id> const& out, row_options const& options = {}) {
  auto const size = packed_row_size(pack, lengths, options);
  auto const check = [](std::size_t have, std::size_t need, char const* name) {
    if (have != 0) detail::require_room(have, need, name);
  };
  check(out.cu_seqlens.size(), size.offsets, "cu_seqlens");
  check(out.cu_seqlens_padded.size(), size.offsets, "cu_seqlens_padded");
  check(out.position_ids.size(), size.tokens, "position_ids");
  check(out.segment_ids.size(), size.tokens, "segment_ids");
  detail::require_addressable<T>(pack, lengths, options.multiple);
  detail::require_addressable<Id>(pack, lengths, options.multiple);
  auto const sequences = static_cast<std::size_t>(std::ranges::size(pack));
  auto const write = [&](std::span<T> cu, std::int64_t multiple, bool to_the_end) {
    if (cu.empty()) return;
    detail::write_cu_seqlens(pack, lengths, multiple, cu.data());
    std::ranges::fill(cu.subspan(sequences + 1), to_the_end ? static_cast<T>(size.tokens) : cu[sequences]);
  };
  require(options.sequences == 0 || std::in_range<T>(size.tokens),
          [&] { return sentence("packed_row: the end of a row of ", size.tokens, " tokens does not fit in its offsets"); });
  require(std::in_range<T>(options.longest), [&] { return sentence("packed_row: longest = ", options.longest, " does not fit"); });
  auto const length_at = read_by_position(lengths);
  std::size_t at = 0;
  std::int64_t longest = 0, sequence = 0;
  for (auto const member : pack)
    longest = (std::max)(longest, static_cast<std::int64_t>(detail::padded(
                                      static_cast<std::int64_t>(length_at[static_cast<std::size_t>(member)]), options.multiple)));
  require(options.longest == 0 || longest <= options.longest,
          [&] { return sentence("packed_row: longest = ", options.longest, " is below the ", longest, " tokens of a sequence"); });
  write(out.cu_seqlens, 1, false);
  write(out.cu_seqlens_padded, options.multiple, true);
  for (auto const member : pack) {
    auto const tokens = static_cast<std::int64_t>(length_at[static_cast<std::size_t>(member)]);
    auto const room = static_cast<std::int64_t>(detail::padded(tokens, options.multiple));
    ++sequence;
    auto const rows = static_cast<std::size_t>(room), filled = static_cast<std::size_t>(tokens);
    if (!out.position_ids.empty()) {
      auto const ids = out.position_ids.subspan(at, rows);
      std::iota(ids.begin(), ids.end(), Id{0});
    }
    if (!out.segment_ids.empty()) {
      std::ranges::fill(out.segment_ids.subspan(at, filled), static_cast<Id>(sequence));
      std::ranges::fill(out.segment_ids.subspan(at + filled, rows - filled), Id{0});
    }
    at += rows;
  }
  if (!out.position_ids.empty()) std::ranges::fill(out.position_ids.subspan(at), Id{0});
  if (!out.segment_ids.empty()) std::ranges::fill(out.segment_ids.subspan(at), Id{0});
  return static_cast<T>(options.longest == 0 ? longest : options.longest);
}

/// @brief The arrays of one packed row, in one allocation: `packed_row<std::int32_t>(pack, lengths)`.
///
/// @tparam T  `std::int32_t` or `std::int64_t`
template <token_offset T = std::int32_t>
class packed_row {
 public:
  /// @brief Lays a pack out as a row.
  /// @tparam P  range of members
  /// @tparam R  range of lengths
  /// @param pack     members of the pack, in the order of the row
  /// @param lengths  tokens of each member
  /// @param options  padding
  /// @throws invalid_input as `write_packed_row`
  /// @par Complexity
  /// O(members + row), one allocation.
  template <pack_range P, length_range R>
  packed_row(P const& pack, R const& lengths, row_options const& options = {})
      : size_(packed_row_size(pack, lengths, options)), arrays_(2 * size_.offsets + 2 * size_.tokens) {
    auto const all = std::span<T>(arrays_);
    auto const ids = all.subspan(2 * size_.offsets);
    longest_ = write_packed_row<T, T>(
        pack, lengths,
        {all.first(size_.offsets), all.subspan(size_.offsets, size_.offsets), ids.first(size_.tokens), ids.subspan(size_.tokens)}, options);
  }

  /// @brief The cumulative lengths of the sequences, padding not counted. @return one entry per sequence, and the sum; a view of this row
  [[nodiscard]] std::span<T const> cu_seqlens() const& noexcept { return part(0, size_.offsets); }
  std::span<T const> cu_seqlens() const&& = delete;  ///< a view of a temporary would dangle
  /// @brief Where each sequence starts in the row. @return equal to `cu_seqlens()` without padding; a view of this row
  [[nodiscard]] std::span<T const> cu_seqlens_padded() const& noexcept { return part(size_.offsets, size_.offsets); }
  std::span<T const> cu_seqlens_padded() const&& = delete;  ///< a view of a temporary would dangle
  /// @brief The longest sequence with its padding. @return tokens, 0 if there is no sequence
  [[nodiscard]] T max_seqlen() const noexcept { return longest_; }
  /// @brief The position of each token in its sequence. @return one entry per token of the row; a view of this row
  [[nodiscard]] std::span<T const> position_ids() const& noexcept { return part(2 * size_.offsets, size_.tokens); }
  std::span<T const> position_ids() const&& = delete;  ///< a view of a temporary would dangle
  /// @brief The number of each token's sequence, from 1; 0 for padding. @return one entry per token of the row; a view of this row
  [[nodiscard]] std::span<T const> segment_ids() const& noexcept { return part(2 * size_.offsets + size_.tokens, size_.tokens); }
  std::span<T const> segment_ids() const&& = delete;  ///< a view of a temporary would dangle
  /// @brief The number of elements of the arrays. @return sizes as `packed_row_size` gives them
  [[nodiscard]] row_size size() const noexcept { return size_; }

 private:
  [[nodiscard]] std::span<T const> part(std::size_t first, std::size_t count) const noexcept {
    return std::span<T const>(arrays_).subspan(first, count);
  }

  row_size size_;
  std::vector<T> arrays_;  // cu_seqlens, cu_seqlens_padded, position_ids, segment_ids
  T longest_ = 0;
};

}  // namespace ballast::inline v0_2
