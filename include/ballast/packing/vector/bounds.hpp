// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/packing/bounds.hpp>
#include <ballast/packing/vector/detail/relative_size.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief Lower bounds on the number of packs of samples with several measures, computed in integers.

namespace ballast::inline v0_2 {

namespace detail {

/// A weighted sum of the measures of each class as a histogram, without samples whose sum is 0.
[[nodiscard]] inline histogram mix(measure_classes const& classes, std::span<std::int64_t const> weights) {
  std::vector<std::pair<std::int64_t, std::uint64_t>> entries;
  for (std::size_t c = 0; c < classes.size(); ++c)
    if (auto const value = std::inner_product(weights.begin(), weights.end(), classes[c].begin(), std::int64_t{0}); value != 0)
      entries.emplace_back(value, classes.counts[c]);
  std::sort(entries.begin(), entries.end());
  histogram h;
  for (auto const& [value, count] : entries) h.append(value, count);
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

}  // namespace detail

/// @brief A lower bound on the number of packs, and the argument that proves it.
struct vector_packs_needed {
  std::int64_t packs = 0;                   ///< the lower bound
  vector_bound bound = vector_bound::none;  ///< the argument that proves it
  /// Number of the measure, for `measure` and `incompatible`; for conflicts in several measures, the number of measures.
  std::size_t measure = 0;
  packing_bound argument = packing_bound::none;  ///< the argument about that measure or mixture, for `measure` and `mixture`
};

/// @brief A lower bound from conflicts: counts samples of which no two fit into one pack, so each needs another pack.
///
/// Two samples conflict if the sum of some measure exceeds its capacity; so all samples above half of one capacity conflict with each
/// other. A set of conflicting samples is grown from these, for each measure, and from the empty set: classes are added, largest first,
/// that conflict with all samples in the set.
///
/// @param classes   valid classes, with no measure above its capacity
/// @param capacity  capacity of one pack in each measure
/// @return the largest bound found; of equal bounds, the first
/// @par Complexity
/// O(K D log D) and at most 2^22 comparisons of classes, for K measures and D classes.
template <class = when_called>
[[nodiscard]] inline vector_packs_needed incompatible_bound(measure_classes const& classes, std::span<std::int64_t const> capacity) {
  auto const k = classes.measures, n = classes.size();
  auto const clash = [&](std::uint32_t a, std::uint32_t b) {
    for (std::size_t m = 0; m < k; ++m)
      if (classes[a][m] > capacity[m] - classes[b][m]) return true;
    return false;
  };
  // A class of which no two samples fit into one pack contributes all its samples, other classes contribute one.
  auto const sizes = detail::relative_sizes(classes, capacity);
  std::vector<std::pair<bool, std::int64_t>> key(n);
  for (std::uint32_t c = 0; c < n; ++c)
    key[c] = {clash(c, c), std::accumulate(sizes.data() + c * k, sizes.data() + (c + 1) * k, std::int64_t{0})};
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return key[a] != key[b] ? key[a] > key[b] : a > b; });
  vector_packs_needed best;
  std::vector<std::uint32_t> set;
  auto comparisons = std::uint64_t{1} << 22;
  for (std::size_t start = 0; start <= k; ++start) {
    auto const above_half = [&](std::uint32_t c) { return start < k && classes[c][start] > capacity[start] - classes[c][start]; };
    set.clear();
    std::int64_t samples = 0;
    for (std::uint32_t c = 0; c < n; ++c)
      if (above_half(c)) {
        set.push_back(c);
        samples += static_cast<std::int64_t>(classes.counts[c]);
      }
    auto one_measure = start < k;
    if (start < k)
      std::sort(set.begin(), set.end(), [&](auto a, auto b) { return std::pair(classes[a][start], a) < std::pair(classes[b][start], b); });
    for (auto c : order) {
      if (above_half(c)) continue;
      auto const other = std::find_if(set.begin(), set.end(), [&](auto member) { return !clash(c, member); });
      auto const spent = static_cast<std::uint64_t>(other - set.begin()) + 1;
      if (spent > comparisons) break;
      comparisons -= spent;
      if (other != set.end()) continue;
      set.push_back(c);
      samples += clash(c, c) ? static_cast<std::int64_t>(classes.counts[c]) : 1;
      one_measure = false;
    }
    if (samples > best.packs) best = {samples, vector_bound::incompatible, one_measure ? start : k, packing_bound::none};
  }
  return best;
}

