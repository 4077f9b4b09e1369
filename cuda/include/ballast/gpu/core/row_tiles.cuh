// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/gpu/core/detail/row_tiles.cuh>
#include <ballast/gpu/core/rows.cuh>

#include <cstddef>

/// @file
/// @brief Passes over rows that are cut into segments: a visit of every place, and sums by segment.
///
/// A row is cut into tiles of 2048 places, one block each. Neither one long segment nor many short ones can then unbalance the work.

namespace ballast::inline v0_2::gpu {

/// @brief Queues `visitor(place, visitor.read(place))` for every place of `count` rows of equal length.
///
/// @tparam On     the backend
/// @tparam Rows   callable with the number of a row; returns its bounds (rows.cuh)
/// @tparam Visit  callable with a `row_place` and the result of its `read` for that place; several reads are in flight at once
/// @param on       the backend
/// @param rows     gives the bounds of each row
/// @param count    number of rows
/// @param length   places of each row
/// @param visitor  the callable
/// @return the error, if any
/// @par Complexity
/// One search among the segments for each tile, and one within the tile whenever a lane meets a new segment.
/// @par Determinism
/// Every place is visited once, in any order.
template <class On, class Rows, class Visit>
[[nodiscard]] typename On::error_type visit_rows(On on, Rows rows, std::size_t count, std::size_t length, Visit visitor) {
  return on.blocks(detail::tiles_in(length) * count, detail::tile_lanes, 0, detail::visit_tile<Rows, Visit>{rows, length, visitor});
}

/// @brief Queues `term.emit(segment, sum)` with partial sums of `term(place, term.read(place))` over each segment of a row; empty parts
/// are left out.
///
/// @tparam On      the backend
/// @tparam Bounds  a bounds object (rows.cuh)
/// @tparam Term    as `Visit` of `visit_rows`, returning an integer of at most 2^55; `emit` takes a `two_words` and adds it atomically.
///                 If it has a type `output`, `term.in(place)` is made for each part of a segment and called in its stead, with one more
///                 argument, an `output&`; `term.write(at, output)` follows for every place
/// @param on      the backend
/// @param bounds  bounds of the row
/// @param length  places of the row
/// @param term    gives the summands
/// @return the error, if any
/// @par Complexity
/// O(length + segments): one long segment takes as much work as a thousand short ones.
/// @par Determinism
/// Sums of integers.
template <class On, class Bounds, class Term>
[[nodiscard]] typename On::error_type sum_segments(On on, Bounds bounds, std::size_t length, Term term) {
  using tile = detail::sum_tile<same_bounds<Bounds>, Term>;
  return on.blocks(detail::tiles_in(length), detail::tile_lanes, sizeof(typename tile::storage), tile{{bounds}, length, term});
}

}  // namespace ballast::inline v0_2::gpu
