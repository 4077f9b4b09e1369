// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief `token_means`: how far the token-mean lengths of steps are apart, beside those of random draws.

namespace ballast::inline v0_2 {

/// @brief The sum of some lengths, and that of their squares.
struct length_moments {
  std::uint64_t tokens = 0;   ///< the sum
  std::uint64_t squares = 0;  ///< the sum of the squares
  /// @brief Adds lengths. @param length of each @param times how many; negated, modulo 2^64, they are taken away
  void add(std::uint64_t length, std::uint64_t times = 1) noexcept {
    tokens += times * length;
    squares += times * length * length;
  }
};

/// @brief The token-mean lengths of steps (sum l^2 / sum l), beside those that random draws would have.
///
/// Variances are relative to the squared mean, in 2^-32. Their ratio is a design effect (`randomness_of`).
///
/// @tparam Lengths  returns the length of a sample by `[]`; must outlive this
/// @par Complexity
/// O(samples) for a variance, O(steps) where sums of steps are given.
/// @par Determinism
/// In integers.
template <class Lengths>
class token_means {
 public:
  static constexpr std::uint64_t one = std::uint64_t{1} << 16;  ///< unit of means

  /// @param at the length of each sample @param samples how many @param tokens their sum @param squares the sum of their squares, below
  /// 2^63
  token_means(Lengths const& at, std::size_t samples, std::uint64_t tokens, std::uint64_t squares) : at_(at), samples_(samples) {
    if (tokens == 0) return;
    mean_ = multiply_divide_up(squares, one, tokens);
    usual_ = multiply_divide_up(tokens, one, samples);
  }

  /// @brief The variance, over all means of so many steps in a row. @param b steps of packs @param in_a_row at least 1
  template <class Plan>
    requires requires(Plan const& b) { b.packs; }
  [[nodiscard]] std::uint64_t variance(Plan const& b, std::size_t in_a_row) const {
    return variance(b, in_a_row, [&](std::size_t p) {
      length_moments sums;
      for (auto const i : b.packs[p]) sums.add(length(i));
      return sums;
    });
  }
  /// @brief The same, where `of(p)` returns the sums of pack p. @param b steps of packs @param in_a_row at least 1 @param of a callable
  template <class Plan, class Of>
  [[nodiscard]] std::uint64_t variance(Plan const& b, std::size_t in_a_row, Of const& of) const {
    std::vector<length_moments> sums(b.steps());
    for (std::size_t s = 0; s < sums.size(); ++s)
      for (auto const p : b.step(s))
        if (p != b.none) {
          auto const pack = of(p);
          sums[s].tokens += pack.tokens;
          sums[s].squares += pack.squares;
        }
    return variance(std::span<length_moments const>(sums), in_a_row);
  }
  /// @brief The same, for steps of these sums. @param steps of each step @param in_a_row at least 1
  [[nodiscard]] std::uint64_t variance(std::span<length_moments const> steps, std::size_t in_a_row) const {
    std::vector<std::uint64_t> mean(steps.size());
    for (std::size_t s = 0; s < mean.size(); ++s)
      if (auto const [tokens, squares] = steps[s]; tokens != 0)
        mean[s] = (std::min)(multiply_divide_up(multiply_divide_up(squares, one, tokens), one, mean_), 16 * one);
    if (mean.size() < in_a_row || in_a_row == 0) return 0;
    for (std::size_t s = 0; s + in_a_row <= mean.size(); ++s) {
      std::uint64_t sum = 0;
      for (std::size_t k = 0; k < in_a_row; ++k) sum += mean[s + k];
      mean[s] = sum / in_a_row;
    }
    mean.resize(mean.size() - in_a_row + 1);
    std::uint64_t all = 0;
    for (auto const m : mean) all += m;
    auto const centre = all / mean.size();
    wide squares;
    for (auto const m : mean) {
      auto const off = m > centre ? m - centre : centre - m;
      squares = squares + multiply(off, off);
    }
    return divide(squares, mean.size()).whole;
  }
  /// @brief That variance for random draws of all samples into so many steps. @param steps how many @param in_a_row at least 1
  [[nodiscard]] std::uint64_t variance_of_random(std::size_t steps, std::size_t in_a_row) const {
    if (samples_ == 0) return 0;
    constexpr std::uint64_t most = std::uint64_t{1} << 30;
    auto const share_of = [&](std::uint64_t l) {  // l (l - mean) over the usual length and the mean: what a sample adds to that of a step
      auto const off = l * one > mean_ ? l * one - mean_ : mean_ - l * one;
      auto const weight = (std::min)(multiply_divide_up(l, one * one, usual_), most);
      return (std::min)(multiply_divide_up(weight, off, mean_), most);
    };
    wide sum;
    std::vector<std::uint64_t> known(8192, ~std::uint64_t{0});  // of short lengths, which many samples have
    for (std::size_t i = 0; i < samples_; ++i) {
      auto const l = length(i);
      auto share = l < known.size() ? known[l] : ~std::uint64_t{0};
      if (share == ~std::uint64_t{0}) share = share_of(l);
      if (l < known.size()) known[l] = share;
      sum = sum + multiply(share, share);
    }
    return multiply_divide_up(divide(sum, samples_).whole, steps, samples_ * in_a_row);
  }

 private:
  [[nodiscard]] std::uint64_t length(std::size_t i) const { return static_cast<std::uint64_t>(at_[i]); }

  Lengths const& at_;
  std::size_t samples_;
  std::uint64_t mean_ = one, usual_ = one;  ///< token-mean length of all samples; mean length
};

}  // namespace ballast::inline v0_2
