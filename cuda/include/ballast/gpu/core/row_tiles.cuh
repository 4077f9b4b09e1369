// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/gpu/core/detail/row_tiles.cuh>
#include <ballast/gpu/core/rows.cuh>

#include <cstddef>

/// @file
/// @brief Rows of segments, visited place by place or summed by segment.
///
/// A row is cut into tiles of 2048 places, one block each, so that neither one long segment nor many short ones unbalance the work.

namespace ballast::inline v0_2::gpu {

/// @brief Queues `visitor(place, visitor.read(place))` for every place of `count` rows of equal length.
///
/// @tparam On     the backend
/// @tparam Rows   callable with the number of a row; returns its bounds (rows.cuh)
/// @tparam Visit  callable with a `row_place` and what its `read` returns for that place; reads of several places are under way at once
/// @param on       the backend
/// @param rows     the bounds of each row
/// @param count    rows
/// @param length   places of each
/// @param visitor  what is done
/// @return the error, if any
/// @par Complexity
/// A search among the segments a tile, and one among those of the tile wherever a lane meets a new segment.
/// @par Determinism
/// Every place is visited once, in any order.
template <class On, class Rows, class Visit>
[[nodiscard]] typename On::error_type visit_rows(On on, Rows rows, std::size_t count, std::size_t length, Visit visitor) {
  return on.blocks(detail::tiles_in(length) * count, detail::tile_lanes, 2 * sizeof(std::size_t),
                   detail::visit_tile<Rows, Visit>{rows, length, visitor});
}

/// @brief Queues `term.emit(segment, sum)` with parts of the sum of `term(place, term.read(place))` over each segment of a row; empty parts
/// are left out.
///
/// @tparam On      the backend
/// @tparam Bounds  a bounds object (rows.cuh)
/// @tparam Term    as `Visit` of `visit_rows`, returning an integer of at most 2^55; `emit` takes a `two_words` and adds it atomically
/// @param on      the backend
/// @param bounds  of the row
/// @param length  places of the row
/// @param term    what is summed
/// @return the error, if any
/// @par Complexity
/// O(length + segments): the same work for one long segment and for a thousand short ones.
/// @par Determinism
/// Integer sums.
template <class On, class Bounds, class Term>
[[nodiscard]] typename On::error_type sum_segments(On on, Bounds bounds, std::size_t length, Term term) {
  using tile = detail::sum_tile<same_bounds<Bounds>, Term>;
  return on.blocks(detail::tiles_in(length), detail::tile_lanes, sizeof(typename tile::storage), tile{{bounds}, length, term});
}

}  // namespace ballast::inline v0_2::gpu
