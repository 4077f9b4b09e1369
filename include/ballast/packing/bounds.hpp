// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/pooled_memory.hpp>
#include <ballast/packing/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

/// @file
/// @brief Lower bounds on the number of packs, computed in integers. `packing_lower_bound` returns the best of them.
///
/// All bounds but `cardinality_bound` are *dual feasible functions*: a function gives each length a value such that the values in one pack
/// sum to 1 at most. The values of all samples then sum to at most the number of packs. Values are fractions with a common denominator, so
/// the bounds sum integers.

namespace ballast::inline v0_2 {

namespace detail {

// The two families of dual feasible functions of `packing_lower_bound`, over all their parameters.

/// What the lengths have above t tokens in sum, for t in 0 … capacity.
struct length_tails {
  pooled_vector<std::int64_t> above;
  std::int64_t capacity = 0;
  std::int64_t unit = 1;  // lengths are divided by this and rounded down

  length_tails(histogram const& lengths, std::int64_t full_capacity, std::int64_t divisor)
      : above(static_cast<std::size_t>(full_capacity / divisor) + 1, 0), capacity(full_capacity / divisor), unit(divisor) {
    std::int64_t sum = 0, longer = 0;
    auto t = above.size();
    for (auto k = lengths.lengths.size(); k-- > 0; longer += static_cast<std::int64_t>(lengths.counts[k]))
      for (auto const length = static_cast<std::size_t>(lengths.lengths[k] / divisor); t > length;) above[--t] = sum += longer;
    while (t > 0) above[--t] = sum += longer;
  }
  [[nodiscard]] std::int64_t operator()(std::int64_t t) const { return above[static_cast<std::size_t>(t)]; }
  /// The number of lengths that are at least t, for t in 1 … capacity.
  [[nodiscard]] std::int64_t count(std::int64_t t) const { return (*this)(t - 1) - (*this)(t); }
};

/// Calls `hopeful(a, b)` for the interval first … last, if there is one, and while it returns true for its halves, down to single numbers.
template <class Hopeful>
void search_halves(std::int64_t first, std::int64_t last, Hopeful const& hopeful) {
  if (first > last || !hopeful(first, last) || first == last) return;
  auto const middle = first + (last - first) / 2;
  search_halves(first, middle, hopeful);
  search_halves(middle + 1, last, hopeful);
}

/// Replaces `best` by `base + value / one`, rounded up, if that is better.
inline void take_better(packs_needed& best, std::int64_t base, std::int64_t value, std::int64_t one, packing_bound bound,
                        std::int64_t parameter, std::int64_t unit) {
  if (value > (best.packs - base) * one) best = {base + divide_up(value, one), bound, parameter, unit};
}

/// f(l) = F - floor((C - l) / u) for l > C / 2, F / 2 for l = C / 2, floor(l / u) below, over F = floor(C / u); for all units u from C / 2
/// down.
inline void dual_feasible_bound(length_tails const& tails, std::int64_t at_most, packs_needed& best) {
  auto const c = tails.capacity;
  auto const big = tails.count(c / 2 + 1);  // each counts 1, reduced by the floor
  auto const halves = tails.count((c + 1) / 2) - big;
  // At most u times the sum of floors above x: what short samples hold there, less what is left beside big ones, and what is rounded.
  auto const rest = [&](std::int64_t x, std::int64_t u) {
    auto const light = tails(x) - tails(c - x) - (c / 2 - x) * (big + halves) - (c - c / 2 - x) * big;
    return light + (u - 1) * (big - tails.count(c - x));
  };
  for (std::int64_t u = c / 2, f = 1; u >= 1 && best.packs < at_most;) {
    f = f < u ? f + 1 : c / u;
    auto const lowest = f + 1 < u ? c / (f + 1) + 1 : u;                  // F is the same from here to there
    auto const least = [&] { return 2 * (best.packs - big) - halves; };   // twice the sum of the floors must be above F times it
    if (least() >= 0 && 2 * rest(0, u) <= least() * (c - u + 1)) return;  // nor for any lower unit
    search_halves(-u, -lowest, [&](std::int64_t first, std::int64_t last) {
      auto const each = halves + 2 * big;
      auto const* const above = tails.above.data();
      std::int64_t floors = 0;  // at most: short samples of t or more, less big samples that leave room for `beside`, at all multiples
      for (auto t = -last, beside = -first, i = f / 2; i > 0; --i, t -= last, beside -= first) {
        if (i % 32 == 0 && first == last && 2 * (rest(t + last, -last) - floors * last) <= -f * least() * last) return false;
        floors += above[t - 1] - above[t] + above[c - beside] - above[c - beside + 1] - each;
      }
      if (best.packs >= at_most || 2 * floors <= f * least()) return false;
      if (first == last) take_better(best, big, 2 * floors + f * halves, 2 * f, packing_bound::dual_feasible, -last, tails.unit);
      return true;
    });
    u = lowest - 1;
  }
}

/// As above for one unit u <= C / 2, for any capacity.
inline void dual_feasible_bound_at(histogram const& lengths, std::int64_t c, std::int64_t u, packs_needed& best) {
  auto const f = c / u;
  std::int64_t value = 0;  // in halves
  for (std::size_t i = 0; i < lengths.lengths.size(); ++i) {
    auto const l = lengths.lengths[i];
    value += static_cast<std::int64_t>(lengths.counts[i]) * (l > c - l ? 2 * (f - (c - l) / u) : l == c - l ? f : 2 * (l / u));
  }
  take_better(best, 0, value, 2 * f, packing_bound::dual_feasible, u, 1);
}

/// As above for units at which the bound is often best if lengths are not rounded: just above C / k, for the k of the best bound by itself
/// (no pack holds k samples above C / k), then the lengths, longest first, for at most `work` evaluations.
inline void dual_feasible_bound_at_lengths(histogram const& lengths, std::int64_t c, std::int64_t at_most, std::size_t work,
                                           packs_needed& best) {
  auto const& length = lengths.lengths;
  auto const largest = (std::numeric_limits<std::int64_t>::max)() / 4;
  auto const samples = static_cast<std::int64_t>(lengths.samples());
  std::int64_t most = best.packs, unit = 0, longer = 0;
  auto at = length.size();
  for (std::int64_t k = 3; k <= 64 && k <= c && samples <= largest / k; ++k) {
    for (; at > 0 && length[at - 1] > c / k; --at) longer += static_cast<std::int64_t>(lengths.counts[at - 1]);
    if (auto const packs = (longer - 1) / (k - 1) + 1; longer > 0 && packs > most) {
      most = packs;
      unit = c / k + 1;
    }
  }
  if (unit != 0) dual_feasible_bound_at(lengths, c, unit, best);
  for (auto k = length.size(); k-- > 0 && work >= length.size() && best.packs < at_most;) {
    auto const f = c / length[k];
    if (f < 2) continue;
    if (samples > largest / f) return;
    work -= length.size();
    dual_feasible_bound_at(lengths, c, length[k], best);
  }
}

/// y(l) = max over j of min(j / (k - 1), j / k + s (l - j C / k)) with s = 1 / ((k - 1)(k p - C)), for k = 3 … 5 and all p in
/// (C / k, C / (k - 1)]: ramp j = 1 … k - 1 rises to j / (k - 1) at l = j p. Let J be the sum of the j that the samples of a pack take. If
/// J < k, the first terms sum to at most 1; else the second ones to at most J / k + s C (1 - J / k) <= 1, as s C >= 1. (k = 2
/// is left out: up to p = 2 C / 3 it is a mean of functions of the other family, and above that no input is known for which it proves
/// more.)
inline void ramp_bound(length_tails const& tails, std::int64_t at_most, packs_needed& best) {
  auto const c = tails.capacity;
  for (std::int64_t k = 3; k <= 5; ++k)
    search_halves(c / k + 1, c / (k - 1), [&](std::int64_t first, std::int64_t last) {
      // Ramps that begin where the last p has them and are as wide as the narrowest, the last one of the first p, are above those of all p.
      auto const width = (k - 1) * first + last - c;
      std::int64_t value = 0;  // in 1 / ((k - 1) width)
      for (std::int64_t j = 1; j < k; ++j) value += tails(c - (k - j) * last) - tails(c - (k - j) * last + width);
      if (best.packs >= at_most || value <= best.packs * (k - 1) * width) return false;
      if (first == last) take_better(best, 0, value, (k - 1) * width, packing_bound::ramp, first, tails.unit);
      return true;
    });
}

}  // namespace detail

/// @brief The volume bound: total length over capacity, rounded up.
/// @param lengths  a valid histogram, with no length above `capacity`
/// @param capacity tokens of one pack, at least 1
/// @return the lower bound on the number of packs
/// @par Complexity
/// O(distinct lengths).
[[nodiscard]] inline packs_needed volume_bound(histogram const& lengths, std::int64_t capacity) {
  auto const tokens = lengths.tokens();
  return {divide_up(tokens, capacity), packing_bound::volume};
}

/// @brief The cardinality bound: number of samples over the most samples of a pack, rounded up.
/// @param lengths     a valid histogram
/// @param max_samples most samples in a pack; 0 = no limit
/// @return the lower bound on the number of packs
/// @par Complexity
/// O(distinct lengths).
[[nodiscard]] inline packs_needed cardinality_bound(histogram const& lengths, std::uint64_t max_samples) {
  auto const n = lengths.samples();
  return {static_cast<std::int64_t>(divide_up(n, max_samples == 0 ? ~std::uint64_t{0} : max_samples)), packing_bound::cardinality};
}

/// @brief The bound L2 of Martello and Toth: no two samples above half the capacity share a pack, and the medium samples need further packs
/// for what does not fit beside those.
///
/// Let B be the samples longer than C / 2 and let a <= C / 2. Then |B| + max(0, ceil((sum of l over all samples with a <= l <= C / 2 - sum
/// of (C - l) over all samples in B with l <= C - a) / C)) is a lower bound. The maximum over all a is returned; between two neighbouring
/// lengths the bound grows with a, so only lengths are tried.
///
/// @param lengths  a valid histogram, with no length above `capacity`
/// @param capacity tokens of one pack, at least 1
/// @return the lower bound on the number of packs; never below `volume_bound`
/// @par Complexity
/// O(distinct lengths).
/// @par Source
/// Martello, Toth, "Lower bounds and reduction procedures for the bin packing problem", Discrete Applied Mathematics 28 (1990).
[[nodiscard]] inline packs_needed martello_toth_bound(histogram const& lengths, std::int64_t capacity) {
  auto const& length = lengths.lengths;
  auto const total = [&](std::size_t k, std::int64_t each) { return static_cast<std::int64_t>(lengths.counts[k]) * each; };
  auto const half = static_cast<std::size_t>(std::upper_bound(length.begin(), length.end(), capacity / 2) - length.begin());
  std::int64_t big = 0;
  for (auto k = half; k < length.size(); ++k) big += static_cast<std::int64_t>(lengths.counts[k]);
  packs_needed best{big, packing_bound::martello_toth, capacity / 2 + 1};
  // `room` beside the big samples cannot overflow: each leaves less than its own length.
  std::int64_t light = 0, room = 0;
  auto beside = half;
  for (auto k = half; k-- > 0;) {  // a falls from length to length
    light += total(k, length[k]);
    for (; beside < length.size() && length[beside] <= capacity - length[k]; ++beside) room += total(beside, capacity - length[beside]);
    if (light <= room) continue;
    auto const need = light - room;
    if (auto const packs = big + divide_up(need, capacity); packs > best.packs) best = {packs, packing_bound::martello_toth, length[k]};
  }
  return best;
}

/// @brief The largest of all lower bounds: volume, cardinality, Martello-Toth, and two families of dual feasible functions over their
/// parameters.
///
/// For capacities above 2^18 (above 2^13 for few samples) the two families see lengths rounded down to a coarser unit, so that the work
/// stays bounded; the bounds remain valid. `dual_feasible` then also sees the exact lengths, for as many parameters as 2^14 evaluations
/// allow and for one just above a share of the capacity.
///
/// @param lengths  a valid histogram, with no length above `capacity`
/// @param capacity tokens of one pack, at least 1
/// @param max_samples most samples in a pack; 0 = no limit
/// @param at_most  number of packs of a known plan: no lower bound can exceed it, so the computation ends once a bound reaches it
/// @return the largest bound found; of equal bounds, the one that is cheapest to compute
/// @par Complexity
/// O(distinct lengths) if the volume bound or L2 reaches `at_most`; otherwise O(c log c) where c is the smaller of capacity and 2^18.
/// @par Source
/// dual_feasible: Carlier, Clautiaux, Moukrim, "New reduction procedures and lower bounds for the two-dimensional bin packing problem with
/// fixed orientation", Computers & Operations Research 34 (2007). ramp: this library; a slope of 1 / C gives the volume bound, a steep
/// slope the staircase of Fekete and Schepers, "New classes of fast lower bounds for bin packing problems", Mathematical Programming 91
/// (2001).
[[nodiscard]] inline packs_needed packing_lower_bound(histogram const& lengths, std::int64_t capacity, std::uint64_t max_samples = 0,
                                                      std::int64_t at_most = (std::numeric_limits<std::int64_t>::max)()) {
  if (lengths.lengths.empty()) return {};
  auto best = volume_bound(lengths, capacity);
  auto const take = [&](packs_needed other) {
    if (other.packs > best.packs) best = other;
  };
  take(cardinality_bound(lengths, max_samples));
  if (best.packs < at_most) take(martello_toth_bound(lengths, capacity));
  // Rounding costs half a unit a sample on average, so with few samples even a coarse unit costs less than a pack.
  auto const samples = lengths.samples();
  constexpr std::int64_t finest = std::int64_t{1} << 18, coarsest = std::int64_t{1} << 13;
  if (best.packs >= at_most || samples >= std::uint64_t{1} << 38) return best;  // the families sum values up to 2^6 * finest * samples
  auto const resolution = (std::clamp)(64 * static_cast<std::int64_t>(samples), coarsest, finest);
  auto const unit = (capacity - 1) / resolution + 1;
  if (unit > 1) detail::dual_feasible_bound_at_lengths(lengths, capacity, at_most, std::size_t{1} << 14, best);
  if (best.packs >= at_most) return best;
  detail::length_tails const tails(lengths, capacity, unit);
  detail::dual_feasible_bound(tails, at_most, best);
  detail::ramp_bound(tails, at_most, best);
  return best;
}

}  // namespace ballast::inline v0_2
