// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/math.hpp>
#include <ballast/packing/detail/dual_feasible.hpp>
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
/// @param max_samples most samples in a pack, at least 1
/// @return the lower bound on the number of packs
/// @par Complexity
/// O(distinct lengths).
[[nodiscard]] inline packs_needed cardinality_bound(histogram const& lengths, std::uint64_t max_samples) {
  auto const n = lengths.samples();
  return {static_cast<std::int64_t>(divide_up(n, max_samples)), packing_bound::cardinality};
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
/// @param max_samples most samples in a pack, at least 1
/// @param at_most  number of packs of a known plan: no lower bound can exceed it, so the computation ends once a bound reaches it
/// @return the largest bound found; of equal bounds, the one that is cheapest to compute
/// @par Complexity
/// O(distinct lengths) if the volume bound or L2 reaches `at_most`; otherwise O(c log c) where c is the smaller of capacity and 2^18.
/// @par Source
/// dual_feasible: Carlier, Clautiaux, Moukrim, "New reduction procedures and lower bounds for the two-dimensional bin packing problem with
/// fixed orientation", Computers & Operations Research 34 (2007). ramp: this library; a slope of 1 / C gives the volume bound, a steep
/// slope the staircase of Fekete and Schepers, "New classes of fast lower bounds for bin packing problems", Mathematical Programming 91
/// (2001).
[[nodiscard]] inline packs_needed packing_lower_bound(histogram const& lengths, std::int64_t capacity, std::uint64_t max_samples,
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
