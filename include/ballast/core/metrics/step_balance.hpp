// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/math.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

/// @file
/// @brief How balanced the steps of a plan are: the published ratios, padding, communication, and the share of time lost to waiting.
///
/// Loads are a table with one entry for each rank of each step, step after step. The load is the number of tokens for DBR, the sum of
/// squared lengths for ABR, and the full cost for `idle`. All inputs are integers; a ratio is a `double` computed from exact sums. Planners
/// do not use these figures for decisions.

namespace ballast::inline v0_2 {

/// @brief How balanced the steps of a plan are, and how much time ranks lose by waiting for the slowest rank.
struct step_balance {
  std::uint64_t steps = 0;         ///< number of steps
  std::uint64_t ranks = 0;         ///< number of ranks in each step
  std::int64_t total = 0;          ///< sum of all loads
  std::int64_t slowest = 0;        ///< sum over the steps of the largest load
  std::int64_t single_sample = 0;  ///< sum over the steps of a lower bound on the largest load, times `ranks`: see `balance_of_steps`
  double mean_ratio = 0;           ///< DBR or ABR: mean over the steps of sum(max - load) / (max * ranks)
  double worst_step = 1;           ///< largest max / mean over the steps

  /// @brief Share of all rank time that is spent waiting, from 0 to 1: 1 - (sum of mean loads) / (sum of slowest loads).
  [[nodiscard]] double idle() const noexcept {
    return slowest == 0 ? 0.0 : 1.0 - static_cast<double>(total) / (static_cast<double>(slowest) * static_cast<double>(ranks));
  }
  /// @brief How many times longer the steps take than with perfect balance: (sum of slowest loads) / (sum of mean loads), at least 1.
  [[nodiscard]] double slowest_over_mean() const noexcept {
    return total == 0 ? 1.0 : static_cast<double>(slowest) * static_cast<double>(ranks) / static_cast<double>(total);
  }
  /// @brief Lower bound on `slowest_over_mean` for any assignment of the samples within these steps; 1 if `largest` was not given.
  [[nodiscard]] double single_sample_bound() const noexcept {
    return total == 0 || single_sample == 0 ? 1.0 : static_cast<double>(single_sample) / static_cast<double>(total);
  }
  friend constexpr bool operator==(step_balance const&, step_balance const&) = default;
};

/// @brief Computes the balance of every step and of all steps together.
/// Let T_i be the load of rank i of N. The ratio of a step is sum_i (T_max - T_i) / (T_max N), or 0 if T_max = 0; the published figure is
/// the unweighted mean over the steps. With tokens as load it is the Dist Balance Ratio (DBR), with sums of squared lengths the Attention
/// Balance Ratio (ABR). The mean gives cheap and expensive steps the same weight, and ABR ignores all work but attention; `idle()` and
/// `slowest_over_mean()` under the full cost have neither flaw. In OmniBal's code, the load of a rank is the longest sequence of its
/// micro-batch, to which the others are padded, and not the sum; after packing the two agree.
///
/// @param loads    one entry for each rank of each step, step after step; none negative
/// @param ranks    number of ranks in a step, at least 1; must divide the number of loads
/// @param largest  empty, or for each step the load of its most expensive single sample. No assignment makes a step faster than
///                 max(mean, largest); the exact sum of this bound over the steps, in units of 1 / ranks, is `single_sample`
/// @return the figures
/// @throws invalid_input if a number is negative, a sum times `ranks` reaches 2^63, or the sizes do not match
/// @par Complexity
/// O(loads).
/// @par Source
/// DBR: Yao et al., OmniBal, arXiv 2407.20761; ABR: Yao et al., HBP, arXiv 2503.07680.
template <class = when_called>
[[nodiscard]] inline step_balance balance_of_steps(std::span<std::int64_t const> loads, std::size_t ranks,
                                                   std::span<std::int64_t const> largest = {}) {
  require(ranks > 0 && loads.size() % ranks == 0,
          [&] { return sentence(loads.size(), " loads do not divide into steps of ranks = ", ranks); });
  step_balance b{.steps = loads.size() / ranks, .ranks = ranks};
  require(largest.empty() || largest.size() == b.steps,
          [&] { return sentence(largest.size(), " largest samples were given for ", b.steps, " steps"); });
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

/// @brief Load of a rank in tokens. @param lengths samples of the rank's micro-batch @return the sum of their lengths
[[nodiscard]] inline std::int64_t token_load(std::span<std::int64_t const> lengths) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) add_checked(sum, lengths[i], "lengths", i);
  return sum;
}
/// @brief Load of a rank in attention, as ABR counts it. @param lengths samples of the rank's packs
/// @return the sum of their squared lengths
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

