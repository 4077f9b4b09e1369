// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/groups.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

// Statistics of one order of steps.

namespace ballast::inline v0_2::detail {

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

}  // namespace ballast::inline v0_2::detail
