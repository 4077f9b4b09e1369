// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/bounds.hpp>
#include <ballast/packing/detail/pooled_memory.hpp>
#include <ballast/packing/detail/search/knapsack.hpp>
#include <ballast/patterns/unfused.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

// Bands of consecutive classes. Within a band, the linear program treats the value of a sample as a linear function of its size, so a band
// should end where the values jump or bend.

namespace ballast::inline v0_2::detail {

/// The sizes that occur, ascending, and the number of samples of each size.
struct class_table {
  pooled_vector<std::int64_t> size;
  pooled_vector<std::uint64_t> count;
};

/// The first class of each band, then the number of classes.
using band_borders = pooled_vector<std::uint32_t>;

/// Sizes at which a new band should begin: just above C / k, and where the function of the lower bound jumps or bends.
template <class = when_called>
[[nodiscard]] inline pooled_vector<std::int64_t> natural_borders(packs_needed const& bound, std::int64_t capacity) {
  pooled_vector<std::int64_t> out;
  for (std::int64_t k = 2; k <= 6; ++k) out.push_back(capacity / k + 1);
  auto const u = bound.parameter * bound.unit;
  if (u <= 0) return out;
  if (bound.bound == packing_bound::martello_toth) {
    out.push_back(u);
    out.push_back(capacity - u + 1);
  }
  if (bound.bound == packing_bound::dual_feasible && capacity / u <= 12)
    for (auto at = u; at < capacity; at += u) {
      out.push_back(at);
      out.push_back(capacity - at + 1);
    }
  if (bound.bound == packing_bound::ramp) {
    auto const k = capacity / u + 1;
    for (std::int64_t j = 1; j < k; ++j) {
      out.push_back(j * u);
      out.push_back(capacity - (k - j) * u + 1);
    }
  }
  return out;
}

/// Cuts classes into about `parts` bands of equal weight, where the weight of a class is its share of samples, of volume, of classes and of
/// the range of sizes. A new band also begins at each size of `natural`.
template <class = when_called>
[[nodiscard]] inline band_borders cut_bands(class_table const& classes, std::size_t parts, std::span<std::int64_t const> natural) {
  auto const n = classes.size.size();
  band_borders out;
  if (n <= parts) {
    for (std::uint32_t c = 0; c <= n; ++c) out.push_back(c);
    return out;
  }
  std::uint64_t samples = 0, volume = 0;
  for (std::size_t c = 0; c < n; ++c) {
    samples += classes.count[c];
    volume += classes.count[c] * static_cast<std::uint64_t>(classes.size[c]);
  }
  auto const range = static_cast<std::uint64_t>(classes.size.back() - classes.size.front());
  auto const share = [](std::uint64_t part, std::uint64_t whole) {  // in units of 2^-20
    int shift = 0;
    while (whole >> shift >> 43 != 0) ++shift;
    return ((part >> shift) << 20) / (whole >> shift);
  };
  auto const weight = [&](std::size_t c) {
    auto const gap = c == 0 ? 0 : static_cast<std::uint64_t>(classes.size[c] - classes.size[c - 1]);
    return share(classes.count[c], samples) + share(classes.count[c] * static_cast<std::uint64_t>(classes.size[c]), volume) + share(1, n) +
           share(gap, range);
  };
  auto const part = (std::uint64_t{4} << 20) / parts;
  std::uint64_t filled = 0;
  for (std::size_t c = 0; c < n; ++c) {
    auto const w = weight(c);
    auto const alone = 10 * w > 7 * part;
    auto const crosses = c > 0 && std::any_of(natural.begin(), natural.end(), [&](std::int64_t border) {
                           return classes.size[c - 1] < border && border <= classes.size[c];
                         });
    if (c == 0 || alone || crosses || filled >= part) {
      out.push_back(static_cast<std::uint32_t>(c));
      filled = 0;
    }
    filled = alone ? part : filled + w;
  }
  out.push_back(static_cast<std::uint32_t>(n));
  return out;
}

/// Adds borders, which may be in any order and occur twice.
template <class = when_called>
inline void add_borders(band_borders& borders, std::span<std::uint32_t const> more) {
  borders.insert(borders.end(), more.begin(), more.end());
  std::sort(borders.begin(), borders.end());
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
}

/// The borders at which the dual values jump or bend by more than a tolerance, those that `must` be kept, and the first and the last.
template <class Master, class Must>
[[nodiscard]] band_borders bent_borders(Master const& master, class_table const& classes, double tolerance, Must const& must) {
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
template <class Master, class Knapsack>
[[nodiscard]] pooled_vector<std::uint32_t> uneven_points(Master const& master, class_table const& classes, Knapsack const& knapsack,
                                                         int rule, std::size_t most) {
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
template <class Master, class Knapsack, class Must>
[[nodiscard]] band_borders zoomed_borders(Master const& master, class_table const& classes, Knapsack const& knapsack, int rule,
                                          std::size_t most_points, std::size_t most_uneven, Must const& must) {
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
