// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/loss/detail/power.hpp>
#include <ballast/loss/detail/weight_words.hpp>
#include <ballast/loss/normaliser.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

/// @file
/// @brief `loss_totals`: the denominators of a step, as integers that ranks add up; they are the same for every partition and order.

namespace ballast::inline v0_2 {

/// @brief Counts of a set of sequences, and the sum of their T^(1-p) in fixed point. All-reduce `words` by addition.
struct loss_totals {
  /// Number of tokens, of sequences with counted labels, of sequences without; then the weight as whole + fraction / 2^44. The weight is
  /// used only for 0 < p < 1; for 0 and 1 it equals one of the counts. Up to 2^19 totals may be added without carrying.
  std::array<std::int64_t, 5> words{};

  /// @brief The number of counted labels. @return tokens
  [[nodiscard]] constexpr std::int64_t tokens() const noexcept { return words[0]; }
  /// @brief The number of sequences with a counted label. @return sequences
  [[nodiscard]] constexpr std::int64_t sequences() const noexcept { return words[1]; }
  /// @brief The number of sequences without a counted label. @return sequences
  [[nodiscard]] constexpr std::int64_t empty_sequences() const noexcept { return words[2]; }
  /// @brief Whether no label is counted; all weights are then 0, and no gradient flows. @return true if there are no tokens
  [[nodiscard]] constexpr bool nothing_counted() const noexcept { return words[0] == 0; }
  /// @brief The sum of T^(1-p), for 0 < p < 1. @return the double nearest to the sum, whose terms are within 2^-44 each
  [[nodiscard]] constexpr double weight() const noexcept { return detail::weight_of(words.data()); }

  /// @brief Adds the totals of other sequences. @param other totals for the same normaliser @return this
  constexpr loss_totals& operator+=(loss_totals const& other) noexcept {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] += other.words[i];
    words = carried();
    return *this;
  }

  /// @brief Divides totals by the number of ranks that each counted the same sequences.
  ///
  /// Use it after an all-reduce that also spans context-parallel ranks, each of which has all labels.
  /// @param ranks  number of ranks that counted each sequence, in [1, 2^19]
  /// @return the totals divided by `ranks`, exactly
  /// @throws invalid_input if `ranks` is out of range, or a total is not a multiple of it (then not every rank counted the same)
  [[nodiscard]] constexpr loss_totals shared_by(std::int64_t ranks) const {
    require(ranks > 0 && ranks <= (std::int64_t{1} << 19), [&] { return sentence("ranks = ", ranks, " must be in [1, 2^19]"); });
    auto out = *this;
    auto const odd = detail::share_words(out.words.data(), ranks);
    require(odd == detail::total_words, [&] {
      return sentence(entry("totals.words", odd, out.words[odd]), " is no multiple of the ", ranks,
                      " ranks that counted the same sequences");
    });
    return out;
  }

  /// @brief Whether two totals are the same numbers, whatever the order of their additions.
  friend constexpr bool operator==(loss_totals const& a, loss_totals const& b) noexcept { return a.carried() == b.carried(); }

 private:
  [[nodiscard]] constexpr std::array<std::int64_t, 5> carried() const noexcept {
    auto out = words;
    detail::carry_words(out.data());
    return out;
  }
};

namespace detail {
// p in units of 2^-62.
[[nodiscard]] constexpr std::uint64_t checked_power(double p) {
  require(p >= 0.0 && p <= 1.0, [&] { return sentence("power = ", std::to_string(p), " must be in [0, 1]"); });
  return static_cast<std::uint64_t>(p * 0x1p62);
}
[[nodiscard]] constexpr bool is_fractional(std::uint64_t power) noexcept { return power != 0 && power != whole_exponent; }
constexpr void require_count(std::span<std::int64_t const> counts, std::size_t i) {
  require(counts[i] >= 0 && counts[i] < count_limit, [&] { return entry("counts", i, counts[i]) + " must be in [0, 2^40)"; });
}
}  // namespace detail

/// @brief Computes the totals of some sequences: those of a rank's step, or of one micro-batch.
///
/// @param counts      counted labels of each sequence; of the complete sequence if several ranks share it
/// @param normaliser  the normaliser; the totals also serve other normalisers of the same power
/// @return totals, to be all-reduced
/// @throws invalid_input if a count is outside [0, 2^40), their sum reaches 2^63 or the power is not in [0, 1]
/// @par Complexity
/// O(sequences); for powers other than 0, 1/2 and 1, some hundred integer operations per sequence.
/// @par Determinism
/// The same integers for every partition and order of the sequences, on host and device.
template <class = when_called>
[[nodiscard]] inline loss_totals loss_totals_of(std::span<std::int64_t const> counts, loss_normaliser const& normaliser) {
  auto const power = detail::checked_power(normaliser.power);
  std::int64_t tokens = 0, sequences = 0, whole = 0, fraction = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    detail::require_count(counts, i);
    if (counts[i] == 0) continue;
    require(counts[i] <= (std::numeric_limits<std::int64_t>::max)() - tokens,
            [&] { return entry("counts", i, counts[i]) + " brings their sum to 2^63 or more"; });
    tokens += counts[i];
    ++sequences;
    if (!detail::is_fractional(power)) continue;
    auto const term = detail::complement_power(counts[i], power);
    whole += term.whole;
    fraction += term.fraction;
    whole += fraction >> detail::fraction_bits;
    fraction &= detail::fraction_mask;
  }
  return {{tokens, sequences, static_cast<std::int64_t>(counts.size()) - sequences, whole, fraction}};
}

}  // namespace ballast::inline v0_2
