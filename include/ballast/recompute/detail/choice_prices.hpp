// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/recompute/detail/choice_problem.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

// The Lagrangian bound of the knapsack, and the prices that make it best.

namespace ballast::inline v0_2::detail {

/// Prices of memory and of the link, as integers over powers of two: a bound made of them is exact.
struct prices {
  int shift = 0;                 // times are in units of 2^-(shift + 4)
  std::int64_t memory = 0;       // of one unit of memory
  std::int64_t link = 0;         // sixteenths that link time counts of time; from 0 (all hides) to 16 (nothing hides)
  std::uint64_t operations = 0;  // spent to find them

  [[nodiscard]] std::int64_t timed(choice const& o) const noexcept {
    return (16 * o.time + link * o.transfer) * (std::int64_t{1} << shift);
  }
  [[nodiscard]] std::int64_t of(choice const& o) const noexcept { return timed(o) + memory * o.memory; }
  /// The cheapest choice; of equals the one of least memory.
  [[nodiscard]] std::size_t cheapest(choice_class const& c) const noexcept {
    std::size_t best = 0;
    for (std::size_t j = 1; j < c.choices.size(); ++j)
      if (of(c.choices[j]) < of(c.choices[best])) best = j;
    return best;
  }
  /// A scaled bound as time, rounded up.
  [[nodiscard]] std::int64_t rounded_up(std::int64_t scaled) const noexcept {
    auto const one = std::int64_t{1} << (shift + 4);
    return scaled <= 0 ? 0 : (scaled - 1) / one + 1;
  }
};

/// Memory that the cheapest choices hold.
[[nodiscard]] inline std::int64_t memory_at(choice_problem const& p, prices const& at) {
  std::int64_t sum = 0;
  for (auto const& c : p.classes) sum += c.count * c.choices[at.cheapest(c)].memory;
  return sum;
}

/// No selection within the slack has a scaled time below this.
[[nodiscard]] inline std::int64_t scaled_bound(choice_problem const& p, prices const& at) {
  auto sum = -at.memory * p.slack - at.link * p.window * (std::int64_t{1} << at.shift);
  for (auto const& c : p.classes) sum += c.count * at.of(c.choices[at.cheapest(c)]);
  return sum;
}

/// The least price of memory at which the cheapest choices fit, for a given price of the link.
[[nodiscard]] inline prices fitting_prices(choice_problem const& p, std::int64_t link) {
  auto const largest = (std::int64_t{1} << 61) / (p.memory + p.slack + 1);
  prices at{.memory = largest, .link = link};
  // the finest scale at which sums stay below 2^62 and the price needed is in range
  at.shift = (std::max)(0, 56 - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(p.time + p.transfer))));
  at.shift = (std::min)(at.shift, 24);
  for (; at.shift > 0 && memory_at(p, at) > p.slack; at.operations += p.choices) at.shift = (std::max)(0, at.shift - 4);
  std::int64_t low = 0, high = largest;
  while (low < high) {
    at.memory = low + (high - low) / 2;
    at.operations += p.choices;
    if (memory_at(p, at) <= p.slack)
      high = at.memory;
    else
      low = at.memory + 1;
  }
  at.memory = low;
  return at;
}

/// The prices with the best bound. The bound is concave in the price of the link, so a search by thirds over sixteenths finds them.
[[nodiscard]] inline prices best_prices(choice_problem const& p) {
  if (p.transfer == p.window) return fitting_prices(p, 0);
  auto best = fitting_prices(p, 16);
  auto value = best.rounded_up(scaled_bound(p, best));
  auto operations = best.operations;
  for (std::int64_t const link : {0, 2, 4, 6, 8, 10, 12, 14}) {
    auto const at = fitting_prices(p, link);
    auto const bound = at.rounded_up(scaled_bound(p, at));
    operations += at.operations;
    if (bound > value) {
      best = at;
      value = bound;
    }
  }
  best.operations = operations;
  return best;
}

}  // namespace ballast::inline v0_2::detail
