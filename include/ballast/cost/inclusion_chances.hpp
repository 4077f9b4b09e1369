// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/expected_loads.hpp>
#include <ballast/cost/moe.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief The chances of experts under a skewed top-k router, which draws k of them by weights without replacement.

namespace ballast::inline v0_2 {

namespace detail {
/// The chance of each expert to be among the first `active` in a race: expert i arrives at an exponential time whose rate is its share of
/// the weights. The chance is the integral over the time t of rate_i exp(-rate_i t) P(fewer than `active` others have arrived), by the
/// trapezoidal rule on the logarithm of t, whose error is about 10^-8 with 8 nodes for each doubling and up to 128 active experts.
template <class = when_called>
[[nodiscard]] std::vector<double> race_chances(std::span<std::int64_t const> weights, std::size_t active) {
  constexpr int parts = 8;
  constexpr double ratio = 1.0905077326652577, width = 0.08664339756999316;  // 2^(1/8) and its logarithm
  auto const n = weights.size();
  double all = 0;
  for (auto const w : weights) all += static_cast<double>(w);
  std::vector<double> out(n), rate, arrived(n), absent(n), before(active), later((n + 1) * active, 1.0);
  for (auto const w : weights) rate.push_back(static_cast<double>(w) / all);
  double start = 0x1p-30;
  for (int part = 0; part < parts; ++part, start *= ratio) {
    for (std::size_t i = 0; i < n; ++i) {
      arrived[i] = rate[i] * start * (1 - rate[i] * start / 2);
      absent[i] = 1 - arrived[i];
    }
    double few = 1;  // chance that fewer than `active` have arrived
    for (double time = start; time < 1 || time * few > 1e-12; time *= 2) {
      for (auto i = n; i-- > 0;) {  // later[i * active + r]: that at most r of the experts from i on have arrived
        auto* const row = &later[i * active];
        for (std::size_t r = 0; r < active; ++r) row[r] = absent[i] * row[active + r] + (r > 0 ? arrived[i] * row[active + r - 1] : 0);
      }
      few = later[active - 1];
      std::fill(before.begin(), before.end(), 0.0);
      before[0] = 1;  // before[m]: that m of the experts below i have arrived
      for (std::size_t i = 0; i < n; ++i) {
        auto &p = arrived[i], &rest = absent[i];
        auto const* const row = &later[(i + 1) * active];
        double others = 0;
        for (std::size_t m = 0; m < active; ++m) others += before[m] * row[active - 1 - m];
        out[i] += width * time * rate[i] * rest * others;
        for (auto m = active; m-- > 1;) before[m] = before[m] * rest + before[m - 1] * p;
        before[0] *= rest;
        p *= 2 - p;  // at twice the time; the smaller of both has small errors of its own
        rest = rest < 0.5 ? rest * rest : 1 - p;
      }
    }
  }
  return out;
}
}  // namespace detail

/// @brief The chances of experts to be among k that are drawn by their weights, one after the other, without replacement.
///
/// A router whose scores are the logarithms of the weights plus Gumbel noise draws so: its k largest scores are the first k of a race with
/// exponential times (Kool et al., "Stochastic beams and where to find them", arXiv 1903.06059).
///
/// @param weights  weight of each expert, at least 1; at most 2,048 experts, whose weights add up to less than 2^62
/// @param active   k: number of experts that a token is sent to, in [1, 128], at most the number of experts
/// @return for each expert, the chance that a token is sent to it, in units of 2^-24; they add up to k exactly
/// @post each chance is off by less than 2 units (tested against enumerated draws)
/// @throws invalid_input if an argument is out of range
/// @par Complexity
/// O(experts k log(t)), where t is the mean time of the k-th arrival: about a second for 128 of 2,048 experts.
/// @par Determinism
/// Sums and products of doubles, without a mathematics library, rounded to a unit. These are figures to look at.
template <class = when_called>
[[nodiscard]] std::vector<std::int64_t> inclusion_chances(std::span<std::int64_t const> weights, std::int64_t active) {
  require_valid(expert_routing{.experts = static_cast<std::int64_t>(weights.size()), .active = active});
  detail::require_within("active", active, 1, 128);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    require(weights[i] >= 1 && weights[i] < (std::int64_t{1} << 62) - sum,
            [&] { return entry("weights", i, weights[i]) + " is not positive, or brings the sum of weights to 2^62 or more"; });
    sum += weights[i];
  }
  if (active == 1) return detail::chances_by_weight(weights, 1);
  std::vector<std::int64_t> out(weights.size(), certain);
  if (static_cast<std::size_t>(active) == weights.size()) return out;
  auto const chances = detail::race_chances(weights, static_cast<std::size_t>(active));
  double before = 0;
  std::int64_t given = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {  // what rounding leaves goes to the next, and no chance is above one
    before += chances[i];
    auto const half_units = static_cast<std::int64_t>(before * static_cast<double>(2 * certain));
    auto const upto = i + 1 == out.size() ? active * certain : (half_units + 1) / 2;
    out[i] = (std::clamp)(upto - given, std::int64_t{0}, certain);
    given += out[i];
  }
  return out;
}

/// @brief The chances of experts under a Zipf router that sends each token to k experts, drawn by the weights 1 / (i + 1)^s.
/// @param experts  number of experts, in [1, 2048]
/// @param halves   twice the exponent s, in [0, 4]: 0 is uniform, 2 is Zipf's law
/// @param active   k: number of experts that a token is sent to, in [1, 128], at most `experts`
/// @return for each expert, the chance that a token is sent to it, in units of 2^-24; they add up to k exactly
/// @throws invalid_input if an argument is out of range
/// @par Complexity
/// As `inclusion_chances`.
template <class = when_called>
[[nodiscard]] std::vector<std::int64_t> zipf_chances(std::int64_t experts, std::int64_t halves, std::int64_t active) {
  return inclusion_chances(detail::zipf_weights(experts, halves), active);
}

}  // namespace ballast::inline v0_2
