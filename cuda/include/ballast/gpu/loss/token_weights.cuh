// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/narrow_float.cuh>
#include <ballast/gpu/core/row_tiles.cuh>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/gpu/core/wide.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/loss/detail/label_rows.cuh>
#include <ballast/gpu/loss/label_counts.cuh>
#include <ballast/loss/label_counts.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief The weight of each token of a row on the device, for trainers that multiply a vector of token losses.

namespace ballast::inline v0_2::gpu {

namespace detail {
template <class Label, class T, class Factor>
struct write_weight {
  using output = T;
  struct of_sequence {
    label_rule rule;
    T weight;
    BALLAST_HD void operator()(row_place const& place, Label label, T& to) const { to = rule.counts(place, label) ? weight : T{}; }
  };
  Label const* labels;
  double const* weights;
  T* out;
  Factor const* factor;
  label_rule rule;
  [[nodiscard]] BALLAST_HD Label read(row_place const& place) const { return labels[place.at]; }
  template <unsigned N>
  BALLAST_HD void read(row_place const& place, Label* to) const {
    load<N>(labels + place.at, to);
  }
  [[nodiscard]] BALLAST_HD bool wide(std::size_t) const { return is_wide(labels); }
  [[nodiscard]] BALLAST_HD of_sequence in(row_place const& place) const {
    return {rule, place.inside ? static_cast<T>(weights[place.segment] * factor_of(factor)) : T{}};
  }
  [[nodiscard]] BALLAST_HD T* target(std::size_t) const { return out; }
};
}  // namespace detail

/// @brief Writes a weight for each label: the weight of its sequence if the label is counted, otherwise 0; twin of
/// `ballast::token_weights`.
///
/// @tparam On      the backend
/// @tparam Label   an integer
/// @tparam Offset  an integer
/// @tparam T       `float`, `double`, `bfloat16` or `float16`
/// @tparam Factor  one of these
/// @param on         the backend
/// @param temp       scratch memory, or null to get its size
/// @param bytes      size of `temp` in bytes; set if `temp` is null
/// @param weights    one weight per sequence
/// @param labels     one label per token of the row; tokens after the last sequence are padding
/// @param row        tokens of the row
/// @param cu         cumulative lengths: sequence i is [cu[i], cu[i + 1]) of the row
/// @param sequences  number of sequences of the row; `cu` has one entry more
/// @param options    the ignored label and the shift, as for `gpu::label_counts`
/// @param out        array of one weight per label
/// @param first_bad  one word: the first entry of `cu` that is not 0 at the begin, is below its predecessor, or is above `row` at the end;
///                   `~0` if there is none. `out` is unspecified unless it is `~0`
/// @param factor     one number in memory of the backend, such as the gradient of the loss, that multiplies all weights before they are
///                   rounded to `T`; or null
/// @return the error, if any; `invalid_value` if `bytes` is too small
/// @par Complexity
/// O(row), for any lengths; reads the labels once and writes `sizeof(T)` bytes per token.
/// @par Determinism
/// Each element is written once.
template <class On, device_label Label, integer Offset, device_number T, device_number Factor = float>
[[nodiscard]] typename On::error_type token_weights(On on, void* temp, std::size_t& bytes, double const* weights, Label const* labels,
                                                    std::size_t row, Offset const* cu, std::size_t sequences, label_options options, T* out,
                                                    std::uint64_t* first_bad, Factor const* factor = nullptr) {
  using error_type = typename On::error_type;
  workspace cut(temp);
  auto* const starts = cut.take<std::uint64_t>(tile_words(1, row));
  if (auto const room = cut.finish<On>(bytes); room.ends) return room.error;
  if (auto const error = detail::open_row(on, cu, sequences, row, nullptr, 0, starts, first_bad); error != error_type{}) return error;
  return visit_rows(on, same_bounds<offset_bounds<Offset>>{{cu, sequences}}, 1, row, starts,
                    detail::write_weight<Label, T, Factor>{labels, weights, out, factor, detail::label_rule(options)});
}

/// @brief Returns the weight of each token, as the overload with `temp` writes it; allocates and waits.
/// @tparam T `float`, `double`, `bfloat16` or `float16`
/// @param on the backend @param weights one per sequence @param labels one per token of the row @param row number of its tokens
/// @param cu cumulative lengths @param sequences number of sequences @param options the ignored label and the shift
/// @return one weight per label, on the device
/// @throws invalid_input as the host twin, with the same message
/// @throws gpu_error if the backend reports an error
template <device_number T = float, class On, device_label Label, integer Offset>
[[nodiscard]] array<T, On> token_weights(On on, double const* weights, Label const* labels, std::size_t row, Offset const* cu,
                                         std::size_t sequences, label_options options = {}) {
  array<T, On> out(on, row);
  array<std::uint64_t, On> const bad(on, 1);
  call(on, "token_weights", [&](void* temp, std::size_t& bytes) {
    return token_weights(on, temp, bytes, weights, labels, row, cu, sequences, options, out.data(), bad.data());
  });
  detail::require_row(on, bad.data(), cu, sequences, row);
  return out;
}

}  // namespace ballast::inline v0_2::gpu
