// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/row_tiles.cuh>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/layout/detail/pack_rows.cuh>
#include <ballast/layout/gather_rows.hpp>
#include <ballast/layout/segment_ids.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief Segment ids of packed rows on the device: 1, 2, … for the sequences of a row, 0 for padding.

namespace ballast::inline v0_2::gpu {

namespace detail {
template <class Offset, class T>
struct write_segment {
  using output = T;
  struct of_sequence {
    std::uint64_t padding;  // where it begins
    T id;
    BALLAST_HD void operator()(row_place const& place, no_input, T& to) const { to = place.at < padding ? id : T{0}; }
  };
  pack_rows<Offset> lengths;
  std::size_t length;
  T* out;
  [[nodiscard]] BALLAST_HD no_input read(row_place const&) const { return {}; }
  [[nodiscard]] BALLAST_HD of_sequence in(row_place const& place) const {
    if (!place.inside) return {};
    auto const bounds = lengths(place.row);
    return {place.begin + bounds(place.segment + 1) - bounds(place.segment), static_cast<T>(place.segment + 1)};
  }
  [[nodiscard]] BALLAST_HD T* target(std::size_t row) const { return out + row * length; }
};
}  // namespace detail

/// @brief Writes, for each token of many packed rows, the number of its sequence; twin of `ballast::segment_ids` for each row.
///
/// @tparam On      the backend
/// @tparam Offset  `std::int32_t` or `std::int64_t`
/// @tparam T       `std::int32_t` or `std::int64_t`
/// @param on         the backend
/// @param temp       scratch memory, or null to get its size
/// @param bytes      size of `temp` in bytes; set if `temp` is null
/// @param cu         cumulative lengths of all packs, as `gpu::cu_seqlens` writes them
/// @param cu_padded  where the sequences start: the padded cumulative lengths, or `cu` again if nothing is padded
/// @param offsets    `packs` + 1 numbers: how many sequences come before each pack; or null for one pack
/// @param packs      number of packs; 1 without offsets
/// @param sequences  number of sequences of all packs
/// @param row        tokens of a row
/// @param out        array of `packs` rows of `row` ids each: 1, 2, … in each pack, 0 for padding
/// @param first_bad  one word: the first entry that is not 0 at the begin of a pack, is below its predecessor, has a sequence that is
/// longer
///                   than its place in `cu_padded`, or is above `row` or the largest `T` at the end of a pack; `sequences + packs` if
///                   `offsets` does not go from 0 to `sequences` without decreasing; `~0` if there is none. `out` is unspecified unless it
///                   is `~0`
/// @return the error, if any; `invalid_value` if there are several packs without offsets, or too few bytes
/// @par Complexity
/// O(packs * row), for any lengths; writes `sizeof(T)` bytes a token and reads both arrays.
/// @par Determinism
/// Each element is written once.
template <class On, token_offset Offset, token_offset T>
[[nodiscard]] typename On::error_type segment_ids(On on, void* temp, std::size_t& bytes, Offset const* cu, Offset const* cu_padded,
                                                  std::uint64_t const* offsets, std::size_t packs, std::size_t sequences, std::size_t row,
                                                  T* out, std::uint64_t* first_bad) {
  using error_type = typename On::error_type;
  if (offsets == nullptr && packs != 1) return On::invalid_value;
  workspace cut(temp);
  auto* const starts = cut.take<std::uint64_t>(tile_words(packs, row));
  if (auto const room = cut.finish<On>(bytes); room.ends) return room.error;
  detail::entry_bounds const entries{offsets, packs, sequences};
  if (auto const error = detail::check_rows<T>(on, cu, cu_padded, entries, row, starts, first_bad); error != error_type{}) return error;
  return visit_rows(on, detail::pack_rows<Offset>{cu_padded, entries}, packs, row, starts,
                    detail::write_segment<Offset, T>{{cu, entries}, row, out});
}

/// @brief Returns the segment ids, as the overload with `temp` writes them; allocates and waits.
/// @tparam T `std::int32_t` or `std::int64_t`
/// @param on the backend @param cu cumulative lengths of all packs @param cu_padded where the sequences start
/// @param offsets offsets of the packs, or null for one pack @param packs number of packs @param sequences number of sequences in all packs
/// @param row tokens of a row
/// @return `packs * row` ids on the device
/// @throws invalid_input as the host twin, with the same message
/// @throws gpu_error if the backend reports an error
template <token_offset T = std::int32_t, class On, token_offset Offset>
[[nodiscard]] array<T, On> segment_ids(On on, Offset const* cu, Offset const* cu_padded, std::uint64_t const* offsets, std::size_t packs,
                                       std::size_t sequences, std::size_t row) {
  array<T, On> out(on, ballast::detail::values_of<T>("segment_ids", packs, {row}));
  array<std::uint64_t, On> const bad(on, 1);
  call(on, "segment_ids", [&](void* temp, std::size_t& bytes) {
    return segment_ids(on, temp, bytes, cu, cu_padded, offsets, packs, sequences, row, out.data(), bad.data());
  });
  detail::require_rows(on, bad.data(), std::vector{cu, cu_padded}, {offsets, packs, sequences}, [&](auto const& of_pack) {
    std::vector<T> host_row(row);
    ballast::segment_ids(of_pack[0], of_pack[1], std::span<T>(host_row));
  });
  return out;
}

}  // namespace ballast::inline v0_2::gpu
