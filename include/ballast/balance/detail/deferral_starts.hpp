// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/deferral_search.hpp>
#include <ballast/balance/phases.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

// Micro-batches from which `defer_phases` begins.

namespace ballast::inline v0_2::detail {

/// Sets as micro-batches, in rows of those that are alike in the language model. @param loads  of the sets in both phases
template <class Sets>
[[nodiscard]] deferral_search::places rows_of_sets(deferred_items const& of, Sets const& sets, std::vector<std::int64_t> const& loads) {
  deferral_search::places out(of.count());
  auto const order = order_by<std::uint32_t>(
      sets.size(), [&](std::uint32_t s) { return std::pair(-loads[2 * std::size_t{s} + 1], -loads[2 * std::size_t{s}]); });
  for (std::uint32_t k = 0; k < order.size(); ++k)
    for (auto const i : sets[order[k]]) {
      out[i].rank = static_cast<std::uint32_t>(k % of.ranks);
      out[i].slot.fill(static_cast<std::uint32_t>(k / of.ranks));
    }
  return out;
}

/// Micro-batches for both phases at once, `rows` of each rank: sets that are even in both, in rows of like ones. Empty if none are found.
template <class = when_called>
[[nodiscard]] inline deferral_search::places undeferred_rows(deferred_items const& of, std::size_t rows) {
  auto const size = [&](std::int64_t i) { return of.size[1][static_cast<std::size_t>(i)]; };
  auto const sets = balance_phases(of.numbers(), {.sets = of.ranks * rows, .capacity = of.capacity[1]}, of.costs(), size);
  if (sets.status != status::feasible) return {};
  return rows_of_sets(of, sets.sets, sets.loads);
}

/// Deals samples into cells, the largest part of its target first, each where the cubes of both loads grow least and no target is exceeded
/// if there is such a cell.
struct cell_dealer {
  static constexpr std::int64_t whole = std::int64_t{1} << 16;  // part of a target
  deferred_items const& of;
  std::vector<std::vector<std::uint32_t>> cells{};
  std::vector<std::int64_t> loads{}, held{}, parts{}, cubes{};  // of each cell in both phases; parts of the targets, and their cubes

  /// Returns the sum over phases of the largest loads, or -1 without room.
  std::int64_t deal(std::size_t count, std::array<std::int64_t, 2> const& target) {
    cells.assign(count, {});
    for (auto* const sums : {&loads, &held, &parts, &cubes}) sums->assign(2 * count, 0);
    std::array<std::vector<std::int64_t>, 2> part;  // of a sample, where `whole` is the target
    for (std::size_t p = 0; p < 2; ++p)
      for (auto const cost : of.cost[p])
        part[p].push_back(static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(cost), static_cast<std::uint64_t>(whole),
                                                                       static_cast<std::uint64_t>(target[p]))));
    auto const cube = [](std::int64_t load) {
      auto const x = (std::min)(load, 16 * whole);
      return x * x * x;
    };
    for (auto const i : order_by<std::uint32_t>(of.count(), [&](std::uint32_t j) { return -(std::max)(part[0][j], part[1][j]); })) {
      auto best = count;
      std::pair<bool, std::int64_t> least{};
      for (std::size_t c = 0; c < count; ++c) {
        std::pair<bool, std::int64_t> key{false, 0};
        auto fits = true;
        for (std::size_t p = 0; p < 2; ++p) {
          auto const after = parts[2 * c + p] + part[p][i];
          key.first = key.first || after > whole;
          key.second += cube(after) - cubes[2 * c + p];
          fits = fits && (of.capacity[p] == 0 || held[2 * c + p] + of.size[p][i] <= of.capacity[p]);
        }
        if (!fits || (best < count && key >= least)) continue;
        best = c;
        least = key;
      }
      if (best == count) return -1;
      cells[best].push_back(i);
      for (std::size_t p = 0; p < 2; ++p) {
        loads[2 * best + p] += of.cost[p][i];
        held[2 * best + p] += of.size[p][i];
        parts[2 * best + p] += part[p][i];
        cubes[2 * best + p] = cube(parts[2 * best + p]);
      }
    }
    std::array<std::int64_t, 2> largest{};
    for (std::size_t k = 0; k < loads.size(); ++k) largest[k % 2] = (std::max)(largest[k % 2], loads[k]);
    return largest[0] + largest[1];
  }
};

