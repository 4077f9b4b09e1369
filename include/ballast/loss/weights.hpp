// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/loss/detail/power.hpp>
#include <ballast/loss/detail/quotient.hpp>
#include <ballast/loss/detail/weight_words.hpp>
#include <ballast/loss/gradient_path.hpp>
#include <ballast/loss/normaliser.hpp>
#include <ballast/loss/totals.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief The weight of each sequence, by which a trainer multiplies the sum of its token losses before the backward pass.

namespace ballast::inline v0_2 {

/// @brief The weight of a sequence as a function of its counted labels; can be called on host and device. `sequence_weight_of` makes it.
///
/// The weight is numerator / denominator * T^-p / weight.
struct sequence_weight {
  std::uint64_t numerator = 0;    ///< 0 if no label is counted
  std::uint64_t denominator = 1;  ///< positive, below 2^63
  std::uint64_t power = 0;        ///< p in units of 2^-62
  double ratio = 0;               ///< numerator / denominator
  double weight = 1;              ///< the sum of T^(1-p) if the normaliser divides by it and 0 < p < 1, otherwise 1

  /// @brief The weight of a sequence. @param count counted labels of the complete sequence, in [0, 2^40)
  [[nodiscard]] BALLAST_HD double operator()(std::int64_t count) const noexcept {
    if (count <= 0) return 0.0;
    if (power == 0) return ratio;
    auto const n = static_cast<std::uint64_t>(count);
    if (power == detail::whole_exponent) return detail::rounded_quotient(numerator, multiply(denominator, n));
    auto const root = power == detail::whole_exponent / 2 ? detail::square_root(static_cast<double>(count))
                                                          : detail::to_double(detail::power_of(n, power));
    return ratio / (weight * root);
  }
  friend constexpr bool operator==(sequence_weight const&, sequence_weight const&) = default;
};

namespace detail {
// The message for a fault in totals.
template <class = when_called>
[[nodiscard]] inline std::string sentence_of(weight_parts const& found, loss_totals const& totals, loss_totals const& part,
                                             loss_normaliser const& normaliser) {
  auto const name = std::string(found.in_part ? "part" : "totals");
  switch (found.fault) {
    case weight_fault::none: break;
    case weight_fault::negative:
      return name + entry(".words", found.word, (found.in_part ? part : totals).words[found.word]) + " must not be negative";
    case weight_fault::no_sequences: return name + " has tokens but no sequences";
    case weight_fault::other_power:
      return sentence(name, " has no weight for power = ", std::to_string(normaliser.power), ": it was made for another power");
    case weight_fault::fewer_tokens:
      return sentence("totals has ", totals.tokens(), " tokens, fewer than its part, which has ", part.tokens());
    case weight_fault::large_product: break;
  }
  return "the product of the totals, the length and the numbers of the gradient path reaches 2^63";
}
}  // namespace detail

/// @brief Computes the weight of this rank's sequences as a function of their counts.
///
/// @param totals      totals of the complete step
/// @param normaliser  what is minimised
/// @param path        what happens to gradients; the weights undo its averages
/// @param part        if the scope of the normaliser is not the step: totals of this rank's step, or of this micro-batch
/// @return the function; it is 0 everywhere if no label is counted in the scope
/// @throws invalid_input if a total is negative, a number is out of its range, the totals were made for another power, or a product of them
/// reaches 2^63
/// @par Complexity
/// O(1).
[[nodiscard]] constexpr sequence_weight sequence_weight_of(loss_totals const& totals, loss_normaliser const& normaliser,
                                                           gradient_path const& path, loss_totals const& part = {}) {
  auto const request = detail::request_of(normaliser, detail::checked_power(normaliser.power), path);
  auto const parts = detail::weigh_words(totals.words.data(), part.words.data(), request);
  require(parts.fault == detail::weight_fault::none, [&] { return detail::sentence_of(parts, totals, part, normaliser); });
  auto const ratio = detail::rounded_quotient(parts.numerator, {0, parts.denominator});
  return {parts.numerator, parts.denominator, request.power, ratio, parts.weight};
}

/// @brief Writes the weight of each sequence of a rank's step or micro-batch.
///
/// Multiply the sum of each sequence's token losses by its weight, add up, and call backward. What reaches the optimiser is then the
/// gradient of the normaliser's loss, for any packing, sharding and accumulation of the step.
///
/// @param counts      counted labels of each sequence; of the complete sequence even if this rank has only a part of it
/// @param totals      totals of the complete step, all-reduced
/// @param normaliser  what is minimised
/// @param path        what happens to gradients; the weights undo its averages
/// @param out         array of one weight per sequence; gets 0 for a sequence without a counted label, and for all if
///                    `totals.nothing_counted()`
/// @param part        if the scope of the normaliser is not the step: totals of this rank's step, or of this micro-batch
/// @throws invalid_input as `sequence_weight_of`; also if a count is outside [0, 2^40), the counts exceed the totals, or `out` has another
/// size; `out` is then unchanged
/// @par Complexity
/// O(sequences), without allocation; for powers other than 0, 1/2 and 1, some hundred integer operations per sequence.
/// @par Determinism
/// The same bits on every platform, host and device, unless a flag like -ffast-math allows other values. For p = 0 and 1, a weight is the
/// exact quotient, rounded once; for other powers, it is within a relative 2^-51 of the exact value for this weight sum.
template <class = when_called>
inline void loss_weights(std::span<std::int64_t const> counts, loss_totals const& totals, loss_normaliser const& normaliser,
                         gradient_path const& path, std::span<double> out, loss_totals const& part = {}) {
  require(out.size() == counts.size(),
          [&] { return sentence("loss_weights: out has ", out.size(), " elements, ", counts.size(), " are written"); });
  auto const weight = sequence_weight_of(totals, normaliser, path, part);
  auto left = normaliser.scope == loss_scope::step ? totals.tokens() : part.tokens();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    detail::require_count(counts, i);
    require(counts[i] <= left, [&] {
      return sentence(entry("counts", i, counts[i]), " exceeds what the other sequences leave of the ",
                      (normaliser.scope == loss_scope::step ? "step's totals" : "totals of the part"), ", ", left);
    });
    left -= counts[i];
  }
  for (std::size_t i = 0; i < counts.size(); ++i) out[i] = weight(counts[i]);
}

/// @brief Returns the weight of each sequence, as the overload with `out` writes it.
/// @param counts counted labels of each complete sequence @param totals totals of the complete step, all-reduced
/// @param normaliser what is minimised @param path what happens to gradients
/// @param part totals of the rank or the micro-batch, if the scope is not the step
/// @return one weight per sequence
/// @throws invalid_input as the overload with `out`
template <class = when_called>
[[nodiscard]] inline std::vector<double> loss_weights(std::span<std::int64_t const> counts, loss_totals const& totals,
                                                      loss_normaliser const& normaliser, gradient_path const& path,
                                                      loss_totals const& part = {}) {
  std::vector<double> out(counts.size());
  loss_weights(counts, totals, normaliser, path, out, part);
  return out;
}

}  // namespace ballast::inline v0_2
