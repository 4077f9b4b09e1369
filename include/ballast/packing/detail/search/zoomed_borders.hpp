// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/detail/pooled_memory.hpp>
#include <ballast/packing/detail/search/band_master.hpp>
#include <ballast/packing/detail/search/length_bands.hpp>
#include <ballast/packing/detail/search/unfused.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

// Refines the bands of a linear program where its dual values bend, since optimal dual values have few break points.

namespace ballast::inline v0_2::detail {

/// The borders at which the dual values jump or bend by more than a tolerance, those that `must` be kept, and the first and the last.
template <class Knapsack, class Must>
[[nodiscard]] band_borders bent_borders(band_master<Knapsack> const& master, class_table const& classes, double tolerance,
                                        Must const& must) {
  auto const& borders = master.borders();
  auto const line = [&](std::size_t g, std::uint32_t c) {
    return static_cast<double>(master.value_at(g, static_cast<double>(classes.size[c] - classes.size[borders[g]]), 1.0));
  };
  auto const differs = [&](double a, double b) { return (a < b ? b - a : a - b) > tolerance * value_one; };
  band_borders kept{0};
  for (std::size_t g = 1; g < master.bands(); ++g) {
    auto const low = borders[g], high = borders[g + 1] - 1;
    if (must(low) || differs(line(g, low), line(g - 1, low)) || differs(line(g, high), line(g - 1, high))) kept.push_back(low);
  }
  kept.push_back(borders.back());
  return kept;
}

/// The points at which to split the worst bands, by one of three measures of the error of the solution and its dual values.
template <class Knapsack>
[[nodiscard]] pooled_vector<std::uint32_t> uneven_points(band_master<Knapsack> const& master, class_table const& classes,
                                                         Knapsack const& knapsack, int rule, std::size_t most) {
  auto const& size = classes.size;
  pooled_vector<double> excess(classes.count.begin(), classes.count.end());
  master.program().for_each_basic([&](std::size_t j, double x) {
    for (auto const& [c, copies] : master.patterns()[j]) excess[c] = plus_product(excess[c], -x, copies);
  });
  pooled_vector<std::pair<double, std::uint32_t>> found;
  auto const& borders = master.borders();
  for (std::size_t g = 0; g < master.bands(); ++g) {
    double sum = 0, integral = 0, worst = 0, all = 0;
    std::uint32_t at = 0;
    for (auto c = borders[g]; c + 1 < borders[g + 1]; ++c) {
      sum += excess[c];
      integral = plus_product(integral, sum, static_cast<double>(size[c + 1] - size[c]));
      auto off = rule == 1 ? integral : sum;
      if (rule == 0) {
        auto const slack = static_cast<double>(knapsack.best() - knapsack.best_with(c));
        all = plus_product(all, static_cast<double>(classes.count[c]), slack);
        off = static_cast<double>(classes.count[c]) * slack;
      }
      if (off < 0) off = -off;
      if (off > worst) {
        worst = off;
        at = c + 1;
      }
    }
    auto const range = static_cast<double>(size[borders[g + 1] - 1] - size[borders[g]]);
    if (at != 0) found.emplace_back(rule == 0 ? -all : rule == 1 ? -worst : -worst * range, at);
  }
  std::sort(found.begin(), found.end());
  pooled_vector<std::uint32_t> out;
  for (std::size_t i = 0; i < (std::min)(most, found.size()); ++i) out.push_back(found[i].second);
  return out;
}

/// The borders of `bent_borders`, about `most_points` points near them at most, and `most_uneven` points at which the solution covers the
/// classes most unevenly.
template <class Knapsack, class Must>
[[nodiscard]] band_borders zoomed_borders(band_master<Knapsack> const& master, class_table const& classes, Knapsack const& knapsack,
                                          int rule, std::size_t most_points, std::size_t most_uneven, Must const& must) {
  auto kept = bent_borders(master, classes, 1e-4, must);
  pooled_vector<std::uint32_t> more;
  for (std::size_t i = 1; i + 1 < kept.size() && more.size() < most_points; ++i) {
    auto const below = kept[i] - kept[i - 1], above = kept[i + 1] - kept[i];
    for (std::uint32_t const part : {4U, 2U}) {
      more.push_back(kept[i] - below / part);
      more.push_back(kept[i] + above / part);
    }
  }
  auto const uneven = uneven_points(master, classes, knapsack, rule, most_uneven);
  more.insert(more.end(), uneven.begin(), uneven.end());
  add_borders(kept, more);
  return kept;
}

}  // namespace ballast::inline v0_2::detail
