// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/narrow_float.cuh>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/gpu/core/wide.cuh>
#include <ballast/gpu/loss/detail/fixed_words.cuh>
#include <ballast/gpu/loss/detail/label_rows.cuh>
#include <ballast/loss/fixed_point_sum.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief Sums of losses on the device that are the same integers for any split and order.

namespace ballast::inline v0_2::gpu {

namespace detail {
template <class Number>
struct number_units : fixed_sums {
  Number const* numbers;
  double per_1;
  [[nodiscard]] BALLAST_HD Number read(row_place const& place) const { return numbers[place.at]; }
  template <unsigned N>
  BALLAST_HD void read(row_place const& place, Number* to) const {
    load<N>(numbers + place.at, to);
  }
  [[nodiscard]] BALLAST_HD bool wide(std::size_t) const { return is_wide(numbers); }
  BALLAST_HD std::int64_t operator()(row_place const& place, Number x) const {
    return place.inside ? units(place.segment, static_cast<double>(x), per_1) : 0;
  }
};
}  // namespace detail

/// @brief Sums the numbers of each sequence of a row, and of the row; twin of `fixed_point_sum::add` for each sequence.
///
/// Numbers over the limit and numbers that are not finite are counted in the sums, as on the host; they do not set `first_bad`.
///
/// @tparam On            the backend
/// @tparam Number        `float`, `double`, `bfloat16` or `float16` (narrow_float.cuh), whose values are taken as they are
/// @tparam Offset        an integer
/// @tparam FractionBits  bits after the binary point; 24 suits losses
/// @param on         the backend
/// @param temp       scratch memory, or null to get its size
/// @param bytes      size of `temp` in bytes; set if `temp` is null
/// @param numbers    one number per token of the row, such as its loss; those after the last sequence are ignored
/// @param row        tokens of the row
/// @param cu         cumulative lengths: sequence i is [cu[i], cu[i + 1]) of the row
/// @param sequences  number of sequences of the row; `cu` has one entry more
/// @param sums       array of one sum per sequence; all-reduce the words if ranks hold parts of the sequences
/// @param total      one element: the sum of the row
/// @param first_bad  one word: the first entry of `cu` that is not 0 at the begin, is below its predecessor, or is above `row` at the end;
///                   `~0` if there is none. The sums are unspecified unless it is `~0`
/// @return the error, if any; `invalid_value` if `bytes` is too few
/// @par Complexity
/// O(row + sequences), for any lengths; reads each number once, and 32 bytes per sequence three times.
/// @par Determinism
/// Sums of integers: the same words as the host twin.
template <class On, device_number Number, integer Offset, int FractionBits>
[[nodiscard]] typename On::error_type fixed_point_sums(On on, void* temp, std::size_t& bytes, Number const* numbers, std::size_t row,
                                                       Offset const* cu, std::size_t sequences, fixed_point_sum<FractionBits>* sums,
                                                       fixed_point_sum<FractionBits>* total, std::uint64_t* first_bad) {
  detail::number_units<Number> const term{{reinterpret_cast<std::int64_t*>(sums)}, numbers, detail::units_per_1<FractionBits>};
  return detail::sum_row(on, temp, bytes, cu, sequences, row, term, sums, total, first_bad);
}

/// @brief Returns the sums of each sequence, as the overload with `temp` writes them; allocates and waits.
/// @tparam FractionBits bits after the binary point
/// @param on the backend @param numbers one per token of the row @param row number of its tokens @param cu cumulative lengths
/// @param sequences number of sequences
/// @return one sum per sequence, then the sum of the row; on the device
/// @throws invalid_input as the host twins, with the same message
/// @throws gpu_error if the backend reports an error
template <int FractionBits = 24, class On, device_number Number, integer Offset>
[[nodiscard]] array<fixed_point_sum<FractionBits>, On> fixed_point_sums(On on, Number const* numbers, std::size_t row, Offset const* cu,
                                                                        std::size_t sequences) {
  array<fixed_point_sum<FractionBits>, On> out(on, sequences + 1);
  array<std::uint64_t, On> const bad(on, 1);
  call(on, "fixed_point_sums", [&](void* temp, std::size_t& bytes) {
    return fixed_point_sums(on, temp, bytes, numbers, row, cu, sequences, out.data(), out.data() + sequences, bad.data());
  });
  detail::require_row(on, bad.data(), cu, sequences, row);
  return out;
}

}  // namespace ballast::inline v0_2::gpu
