// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `randomness_of`: how far the steps of a plan are from random draws of its samples.

namespace ballast::inline v0_2 {

/// @brief How far the steps of a plan are from random draws, in thousandths. Random steps have about 1000, and stratified ones less.
struct step_randomness {
  /// D: the variance over the steps of the token-mean length (sum l^2 / sum l), over that of random steps; 0 if all lengths are equal.
  std::uint64_t design_effect = 0;
  /// D8: the same for the means over eight steps in a row, as momentum averages them; 0 with fewer than nine steps. Long runs of like steps
  /// raise it, and they are what training suffers from.
  std::uint64_t design_effect_8 = 0;
  friend bool operator==(step_randomness const&, step_randomness const&) = default;
};

namespace detail {

/// The token-mean lengths of steps, beside those that random draws would have. Variances are relative to the squared mean, in 2^-32.
template <class Lengths>
class token_means {
 public:
  static constexpr std::uint64_t one = std::uint64_t{1} << 16;

  /// @param at the length of each sample @param samples how many @param tokens their sum @param squares the sum of their squares
  token_means(Lengths const& at, std::size_t samples, std::uint64_t tokens, std::uint64_t squares) : at_(at), samples_(samples) {
    if (tokens == 0) return;
    mean_ = multiply_divide_up(squares, one, tokens);
    usual_ = multiply_divide_up(tokens, one, samples);
  }

  /// The sum of the lengths of some samples, and that of their squares.
  template <index_type Index>
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> sums_of(std::span<Index const> samples) const {
    std::pair<std::uint64_t, std::uint64_t> sums;
    for (auto const i : samples) {
      sums.first += length(i);
      sums.second += length(i) * length(i);
    }
    return sums;
  }
  /// The variance, over all means of so many steps in a row.
  template <index_type Index>
  [[nodiscard]] std::uint64_t variance(batching<Index> const& b, std::size_t in_a_row) const {
    return variance(b, in_a_row, [&](Index p) { return sums_of(std::span<Index const>(b.packs[p])); });
  }
  /// The same, where `of(p)` returns the sums of pack p.
  template <index_type Index, class Of>
  [[nodiscard]] std::uint64_t variance(batching<Index> const& b, std::size_t in_a_row, Of const& of) const {
    std::vector<std::uint64_t> mean(b.steps());
    for (std::size_t s = 0; s < mean.size(); ++s) {
      std::uint64_t tokens = 0, squares = 0;
      for (auto const p : b.step(s)) {
        if (p == b.none) continue;
        auto const sums = of(p);
        tokens += sums.first;
        squares += sums.second;
      }
      if (tokens != 0) mean[s] = (std::min)(multiply_divide_up(multiply_divide_up(squares, one, tokens), one, mean_), 16 * one);
    }
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
  /// That variance for random draws of all samples into so many steps.
  [[nodiscard]] std::uint64_t variance_of_random(std::size_t steps, std::size_t in_a_row) const {
    if (samples_ == 0) return 0;
    constexpr std::uint64_t most = std::uint64_t{1} << 30;
    wide sum;
    for (std::size_t i = 0; i < samples_;
         ++i) {  // l (l - mean) over the usual length and the mean: what a sample adds to the mean of a step
      auto const l = length(i), off = l * one > mean_ ? l * one - mean_ : mean_ - l * one;
      auto const weight = (std::min)(multiply_divide_up(l, one * one, usual_), most);
      auto const share = (std::min)(multiply_divide_up(weight, off, mean_), most);
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

}  // namespace detail

/// @brief Compares the steps of a plan with random draws of its samples.
///
/// If length explains a share s of a gradient's variance, a design effect D multiplies the noise of a step by 1 + s (D - 1).
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param plan     a plan of these samples
/// @param lengths  tokens of each sample, positive
/// @return the design effects
/// @throws invalid_input if a pack names a sample that `lengths` lacks, a length is not positive, or squares of lengths reach 2^63 in all
/// @par Complexity
/// O(samples).
/// @par Determinism
/// A pure function of its arguments, in integers.
template <index_type Index, length_range R>
[[nodiscard]] step_randomness randomness_of(batching<Index> const& plan, R const& lengths) {
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  auto const extent = extent_of(lengths);
  require(extent.longest == 0 || extent.tokens < (std::numeric_limits<std::int64_t>::max)() / extent.longest,
          [] { return "the squares of all lengths may reach 2^63; count tokens in a larger unit"; });
  auto const at = read_by_position(lengths);
  std::vector<std::int64_t> trained(n, 0);  // samples in no step have no tokens here, and so no weight
  for (auto const i : plan.packs.members) {
    require(i < n, [&] { return sentence("a pack holds sample ", i, ", but there are ", n, " lengths"); });
    trained[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(at[static_cast<std::size_t>(i)]);
  }
  std::uint64_t tokens = 0, squares = 0;
  for (auto const l : trained) {
    tokens += static_cast<std::uint64_t>(l);
    squares += static_cast<std::uint64_t>(l * l);
  }
  detail::token_means const means(trained, n, tokens, squares);
  auto const random = means.variance_of_random(plan.steps(), 1);
  if (random == 0) return {};
  return {multiply_divide_up(means.variance(plan, 1), 1000, random),
          plan.steps() > 8 ? multiply_divide_up(means.variance(plan, 8), 8000, random) : 0};
}

}  // namespace ballast::inline v0_2
