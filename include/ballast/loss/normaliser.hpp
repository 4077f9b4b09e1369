// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief What a training step minimises: which mean of the token losses, over which part of the step.
///
/// With T_i the counted labels of sequence i and l_it its token losses, every normaliser here is L = sum_i w_i sum_t l_it, where
/// w_i = T_i^-p / W. So a framework needs one number per sequence, and packing, sharding and accumulation change nothing.

namespace ballast::inline v0_2 {

/// @brief W, by which the sums T_i^-p sum_t l_it are divided. Sums run over the normaliser's scope.
enum class loss_divisor : std::uint8_t {
  one,              ///< nothing
  weights,          ///< sum of T_i^(1-p), the weight of all tokens: their number for p = 0, that of the sequences for p = 1
  sequences,        ///< the number of sequences
  length,           ///< a fixed `length`
  sequence_length,  ///< the number of sequences times a fixed `length`
  average_tokens,   ///< the number of sequences of the scope times the mean T_i of the step
};

/// @brief The part of a step whose tokens one mean is taken over; the means are then averaged.
enum class loss_scope : std::uint8_t {
  step,  ///< all of the step: no partition changes the result
  rank,  ///< all that a data-parallel rank (with its context-parallel peers) has in the step: depends on which rank gets which sequence
  micro_batch,  ///< one micro-batch: depends on how the step is cut, and weighs a token of a short micro-batch more
};

/// @brief A normaliser: T^-p over a divisor. Take one by name and change what differs.
struct loss_normaliser {
  double power = 0;                              ///< p, in [0, 1]
  loss_divisor divisor = loss_divisor::weights;  ///< W
  loss_scope scope = loss_scope::step;           ///< what W is summed over
  std::int64_t length = 0;                       ///< of the divisors with a fixed length, positive there
  bool count_empty = false;                      ///< sequences without a counted label count in the number of sequences

  /// @brief The sum of all token losses.
  [[nodiscard]] static constexpr loss_normaliser sum() noexcept { return {.divisor = loss_divisor::one}; }
  /// @brief The mean over tokens. @param scope over which tokens
  [[nodiscard]] static constexpr loss_normaliser token_mean(loss_scope scope = loss_scope::step) noexcept { return {.scope = scope}; }
  /// @brief The mean over sequences of their means over tokens. @param scope over which sequences
  [[nodiscard]] static constexpr loss_normaliser sample_mean(loss_scope scope = loss_scope::step) noexcept {
    return {.power = 1, .divisor = loss_divisor::sequences, .scope = scope};
  }
  /// @brief The mean over sequences of their sums over tokens. @param scope over which sequences
  [[nodiscard]] static constexpr loss_normaliser sequence_mean(loss_scope scope = loss_scope::step) noexcept {
    return {.divisor = loss_divisor::sequences, .scope = scope};
  }
  /// @brief The mean over tokens, each weighing T^-1/2: between the mean over tokens and that over sequences. @param scope over which
  /// tokens
  [[nodiscard]] static constexpr loss_normaliser square_root(loss_scope scope = loss_scope::step) noexcept {
    return {.power = 0.5, .scope = scope};
  }
  /// @brief The mean over tokens, each weighing T^-p. @param p from 0, the mean over tokens, to 1, that over sequences
  [[nodiscard]] static constexpr loss_normaliser length_power(double p) noexcept { return {.power = p}; }
  /// @brief The mean over sequences of their sums over a fixed length. @param length in tokens, positive
  [[nodiscard]] static constexpr loss_normaliser fixed_length(std::int64_t length) noexcept {
    return {.divisor = loss_divisor::sequence_length, .length = length};
  }
  /// @brief Ave-Token: each rank divides by its number of sequences and by the step's mean T. The mean over tokens where all ranks have as
  /// many sequences.
  [[nodiscard]] static constexpr loss_normaliser ave_token() noexcept {
    return {.divisor = loss_divisor::average_tokens, .scope = loss_scope::rank};
  }
  friend constexpr bool operator==(loss_normaliser const&, loss_normaliser const&) = default;
};

}  // namespace ballast::inline v0_2
