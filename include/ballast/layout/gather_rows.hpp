// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/layout/concepts.hpp>
#include <ballast/layout/detail/token_offsets.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// @file
/// @brief Moves values of tokens between samples that are stored one after another ("ragged") and packed rows.
///
/// Sample `s` has the tokens [starts[s], starts[s + 1]) of the store, as in a memory-mapped data set or a nested tensor. A token has one
/// value (its id, its label) or `width` of them (an embedding). In the row of a pack, each sequence is where its cumulative lengths say.

namespace ballast::inline v0_2 {

/// @brief The rows of a batch.
struct row_shape {
  std::size_t tokens = 0;  ///< tokens of each row, padding included
  std::size_t width = 1;   ///< values of each token
  friend constexpr bool operator==(row_shape const&, row_shape const&) = default;
};

namespace detail {

/// Throws unless every sequence of the packs is a sample that is stored, and has room in its row. `what` is who asks; `once` demands that
/// no sample is a member twice.
template <index_type Index, cu_seqlens_range C, cu_seqlens_range S>
void require_stored(char const* what, groups<Index> const& packs, C const& cu_seqlens, S const& sample_starts, std::size_t stored,
                    std::size_t row, bool once) {
  auto const cu = std::span<std::ranges::range_value_t<C const> const>(cu_seqlens);
  auto const starts = std::span<std::ranges::range_value_t<S const> const>(sample_starts);
  auto const entries = packs.members.size() + packs.size();
  require(cu.size() == entries, [&] { return sentence(what, ": cu_seqlens has ", cu.size(), " entries, ", entries, " are read"); });
  require(!starts.empty(), [&] { return sentence(what, ": starts needs an entry for each sample and one for the end"); });
  require(starts[0] >= 0, [&] { return entry("starts", 0, starts[0]) + " must not be negative"; });
  for (std::size_t i = 1; i < starts.size(); ++i)
    require(starts[i - 1] <= starts[i],
            [&] { return sentence(entry("starts", i, starts[i]), " is below its predecessor ", starts[i - 1]); });
  require(std::cmp_less_equal(starts.back(), stored),
          [&] { return sentence(what, ": starts ends at ", starts.back(), ", but there are values of ", stored, " tokens"); });
  std::vector<bool> seen(once ? starts.size() - 1 : 0);
  for (std::size_t p = 0; p < packs.size(); ++p) {
    auto const bounds = checked_cu_seqlens<std::int64_t>(cu.subspan(packs.offsets[p] + p, packs[p].size() + 1), "cu_seqlens");
    require_row(bounds, row, what);
    for (std::size_t i = 0; i < packs[p].size(); ++i) {
      auto const member = packs[p][i];
      require(member < starts.size() - 1,
              [&] { return sentence(what, ": pack ", p, " holds member ", member, ", but there are ", starts.size() - 1, " samples"); });
      auto const tokens = std::int64_t{starts[member + 1]} - starts[member], room = std::int64_t{bounds[i + 1]} - bounds[i];
      require(tokens <= room,
              [&] { return sentence(what, ": sample ", member, " has ", tokens, " tokens but room for only ", room, " in pack ", p); });
      if (!once) continue;
      require(!seen[member], [&] { return sentence(what, ": sample ", member, " is a member twice"); });
      seen[member] = true;
    }
  }
}

[[nodiscard]] inline std::size_t stored_tokens(std::size_t values, row_shape const& shape) {
  require(shape.width > 0, [] { return std::string("width = 0 must be positive"); });
  return values / shape.width;
}

/// Returns how many values of `T` some rows have; throws if no memory can hold them.
template <class T>
[[nodiscard]] std::size_t values_of(char const* what, std::size_t rows, row_shape const& shape) {
  constexpr auto most = static_cast<std::size_t>((std::numeric_limits<std::ptrdiff_t>::max)()) / sizeof(T);
  require(rows == 0 || shape.width == 0 || shape.tokens <= most / rows / shape.width, [&] {
    return sentence(what, ": ", rows, " x ", shape.tokens, " tokens of width ", shape.width, " are more than memory can hold");
  });
  return rows * shape.tokens * shape.width;
}

/// Calls body(first value in the rows, first value in the store, number of values) for each sequence of packs that have been checked.
template <index_type Index, cu_seqlens_range C, cu_seqlens_range S, class Body>
void for_each_stored(groups<Index> const& packs, C const& cu, S const& starts, row_shape const& shape, Body const& body) {
  auto const* const bound = std::ranges::data(cu);
  auto const* const start = std::ranges::data(starts);
  for (std::size_t p = 0; p < packs.size(); ++p)
    for (std::size_t i = 0; i < packs[p].size(); ++i) {
      auto const member = packs[p][i];
      auto const from = static_cast<std::size_t>(start[member]), to = static_cast<std::size_t>(start[member + 1]);
      auto const at = p * shape.tokens + static_cast<std::size_t>(bound[packs.offsets[p] + p + i]);
      body(at * shape.width, from * shape.width, (to - from) * shape.width);
    }
}

}  // namespace detail

/// @brief Copies the values of stored samples into packed rows, row after row.
///
/// `position_ids` and `segment_ids` of the same cumulative lengths belong to these rows. A sample may be a member more than once.
///
/// @tparam T      a trivially copyable value
/// @tparam Index  index type of the packs
/// @tparam C      vector or span of token offsets
/// @tparam S      vector or span of token offsets
/// @param packs    the packs
/// @param cu       where the sequences of all packs start, as `cu_seqlens(packs, …)` returns: padded to a multiple or not
/// @param starts   first token of each sample in the store, and one past the last token
/// @param values   `width` values of each stored token
/// @param out      the rows: `packs.size() * shape.tokens * shape.width` values
/// @param shape    tokens of a row, and values of a token
/// @param padding  what is written where a row has no token of a sample
/// @throws invalid_input if `cu` or `starts` is malformed or ends beyond the row or the values, a member is not a sample or longer than its
/// place, `out` has another size, or no memory can hold the rows; `out` is then unchanged
/// @par Complexity
/// O(values of the rows + members + samples).
template <class T, index_type Index, cu_seqlens_range C, cu_seqlens_range S>
  requires std::is_trivially_copyable_v<T>
void gather_rows(groups<Index> const& packs, C const& cu, S const& starts, std::span<std::type_identity_t<T> const> values,
                 std::span<T> out, row_shape const& shape, std::type_identity_t<T> padding = {}) {
  detail::require_stored("gather_rows", packs, cu, starts, detail::stored_tokens(values.size(), shape), shape.tokens, false);
  detail::require_room(out.size(), detail::values_of<T>("gather_rows", packs.size(), shape), "gather_rows");
  std::size_t written = 0;  // sequences follow each other, so each value is written once
  detail::for_each_stored(packs, cu, starts, shape, [&](std::size_t at, std::size_t from, std::size_t count) {
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(written), out.begin() + static_cast<std::ptrdiff_t>(at), padding);
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(from), count, out.begin() + static_cast<std::ptrdiff_t>(at));
    written = at + count;
  });
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(written), out.end(), padding);
}

