// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief `loss_normaliser`: what a training step minimises, that is, which mean of the token losses over which part of the step.
///
/// Let T_i be the number of counted labels of sequence i, and l_it its token losses. Every normaliser here is
/// L = sum_i w_i sum_t l_it with w_i = T_i^-p / W. A framework needs only one number per sequence, w_i, and packing, sharding and
/// accumulation do not change the result.

namespace ballast::inline v0_2 {

/// @brief W, the divisor of the sums T_i^-p sum_t l_it. Its own sums are over the scope of the normaliser.
enum class loss_divisor : std::uint8_t {
  one,              ///< W = 1
  weights,          ///< sum of T_i^(1-p), the weight of all tokens: the number of tokens for p = 0, of sequences for p = 1
  sequences,        ///< number of sequences
  length,           ///< a fixed `length`
  sequence_length,  ///< number of sequences times a fixed `length`
  average_tokens,   ///< number of sequences of the scope times the mean T_i of the step
};

/// @brief The part of a step over whose tokens one mean is taken; the means of all parts are then averaged.
enum class loss_scope : std::uint8_t {
  step,         ///< the complete step: no partition changes the result
  rank,         ///< what a data-parallel rank (with its context-parallel peers) has in the step: depends on which rank gets which sequence
  micro_batch,  ///< one micro-batch: depends on how the step is cut, and gives tokens of a short micro-batch more weight
};

/// @brief A normaliser: weights T^-p over a divisor W. Take one by name and change what differs.
struct loss_normaliser {
  double power = 0;                              ///< the exponent p, in [0, 1]
  loss_divisor divisor = loss_divisor::weights;  ///< the divisor W
  loss_scope scope = loss_scope::step;           ///< the part of the step that W is summed over
  std::int64_t length = 0;                       ///< the length for divisors that have a fixed length, positive there
  bool count_empty = false;                      ///< whether sequences without a counted label count in the number of sequences

  /// @brief The sum of all token losses.
  [[nodiscard]] static constexpr loss_normaliser sum() noexcept { return {.divisor = loss_divisor::one}; }
  /// @brief The mean over tokens. @param scope part of the step that each mean is over
  [[nodiscard]] static constexpr loss_normaliser token_mean(loss_scope scope = loss_scope::step) noexcept { return {.scope = scope}; }
  /// @brief The mean over sequences of their means over tokens. @param scope part of the step that each mean is over
  [[nodiscard]] static constexpr loss_normaliser sample_mean(loss_scope scope = loss_scope::step) noexcept {
    return {.power = 1, .divisor = loss_divisor::sequences, .scope = scope};
  }
  /// @brief The mean over sequences of their sums over tokens. @param scope part of the step that each mean is over
  [[nodiscard]] static constexpr loss_normaliser sequence_mean(loss_scope scope = loss_scope::step) noexcept {
    return {.divisor = loss_divisor::sequences, .scope = scope};
  }
  /// @brief The mean over tokens with weight T^-1/2: between the mean over tokens and the mean over sequences.
  /// @param scope part of the step that each mean is over
  [[nodiscard]] static constexpr loss_normaliser square_root(loss_scope scope = loss_scope::step) noexcept {
    return {.power = 0.5, .scope = scope};
  }
  /// @brief The mean over tokens with weight T^-p. @param p from 0, the mean over tokens, to 1, the mean over sequences
  [[nodiscard]] static constexpr loss_normaliser length_power(double p) noexcept { return {.power = p}; }
  /// @brief The mean over sequences of their sums over tokens, divided by a fixed length. @param length in tokens, positive
  [[nodiscard]] static constexpr loss_normaliser fixed_length(std::int64_t length) noexcept {
    return {.divisor = loss_divisor::sequence_length, .length = length};
  }
  /// @brief Ave-Token (HBP): each rank divides by its number of sequences and by the mean T of the step. It equals the mean over tokens if
  /// all ranks have the same number of sequences.
  [[nodiscard]] static constexpr loss_normaliser ave_token() noexcept {
    return {.divisor = loss_divisor::average_tokens, .scope = loss_scope::rank};
  }
  friend constexpr bool operator==(loss_normaliser const&, loss_normaliser const&) = default;
};

}  // namespace ballast::inline v0_2
