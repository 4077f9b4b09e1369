// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

// How random the order of a plan is, in comparison with random orders of the same samples.

namespace ballast_test {

using ballast::entry;
using ballast::groups;
using ballast::index_type;
using ballast::require;

/// Statistics of one order of steps, before they are compared.
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

/// Distribution of the data: distinct lengths, with the shares of samples and tokens at or below each.
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

/// @brief How close the steps of a plan are to random steps. Quotients are 1 if the plan is as random as a random order.
struct randomness {
  double ks = 0;               ///< mean over the steps of sup |F_step - F_data|, where F is the distribution of lengths, by samples
  double ks_tokens = 0;        ///< the same with F weighted by tokens
  double ks_times = 0;         ///< KSx: `ks` divided by its value for random steps
  double ks_tokens_times = 0;  ///< `ks_tokens` divided by its value for random steps
  double design_effect =
      0;  ///< D: variance over the steps of the token-mean length (sum l^2 / sum l), divided by that of random steps; below 1: stratified
  double design_effect_length = 0;  ///< D_len: the same for the mean length
  double design_effect_8 = 0;       ///< D8: D of means over 8 consecutive steps, as an optimiser's momentum averages; 0 below 9 steps
  double lag1 = 0;                  ///< rho1: correlation of the token-mean lengths of neighbouring steps; near 0 for random steps
  double tokens_variation = 0;      ///< coefficient of variation of the tokens of a step: standard deviation over mean
};

/// @brief Compares the steps of a plan with random steps: the same samples in random order, cut into as many steps of about equal tokens.
///
/// @tparam Index  index type of the steps
/// @param steps       sample indices of each step, in the order of training; empty steps are skipped
/// @param lengths     length of every sample, each at least 1; only samples that are in a step count
/// @param seed        seed of the random orders
/// @param references  number of random orders; the figures are compared with their means
/// @return the figures; a quotient is 0 if its denominator is 0
/// @throws invalid_input if a sample index is out of range or a length is not positive
/// @par Complexity
/// O(references * samples * log samples).
/// @par Determinism
/// The random orders are the same on every platform; the figures are sums of doubles in a fixed order.
/// @par Source
/// This library (docs/balance.md).
template <index_type Index>
[[nodiscard]] randomness randomness_of(groups<Index> const& steps, std::span<std::int64_t const> lengths, std::uint64_t seed = 0,
                                       std::uint32_t references = 4) {
  std::vector<std::int64_t> sorted;
  for (auto const i : steps.members) {
    require(i < lengths.size(), [&] { return "a step holds " + std::to_string(i) + ", which is no sample"; });
    auto const l = lengths[static_cast<std::size_t>(i)];
    require(l > 0, [&] { return entry("lengths", i, l) + " must be positive"; });
    sorted.push_back(l);
  }
  std::sort(sorted.begin(), sorted.end());
  double total = 0;
  for (auto const l : sorted) total += static_cast<double>(l);
  length_distribution data{{}, {0.0}, {0.0}};
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
  auto const plan = statistics_of(steps, lengths, data);
  step_statistics random;
  for (std::uint32_t r = 0; r < references; ++r) {
    auto const order = ballast::random_permutation<std::uint64_t>(steps.members.size(), seed + r);
    groups<Index> cut;
    double filled = 0;
    for (auto const o : order) {
      auto const i = steps.members[static_cast<std::size_t>(o)];
      cut.members.push_back(i);
      filled += static_cast<double>(lengths[static_cast<std::size_t>(i)]);
      if (filled * static_cast<double>(count) >= total * static_cast<double>(cut.offsets.size())) cut.offsets.push_back(cut.members.size());
    }
    auto const one = statistics_of(cut, lengths, data);
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

}  // namespace ballast_test
