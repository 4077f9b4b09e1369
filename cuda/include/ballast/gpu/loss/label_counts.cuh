// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/row_tiles.cuh>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/gpu/core/wide.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/loss/detail/label_rows.cuh>
#include <ballast/loss/label_counts.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

/// @file
/// @brief Counts the labels of each sequence in a packed row on the device.

namespace ballast::inline v0_2::gpu {

/// @brief The type of labels on the device: integers, which are compared as signed 64-bit ones.
template <class T>
concept device_label = std::integral<T> && (std::signed_integral<T> || sizeof(T) < sizeof(std::int64_t));

namespace detail {
template <class Label>
struct count_labels {
  Label const* labels;
  std::int64_t* counts;
  label_rule rule;
  [[nodiscard]] BALLAST_HD Label read(row_place const& place) const { return labels[place.at]; }
  template <unsigned N>
  BALLAST_HD void read(row_place const& place, Label* to) const {
    load<N>(labels + place.at, to);
  }
  [[nodiscard]] BALLAST_HD bool wide(std::size_t) const { return is_wide(labels); }
  BALLAST_HD std::int64_t operator()(row_place const& place, Label label) const { return rule.counts(place, label) ? 1 : 0; }
  BALLAST_HD void emit(std::size_t sequence, two_words sum) const {
    atomic_add(reinterpret_cast<std::uint64_t&>(counts[sequence]), static_cast<std::uint64_t>(sum.low));  // the count of one tile
  }
};
}  // namespace detail

/// @brief Writes the number of counted labels of each sequence; twin of `ballast::label_counts`.
///
/// Under context parallelism, each rank may count its own piece of every sequence, with `label_shift::done`; the count of a sequence is
/// then the sum over these ranks.
///
/// @tparam On      the backend
/// @tparam Label   an integer
/// @tparam Offset  an integer
/// @param on         the backend
/// @param temp       scratch memory, or null to get its size
/// @param bytes      size of `temp` in bytes; set if `temp` is null
/// @param labels     one label per token of the row; tokens after the last sequence are padding
/// @param row        tokens of the row
/// @param cu         cumulative lengths: sequence i is [cu[i], cu[i + 1]) of the row
/// @param sequences  number of sequences of the row; `cu` has one entry more
/// @param options    the ignored label and the shift
/// @param counts     array of one entry per sequence; gets 0 for a sequence without a counted label
/// @param first_bad  one word: the first entry of `cu` that is not 0 at the begin, is below its predecessor, or is above `row` at the end;
///                   `~0` if there is none. `counts` is unspecified unless it is `~0`
/// @return the error, if any; `invalid_value` if `bytes` is too small
/// @par Complexity
/// O(row), for any lengths; reads the labels once.
/// @par Determinism
/// Sums of integers.
template <class On, device_label Label, integer Offset>
[[nodiscard]] typename On::error_type label_counts(On on, void* temp, std::size_t& bytes, Label const* labels, std::size_t row,
                                                   Offset const* cu, std::size_t sequences, label_options options, std::int64_t* counts,
                                                   std::uint64_t* first_bad) {
  using error_type = typename On::error_type;
  workspace cut(temp);
  auto* const starts = cut.take<std::uint64_t>(tile_words(1, row));
  if (auto const room = cut.finish<On>(bytes); room.ends) return room.error;
  if (auto const error = detail::open_row(on, cu, sequences, row, counts, 1, starts, first_bad); error != error_type{}) return error;
  return sum_segments(on, offset_bounds<Offset>{cu, sequences}, row, starts,
                      detail::count_labels<Label>{labels, counts, detail::label_rule(options)});
}

/// @brief Returns the number of counted labels of each sequence, as the overload with `temp` writes them; allocates and waits.
/// @param on the backend @param labels one per token of the row @param row number of its tokens @param cu cumulative lengths
/// @param sequences number of sequences @param options the ignored label and the shift
/// @return one count per sequence, on the device
/// @throws invalid_input as the host twin, with the same message
/// @throws gpu_error if the backend reports an error
template <class On, device_label Label, integer Offset>
[[nodiscard]] array<std::int64_t, On> label_counts(On on, Label const* labels, std::size_t row, Offset const* cu, std::size_t sequences,
                                                   label_options options = {}) {
  array<std::int64_t, On> out(on, sequences);
  array<std::uint64_t, On> const bad(on, 1);
  call(on, "label_counts", [&](void* temp, std::size_t& bytes) {
    return label_counts(on, temp, bytes, labels, row, cu, sequences, options, out.data(), bad.data());
  });
  detail::require_row(on, bad.data(), cu, sequences, row);
  return out;
}

}  // namespace ballast::inline v0_2::gpu
