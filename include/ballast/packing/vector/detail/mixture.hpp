// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/packing/vector/measures.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

// One number for each class: a measure, or a weighted sum of measures.

namespace ballast::inline v0_2::detail {

/// A weighted sum of the measures of each class as a histogram, without samples whose sum is 0.
[[nodiscard]] inline histogram mix(measure_classes const& classes, std::span<std::int64_t const> weights) {
  std::vector<std::pair<std::int64_t, std::uint64_t>> entries;
  for (std::size_t c = 0; c < classes.size(); ++c)
    if (auto const value = std::inner_product(weights.begin(), weights.end(), classes[c].begin(), std::int64_t{0}); value != 0)
      entries.emplace_back(value, classes.counts[c]);
  std::sort(entries.begin(), entries.end());
  histogram h;
  for (auto const& [value, count] : entries) {
    if (h.lengths.empty() || h.lengths.back() != value) {
      h.lengths.push_back(value);
      h.counts.push_back(0);
    }
    h.counts.back() += count;
  }
  return h;
}

/// One measure of the classes as a histogram.
[[nodiscard]] inline histogram project(measure_classes const& classes, std::size_t m) {
  std::vector<std::int64_t> weights(classes.measures, 0);
  weights[m] = 1;
  return mix(classes, weights);
}

/// The weights of a sum of two measures, in the proportion `part` to `parts - part` of their capacities, if its numbers do not overflow.
struct mixture {
  std::vector<std::int64_t> weights;
  std::int64_t capacity = 0;  // 0 if they overflow
};
template <class = when_called>
[[nodiscard]] inline mixture mix_two(measure_classes const& classes, std::span<std::int64_t const> capacity, std::size_t a, std::size_t b,
                                     std::int64_t part, std::int64_t parts) {
  constexpr auto largest = std::int64_t{1} << 60;
  mixture out{std::vector<std::int64_t>(classes.measures, 0), 0};
  auto const scale = (std::max)(capacity[a], capacity[b]);
  if (scale > largest / parts) return out;
  auto x = (std::max)(part * scale / capacity[a], std::int64_t{1}), y = (std::max)((parts - part) * scale / capacity[b], std::int64_t{1});
  auto const common = std::gcd(x, y);
  x /= common;
  y /= common;
  auto const held = [&](std::int64_t weight, std::size_t m) { return (std::max)(classes.total(m), capacity[m]) <= largest / weight; };
  if (!held(x, a) || !held(y, b)) return out;
  out.weights[a] = x;
  out.weights[b] = y;
  out.capacity = x * capacity[a] + y * capacity[b];
  return out;
}

}  // namespace ballast::inline v0_2::detail
