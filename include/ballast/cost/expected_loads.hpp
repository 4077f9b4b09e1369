// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/moe.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief Loads of experts before any token is routed: the chances of an expert under a uniform or a Zipf router, and from these the
/// expected number of dropped rows and the variation of the loads, in integers.

namespace ballast::inline v0_2 {

/// @brief The chance that stands for certainty: chances are counted in units of 2^-24.
inline constexpr std::int64_t certain = std::int64_t{1} << 24;

namespace detail {
/// Shares `count * certain` out in proportion to weights, so that the shares add up exactly.
template <class = when_called>
[[nodiscard]] std::vector<std::int64_t> chances_by_weight(std::span<std::int64_t const> weights, std::int64_t count) {
  std::int64_t all = 0, before = 0, given = 0;
  for (auto const w : weights) all += w;
  std::vector<std::int64_t> out;
  out.reserve(weights.size());
  for (auto const w : weights) {
    before += w;
    auto const upto = static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(count * certain),
                                                                   static_cast<std::uint64_t>(before), static_cast<std::uint64_t>(all)));
    out.push_back(upto - given);
    given = upto;
  }
  return out;
}
/// The largest integer whose square is at most `value`, which is below 2^62.
constexpr std::int64_t root_down(std::int64_t value) {
  std::int64_t low = 0, high = std::int64_t{1} << 31;
  while (high - low > 1) {
    auto const middle = low + (high - low) / 2;
    (middle * middle <= value ? low : high) = middle;
  }
  return low;
}
/// The weights 2^30 / (i + 1)^s of a Zipf router.
template <class = when_called>
[[nodiscard]] std::vector<std::int64_t> zipf_weights(std::int64_t experts, std::int64_t halves) {
  require_within("experts", experts, 1, 2048);
  require_within("halves", halves, 0, 4);
  std::vector<std::int64_t> out;
  for (std::int64_t i = 1; i <= experts; ++i) {
    std::int64_t power = 1;
    for (std::int64_t h = 0; h < halves; ++h) power *= i;
    out.push_back(root_down((std::int64_t{1} << 60) / power));
  }
  return out;
}

/// The expected value of max(0, L - capacity) in 2^-16 rows, where L counts the tokens that come with the given chance.
constexpr std::int64_t expected_excess(std::int64_t tokens, std::int64_t capacity, std::int64_t chance) {
  if (capacity >= tokens || chance == 0) return 0;
  if (chance >= certain) return (tokens - capacity) << 16;
  auto const step = [](std::uint64_t weight, std::int64_t up, std::int64_t down) {  // rounded down
    auto const raised = multiply_divide_up(weight, static_cast<std::uint64_t>(up), static_cast<std::uint64_t>(down));
    return multiply(weight, static_cast<std::uint64_t>(up)) < multiply(raised, static_cast<std::uint64_t>(down)) ? raised - 1 : raised;
  };
  auto const mode = static_cast<std::int64_t>((static_cast<std::uint64_t>(tokens + 1) * static_cast<std::uint64_t>(chance)) >> 24);
  constexpr auto unit = std::uint64_t{1} << 44;  // weight of the mode; weights fall from there, and so do their errors
  std::uint64_t weights = 0;
  wide excess;
  auto const count = [&](std::int64_t load, std::uint64_t weight) {
    weights += weight;
    if (load > capacity) excess = excess + multiply(weight, static_cast<std::uint64_t>(load - capacity));
  };
  auto weight = unit;
  for (auto load = mode; weight > 0; ++load) {
    count(load, weight);
    weight = load == tokens ? 0 : step(weight, (tokens - load) * chance, (load + 1) * (certain - chance));
  }
  weight = unit;
  for (auto load = mode; load > 0; --load) {
    weight = step(weight, load * (certain - chance), (tokens - load + 1) * chance);
    if (weight == 0) break;
    count(load - 1, weight);
  }
  // the weights add up to less than 2^58, so the excess is below 2^82
  return static_cast<std::int64_t>(multiply_divide_up(excess.high << 44 | excess.low >> 20, std::uint64_t{1} << 36, weights));
}
}  // namespace detail

/// @brief The chances of the experts under a uniform router: k / N each.
/// @param by  experts and active experts; the capacity is not read
/// @return for each expert, the chance that a token is sent to it, in units of 2^-24; they add up to k exactly
/// @throws invalid_input if the routing is out of range
template <class = when_called>
[[nodiscard]] std::vector<std::int64_t> uniform_chances(expert_routing const& by) {
  require_valid(by);
  std::vector<std::int64_t> const weights(static_cast<std::size_t>(by.experts), 1);
  return detail::chances_by_weight(weights, by.active);
}

