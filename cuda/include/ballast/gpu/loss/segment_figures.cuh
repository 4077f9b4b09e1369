// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/row_tiles.cuh>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/loss/detail/figure_tile.cuh>
#include <ballast/loss/segment_figures.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief The least, the largest, the sum and the mean of the values of each sequence in a packed row on the device.

namespace ballast::inline v0_2::gpu {

/// @brief Where figures of sequences are written, each an array of one element for each sequence; null if it is not wanted.
/// @tparam Value  a `segment_value`
template <segment_value Value>
struct segment_arrays {
  Value* least = nullptr;             ///< as `segment_figure::least`
  Value* largest = nullptr;           ///< as `segment_figure::largest`
  segment_sum<Value>* sum = nullptr;  ///< as `segment_figure::sum`
  double* mean = nullptr;             ///< as `segment_figure::mean`
};

/// @brief Writes figures of the values of each sequence of a row; twin of `ballast::segment_figures`.
///
/// @tparam On      the backend
/// @tparam Value   a `segment_value`
/// @tparam Offset  an integer
/// @param on         the backend
/// @param temp       scratch memory, or null to get its size
/// @param bytes      size of `temp` in bytes; set if `temp` is null
/// @param values     one value for each token of the row; those after the last sequence are ignored
/// @param row        tokens of the row
/// @param cu         cumulative lengths: sequence i is [cu[i], cu[i + 1]) of the row
/// @param sequences  number of sequences of the row; `cu` has one entry more
/// @param out        where figures are written
/// @param first_bad  one word: the first entry of `cu` that is not 0 at the begin, is below its predecessor, or is above `row` at the end;
///                   `~0` if there is none. Figures are unspecified unless it is `~0`
/// @return the error, if any; `invalid_value` if `bytes` is too small
/// @par Complexity
/// O(row + sequences), for any lengths; reads each value once or twice, and 48 bytes of scratch memory for a sequence three times.
/// @par Determinism
/// Minima, maxima and sums of integers: the bits of the host twin.
template <class On, segment_value Value, integer Offset>
[[nodiscard]] typename On::error_type segment_figures(On on, void* temp, std::size_t& bytes, Value const* values, std::size_t row,
                                                      Offset const* cu, std::size_t sequences, segment_arrays<Value> const& out,
                                                      std::uint64_t* first_bad) {
  using error_type = typename On::error_type;
  using tile = detail::figure_tile<Value, Offset>;
  workspace cut(temp);
  auto* const words = cut.take<detail::figure_words>(sequences);
  auto const tiles = tile_words(1, row);
  auto* const starts = cut.take<std::uint64_t>(tiles);
  if (auto const room = cut.finish<On>(bytes); room.ends) return room.error;
  auto const find = find_tiles(same_bounds<offset_bounds<Offset>>{{cu, sequences}}, row, starts);
  detail::open_figures<Offset> const open{{cu, sequences, row, first_bad}, words, tiles, find};
  if (auto const error = check_each(on, (std::max)(sequences + 1, tiles), first_bad, open); error != error_type{}) return error;
  auto const error =
      on.blocks(detail::tiles_in(row), tile::most_lanes, sizeof(typename tile::storage), tile{values, row, cu, sequences, starts, words});
  if (error != error_type{}) return error;
  return on.for_each(sequences, detail::close_figures<Value, Offset, segment_arrays<Value>>{cu, words, out});
}

/// @brief Figures of sequences in memory of a backend. @tparam On the backend @tparam Value a `segment_value`
template <class On, segment_value Value>
struct segment_results {
  array<Value, On> least;             ///< as `segment_figure::least`
  array<Value, On> largest;           ///< as `segment_figure::largest`
  array<segment_sum<Value>, On> sum;  ///< as `segment_figure::sum`
  array<double, On> mean;             ///< as `segment_figure::mean`
};

/// @brief Returns figures of each sequence, as the overload with `temp` writes them; allocates and waits.
/// @param on the backend @param values one for each token of the row @param row number of its tokens @param cu cumulative lengths
/// @param sequences number of sequences
/// @return one of each for each sequence, on the device
/// @throws invalid_input as the host twin, with the same message
/// @throws gpu_error if the backend reports an error
template <class On, segment_value Value, integer Offset>
[[nodiscard]] segment_results<On, Value> segment_figures(On on, Value const* values, std::size_t row, Offset const* cu,
                                                         std::size_t sequences) {
  segment_results<On, Value> out{{on, sequences}, {on, sequences}, {on, sequences}, {on, sequences}};
  array<std::uint64_t, On> const bad(on, 1);
  call(on, "segment_figures", [&](void* temp, std::size_t& bytes) {
    return segment_figures(on, temp, bytes, values, row, cu, sequences,
                           segment_arrays<Value>{out.least.data(), out.largest.data(), out.sum.data(), out.mean.data()}, bad.data());
  });
  if (fetch_one(on, bad.data()) != none_bad)
    static_cast<void>(ballast::segment_figures(std::vector<Value>(row), fetch(on, cu, sequences + 1)));
  return out;
}

}  // namespace ballast::inline v0_2::gpu
