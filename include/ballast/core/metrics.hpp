// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief How level and how random a plan is: the published ratios, and the figures that say what they cost.
///
/// Loads come as a table, step after step, one entry for each rank of a step: tokens for DBR, the sum of squared lengths for ABR, a full
/// cost for `idle`. All inputs are integers; a ratio is a `double`, computed from exact sums. Nothing here enters a decision.

namespace ballast::inline v0_1 {

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

namespace detail {
inline void add_checked(std::int64_t& sum, std::int64_t value, char const* what, std::size_t i) {
  require(value >= 0,
          [&] { return std::string(what) + "[" + std::to_string(i) + "] = " + std::to_string(value) + " must not be negative"; });
  require(value <= (std::numeric_limits<std::int64_t>::max)() - sum,
          [&] { return std::string(what) + "[" + std::to_string(i) + "] = " + std::to_string(value) + " brings a sum to 2^63 or more"; });
  sum += value;
}
}  // namespace detail

/// @brief Balance of every step and of all together.
///
/// With T_i the load of rank i of N, a step's ratio is sum_i (T_max - T_i) / (T_max N), and 0 where T_max = 0; the published figure is the
/// unweighted mean over the steps. With tokens it is the Dist Balance Ratio (DBR), with sums of squared lengths the Attention Balance Ratio
/// (ABR). It weighs a cheap step like a dear one and leaves out what costs no attention; `idle()` and `slowest_over_mean()` under the full
/// cost do not. As coded by OmniBal, the load of a rank is the longest sequence of its micro-batch, to which the others are padded
/// (`padded_load`), not the sum; after packing the two agree.
///
/// @param loads    step after step, `ranks` entries each, none negative
/// @param ranks    ranks of a step, at least 1; divides the number of loads
/// @param largest  the load of the dearest single sample of each step, or nothing. No deal makes a step faster than max(mean, that); the
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
      detail::add_checked(sum, loads[r], "loads", r);
      slowest = (std::max)(slowest, loads[r]);
    }
    detail::add_checked(b.total, sum, "loads", s * ranks);
    detail::add_checked(b.slowest, slowest, "loads", s * ranks);
    if (!largest.empty()) {
      auto const most = (std::numeric_limits<std::int64_t>::max)() / static_cast<std::int64_t>(ranks);
      require(largest[s] <= most,
              [&] { return "largest[" + std::to_string(s) + "] = " + std::to_string(largest[s]) + " times ranks reaches 2^63"; });
      detail::add_checked(b.single_sample, (std::max)(sum, largest[s] * static_cast<std::int64_t>(ranks)), "largest", s);
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
  for (std::size_t i = 0; i < lengths.size(); ++i) detail::add_checked(sum, lengths[i], "lengths", i);
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
            [&] { return "lengths[" + std::to_string(i) + "] = " + std::to_string(lengths[i]) + " has a square outside [0, 2^63)"; });
    detail::add_checked(sum, lengths[i] * lengths[i], "lengths", i);
  }
  return sum;
}

/// @brief Padding of micro-batches that are padded to their longest sample.
struct padding_figures {
  double mean_ratio = 0;     ///< the formula: mean over the micro-batches of sum(max - length) / (max * samples)
  double total_ratio = 0;    ///< as coded: all padding over all padded tokens
  std::int64_t padding = 0;  ///< tokens of padding
  std::int64_t padded = 0;   ///< tokens with padding
  friend constexpr bool operator==(padding_figures const&, padding_figures const&) = default;
};

/// @brief Padding Ratio (PR) of micro-batches.
/// @tparam Index index type of the groups
/// @param micro_batches  groups of sample indices; an empty one has no padding and counts as a micro-batch
/// @param lengths        length of every sample, not negative
/// @return both readings of the ratio
/// @throws invalid_input if an index is no sample, a length is negative or a sum reaches 2^63
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
      require(i < lengths.size(), [&] { return "a micro-batch holds " + std::to_string(i) + ", which is no sample"; });
      longest = (std::max)(longest, lengths[static_cast<std::size_t>(i)]);
      detail::add_checked(tokens, lengths[static_cast<std::size_t>(i)], "lengths", static_cast<std::size_t>(i));
    }
    for (std::size_t i = 0; i < batch.size(); ++i) detail::add_checked(padded, longest, "longest of micro-batch", i);
    detail::add_checked(f.padded, padded, "padded micro-batch", 0);
    f.padding += padded - tokens;
    if (padded != 0) sum_of_ratios += static_cast<double>(padded - tokens) / static_cast<double>(padded);
  }
  if (!micro_batches.empty()) f.mean_ratio = sum_of_ratios / static_cast<double>(micro_batches.size());
  if (f.padded != 0) f.total_ratio = static_cast<double>(f.padding) / static_cast<double>(f.padded);
  return f;
}