/// The fewest micro-batches that have room, dealt towards several targets of both phases: the best. A set that holds a sample of much work
/// in one phase has room for little of the other, so the least sum is often where neither phase is as even as it could be. Empty if
/// there is no room, or the deals take more than `work`.
[[nodiscard]] inline deferral_search::places even_cells(deferred_items const& of, std::int64_t work) {
  constexpr std::int64_t percents[] = {0, 2, 5, 10};
  auto const rows = of.fewest_rows();
  deferral_search::places out;
  auto const deals = std::size(percents) * std::size(percents);
  if (of.count() == 0 || rows > of.micro_batches || std::uint64_t{of.ranks} * rows > static_cast<std::uint64_t>(work) / deals / of.count())
    return out;
  std::array<std::int64_t, 2> least{};
  for (std::size_t p = 0; p < 2; ++p) least[p] = phase_bound(of.cost[p], 1, of.ranks * rows);
  if ((std::max)(least[0], least[1]) >= std::int64_t{1} << 56) return out;
  cell_dealer dealer{of};
  std::int64_t best = -1;
  for (auto const first : percents)
    for (auto const second : percents) {
      if (first + second < 5 || first + second > 15) continue;
      auto const target = [](std::int64_t load, std::int64_t percent) { return load + load * percent / 100 + 1; };
      auto const sum = dealer.deal(of.ranks * rows, {target(least[0], first), target(least[1], second)});
      if (sum < 0 || (best >= 0 && sum >= best)) continue;
      best = sum;
      out = rows_of_sets(of, dealer.cells, dealer.loads);
    }
  return out;
}

/// Ranks that encode as early as the capacity allows, the largest samples first, and share their work evenly among the first `rows`
/// micro-batches of the second phase. `rank_of` is the rank of each sample. Empty if a micro-batch has no room.
[[nodiscard]] inline deferral_search::places encode_early(deferred_items const& of, std::vector<std::uint32_t> const& rank_of,
                                                          std::size_t rows) {
  deferral_search::places out(of.count());
  std::vector<std::int64_t> load(of.ranks * of.micro_batches, 0), first(load), second(load);  // tokens of each phase
  auto const fits = [&](std::size_t p, std::vector<std::int64_t> const& held, std::size_t c, std::size_t i) {
    return of.capacity[p] == 0 || held[c] + of.size[p][i] <= of.capacity[p];
  };
  for (auto const i : order_by<std::uint32_t>(of.count(), [&](std::uint32_t j) { return -of.size[0][j]; })) {
    auto const r = std::size_t{out[i].rank = rank_of[i]};
    auto& m = out[i].slot[0];
    while (m < rows && !fits(0, first, m * of.ranks + r, i)) ++m;
    if (m == rows) return {};
    first[m * of.ranks + r] += of.size[0][i];
  }
  for (auto const i : order_by<std::uint32_t>(of.count(), [&](std::uint32_t j) { return -of.cost[1][j]; })) {
    auto best = rows;
    auto const c = [&](std::size_t m) { return m * of.ranks + out[i].rank; };
    for (std::size_t m = out[i].slot[0]; m < rows; ++m)
      if (fits(1, second, c(m), i) && (best == rows || load[c(m)] < load[c(best)])) best = m;
    if (best == rows) return {};
    out[i].slot[1] = static_cast<std::uint32_t>(best);
    load[c(best)] += of.cost[1][i];
    second[c(best)] += of.size[1][i];
  }
  return out;
}

}  // namespace ballast::inline v0_2::detail
