// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/row_tiles.cuh>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/gpu/loss/detail/label_rows.cuh>
#include <ballast/gpu/loss/label_counts.cuh>
#include <ballast/loss/label_counts.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

/// @file
/// @brief The weight of each token of a row on the device, for trainers that multiply a vector of token losses.

namespace ballast::inline v0_2::gpu {

namespace detail {
template <class Label, class T>
struct write_weight {
  Label const* labels;
  double const* weights;
  T* out;
  label_rule rule;
  [[nodiscard]] BALLAST_HD Label read(row_place const& place) const { return labels[place.at]; }
  BALLAST_HD void operator()(row_place const& place, Label label) const {
    out[place.at] = rule.counts(place, label) ? static_cast<T>(weights[place.segment]) : T{0};
  }
};
}  // namespace detail

/// @brief Writes a weight for each label: the weight of its sequence if the label is counted, otherwise 0; twin of
/// `ballast::token_weights`.
///
/// @tparam On      the backend
/// @tparam Label   an integer
/// @tparam Offset  an integer
/// @tparam T       `float` or `double`
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
/// @return the error, if any
/// @par Complexity
/// O(row), for any lengths; reads the labels once and writes `sizeof(T)` bytes per token.
/// @par Determinism
/// Each element is written once.
template <class On, device_label Label, integer Offset, std::floating_point T>
[[nodiscard]] typename On::error_type token_weights(On on, void* temp, std::size_t& bytes, double const* weights, Label const* labels,
                                                    std::size_t row, Offset const* cu, std::size_t sequences, label_options options, T* out,
                                                    std::uint64_t* first_bad) {
  using error_type = typename On::error_type;
  if (temp == nullptr) return bytes = 1, error_type{};
  if (auto const error = detail::open_row(on, cu, sequences, row, nullptr, 0, first_bad); error != error_type{}) return error;
  return visit_rows(on, same_bounds<offset_bounds<Offset>>{{cu, sequences}}, 1, row,
                    detail::write_weight<Label, T>{labels, weights, out, detail::label_rule(options)});
}

/// @brief Returns the weight of each token, as the overload with `temp` writes it; allocates and waits.
/// @tparam T `float` or `double`
/// @param on the backend @param weights one per sequence @param labels one per token of the row @param row number of its tokens
/// @param cu cumulative lengths @param sequences number of sequences @param options the ignored label and the shift
/// @return one weight per label, on the device
/// @throws invalid_input as the host twin, with the same message
/// @throws gpu_error if the backend reports an error
template <std::floating_point T = float, class On, device_label Label, integer Offset>
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
