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
#include <ballast/gpu/loss/label_counts.cuh>
#include <ballast/loss/fixed_point_sum.hpp>
#include <ballast/loss/label_counts.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief The weighted loss of a row, and the gradient with respect to each token loss, in one pass over the device's memory.

namespace ballast::inline v0_2::gpu {

namespace detail {
template <class Number, class Label, class Scale, class Factor>
struct weighted_units : fixed_sums {
  using output = Scale;
  struct input {
    Number loss;
    std::uint32_t taken;  // whether the label is not the ignored one
  };
  struct of_sequence {
    fixed_sums sums;
    label_rule rule;
    double weight, per_1;
    Scale scale;
    BALLAST_HD std::int64_t operator()(row_place const& place, input const& token, Scale& out) const {
      auto const counted = token.taken != 0 && rule.has_label(place);
      out = counted ? scale : Scale{};
      if (!counted) return 0;
      return sums.units(place.segment, weight * static_cast<double>(token.loss), per_1);
    }
  };
  Number const* losses;
  Label const* labels;
  double const* weights;
  Scale* scale;
  Factor const* factor;
  label_rule rule;
  double per_1;
  [[nodiscard]] BALLAST_HD input read(row_place const& place) const { return {losses[place.at], rule.takes(labels[place.at])}; }
  template <unsigned N>
  BALLAST_HD void read(row_place const& place, input* to) const {
    Number loss[N];
    Label label[N];
    load<N>(losses + place.at, loss);
    load<N>(labels + place.at, label);
    for (unsigned k = 0; k < N; ++k) to[k] = {loss[k], rule.takes(label[k])};
  }
  [[nodiscard]] BALLAST_HD bool wide(std::size_t) const { return is_wide(losses) && is_wide(labels); }
  [[nodiscard]] BALLAST_HD of_sequence in(row_place const& place) const {
    auto const weight = place.inside ? weights[place.segment] : 0.0;
    return {*this, rule, weight, per_1, static_cast<Scale>(weight * factor_of(factor))};
  }
  [[nodiscard]] BALLAST_HD Scale* target(std::size_t) const { return scale; }
};
}  // namespace detail

/// @brief Sums weight times loss over the counted labels of each sequence and of the row, and writes the weight of each token, which is the
/// derivative of the weighted loss with respect to the token's loss.
///
/// The result is that of `gpu::token_weights` and, for the products in double precision, `gpu::fixed_point_sums`; each byte is read once.
///
/// @tparam On            the backend
/// @tparam Number        `float`, `double`, `bfloat16` or `float16` (narrow_float.cuh)
/// @tparam Label         an integer
/// @tparam Offset        an integer
/// @tparam Scale         one of these
/// @tparam FractionBits  bits after the binary point of the sums; 44 suits losses that are weighted
/// @tparam Factor        as `Number`
/// @param on         the backend
/// @param temp       scratch memory, or null to get its size
/// @param bytes      size of `temp` in bytes; set if `temp` is null
/// @param losses     one loss per token of the row, at the position of its label; may be anything at labels that are not counted
/// @param labels     one label per token of the row; tokens after the last sequence are padding
/// @param row        tokens of the row
/// @param cu         cumulative lengths: sequence i is [cu[i], cu[i + 1]) of the row
/// @param sequences  number of sequences of the row; `cu` has one entry more
/// @param weights    one weight per sequence, as `gpu::loss_weights` writes them
/// @param options    the ignored label and the shift, as for `gpu::label_counts`
/// @param scale      array of one weight per token; gets 0 at labels that are not counted
/// @param sums       array of one sum per sequence
/// @param total      one element: the weighted loss of the row. All-reduce its words to get the loss of the step
/// @param first_bad  one word: the first entry of `cu` that is not 0 at the begin, is below its predecessor, or is above `row` at the end;
///                   `~0` if there is none. The results are unspecified unless it is `~0`
/// @param factor     one number in memory of the backend, such as the scale of a gradient scaler, that multiplies all gradients before
///                   they are rounded to `Scale`, and no sum; or null
/// @return the error, if any; `invalid_value` if `bytes` is too small
/// @par Complexity
/// O(row + sequences), for any lengths; reads each loss and label once and writes `sizeof(Scale)` bytes per token.
/// @par Determinism
/// Sums of integers, each product rounded once: the same words for every partition of the tokens.
template <class On, device_number Number, device_label Label, integer Offset, device_number Scale, int FractionBits,
          device_number Factor = float>
[[nodiscard]] typename On::error_type weighted_loss(On on, void* temp, std::size_t& bytes, Number const* losses, Label const* labels,
                                                    std::size_t row, Offset const* cu, std::size_t sequences, double const* weights,
                                                    label_options options, Scale* scale, fixed_point_sum<FractionBits>* sums,
                                                    fixed_point_sum<FractionBits>* total, std::uint64_t* first_bad,
                                                    Factor const* factor = nullptr) {
  detail::weighted_units<Number, Label, Scale, Factor> const term{
      {reinterpret_cast<std::int64_t*>(sums)}, losses, labels, weights, scale, factor, detail::label_rule(options),
      detail::units_per_1<FractionBits>};
  return detail::sum_row(on, temp, bytes, cu, sequences, row, term, sums, total, first_bad);
}

/// @brief The results of the fused pass over a row.
/// @tparam On the backend @tparam Scale type of a gradient @tparam FractionBits bits after the binary point of the sum
template <class On, class Scale = float, int FractionBits = 44>
struct weighted_row {
  array<Scale, On> scale;               ///< derivative with respect to each token's loss, on the device
  fixed_point_sum<FractionBits> total;  ///< the weighted loss of the row
};

/// @brief Returns the weighted loss and the weights, as the overload with `temp` writes them; allocates and waits.
/// @tparam Scale type of a gradient @tparam FractionBits bits after the binary point of the sum
/// @param on the backend @param losses one per token of the row @param labels one per token of the row @param row number of its tokens
/// @param cu cumulative lengths @param sequences number of sequences @param weights one per sequence @param options the ignored label and
/// the shift
/// @return the weight of each token, and the loss
/// @throws invalid_input as the host twins, with the same message
/// @throws gpu_error if the backend reports an error
template <class Scale = float, int FractionBits = 44, class On, device_number Number, device_label Label, integer Offset>
[[nodiscard]] weighted_row<On, Scale, FractionBits> weighted_loss(On on, Number const* losses, Label const* labels, std::size_t row,
                                                                  Offset const* cu, std::size_t sequences, double const* weights,
                                                                  label_options options = {}) {
  weighted_row<On, Scale, FractionBits> out{array<Scale, On>(on, row), {}};
  array<fixed_point_sum<FractionBits>, On> const sums(on, sequences + 1);
  array<std::uint64_t, On> const bad(on, 1);
  call(on, "weighted_loss", [&](void* temp, std::size_t& bytes) {
    return weighted_loss(on, temp, bytes, losses, labels, row, cu, sequences, weights, options, out.scale.data(), sums.data(),
                         sums.data() + sequences, bad.data());
  });
  detail::require_row(on, bad.data(), cu, sequences, row);
  check(on.download(&out.total, sums.data() + sequences, 1), "download");
  return out;
}

}  // namespace ballast::inline v0_2::gpu
