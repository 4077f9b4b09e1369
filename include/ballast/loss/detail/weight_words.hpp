// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/loss/detail/power.hpp>
#include <ballast/loss/detail/quotient.hpp>
#include <ballast/loss/gradient_path.hpp>
#include <ballast/loss/normaliser.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief The words of totals and the parts of a weight, computed by the same code on host and device; faults are values, not exceptions.

namespace ballast::inline v0_2 {
namespace detail {

// Tokens, sequences with counted labels, sequences without, weight sum in two words.
inline constexpr std::size_t total_words = 5;

BALLAST_HD constexpr void carry_words(std::int64_t* words) noexcept {
  words[3] += words[4] >> fraction_bits;
  words[4] &= fraction_mask;
}

// The weight sum.
[[nodiscard]] BALLAST_HD constexpr double weight_of(std::int64_t const* words) noexcept {
  return nearest_double(words[3] + (words[4] >> fraction_bits), words[4] & fraction_mask, 0x1p44);
}

// Divides totals by a number in [1, 2^19], exactly. Returns the first word that is not a multiple of it, or the number of words.
[[nodiscard]] BALLAST_HD constexpr std::size_t share_words(std::int64_t* words, std::int64_t ranks) noexcept {
  carry_words(words);
  auto const rest = words[3] % ranks;
  words[3] -= rest;
  words[4] += rest << fraction_bits;
  for (std::size_t i = 0; i < total_words; ++i) {
    if (words[i] % ranks != 0) return i;
    words[i] /= ranks;
  }
  return total_words;
}

// A request whose fields the host has checked before totals are known.
struct weight_request {
  loss_normaliser normaliser;
  std::uint64_t power = 0;  // p in units of 2^-62
  std::uint64_t averaged_over = 1;
  std::int64_t ranks = 1, micro_batches = 1;
  bool divides_by_tokens = false;
};
[[nodiscard]] constexpr weight_request request_of(loss_normaliser const& normaliser, std::uint64_t power, gradient_path const& path) {
  auto const per_length = normaliser.divisor == loss_divisor::length || normaliser.divisor == loss_divisor::sequence_length;
  require(!per_length || normaliser.length > 0, [&] { return sentence("length = ", normaliser.length, " must be positive"); });
  return {normaliser, power, path.averaged_over(), path.ranks, path.micro_batches, path.divides_by_tokens};
}

enum class weight_fault : std::uint8_t {
  none,
  negative,       // word `word`
  no_sequences,   // although there are tokens
  other_power,    // the totals hold no weight sum
  fewer_tokens,   // the totals have fewer tokens than their part
  large_product,  // a product of the numbers in the weight overflows
};

// The weight is numerator / denominator * T^-p / weight.
struct weight_parts {
  std::uint64_t numerator = 0, denominator = 1;
  double weight = 1;
  weight_fault fault = weight_fault::none;
  std::size_t word = 0;
  bool in_part = false;
};

// A quotient of products, kept in lowest terms.
struct lowest_terms {
  std::uint64_t numerator = 1, denominator = 1;
  bool fits = true;
  BALLAST_HD constexpr void times(std::uint64_t factor) noexcept { grow(numerator, denominator, factor); }
  BALLAST_HD constexpr void over(std::uint64_t factor) noexcept { grow(denominator, numerator, factor); }

 private:
  BALLAST_HD constexpr void grow(std::uint64_t& side, std::uint64_t& other, std::uint64_t factor) noexcept {
    auto common = factor;
    for (auto rest = other; rest != 0;) {
      auto const next = common % rest;
      common = rest;
      rest = next;
    }
    other /= common;
    auto const product = multiply(side, factor / common);
    fits = fits && product.high == 0 && product.low >> 63 == 0;
    side = product.low;
  }
};

// The tokens and sequences of totals, or which word is negative.
struct counted_words {
  std::uint64_t tokens = 0, sequences = 0;
  std::size_t negative = total_words;
};
[[nodiscard]] BALLAST_HD constexpr counted_words read_words(std::int64_t const* words, bool count_empty) noexcept {
  for (std::size_t i = 0; i < 3; ++i)
    if (words[i] < 0) return {.negative = i};
  auto const empty = count_empty ? static_cast<std::uint64_t>(words[2]) : 0;
  return {static_cast<std::uint64_t>(words[0]), static_cast<std::uint64_t>(words[1]) + empty};
}

// Reads `part` if the scope is not the step, and `totals` if it is or the request needs the step's tokens.
[[nodiscard]] BALLAST_HD constexpr weight_parts weigh_words(std::int64_t const* totals, std::int64_t const* part,
                                                            weight_request const& request) noexcept {
  auto const& normaliser = request.normaliser;
  auto const step_wide = normaliser.scope == loss_scope::step;
  auto const* const words = step_wide ? totals : part;
  auto const scope = read_words(words, normaliser.count_empty);
  if (scope.negative != total_words) return {.fault = weight_fault::negative, .word = scope.negative, .in_part = !step_wide};
  if (scope.tokens == 0) return {};
  auto const per_step_token = normaliser.divisor == loss_divisor::average_tokens || request.divides_by_tokens;
  auto const step = step_wide || !per_step_token ? scope : read_words(totals, normaliser.count_empty);
  if (step.negative != total_words) return {.fault = weight_fault::negative, .word = step.negative};
  if (step.tokens < scope.tokens) return {.fault = weight_fault::fewer_tokens};

  auto weight = 1.0;
  std::uint64_t sequences = 1, length = 1;  // that are divided by
  lowest_terms ratio;
  ratio.times(request.averaged_over);
  if (!step_wide) ratio.over(static_cast<std::uint64_t>(request.ranks));
  if (normaliser.scope == loss_scope::micro_batch) ratio.over(static_cast<std::uint64_t>(request.micro_batches));
  switch (normaliser.divisor) {
    case loss_divisor::one: break;
    case loss_divisor::weights:
      if (request.power == 0) ratio.over(scope.tokens);
      if (request.power == whole_exponent) sequences = static_cast<std::uint64_t>(words[1]);
      if (request.power == 0 || request.power == whole_exponent) break;
      weight = weight_of(words);
      if (!(weight >= 1.0)) return {.fault = weight_fault::other_power, .in_part = !step_wide};
      break;
    case loss_divisor::sequences: sequences = scope.sequences; break;
    case loss_divisor::length: length = static_cast<std::uint64_t>(normaliser.length); break;
    case loss_divisor::sequence_length:
      sequences = scope.sequences;
      length = static_cast<std::uint64_t>(normaliser.length);
      break;
    case loss_divisor::average_tokens:
      ratio.times(step.sequences);
      ratio.over(step.tokens);
      sequences = scope.sequences;
      break;
  }
  if (sequences == 0) return {.fault = weight_fault::no_sequences, .in_part = !step_wide};
  ratio.over(sequences);
  ratio.over(length);
  if (request.divides_by_tokens) ratio.times(step.tokens);
  if (!ratio.fits) return {.fault = weight_fault::large_product};
  return {.numerator = ratio.numerator, .denominator = ratio.denominator, .weight = weight};
}

}  // namespace detail
}  // namespace ballast::inline v0_2
