// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/loss/detail/power.hpp>
#include <ballast/loss/detail/quotient.hpp>
#include <ballast/loss/gradient_path.hpp>
#include <ballast/loss/normaliser.hpp>
#include <ballast/loss/totals.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief One weight per sequence: what a trainer multiplies the summed token losses of a sequence with, before its backward pass.

namespace ballast::inline v0_1 {

/// @brief The weight of a sequence as a function of its counted labels, on host and device. Made by `sequence_weight_of`.
///
/// It is numerator / denominator * T^-p / weight.
struct sequence_weight {
  std::uint64_t numerator = 0;    ///< 0 where nothing is counted
  std::uint64_t denominator = 1;  ///< positive, below 2^63
  std::uint64_t power = 0;        ///< p in units of 2^-62
  double ratio = 0;               ///< numerator / denominator
  double weight = 1;              ///< the sum of T^(1-p) where the normaliser divides by it and 0 < p < 1

  /// @brief The weight. @param count counted labels of the whole sequence, in [0, 2^40)
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
// A quotient of products, kept in lowest terms.
struct exact_ratio {
  std::uint64_t numerator = 1, denominator = 1;
  constexpr void times(std::uint64_t factor) { grow(numerator, denominator, factor); }
  constexpr void over(std::uint64_t factor) { grow(denominator, numerator, factor); }