/// @brief Communication Ratio (CR): mean over the steps of the share of tokens that stand in packs of a sequence-parallel degree above 1.
/// @param communicated  such tokens of each step @param tokens all tokens of each step @return the mean; a step without tokens counts 0
/// @throws invalid_input if the sizes differ
/// @par Source
/// HBP, arXiv 2503.07680, section 4.
[[nodiscard]] inline double communication_ratio(std::span<std::int64_t const> communicated, std::span<std::int64_t const> tokens) {
  require(communicated.size() == tokens.size(),
          [&] { return std::to_string(communicated.size()) + " communicated entries for " + std::to_string(tokens.size()) + " steps"; });
  double sum = 0;
  for (std::size_t s = 0; s < tokens.size(); ++s)
    if (tokens[s] != 0) sum += static_cast<double>(communicated[s]) / static_cast<double>(tokens[s]);
  return tokens.empty() ? 0.0 : sum / static_cast<double>(tokens.size());
}

/// @brief Average tokens (Ave-T): mean over the steps. @param tokens tokens of one data-parallel rank in each step @return the mean; 0
/// without steps
[[nodiscard]] inline double average_tokens(std::span<std::int64_t const> tokens) {
  return tokens.empty() ? 0.0 : static_cast<double>(token_load(tokens)) / static_cast<double>(tokens.size());
}

/// @brief How near to a random order the steps of a plan are; 1 is as random, where not said otherwise.
struct randomness {
  double ks = 0;               ///< mean over the steps of sup |F_step - F_data|, F the distribution of lengths by samples
  double ks_tokens = 0;        ///< the same by tokens
  double ks_times = 0;         ///< KSx: `ks` over that of random steps
  double ks_tokens_times = 0;  ///< `ks_tokens` over that of random steps
  double design_effect =
      0;  ///< D: variance over the steps of the token-mean length (sum l^2 / sum l), over that of random steps; below 1 is stratified
  double design_effect_length = 0;  ///< D_len: the same of the mean length
  double design_effect_8 = 0;       ///< D8: D of means over 8 consecutive steps, which is what momentum sees; 0 with fewer than 9 steps
  double lag1 = 0;                  ///< rho1: correlation of the token-mean lengths of neighbouring steps; 0 for random steps
  double tokens_variation = 0;      ///< standard deviation of the tokens of a step over their mean
};

namespace detail {

/// What one order of steps shows, before it is compared.
struct step_statistics {
  double ks = 0, ks_tokens = 0, token_mean = 0, length = 0, token_mean_8 = 0, lag1 = 0,
         tokens_variation = 0;  // the middle three: variances
};

[[nodiscard]] inline double mean_of(std::span<double const> x) {
  return x.empty() ? 0.0 : std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}
[[nodiscard]] inline double variance_of(std::span<double const> x) {
  auto const mean = mean_of(x);
  double sum = 0;
  for (auto v : x) sum += (v - mean) * (v - mean);
  return x.empty() ? 0.0 : sum / static_cast<double>(x.size());
}

/// The data's distribution: distinct lengths with the samples and tokens at or below each.
struct length_distribution {
  std::vector<std::int64_t> lengths;
  std::vector<double> samples, tokens;  ///< one entry more: [0] is 0, [j + 1] belongs to lengths[j]
};

template <class Index>
[[nodiscard]] step_statistics statistics_of(groups<Index> const& steps, std::span<std::int64_t const> lengths,
                                            length_distribution const& data) {
  std::vector<double> token_mean, mean, token_mean_8, tokens_of;
  std::vector<std::int64_t> sorted;
  step_statistics out;
  for (auto const step : steps) {
    if (step.empty()) continue;
    sorted.clear();
    for (auto const i : step) sorted.push_back(lengths[static_cast<std::size_t>(i)]);
    std::sort(sorted.begin(), sorted.end());
    double tokens = 0, squares = 0;
    for (auto const l : sorted) {
      tokens += static_cast<double>(l);
      squares += static_cast<double>(l) * static_cast<double>(l);
    }
    auto const count = static_cast<double>(sorted.size());
    double sup = 0, sup_tokens = 0, held = 0;
    for (std::size_t a = 0, b = 0; a < sorted.size(); a = b) {  // the difference is largest just below or at a length of the step
      while (b < sorted.size() && sorted[b] == sorted[a]) ++b;
      auto const j = static_cast<std::size_t>(std::lower_bound(data.lengths.begin(), data.lengths.end(), sorted[a]) - data.lengths.begin());
      auto const here = held + static_cast<double>(b - a) * static_cast<double>(sorted[a]);
      auto const gap = [](double share, double all_share) { return std::fabs(share - all_share); };
      sup =
          (std::max)({sup, gap(static_cast<double>(a) / count, data.samples[j]), gap(static_cast<double>(b) / count, data.samples[j + 1])});
      sup_tokens = (std::max)({sup_tokens, gap(held / tokens, data.tokens[j]), gap(here / tokens, data.tokens[j + 1])});
      held = here;
    }
    out.ks += sup;
    out.ks_tokens += sup_tokens;
    token_mean.push_back(squares / tokens);
    mean.push_back(tokens / count);
    tokens_of.push_back(tokens);
  }
  auto const n = token_mean.size();
  if (n == 0) return out;
  out.ks /= static_cast<double>(n);
  out.ks_tokens /= static_cast<double>(n);
  out.token_mean = variance_of(token_mean);
  out.length = variance_of(mean);
  for (std::size_t s = 0; s + 8 <= n; ++s) token_mean_8.push_back(mean_of(std::span(token_mean).subspan(s, 8)));
  out.token_mean_8 = variance_of(token_mean_8);
  auto const centre = mean_of(token_mean);
  double products = 0;
  for (std::size_t s = 0; s + 1 < n; ++s) products += (token_mean[s] - centre) * (token_mean[s + 1] - centre);
  out.lag1 = out.token_mean > 0 ? products / (static_cast<double>(n) * out.token_mean) : 0.0;
  out.tokens_variation = std::sqrt(variance_of(tokens_of)) / mean_of(tokens_of);
  return out;
}

}  // namespace detail

