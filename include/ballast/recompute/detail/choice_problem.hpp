// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/recompute/memory_option.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

// The multiple-choice knapsack that all selections solve, in reduced form, and the prices that maximise its Lagrangian bound.

namespace ballast::inline v0_2::detail {

inline void require_valid(selection_options const& asked) {
  require(asked.budget >= 0, [&] { return sentence("budget = ", asked.budget, " must not be negative"); });
  require(asked.hidden_transfer >= 0, [&] { return sentence("hidden_transfer = ", asked.hidden_transfer, " must not be negative"); });
}

/// A useful option: its memory above the least of its class, in units of the common divisor.
struct choice {
  std::int64_t memory, time, transfer;
  std::size_t option;  // its index among all options
};

/// A class without dominated options, ordered by ascending memory.
struct choice_class {
  std::vector<choice> choices;
  std::int64_t count;
};

/// Every class at its least memory plus upgrades within `slack` units.
struct choice_problem {
  std::vector<choice_class> classes;
  std::int64_t least = 0;                           // memory in bytes that every selection needs
  std::int64_t unit = 1;                            // bytes per unit
  std::int64_t slack = 0;                           // units of memory that upgrades may use
  std::int64_t window = 0;                          // link time that is hidden
  std::int64_t memory = 0, time = 0, transfer = 0;  // sums over the classes of the largest value
  std::uint64_t choices = 0;                        // number of choices of all classes
  bool feasible = false;

  choice_problem(option_classes const& items, selection_options const& asked) : window(asked.hidden_transfer) {
    classes.reserve(items.size());
    std::int64_t divisor = 0;
    for (std::size_t k = 0; k < items.size(); ++k) {
      choice_class c{{}, static_cast<std::int64_t>(items.counts[k])};
      auto const options = items[k];
      for (std::size_t j = 0; j < options.size(); ++j)
        c.choices.push_back({options[j].memory, options[j].time, options[j].transfer, static_cast<std::size_t>(items.offsets[k]) + j});
      std::sort(c.choices.begin(), c.choices.end(), [](choice const& a, choice const& b) {
        if (a.memory != b.memory) return a.memory < b.memory;
        if (a.time != b.time) return a.time < b.time;
        if (a.transfer != b.transfer) return a.transfer < b.transfer;
        return a.option < b.option;
      });
      auto end = c.choices.begin();
      for (auto const& o : c.choices) {
        auto const dominated = std::any_of(c.choices.begin(), end,
                                           [&](choice const& e) { return e.time <= o.time && e.time + e.transfer <= o.time + o.transfer; });
        if (!dominated) *end++ = o;
      }
      c.choices.erase(end, c.choices.end());
      auto const first = c.choices.front().memory;
      least += first * c.count;
      for (auto& o : c.choices) {
        o.memory -= first;
        divisor = std::gcd(divisor, o.memory);
      }
      classes.push_back(std::move(c));
    }
    feasible = least <= asked.budget;
    unit = divisor == 0 ? 1 : divisor;
    for (auto& c : classes) {
      std::int64_t slowest = 0, longest = 0;
      for (auto& o : c.choices) {
        o.memory /= unit;
        slowest = (std::max)(slowest, o.time);
        longest = (std::max)(longest, o.transfer);
      }
      choices += c.choices.size();
      memory += c.count * c.choices.back().memory;
      time += c.count * slowest;
      transfer += c.count * longest;
    }
    if (feasible) slack = (std::min)((asked.budget - least) / unit, memory);
    window = (std::min)(window, transfer);
  }
  /// Time of a selection: the time of its choices, plus the link time that is not hidden.
  [[nodiscard]] std::int64_t total(std::int64_t compute, std::int64_t link) const noexcept {
    return compute + (std::max)(link - window, std::int64_t{0});
  }
};

/// Prices of memory and of link time, as integers over powers of two, so that a bound made from them is exact.
struct prices {
  int shift = 0;                 // times are in units of 2^-(shift + 4)
  std::int64_t memory = 0;       // price of one unit of memory
  std::int64_t link = 0;         // price of link time in sixteenths of time: from 0 (all is hidden) to 16 (nothing is hidden)
  std::uint64_t operations = 0;  // operations spent to find the prices

  [[nodiscard]] std::int64_t timed(choice const& o) const noexcept {
    return (16 * o.time + link * o.transfer) * (std::int64_t{1} << shift);
  }
  [[nodiscard]] std::int64_t of(choice const& o) const noexcept { return timed(o) + memory * o.memory; }
  /// The cheapest choice; among equal ones that of least memory.
  [[nodiscard]] std::size_t cheapest(choice_class const& c) const noexcept {
    std::size_t best = 0;
    for (std::size_t j = 1; j < c.choices.size(); ++j)
      if (of(c.choices[j]) < of(c.choices[best])) best = j;
    return best;
  }
  /// A scaled bound converted to time, rounded up.
  [[nodiscard]] std::int64_t rounded_up(std::int64_t scaled) const noexcept {
    auto const one = std::int64_t{1} << (shift + 4);
    return scaled <= 0 ? 0 : (scaled - 1) / one + 1;
  }
};

/// Memory of the cheapest choices.
template <class = when_called>
[[nodiscard]] inline std::int64_t memory_at(choice_problem const& p, prices const& at) {
  std::int64_t sum = 0;
  for (auto const& c : p.classes) sum += c.count * c.choices[at.cheapest(c)].memory;
  return sum;
}

/// Lower bound on the scaled time of any selection within the slack.
template <class = when_called>
[[nodiscard]] inline std::int64_t scaled_bound(choice_problem const& p, prices const& at) {
  auto sum = -at.memory * p.slack - at.link * p.window * (std::int64_t{1} << at.shift);
  for (auto const& c : p.classes) sum += c.count * at.of(c.choices[at.cheapest(c)]);
  return sum;
}

/// The least price of memory at which the cheapest choices fit, for a given price of link time.
template <class = when_called>
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

/// The prices with the best bound. The bound is concave in the price of link time, so a ternary search over sixteenths finds them.
template <class = when_called>
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
