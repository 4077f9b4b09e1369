// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/row_tiles.cuh>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/layout/detail/pack_rows.cuh>
#include <ballast/layout/gather_rows.hpp>
#include <ballast/layout/position_ids.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief Position ids of packed rows on the device; they restart at 0 in every sequence.

namespace ballast::inline v0_2::gpu {

namespace detail {
template <class T>
struct write_position {
  using output = T;
  struct of_sequence {
    std::uint64_t begin;
    bool inside;
    BALLAST_HD void operator()(row_place const& place, no_input, T& to) const { to = inside ? static_cast<T>(place.at - begin) : T{0}; }
  };
  std::size_t length;
  T* out;
  [[nodiscard]] BALLAST_HD no_input read(row_place const&) const { return {}; }
  [[nodiscard]] BALLAST_HD of_sequence in(row_place const& place) const { return {place.begin, place.inside}; }
  [[nodiscard]] BALLAST_HD T* target(std::size_t row) const { return out + row * length; }
};
}  // namespace detail

/// @brief Writes the position of each token of many packed rows within its sequence; twin of `ballast::position_ids` for each row.
///
/// @tparam On      the backend
/// @tparam Offset  `std::int32_t` or `std::int64_t`
/// @tparam T       `std::int32_t` or `std::int64_t`
/// @param on         the backend
/// @param temp       scratch memory, or null to get its size
/// @param bytes      size of `temp` in bytes; set if `temp` is null
/// @param cu         cumulative lengths of all packs (the padded ones if sequences are padded), as `gpu::cu_seqlens` writes them
/// @param offsets    `packs` + 1 numbers: how many sequences come before each pack; or null for one pack
/// @param packs      number of packs; 1 without offsets
/// @param sequences  number of sequences of all packs
/// @param row        tokens of a row
/// @param out        array of `packs` rows of `row` positions each; gets 0 after the last sequence
/// @param first_bad  one word: the first entry of `cu` that is not 0 at the begin of a pack, is below its predecessor, or is above `row` or
///                   the largest `T` at the end of a pack; `sequences + packs` if `offsets` does not go from 0 to `sequences` without
///                   decreasing; `~0` if there is none. `out` is unspecified unless it is `~0`
/// @return the error, if any; `invalid_value` if there are several packs without offsets, or too few bytes
/// @par Complexity
/// O(packs * row), for any lengths; writes `sizeof(T)` bytes a token and reads `cu`.
/// @par Determinism
/// Each element is written once.
template <class On, token_offset Offset, token_offset T>
[[nodiscard]] typename On::error_type position_ids(On on, void* temp, std::size_t& bytes, Offset const* cu, std::uint64_t const* offsets,
                                                   std::size_t packs, std::size_t sequences, std::size_t row, T* out,
                                                   std::uint64_t* first_bad) {
  using error_type = typename On::error_type;
  if (offsets == nullptr && packs != 1) return On::invalid_value;
  workspace cut(temp);
  auto* const starts = cut.take<std::uint64_t>(tile_words(packs, row));
  if (auto const room = cut.finish<On>(bytes); room.ends) return room.error;
  detail::entry_bounds const entries{offsets, packs, sequences};
  if (auto const error = detail::check_rows<T>(on, cu, cu, entries, row, starts, first_bad); error != error_type{}) return error;
  return visit_rows(on, detail::pack_rows<Offset>{cu, entries}, packs, row, starts, detail::write_position<T>{row, out});
}

/// @brief Returns the position ids, as the overload with `temp` writes them; allocates and waits.
/// @tparam T `std::int32_t` or `std::int64_t`
/// @param on the backend @param cu cumulative lengths of all packs @param offsets offsets of the packs, or null for one pack
/// @param packs number of packs @param sequences number of sequences in all packs @param row tokens of a row
/// @return `packs * row` positions on the device
/// @throws invalid_input as the host twin, with the same message
/// @throws gpu_error if the backend reports an error
template <token_offset T = std::int32_t, class On, token_offset Offset>
[[nodiscard]] array<T, On> position_ids(On on, Offset const* cu, std::uint64_t const* offsets, std::size_t packs, std::size_t sequences,
                                        std::size_t row) {
  array<T, On> out(on, ballast::detail::values_of<T>("position_ids", packs, {row}));
  array<std::uint64_t, On> const bad(on, 1);
  call(on, "position_ids", [&](void* temp, std::size_t& bytes) {
    return position_ids(on, temp, bytes, cu, offsets, packs, sequences, row, out.data(), bad.data());
  });
  detail::require_rows(on, bad.data(), std::vector{cu}, {offsets, packs, sequences}, [&](auto const& of_pack) {
    std::vector<T> host_row(row);
    ballast::position_ids(of_pack[0], std::span<T>(host_row));
  });
  return out;
}

}  // namespace ballast::inline v0_2::gpu