/// @brief Communication Ratio (CR): the share of a step's tokens that are in packs with a sequence-parallel degree above 1, as a mean over
/// the steps.
/// @param communicated  for each step, its tokens in packs with a sequence-parallel degree above 1
/// @param tokens        for each step, all its tokens
/// @return the mean; a step without tokens counts as 0
/// @throws invalid_input if the sizes differ
/// @par Source
/// HBP, arXiv 2503.07680, section 4.
[[nodiscard]] inline double communication_ratio(std::span<std::int64_t const> communicated, std::span<std::int64_t const> tokens) {
  require(communicated.size() == tokens.size(),
          [&] { return sentence(communicated.size(), " communicated entries for ", tokens.size(), " steps"); });
  double sum = 0;
  for (std::size_t s = 0; s < tokens.size(); ++s)
    if (tokens[s] != 0) sum += static_cast<double>(communicated[s]) / static_cast<double>(tokens[s]);
  return tokens.empty() ? 0.0 : sum / static_cast<double>(tokens.size());
}

/// @brief Average tokens (Ave-T): mean over the steps. @param tokens for each step, the tokens of one data-parallel rank
/// @return the mean; 0 if there are no steps
[[nodiscard]] inline double average_tokens(std::span<std::int64_t const> tokens) {
  return tokens.empty() ? 0.0 : static_cast<double>(token_load(tokens)) / static_cast<double>(tokens.size());
}

/// @brief How much of micro-batches is padding, if each is padded to its longest sample.
struct padding_figures {
  double mean_ratio = 0;     ///< as published: mean over the micro-batches of sum(max - length) / (max * samples)
  double total_ratio = 0;    ///< as in OmniBal's code: all padding tokens over all tokens with padding
  std::int64_t padding = 0;  ///< number of padding tokens
  std::int64_t padded = 0;   ///< number of tokens with padding
  friend constexpr bool operator==(padding_figures const&, padding_figures const&) = default;
};

/// @brief Padding Ratio (PR) of micro-batches.
/// @tparam Index index type of the groups
/// @param micro_batches  sample indices of each micro-batch; an empty micro-batch has no padding but counts in the mean
/// @param lengths        length of every sample, not negative
/// @return both forms of the ratio
/// @throws invalid_input if a sample index is out of range, a length is negative or a sum reaches 2^63
/// @par Complexity
/// O(members).
/// @par Source
/// OmniBal, arXiv 2407.20761, section 3, and its code; HBP, arXiv 2503.07680, table 3.
template <index_type Index>
[[nodiscard]] padding_figures padding_ratio(groups<Index> const& micro_batches, std::span<std::int64_t const> lengths) {
  padding_figures f;
  double sum_of_ratios = 0;
  for (auto const batch : micro_batches) {
    std::int64_t longest = 0, padded = 0, tokens = 0;
    for (auto const i : batch) {
      require(i < lengths.size(), [&] { return sentence("a micro-batch holds ", i, ", which is no sample"); });
      longest = (std::max)(longest, lengths[static_cast<std::size_t>(i)]);
      add_checked(tokens, lengths[static_cast<std::size_t>(i)], "lengths", static_cast<std::size_t>(i));
    }
    for (std::size_t i = 0; i < batch.size(); ++i) add_checked(padded, longest, "longest of micro-batch", i);
    add_checked(f.padded, padded, "padded micro-batch", 0);
    f.padding += padded - tokens;
    if (padded != 0) sum_of_ratios += static_cast<double>(padded - tokens) / static_cast<double>(padded);
  }
  if (!micro_batches.empty()) f.mean_ratio = sum_of_ratios / static_cast<double>(micro_batches.size());
  if (f.padded != 0) f.total_ratio = static_cast<double>(f.padding) / static_cast<double>(f.padded);
  return f;
}

}  // namespace ballast::inline v0_2
