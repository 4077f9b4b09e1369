// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/row_tiles.cuh>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/gpu/loss/detail/label_rows.cuh>
#include <ballast/loss/label_counts.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

/// @file
/// @brief Counted labels of each sequence in a packed row on the device.

namespace ballast::inline v0_2::gpu {

/// @brief Labels on the device: integers that are compared as signed 64-bit ones.
template <class T>
concept device_label = std::integral<T> && (std::signed_integral<T> || sizeof(T) < sizeof(std::int64_t));

namespace detail {
template <class Label>
struct count_labels {
  Label const* labels;
  std::int64_t* counts;
  label_rule rule;
  [[nodiscard]] BALLAST_HD Label read(row_place const& place) const { return labels[place.at]; }
  BALLAST_HD std::int64_t operator()(row_place const& place, Label label) const { return rule.counts(place, label) ? 1 : 0; }
  BALLAST_HD void emit(std::size_t sequence, two_words sum) const {
    atomic_add(reinterpret_cast<std::uint64_t&>(counts[sequence]), static_cast<std::uint64_t>(sum.low));  // a tile's count
  }
};
}  // namespace detail

/// @brief Writes how many labels of each sequence are counted; twin of `ballast::label_counts`.
///
/// Under context parallelism each rank may count its own piece of every sequence, with `label_shift::done`; the counts of a sequence then
/// add up over these ranks.
///
/// @tparam On      the backend
/// @tparam Label   an integer
/// @tparam Offset  an integer
/// @param on         where it runs
/// @param temp       scratch memory, or null to ask for `bytes`
/// @param bytes      of scratch memory
/// @param labels     one per token of the row; tokens behind the last sequence are padding
/// @param row        tokens of the row
/// @param cu         cumulative lengths: sequence i is [cu[i], cu[i + 1]) of the row
/// @param sequences  of the row; `cu` has one entry more
/// @param options    the ignored label and the shift
/// @param counts     one entry per sequence; 0 for a sequence without a counted label
/// @param first_bad  one word: the first entry of `cu` that is not 0 at the begin, below its predecessor, or at the end above `row`; `~0`
/// if
///                   all is good. Nothing is promised of `counts` unless it is `~0`
/// @return the error, if any
/// @par Complexity
/// O(row), whatever the lengths; reads the labels once.
/// @par Determinism
/// Sums of integers.
template <class On, device_label Label, integer Offset>
[[nodiscard]] typename On::error_type label_counts(On on, void* temp, std::size_t& bytes, Label const* labels, std::size_t row,
                                                   Offset const* cu, std::size_t sequences, label_options options, std::int64_t* counts,
                                                   std::uint64_t* first_bad) {
  using error_type = typename On::error_type;
  if (temp == nullptr) return bytes = 1, error_type{};
  if (auto const error = detail::open_row(on, cu, sequences, row, counts, 1, first_bad); error != error_type{}) return error;
  return sum_segments(on, offset_bounds<Offset>{cu, sequences}, row,
                      detail::count_labels<Label>{labels, counts, detail::label_rule(options)});
}

/// @brief The counted labels of each sequence, by value. See the form above; allocates and waits.
/// @param on where it runs @param labels one per token of the row @param row its tokens @param cu cumulative lengths
/// @param sequences of the row @param options the ignored label and the shift
/// @return one count per sequence, on the device
/// @throws invalid_input with the sentence of the host twin
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
