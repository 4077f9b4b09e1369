// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/gpu/core/detail/row_tiles.cuh>
#include <ballast/gpu/core/rows.cuh>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief Passes over rows that are cut into segments: a visit of every place, and sums by segment.
///
/// A row is cut into tiles of 2048 places, one block each. Neither one long segment nor many short ones can then unbalance the work. The
/// first segment of each tile is searched by its block, or once for all by `find_tiles`, which a twin calls with its checks.
///
/// A visitor, or a term, has `read(place)` for what it reads at a place; of several places, before it works on the first. Beside that it
/// may have
/// - `in(place)`: what is called for the places of a segment in its stead; made once for each part of a segment;
/// - a type `output`, and `target(row)`, the begin of an array with one for each place of a row: calls then have one more argument, an
///   `output&`, and a lane writes two or four neighbours at once;
/// - for outputs in several arrays, `write<N>(place, outputs)` in place of `target`, with a constant `together`, the largest N, and
///   `wide(row)`;
/// - `read<N>(place, inputs)` for the inputs of N neighbours at once, with `wide(row)`: whether their arrays are aligned to 16 bytes in
///   that row (wide.cuh).

namespace ballast::inline v0_2::gpu {

/// @brief Number of 64-bit words that `find_tiles` writes. @param count number of rows @param length places of each row @return the number
[[nodiscard]] constexpr std::size_t tile_words(std::size_t count, std::size_t length) { return count * detail::tile_starts_in(length); }

/// @brief The functor that writes the first segment of tile i; call it for each i below `tile_words`, beside checks of the bounds.
/// @param rows as for `visit_rows` @param length places of each row @param starts array of `tile_words` words @return the functor
template <class Rows>
[[nodiscard]] auto find_tiles(Rows rows, std::size_t length, std::uint64_t* starts) {
  return detail::find_tile<Rows>{rows, length, starts};
}

/// @brief Sets `*first_bad` to `none_bad`, and then calls `f(i)` for every i below `count`: one node if they are few, otherwise two.
/// @param on the backend @param count number of calls @param first_bad one word @param f the functor, which may lower the word atomically
/// @return the error, if any
template <class On, class F>
[[nodiscard]] typename On::error_type check_each(On on, std::size_t count, std::uint64_t* first_bad, F f) {
  if (count <= detail::few_items) return on.blocks(1, 1024, 0, detail::check_block<F>{f, count, first_bad});
  auto const error = on.fill(first_bad, 0xff, sizeof(std::uint64_t));
  return error != typename On::error_type{} ? error : on.for_each(count, f);
}

/// @brief Queues `visitor(place, visitor.read(place))` for every place of `count` rows of equal length.
///
/// @tparam On     the backend
/// @tparam Rows   callable with the number of a row; returns its bounds (rows.cuh)
/// @tparam Visit  callable with a `row_place` and the result of its `read` for that place, or as above
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
  using tile = detail::visit_tile<Rows, Visit, detail::searched_ends>;
  return on.blocks(detail::tiles_in(length) * count, detail::tile_lanes, sizeof(typename tile::storage), tile{rows, length, visitor, {}});
}

/// @brief The same without a search for each tile. @param on the backend @param rows bounds of each row @param count number of rows
/// @param length places of each row @param starts what `find_tiles` wrote for these rows @param visitor the callable @return the error
template <class On, class Rows, class Visit>
[[nodiscard]] typename On::error_type visit_rows(On on, Rows rows, std::size_t count, std::size_t length, std::uint64_t const* starts,
                                                 Visit visitor) {
  using tile = detail::visit_tile<Rows, Visit, detail::found_ends>;
  return on.blocks(detail::tiles_in(length) * count, detail::tile_lanes, sizeof(typename tile::storage),
                   tile{rows, length, visitor, {starts}});
}

/// @brief Queues `term.emit(segment, sum)` with partial sums of `term(place, term.read(place))` over each segment of a row; empty parts
/// are left out.
///
/// @tparam On      the backend
/// @tparam Bounds  a bounds object (rows.cuh)
/// @tparam Term    as `Visit` of `visit_rows`, returning an integer of at most 2^55; `emit` takes a `two_words` and adds it atomically
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
  using tile = detail::sum_tile<same_bounds<Bounds>, Term, detail::searched_ends>;
  return on.blocks(detail::tiles_in(length), detail::tile_lanes, sizeof(typename tile::storage), tile{{bounds}, length, term, {}});
}

/// @brief The same without a search for each tile. @param on the backend @param bounds bounds of the row @param length places of the row
/// @param starts what `find_tiles` wrote for the row @param term gives the summands @return the error, if any
template <class On, class Bounds, class Term>
[[nodiscard]] typename On::error_type sum_segments(On on, Bounds bounds, std::size_t length, std::uint64_t const* starts, Term term) {
  using tile = detail::sum_tile<same_bounds<Bounds>, Term, detail::found_ends>;
  return on.blocks(detail::tiles_in(length), detail::tile_lanes, sizeof(typename tile::storage), tile{{bounds}, length, term, {starts}});
}

}  // namespace ballast::inline v0_2::gpu