 private:
  static constexpr void grow(std::uint64_t& side, std::uint64_t& other, std::uint64_t factor) {
    auto const common = std::gcd(factor, other);
    other /= common;
    auto const product = multiply(side, factor / common);
    require(product.high == 0 && product.low >> 63 == 0,
            [] { return std::string("the product of the totals, the length and the numbers of the gradient path reaches 2^63"); });
    side = product.low;
  }
};

[[nodiscard]] constexpr std::uint64_t checked_word(loss_totals const& totals, std::size_t i, char const* name) {
  require(totals.words[i] >= 0, [&] {
    return std::string(name) + ".words[" + std::to_string(i) + "] = " + std::to_string(totals.words[i]) + " must not be negative";
  });
  return static_cast<std::uint64_t>(totals.words[i]);
}
[[nodiscard]] constexpr std::uint64_t counted_sequences(loss_totals const& totals, loss_normaliser const& normaliser, char const* name) {
  auto const empty = checked_word(totals, 2, name);
  return checked_word(totals, 1, name) + (normaliser.count_empty ? empty : 0);
}
}  // namespace detail

/// @brief Works out the weight of this rank's sequences as a function of their counts.
///
/// @param totals      of the whole step
/// @param normaliser  what is minimised
/// @param path        what happens to the gradients: the weights undo its averages
/// @param part        where the normaliser's scope is not the step: totals of this rank's step, or of this micro-batch
/// @return the function; 0 everywhere if nothing is counted in the scope
/// @throws invalid_input if a total is negative, a number is out of its range, the totals were made for another power, or a product of them
/// reaches 2^63
/// @par Complexity
/// O(1).
[[nodiscard]] constexpr sequence_weight sequence_weight_of(loss_totals const& totals, loss_normaliser const& normaliser,
                                                           gradient_path const& path, loss_totals const& part = {}) {
  auto const step_wide = normaliser.scope == loss_scope::step;
  auto const& scope = step_wide ? totals : part;
  auto const* const name = step_wide ? "totals" : "part";
  sequence_weight out{.power = detail::checked_power(normaliser.power)};
  auto const tokens = detail::checked_word(scope, 0, name);
  auto const sequences = detail::counted_sequences(scope, normaliser, name);
  detail::exact_ratio ratio;
  ratio.times(path.averaged_over());
  if (tokens == 0) return out;
  if (!step_wide) ratio.over(static_cast<std::uint64_t>(path.ranks));
  if (normaliser.scope == loss_scope::micro_batch) ratio.over(static_cast<std::uint64_t>(path.micro_batches));
  auto const over_length = [&] {
    require(normaliser.length > 0, [&] { return "length = " + std::to_string(normaliser.length) + " must be positive"; });
    ratio.over(static_cast<std::uint64_t>(normaliser.length));
  };
  auto const step_tokens = [&] {
    auto const of_step = detail::checked_word(totals, 0, "totals");
    require(of_step >= tokens,
            [&] { return "totals has " + std::to_string(of_step) + " tokens, fewer than its part, which has " + std::to_string(tokens); });
    return of_step;
  };
  switch (normaliser.divisor) {
    case loss_divisor::one: break;
    case loss_divisor::weights:
      if (out.power == 0) ratio.over(tokens);
      if (out.power == detail::whole_exponent) ratio.over(detail::checked_word(scope, 1, name));
      if (!detail::is_fractional(out.power)) break;
      out.weight = scope.weight();
      require(out.weight >= 1.0, [&] {
        return std::string(name) + " has no weight for power = " + std::to_string(normaliser.power) + ": it was made for another power";
      });
      break;
    case loss_divisor::sequences: ratio.over(sequences); break;
    case loss_divisor::length: over_length(); break;
    case loss_divisor::sequence_length:
      ratio.over(sequences);
      over_length();
      break;
    case loss_divisor::average_tokens:
      ratio.times(detail::counted_sequences(totals, normaliser, "totals"));
      ratio.over(sequences);
      ratio.over(step_tokens());
      break;
  }
  if (path.divides_by_tokens) ratio.times(step_tokens());
  out.numerator = ratio.numerator;
  out.denominator = ratio.denominator;
  out.ratio = detail::rounded_quotient(out.numerator, {0, out.denominator});
  return out;
}

/// @brief Writes the weight of each sequence of a rank's step or micro-batch.
///
/// Multiply each sequence's summed token losses by its weight, add up, and call backward: what reaches the optimiser is then the gradient
/// of the normaliser's loss, however the step was packed, sharded and accumulated.
///
/// @param counts      counted labels of each sequence: of the whole sequence, also where this rank sees a part of it
/// @param totals      of the whole step, all-reduced
/// @param normaliser  what is minimised
/// @param path        what happens to the gradients: the weights undo its averages
/// @param out         one weight per sequence; 0 for one without a counted label, and for all where `totals.nothing_counted()`
/// @param part        where the normaliser's scope is not the step: totals of this rank's step, or of this micro-batch
/// @throws invalid_input as `sequence_weight_of`; and if a count is outside [0, 2^40), the counts exceed the totals, or `out` has another
/// size; `out` is untouched then
/// @par Complexity
/// O(sequences), without allocation; for powers other than 0, 1/2 and 1 some hundred integer operations each.
/// @par Determinism
/// The same bits on every platform, host and device, unless a flag like -ffast-math allows other values. For p = 0 and 1 a weight is the
/// exact quotient, rounded once; for others it is within a relative 2^-51 of the exact value for this weight sum.
inline void loss_weights(std::span<std::int64_t const> counts, loss_totals const& totals, loss_normaliser const& normaliser,
                         gradient_path const& path, std::span<double> out, loss_totals const& part = {}) {
  require(out.size() == counts.size(), [&] {
    return "loss_weights: out has " + std::to_string(out.size()) + " elements, " + std::to_string(counts.size()) + " are written";
  });
  auto const weight = sequence_weight_of(totals, normaliser, path, part);
  auto left = normaliser.scope == loss_scope::step ? totals.tokens() : part.tokens();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    detail::require_count(counts, i);
    require(counts[i] <= left, [&] {
      return "counts[" + std::to_string(i) + "] = " + std::to_string(counts[i]) + " exceeds what the other sequences leave of the " +
             (normaliser.scope == loss_scope::step ? "step's totals" : "totals of the part") + ", " + std::to_string(left);
    });
    left -= counts[i];
  }
  for (std::size_t i = 0; i < counts.size(); ++i) out[i] = weight(counts[i]);
}

/// @brief The weight of each sequence, by value. See the form above.
/// @param counts counted labels of each whole sequence @param totals of the whole step, all-reduced @param normaliser what is minimised
/// @param path what happens to the gradients @param part totals of the rank or the micro-batch, where the scope is not the step
/// @return one weight per sequence
/// @throws invalid_input as above
[[nodiscard]] inline std::vector<double> loss_weights(std::span<std::int64_t const> counts, loss_totals const& totals,
                                                      loss_normaliser const& normaliser, gradient_path const& path,
                                                      loss_totals const& part = {}) {
  std::vector<double> out(counts.size());
  loss_weights(counts, totals, normaliser, path, out, part);
  return out;
}

}  // namespace ballast::inline v0_1