/// @brief The largest of all lower bounds: bounds on each measure, on conflicting samples, and on weighted sums of two measures.
///
/// Samples that fit a pack in every measure also fit it in every weighted sum of measures, so each bound on one measure also holds for a
/// weighted sum. At most 39 sums are computed, or 2^19 over the number of classes if that is less: all sums by the bound of Martello and
/// Toth, and the best three by `packing_lower_bound`. Cheap bounds come first.
///
/// @param classes   valid classes, with no measure above its capacity
/// @param capacity  capacity of one pack in each measure
/// @param at_most   number of packs of a known plan: the computation ends once a bound reaches it
/// @return the largest bound found; of equal bounds, the first
/// @par Complexity
/// O(K D log D) if the cheap bounds reach `at_most`, for K measures and D classes; otherwise up to 39 times that, plus K + 3 calls of
/// `packing_lower_bound`.
template <class = when_called>
[[nodiscard]] vector_packs_needed vector_lower_bound(measure_classes const& classes, std::span<std::int64_t const> capacity,
                                                     std::int64_t at_most = (std::numeric_limits<std::int64_t>::max)()) {
  auto const k = classes.measures;
  vector_packs_needed best;
  auto const take = [&](packs_needed one, vector_bound bound, std::size_t m) {
    if (one.packs > best.packs) best = {one.packs, bound, m, one.bound};
  };
  if (classes.size() == 0) return best;
  std::vector<histogram> alone;
  for (std::size_t m = 0; m < k; ++m) {
    alone.push_back(detail::project(classes, m));
    take(volume_bound(alone[m], capacity[m]), vector_bound::measure, m);
  }
  for (std::size_t m = 0; m < k && best.packs < at_most; ++m) take(martello_toth_bound(alone[m], capacity[m]), vector_bound::measure, m);
  if (best.packs >= at_most) return best;
  if (auto const clashes = incompatible_bound(classes, capacity); clashes.packs > best.packs) best = clashes;
  constexpr auto any_number = (std::numeric_limits<std::uint64_t>::max)();
  for (std::size_t m = 0; m < k && best.packs < at_most; ++m)
    take(packing_lower_bound(alone[m], capacity[m], any_number, at_most), vector_bound::measure, m);
  if (best.packs >= at_most || k == 1) return best;

  auto const pairs = k * (k - 1) / 2;
  auto const parts = static_cast<std::int64_t>((std::min)(std::size_t{39}, (std::size_t{1} << 19) / classes.size()) / pairs) + 1;
  struct candidate {
    std::int64_t packs;
    std::size_t number;
    detail::mixture sum;
  };
  std::vector<candidate> candidates;
  for (std::size_t a = 0; a < k; ++a)
    for (std::size_t b = a + 1; b < k; ++b)
      for (std::int64_t part = 1; part < parts && best.packs < at_most; ++part) {
        auto sum = detail::mix_two(classes, capacity, a, b, part, parts);
        if (sum.capacity == 0) continue;
        auto const one = martello_toth_bound(detail::mix(classes, sum.weights), sum.capacity);
        take(one, vector_bound::mixture, 0);
        candidates.push_back({one.packs, candidates.size(), std::move(sum)});
      }
  std::sort(candidates.begin(), candidates.end(),
            [](auto const& x, auto const& y) { return x.packs != y.packs ? x.packs > y.packs : x.number < y.number; });
  for (std::size_t j = 0; j < (std::min)(candidates.size(), std::size_t{3}) && best.packs < at_most; ++j) {
    auto const& sum = candidates[j].sum;
    take(packing_lower_bound(detail::mix(classes, sum.weights), sum.capacity, any_number, at_most), vector_bound::mixture, 0);
  }
  return best;
}

BALLAST_INSTANTIATE(vector_packs_needed vector_lower_bound(measure_classes const&, std::span<std::int64_t const>, std::int64_t))

}  // namespace ballast::inline v0_2
