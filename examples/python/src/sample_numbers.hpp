// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ballast_python {

/// Which of the given samples are planned: all, or those that have tokens. Planners number these from 0.
struct sample_numbers {
  sample_numbers() = default;
  /// @param samples how many are given @param left_out those that are not planned, ascending
  sample_numbers(std::size_t samples, std::vector<std::uint32_t> left_out) : given(samples), skipped(std::move(left_out)) {
    if (skipped.empty()) return;
    kept.reserve(given - skipped.size());
    auto next = skipped.begin();
    for (std::uint32_t i = 0; i < given; ++i)
      if (next != skipped.end() && *next == i)
        ++next;
      else
        kept.push_back(i);
  }

  std::size_t given = 0;
  std::vector<std::uint32_t> kept;     ///< the given number of each planned sample; empty where all are planned
  std::vector<std::uint32_t> skipped;  ///< given samples that are not planned, ascending

  /// The given number of a planned sample or, behind the samples, of a piece.
  [[nodiscard]] std::uint32_t operator()(std::uint32_t planned) const {
    if (skipped.empty()) return planned;
    return planned < kept.size() ? kept[planned] : static_cast<std::uint32_t>(planned - kept.size() + given);
  }
  /// The number that a planner has for a given sample that it plans, or for a piece.
  [[nodiscard]] std::uint32_t planned(std::uint32_t number) const {
    if (skipped.empty()) return number;
    if (number >= given) return static_cast<std::uint32_t>(number - given + kept.size());
    return static_cast<std::uint32_t>(std::lower_bound(kept.begin(), kept.end(), number) - kept.begin());
  }
  /// The entries of planned samples, of one for each given sample.
  template <class T>
  [[nodiscard]] std::vector<T> of_planned(std::vector<T> all) const {
    if (skipped.empty()) return all;
    for (std::size_t i = 0; i < kept.size(); ++i) all[i] = all[kept[i]];
    all.resize(kept.size());
    return all;
  }
};

/// Gives the samples of a plan, of packs or of steps, other numbers.
template <class Plan, class Number>
void renumber(Plan& plan, Number const& number) {
  auto const all = [&](auto& samples) {
    for (auto& s : samples) s = number(s);
  };
  auto const each = [&](auto& entries) {
    for (auto& e : entries) e.sample = number(static_cast<std::uint32_t>(e.sample));
  };
  all(plan.packs.members);
  if constexpr (requires { plan.shared; }) {
    all(plan.dropped);
    all(plan.repeated);
    each(plan.shared);
  } else {
    all(plan.set_aside);
    each(plan.pieces);
  }
}

}  // namespace ballast_python