/// @brief The chances of the experts under a Zipf router that sends each token to one expert: in proportion to 1 / (i + 1)^s for expert i.
///
/// With prototypes, these are the chances within one of them.
///
/// @param experts  number of experts, in [1, 2048]
/// @param halves   twice the exponent s, in [0, 4]: 0 is uniform, 2 is Zipf's law
/// @return for each expert, the chance that a token is sent to it, in units of 2^-24; they add up to 1 exactly
/// @throws invalid_input if an argument is out of range
template <class = when_called>
[[nodiscard]] std::vector<std::int64_t> zipf_chances(std::int64_t experts, std::int64_t halves) {
  return detail::chances_by_weight(detail::zipf_weights(experts, halves), 1);
}

/// @brief What is expected of the loads of experts.
struct expected_rows {
  std::int64_t dropped = 0;     ///< expected number of dropped rows, in thousandths of a row
  std::int64_t drop_share = 0;  ///< expected share of the rows that are dropped, in millionths
  std::int64_t imbalance = 0;   ///< root of the expected square of the coefficient of variation of the loads, in thousandths, rounded down

  friend constexpr bool operator==(expected_rows const&, expected_rows const&) = default;
};

/// @brief Expected drops, and variation, of the loads of experts that T tokens are routed to.
///
/// Each token is sent to expert i with chance q_i, independently of other tokens: the load is binomial. That is exact for top-1 routing,
/// for each prototype of k top-1, and for top-k with a uniform router; for another top-k router pass the chances that an expert is among
/// the k (`inclusion_chances`). The expected excess over the capacity is summed over the binomial distribution, from its mode outwards, in
/// fixed point. The expected sum of squared loads is the sum over i of T q_i (1 + (T - 1) q_i); for a uniform router it follows that the
/// square of the variation is expected to be (N - k) / (k T).
///
/// @param tokens    T: number of tokens that are routed together, in [0, 2^24]
/// @param capacity  rows that an expert takes (`expert_capacity`), at least 0; T if the experts are dropless
/// @param chances   of each expert, in [0, 2^24] units of 2^-24, at most 2,048 experts; they add up to k, at most 128
/// @return the expected rows, for one prototype: drops of Z prototypes add up
/// @post for the given chances, `dropped` is off by at most a thousandth of a row plus a millionth of the exact value for each expert, and
/// `imbalance` by at most 1. A weight of the distribution is off by less than 2^-44 of the largest for each step from the mode
/// @throws invalid_input if an argument is out of range
/// @par Complexity
/// O(experts root(T)); experts of equal chances that follow each other are computed once.
/// @par Determinism
/// All arithmetic is in integers. These are figures to look at: planners decide on counted loads.
template <class = when_called>
[[nodiscard]] constexpr expected_rows expect_rows(std::int64_t tokens, std::int64_t capacity, std::span<std::int64_t const> chances) {
  detail::require_within("tokens", tokens, 0, certain);
  require(capacity >= 0, [&] { return "capacity = " + std::to_string(capacity) + " must not be negative"; });
  require(!chances.empty() && chances.size() <= 2048,
          [&] { return std::to_string(chances.size()) + " chances: 1 to 2048 experts are expected"; });
  std::int64_t all = 0, excess = 0, last = -1, of_last = 0, squares = 0;
  for (std::size_t i = 0; i < chances.size(); ++i) {
    auto const chance = chances[i];
    require(chance >= 0 && chance <= certain, [&] { return entry("chances", i, chance) + " must be in [0, 2^24]"; });
    all += chance;
    require(all <= 128 * certain, [&] { return entry("chances", i, chance) + " brings the chances above 128 experts for each token"; });
    if (chance != last) of_last = detail::expected_excess(tokens, capacity, last = chance);
    excess += of_last;
    if (tokens > 0)  // of the squares of the loads over T, in units of 2^-48
      squares += static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(chance),
                                                              static_cast<std::uint64_t>(certain + (tokens - 1) * chance),
                                                              static_cast<std::uint64_t>(tokens)));
  }
  if (tokens == 0 || all == 0) return {};
  expected_rows out;
  auto const scaled = [&](std::uint64_t per, std::uint64_t of) { return multiply_divide_up(static_cast<std::uint64_t>(excess), per, of); };
  out.dropped = static_cast<std::int64_t>(scaled(1000, std::uint64_t{1} << 16));
  out.drop_share = static_cast<std::int64_t>(  // (excess / 2^16) / (T all / 2^24) 10^6
      scaled(256'000'000, static_cast<std::uint64_t>(tokens) * static_cast<std::uint64_t>(all)));
  auto const n = static_cast<std::int64_t>(chances.size());
  std::int64_t high = std::int64_t{1} << 16;  // above 1000 sqrt(N)
  while (high - out.imbalance > 1) {
    auto const v = out.imbalance + (high - out.imbalance) / 2;
    (compare_products(v * v + 1'000'000, all * all, n * 1'000'000, squares) <= 0 ? out.imbalance : high) = v;
  }
  return out;
}

}  // namespace ballast::inline v0_2