/// @brief Compares the steps of a plan with random ones: the same samples in random order, cut into as many steps of the same token count.
///
/// @tparam Index  index type of the steps
/// @param steps       sample indices of each step, in the order of training; empty steps are left out
/// @param lengths     length of every sample, each at least 1; the data are the samples that stand in steps
/// @param seed        of the random orders
/// @param references  how many random orders the figures are compared with; their means are taken
/// @return the figures; a quotient whose random part is 0 is 0
/// @throws invalid_input if an index is no sample or a length is not positive
/// @par Complexity
/// O(references * samples * log samples).
/// @par Determinism
/// The random orders are the same everywhere; the figures are sums of doubles in a fixed order.
/// @par Source
/// This library (docs/balance.md).
template <index_type Index>
[[nodiscard]] randomness randomness_of(groups<Index> const& steps, std::span<std::int64_t const> lengths, std::uint64_t seed = 0,
                                       std::uint32_t references = 4) {
  std::vector<std::int64_t> sorted;
  for (auto const i : steps.members) {
    require(i < lengths.size(), [&] { return "a step holds " + std::to_string(i) + ", which is no sample"; });
    auto const l = lengths[static_cast<std::size_t>(i)];
    require(l > 0, [&] { return "lengths[" + std::to_string(i) + "] = " + std::to_string(l) + " must be positive"; });
    sorted.push_back(l);
  }
  std::sort(sorted.begin(), sorted.end());
  double total = 0;
  for (auto const l : sorted) total += static_cast<double>(l);
  detail::length_distribution data{{}, {0.0}, {0.0}};
  double tokens = 0;
  for (std::size_t a = 0, b = 0; a < sorted.size(); a = b) {
    while (b < sorted.size() && sorted[b] == sorted[a]) ++b;
    tokens += static_cast<double>(b - a) * static_cast<double>(sorted[a]);
    data.lengths.push_back(sorted[a]);
    data.samples.push_back(static_cast<double>(b) / static_cast<double>(sorted.size()));
    data.tokens.push_back(tokens / total);
  }

  std::uint64_t count = 0;
  for (auto const step : steps) count += step.empty() ? 0U : 1U;
  auto const plan = detail::statistics_of(steps, lengths, data);
  detail::step_statistics random;
  for (std::uint32_t r = 0; r < references; ++r) {
    auto const order = random_permutation<std::uint64_t>(steps.members.size(), seed + r);
    groups<Index> cut;
    double filled = 0;
    for (auto const o : order) {
      auto const i = steps.members[static_cast<std::size_t>(o)];
      cut.members.push_back(i);
      filled += static_cast<double>(lengths[static_cast<std::size_t>(i)]);
      if (filled * static_cast<double>(count) >= total * static_cast<double>(cut.offsets.size())) cut.offsets.push_back(cut.members.size());
    }
    auto const one = detail::statistics_of(cut, lengths, data);
    random.ks += one.ks;
    random.ks_tokens += one.ks_tokens;
    random.token_mean += one.token_mean;
    random.length += one.length;
    random.token_mean_8 += one.token_mean_8;
  }
  auto const times = [&](double found, double sum) { return sum > 0 ? found * static_cast<double>(references) / sum : 0.0; };
  return {plan.ks,
          plan.ks_tokens,
          times(plan.ks, random.ks),
          times(plan.ks_tokens, random.ks_tokens),
          times(plan.token_mean, random.token_mean),
          times(plan.length, random.length),
          count > 8 ? times(plan.token_mean_8, random.token_mean_8) : 0.0,
          plan.lag1,
          plan.tokens_variation};
}

}  // namespace ballast::inline v0_1
