// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/row_tiles.cuh>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/layout/detail/gather_passes.cuh>
#include <ballast/gpu/layout/detail/pack_rows.cuh>
#include <ballast/layout/concepts.hpp>
#include <ballast/layout/gather_rows.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

/// @file
/// @brief Moves values of tokens between stored samples and packed rows on the device.
///
/// Bad input is found before anything moves. Its index, `first_bad`, is one word: the first entry of `cu` that is not 0 at the begin of a
/// pack, is below its predecessor, is above `row` at the end of a pack, or whose sequence is not a sample or is longer than its place; else
/// `placed + packs` if `offsets` does not go from 0 to `placed` without decreasing; else `placed + packs + 1 + i` if `starts[i]` is
/// negative, below its predecessor, or at the end above `stored`; `~0` if there is none.

namespace ballast::inline v0_2::gpu {

/// @brief Packs of samples that are stored one after another, in memory of a backend.
/// @tparam Index   type of the members
/// @tparam Offset  `std::int32_t` or `std::int64_t`
/// @tparam Start   `std::int32_t` or `std::int64_t`
template <index_type Index, token_offset Offset, token_offset Start>
struct stored_packs {
  std::uint64_t const* offsets = nullptr;  ///< `packs` + 1 numbers: how many members come before each pack; or null for one pack
  std::size_t packs = 1;                   ///< number of packs; 1 without offsets
  Index const* members = nullptr;          ///< sample indices, pack after pack
  std::size_t placed = 0;                  ///< number of members of all packs
  Offset const* cu = nullptr;              ///< where sequences start, as `gpu::cu_seqlens` writes it: padded to a multiple or not
  Start const* starts = nullptr;           ///< `samples` + 1 numbers: first token of each sample in the store, and the end
  std::size_t samples = 0;                 ///< number of samples
  std::size_t stored = 0;                  ///< tokens in the store
  std::size_t row = 0;                     ///< tokens of a row
};

/// @brief Values of tokens, as an input and an output of `gather_rows`. @tparam T a trivially copyable value
template <class T>
struct row_column {
  T const* from = nullptr;  ///< one value for each stored token
  T* to = nullptr;          ///< array of `packs` rows of `row` values each
  T padding{};              ///< what is written where a row has no token of a sample
};

/// @brief Ids that `gather_rows` writes beside the columns; null if they are not wanted. @tparam Id `std::int32_t` or `std::int64_t`
template <token_offset Id = std::int32_t>
struct row_ids {
  Id* position_ids = nullptr;  ///< array of `packs` rows, as `gpu::position_ids` writes it
  Id* segment_ids = nullptr;   ///< array of `packs` rows, as `gpu::segment_ids` writes it
};

namespace detail {

// Checks a plan, and queues a pass over its rows behind the checks: visitor(where sequences are stored, units of a row).
template <class On, class Index, class Offset, class Start, class Visitor>
[[nodiscard]] typename On::error_type move_rows(On on, void* temp, std::size_t& bytes, stored_packs<Index, Offset, Start> const& plan,
                                                std::uint64_t units, bool once, std::uint64_t* first_bad, Visitor const& visitor) {
  using error_type = typename On::error_type;
  using rows = unit_rows<Offset>;
  using plan_type = stored_packs<Index, Offset, Start>;
  if (plan.offsets == nullptr && plan.packs != 1) return On::invalid_value;
  auto const all = plan.placed + plan.packs, length = plan.row * static_cast<std::size_t>(units), tiles = tile_words(plan.packs, length);
  workspace cut(temp);
  auto* const sequences = cut.take<stored_sequence>(all);
  auto* const starts = cut.take<std::uint64_t>(tiles);
  auto* const held = cut.take<std::uint64_t>(once ? all : 0);
  auto* const holders = cut.take<std::uint64_t>(once ? plan.samples : 0);
  if (auto const room = cut.finish<On>(bytes); room.ends) return room.error;
  entry_bounds const entries{plan.offsets, plan.packs, plan.placed};
  rows const unchecked{{plan.cu, entries}, units};
  open_stored<plan_type, rows> const open{
      {{entries, all, first_bad}, plan},    entries, units, sequences, once ? held : nullptr, holders, tiles,
      find_tiles(unchecked, length, starts)};
  if (once)
    if (auto const error = on.fill(holders, 0xff, plan.samples * sizeof(std::uint64_t)); error != error_type{}) return error;
  auto const checks = (std::max)({plan.samples + 1, all + 1, tiles});
  if (auto const error = check_each(on, checks, first_bad, open); error != error_type{}) return error;
  if (once)
    if (auto const error = on.for_each(all, check_once{held, holders, first_bad}); error != error_type{}) return error;
  rows const checked{{plan.cu, entries}, units, first_bad};
  return visit_rows(on, checked, plan.packs, length, starts, visitor(stored_at{entries, sequences}, length));
}

// If `bad` has an index, throws with the message of the host for this plan.
template <class On, class Index, class Offset, class Start>
void require_stored(On on, std::uint64_t const* bad, char const* what, stored_packs<Index, Offset, Start> const& plan, bool once) {
  if (fetch_one(on, bad) == none_bad) return;
  auto const prefix = sentence(what, ": ");
  ballast::groups<Index> const packs{fetch_offsets(on, {plan.offsets, plan.packs, plan.placed}, prefix.c_str(), "members"),
                                     fetch(on, plan.members, plan.placed)};
  ballast::detail::require_stored(what, packs, fetch(on, plan.cu, plan.placed + plan.packs), fetch(on, plan.starts, plan.samples + 1),
                                  plan.stored, plan.row, once);
}

}  // namespace detail

/// @brief Writes the tokens, labels, position ids and segment ids of packed rows in one pass; twin of `ballast::gather_rows`,
/// `position_ids` and `segment_ids`.
///
/// @tparam On      the backend
/// @tparam Index   type of the members
/// @tparam Offset  `std::int32_t` or `std::int64_t`
/// @tparam Start   `std::int32_t` or `std::int64_t`
/// @tparam Id      `std::int32_t` or `std::int64_t`
/// @tparam T       trivially copyable values
/// @param on         the backend
/// @param temp       scratch memory, or null to get its size
/// @param bytes      size of `temp` in bytes; set if `temp` is null
/// @param plan       the packs, and where their samples are stored
/// @param ids        where ids are written
/// @param first_bad  one word, see above; rows and ids are unspecified unless it is `~0`
/// @param values     any number of columns, such as tokens and labels
/// @return the error, if any; `invalid_value` if there are several packs without offsets, ids of a row may not fit in `Id`, or `bytes` is
///         too small
/// @par Complexity
/// O(packs * row + members + samples), for any lengths; reads and writes each value once, and 16 bytes of scratch memory for a member.
/// @par Determinism
/// Each element is written once.
template <class On, index_type Index, token_offset Offset, token_offset Start, token_offset Id, class... T>
  requires(std::is_trivially_copyable_v<T> && ...)
[[nodiscard]] typename On::error_type gather_rows(On on, void* temp, std::size_t& bytes, stored_packs<Index, Offset, Start> const& plan,
                                                  row_ids<Id> const& ids, std::uint64_t* first_bad, row_column<T> const&... values) {
  if (plan.row > detail::largest<Id>) return On::invalid_value;
  return detail::move_rows(on, temp, bytes, plan, 1, false, first_bad, [&](detail::stored_at const& find, std::size_t length) {
    auto const columns = detail::columns_of(values...);
    return detail::gather_place<Id, std::remove_const_t<decltype(columns)>>{find, length, ids.position_ids, ids.segment_ids, columns};
  });
}

/// @brief Writes columns and ids, as the overload with `temp` does; allocates scratch memory and waits.
/// @param on the backend @param plan the packs, and where their samples are stored @param ids where ids are written
/// @param values any number of columns
/// @throws invalid_input as the host twin, with the same message
/// @throws gpu_error if the backend reports an error
template <class On, index_type Index, token_offset Offset, token_offset Start, token_offset Id, class... T>
void gather_rows(On on, stored_packs<Index, Offset, Start> const& plan, row_ids<Id> const& ids, row_column<T> const&... values) {
  array<std::uint64_t, On> const bad(on, 1);
  call(on, "gather_rows", [&](void* temp, std::size_t& bytes) { return gather_rows(on, temp, bytes, plan, ids, bad.data(), values...); });
  detail::require_stored(on, bad.data(), "gather_rows", plan, false);
}

/// @brief Writes packed rows of tokens with many values each, such as embeddings; twin of `ballast::gather_rows`.
///
/// Values move in words of 16 bytes if both arrays and the values of a token are multiples of that.
///
/// @tparam On      the backend
/// @tparam Index   type of the members
/// @tparam Offset  `std::int32_t` or `std::int64_t`
/// @tparam Start   `std::int32_t` or `std::int64_t`
/// @tparam T       a trivially copyable value
/// @param on         the backend
/// @param temp       scratch memory, or null to get its size
/// @param bytes      size of `temp` in bytes; set if `temp` is null
/// @param plan       the packs, and where their samples are stored
/// @param width      values of a token
/// @param values     the column, with `width` values for each token
/// @param first_bad  one word, see above; the rows are unspecified unless it is `~0`
/// @return the error, if any; `invalid_value` if `width` is 0, there are several packs without offsets, or `bytes` is too small
/// @par Complexity
/// O(packs * row * width + members + samples); reads and writes each value once.
/// @par Determinism
/// Each element is written once.
template <class On, index_type Index, token_offset Offset, token_offset Start, class T>
  requires std::is_trivially_copyable_v<T>
[[nodiscard]] typename On::error_type gather_rows(On on, void* temp, std::size_t& bytes, stored_packs<Index, Offset, Start> const& plan,
                                                  std::size_t width, row_column<T> const& values, std::uint64_t* first_bad) {
  if (width == 0) return On::invalid_value;
  return detail::with_unit(width, values.from, values.to, values.padding, [&](auto const& padding, std::size_t units) {
    using unit = std::remove_cvref_t<decltype(padding)>;
    auto const columns =
        detail::columns_of(row_column<unit>{reinterpret_cast<unit const*>(values.from), reinterpret_cast<unit*>(values.to), padding});
    return detail::move_rows(on, temp, bytes, plan, units, false, first_bad, [&](detail::stored_at const& find, std::size_t length) {
      return detail::gather_place<std::int32_t, std::remove_const_t<decltype(columns)>>{find, length, nullptr, nullptr, columns};
    });
  });
}

/// @brief Returns packed rows, as the overload with `temp` writes them; allocates and waits.
/// @param on the backend @param plan the packs, and where their samples are stored @param values `width` values for each stored token
/// @param width values of a token @param padding what is written where a row has no token of a sample
/// @return `packs * row * width` values on the device
/// @throws invalid_input as the host twin, with the same message
/// @throws gpu_error if the backend reports an error
template <class On, index_type Index, token_offset Offset, token_offset Start, class T>
[[nodiscard]] array<T, On> gather_rows(On on, stored_packs<Index, Offset, Start> const& plan, T const* values, std::size_t width = 1,
                                       std::type_identity_t<T> padding = {}) {
  static_cast<void>(ballast::detail::stored_tokens(0, {.width = width}));
  array<T, On> out(on, ballast::detail::values_of<T>("gather_rows", plan.packs, {plan.row, width}));
  array<std::uint64_t, On> const bad(on, 1);
  call(on, "gather_rows", [&](void* temp, std::size_t& bytes) {
    return gather_rows(on, temp, bytes, plan, width, row_column<T>{values, out.data(), padding}, bad.data());
  });
  detail::require_stored(on, bad.data(), "gather_rows", plan, false);
  return out;
}

/// @brief Copies the values of packed rows back to the store; twin of `ballast::scatter_rows`. Padding is left out.
///
/// @tparam On      the backend
/// @tparam Index   type of the members
/// @tparam Offset  `std::int32_t` or `std::int64_t`
/// @tparam Start   `std::int32_t` or `std::int64_t`
/// @tparam T       a trivially copyable value
/// @param on         the backend
/// @param temp       scratch memory, or null to get its size
/// @param bytes      size of `temp` in bytes; set if `temp` is null
/// @param plan       the packs, and where their samples are stored
/// @param width      values of a token
/// @param rows       `packs` rows of `row * width` values each
/// @param out        the store: `width` values for each token; those of samples that are in no pack are unchanged
/// @param first_bad  one word, see above; also an entry whose sample is at an earlier one. `out` is unchanged unless it is `~0`
/// @return the error, if any; `invalid_value` if `width` is 0, there are several packs without offsets, or `bytes` is too small
/// @par Complexity
/// O(packs * row * width + members + samples); reads and writes each value once.
/// @par Determinism
/// Each element is written once.
template <class On, index_type Index, token_offset Offset, token_offset Start, class T>
  requires std::is_trivially_copyable_v<T>
[[nodiscard]] typename On::error_type scatter_rows(On on, void* temp, std::size_t& bytes, stored_packs<Index, Offset, Start> const& plan,
                                                   std::size_t width, T const* rows, T* out, std::uint64_t* first_bad) {
  if (width == 0) return On::invalid_value;
  return detail::with_unit(width, rows, out, T{}, [&](auto const& any, std::size_t units) {
    using unit = std::remove_cvref_t<decltype(any)>;
    return detail::move_rows(on, temp, bytes, plan, units, true, first_bad, [&](detail::stored_at const& find, std::size_t length) {
      return detail::scatter_place<unit>{find, length, reinterpret_cast<unit const*>(rows), reinterpret_cast<unit*>(out)};
    });
  });
}

/// @brief Returns the values in the order of the samples, as the overload with `temp` writes them; those of samples in no pack are 0.
/// Allocates and waits.
/// @param on the backend @param plan the packs, and where their samples are stored
/// @param rows `packs` rows of `row * width` values each @param width values of a token
/// @return `stored * width` values on the device
/// @throws invalid_input as the host twin, with the same message
/// @throws gpu_error if the backend reports an error
template <class On, index_type Index, token_offset Offset, token_offset Start, class T>
[[nodiscard]] array<T, On> scatter_rows(On on, stored_packs<Index, Offset, Start> const& plan, T const* rows, std::size_t width = 1) {
  static_cast<void>(ballast::detail::stored_tokens(0, {.width = width}));
  array<T, On> out(on, ballast::detail::values_of<T>("scatter_rows", 1, {plan.stored, width}));
  array<std::uint64_t, On> const bad(on, 1);
  check(on.fill(out.data(), 0, out.size() * sizeof(T)), "fill");
  call(on, "scatter_rows",
       [&](void* temp, std::size_t& bytes) { return scatter_rows(on, temp, bytes, plan, width, rows, out.data(), bad.data()); });
  detail::require_stored(on, bad.data(), "scatter_rows", plan, true);
  return out;
}

}  // namespace ballast::inline v0_2::gpu