/// @brief Returns the packed rows, as the overload with `out` writes them.
/// @tparam V vector or span of values @tparam Index index type of the packs @tparam C, S vector or span of token offsets
/// @param packs the packs @param cu where the sequences of all packs start @param starts first token of each sample, and the end
/// @param values `width` values of each stored token @param shape tokens of a row, and values of a token
/// @param padding what is written where a row has no token of a sample
/// @return `packs.size() * shape.tokens * shape.width` values
/// @throws invalid_input as the overload with `out`
template <std::ranges::contiguous_range V, index_type Index, cu_seqlens_range C, cu_seqlens_range S>
[[nodiscard]] auto gather_rows(groups<Index> const& packs, C const& cu, S const& starts, V const& values, row_shape const& shape,
                               std::ranges::range_value_t<V> padding = {}) {
  using value = std::ranges::range_value_t<V>;
  std::vector<value> out(detail::values_of<value>("gather_rows", packs.size(), shape));
  gather_rows(packs, cu, starts, std::span(values), std::span(out), shape, padding);
  return out;
}

/// @brief Copies the values of packed rows back to the store: the inverse of `gather_rows`. Padding is left out.
///
/// @tparam T      a trivially copyable value
/// @tparam Index  index type of the packs
/// @tparam C      vector or span of token offsets
/// @tparam S      vector or span of token offsets
/// @param packs   the packs; no sample is a member twice
/// @param cu      where the sequences of all packs start, as `cu_seqlens(packs, …)` returns: padded to a multiple or not
/// @param starts  first token of each sample in the store, and one past the last token
/// @param rows    `packs.size() * shape.tokens * shape.width` values
/// @param out     the store: `width` values of each token; those of samples that are in no pack are unchanged
/// @param shape   tokens of a row, and values of a token
/// @throws invalid_input as `gather_rows`, or if a sample is a member twice; `out` is then unchanged
/// @par Complexity
/// O(values of the samples + members + samples).
template <class T, index_type Index, cu_seqlens_range C, cu_seqlens_range S>
  requires std::is_trivially_copyable_v<T>
void scatter_rows(groups<Index> const& packs, C const& cu, S const& starts, std::span<std::type_identity_t<T> const> rows, std::span<T> out,
                  row_shape const& shape) {
  detail::require_stored("scatter_rows", packs, cu, starts, detail::stored_tokens(out.size(), shape), shape.tokens, true);
  auto const all = detail::values_of<T>("scatter_rows", packs.size(), shape);
  require(rows.size() == all, [&] { return sentence("scatter_rows: rows has ", rows.size(), " values, ", all, " are read"); });
  detail::for_each_stored(packs, cu, starts, shape, [&](std::size_t at, std::size_t from, std::size_t count) {
    std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(at), count, out.begin() + static_cast<std::ptrdiff_t>(from));
  });
}

/// @brief Returns the values in the order of the samples, as the overload with `out` writes them; those of samples in no pack are 0.
/// @tparam V vector or span of values @tparam Index index type of the packs @tparam C, S vector or span of token offsets
/// @param packs the packs @param cu where the sequences of all packs start @param starts first token of each sample, and the end
/// @param rows the packed rows @param shape tokens of a row, and values of a token
/// @return `width` values of each token before the last start
/// @throws invalid_input as the overload with `out`
template <std::ranges::contiguous_range V, index_type Index, cu_seqlens_range C, cu_seqlens_range S>
[[nodiscard]] auto scatter_rows(groups<Index> const& packs, C const& cu, S const& starts, V const& rows, row_shape const& shape) {
  auto const* const start = std::ranges::data(starts);
  auto const entries = std::ranges::size(starts);
  auto const tokens = entries == 0 || start[entries - 1] < 0 ? 0 : static_cast<std::size_t>(start[entries - 1]);
  detail::require_stored("scatter_rows", packs, cu, starts, tokens, shape.tokens, true);  // before memory is asked for
  using value = std::ranges::range_value_t<V>;
  std::vector<value> out(detail::values_of<value>("scatter_rows", 1, {tokens, shape.width}));
  scatter_rows(packs, cu, starts, std::span(rows), std::span(out), shape);
  return out;
}

}  // namespace ballast::inline v0_2
