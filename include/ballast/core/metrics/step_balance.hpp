// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

/// @file
/// @brief How balanced the steps of a plan are: the published ratios, and the figures that say what they cost.
///
/// Loads come as a table, step after step, one entry for each rank of a step: tokens for DBR, the sum of squared lengths for ABR, a full
/// cost for `idle`. All inputs are integers; a ratio is a `double`, computed from exact sums. Nothing here enters a decision.

namespace ballast::inline v0_2 {

/// @brief What the steps of a plan lose by waiting for their slowest rank.
struct step_balance {
  std::uint64_t steps = 0;         ///< number of steps
  std::uint64_t ranks = 0;         ///< ranks in each
  std::int64_t total = 0;          ///< sum of all loads
  std::int64_t slowest = 0;        ///< sum over the steps of the largest load
  std::int64_t single_sample = 0;  ///< sum over the steps of the least that the largest load can be, times `ranks`: see `balance_of_steps`
  double mean_ratio = 0;           ///< DBR or ABR: mean over the steps of sum(max - load) / (max * ranks)
  double worst_step = 1;           ///< largest max / mean of a step

  /// @brief Share of all rank time that is spent waiting, from 0 to 1: 1 - (sum of mean loads) / (sum of slowest loads).
  [[nodiscard]] double idle() const noexcept {
    return slowest == 0 ? 0.0 : 1.0 - static_cast<double>(total) / (static_cast<double>(slowest) * static_cast<double>(ranks));
  }
  /// @brief The run-time factor: (sum of slowest loads) / (sum of mean loads); 1 for perfect balance.
  [[nodiscard]] double slowest_over_mean() const noexcept {
    return total == 0 ? 1.0 : static_cast<double>(slowest) * static_cast<double>(ranks) / static_cast<double>(total);
  }
  /// @brief What `slowest_over_mean` cannot go below with these steps, whatever the deal inside them; 1 if no largest samples were given.
  [[nodiscard]] double single_sample_bound() const noexcept {
    return total == 0 || single_sample == 0 ? 1.0 : static_cast<double>(single_sample) / static_cast<double>(total);
  }
  friend constexpr bool operator==(step_balance const&, step_balance const&) = default;
};

/// @brief Balance of every step and of all together.
///
/// With T_i the load of rank i of N, a step's ratio is sum_i (T_max - T_i) / (T_max N), and 0 where T_max = 0; the published figure is the
/// unweighted mean over the steps. With tokens it is the Dist Balance Ratio (DBR), with sums of squared lengths the Attention Balance Ratio
/// (ABR). It weighs a cheap step like an expensive one and leaves out what costs no attention; `idle()` and `slowest_over_mean()` under the
/// full cost do not. As coded by OmniBal, the load of a rank is the longest sequence of its micro-batch, to which the others are padded
/// (`padded_load`), not the sum; after packing the two agree.
///
/// @param loads    step after step, `ranks` entries each, none negative
/// @param ranks    ranks of a step, at least 1; divides the number of loads
/// @param largest  the load of the most expensive single sample of each step, or nothing. No deal makes a step faster than max(mean, that);
/// the
///                 exact sum over the steps, in units of 1 / ranks, is `single_sample`
/// @return the figures
/// @throws invalid_input if a number is negative, a sum times `ranks` reaches 2^63, or the sizes do not agree
/// @par Complexity
/// O(loads).
/// @par Source
/// DBR: Yao et al., OmniBal, arXiv 2407.20761; ABR: Yao et al., HBP, arXiv 2503.07680.
[[nodiscard]] inline step_balance balance_of_steps(std::span<std::int64_t const> loads, std::size_t ranks,
                                                   std::span<std::int64_t const> largest = {}) {
  require(ranks > 0 && loads.size() % ranks == 0,
          [&] { return std::to_string(loads.size()) + " loads do not divide into steps of ranks = " + std::to_string(ranks); });
  step_balance b{.steps = loads.size() / ranks, .ranks = ranks};
  require(largest.empty() || largest.size() == b.steps,
          [&] { return std::to_string(largest.size()) + " largest samples were given for " + std::to_string(b.steps) + " steps"; });
  double sum_of_ratios = 0;
  for (std::size_t s = 0; s < b.steps; ++s) {
    std::int64_t slowest = 0, sum = 0;
    for (std::size_t r = s * ranks; r < (s + 1) * ranks; ++r) {
      add_checked(sum, loads[r], "loads", r);
      slowest = (std::max)(slowest, loads[r]);
    }
    add_checked(b.total, sum, "loads", s * ranks);
    add_checked(b.slowest, slowest, "loads", s * ranks);
    if (!largest.empty()) {
      auto const most = (std::numeric_limits<std::int64_t>::max)() / static_cast<std::int64_t>(ranks);
      require(largest[s] <= most, [&] { return entry("largest", s, largest[s]) + " times ranks reaches 2^63"; });
      add_checked(b.single_sample, (std::max)(sum, largest[s] * static_cast<std::int64_t>(ranks)), "largest", s);
    }
    if (slowest == 0) continue;
    auto const over = static_cast<double>(slowest) * static_cast<double>(ranks);
    sum_of_ratios += 1.0 - static_cast<double>(sum) / over;
    b.worst_step = (std::max)(b.worst_step, over / static_cast<double>(sum));
  }
  if (b.steps != 0) b.mean_ratio = sum_of_ratios / static_cast<double>(b.steps);
  return b;
}

/// @brief Load of a rank in tokens. @param lengths samples of the rank's micro-batch @return their sum
[[nodiscard]] inline std::int64_t token_load(std::span<std::int64_t const> lengths) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) add_checked(sum, lengths[i], "lengths", i);
  return sum;
}
/// @brief Load of a rank as OmniBal's code has it. @param lengths samples of the rank's micro-batch @return the longest, to which all are
/// padded
[[nodiscard]] inline std::int64_t padded_load(std::span<std::int64_t const> lengths) {
  return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
}
/// @brief Load of a rank in attention, A of the ABR. @param lengths samples of the rank's packs @return the sum of their squares
/// @throws invalid_input if a length is negative or above 3037000499, or the sum reaches 2^63
[[nodiscard]] inline std::int64_t attention_load(std::span<std::int64_t const> lengths) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    require(lengths[i] >= 0 && lengths[i] <= 3037000499,
            [&] { return entry("lengths", i, lengths[i]) + " has a square outside [0, 2^63)"; });
    add_checked(sum, lengths[i] * lengths[i], "lengths", i);
  }
  return sum;
}

}  // namespace ballast::inline v0_2
