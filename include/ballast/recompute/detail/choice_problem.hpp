// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/recompute/option.hpp>
#include <ballast/recompute/selection.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

// The multiple-choice knapsack that all selections solve, in its reduced form.

namespace ballast::inline v0_2::detail {

inline void require_valid(selection_options const& asked) {
  require(asked.budget >= 0, [&] { return "budget = " + std::to_string(asked.budget) + " must not be negative"; });
  require(asked.hidden_transfer >= 0,
          [&] { return "hidden_transfer = " + std::to_string(asked.hidden_transfer) + " must not be negative"; });
}

/// An option worth having: memory above the least of its class, in units of their common divisor.
struct choice {
  std::int64_t memory, time, transfer;
  std::size_t option;  // its index among all options
};

/// A class without dominated options; memory rises, time + transfer falls somewhere.
struct choice_class {
  std::vector<choice> choices;
  std::int64_t count;
};

/// Every class at its least memory plus upgrades within `slack` units.
struct choice_problem {
  std::vector<choice_class> classes;
  std::int64_t least = 0;                           // memory that every selection holds, in bytes
  std::int64_t unit = 1;                            // bytes of a unit
  std::int64_t slack = 0;                           // units to spend
  std::int64_t window = 0;                          // link time that hides
  std::int64_t memory = 0, time = 0, transfer = 0;  // sums of the largest of each class
  std::uint64_t choices = 0;                        // of all classes
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
  /// Time of a selection: what is computed, and what the link does not hide.
  [[nodiscard]] std::int64_t total(std::int64_t compute, std::int64_t link) const noexcept {
    return compute + (std::max)(link - window, std::int64_t{0});
  }
};

}  // namespace ballast::inline v0_2::detail
