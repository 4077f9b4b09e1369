// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/math.hpp>
#include <ballast/packing/detail/pooled_memory.hpp>
#include <ballast/packing/result.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

// The two families of dual feasible functions of `packing_lower_bound`, over all their parameters.

namespace ballast::inline v0_2::detail {

/// The number of lengths that are at least t, and their sum, for t in 0 … capacity + 1.
struct length_tails {
  pooled_vector<std::int64_t> count, sum;
  std::int64_t capacity = 0;
  std::int64_t unit = 1;  // lengths are divided by this and rounded down

  length_tails(histogram const& lengths, std::int64_t full_capacity, std::int64_t divisor)
      : count(static_cast<std::size_t>(full_capacity / divisor) + 2, 0),
        sum(count.size(), 0),
        capacity(full_capacity / divisor),
        unit(divisor) {
    auto k = lengths.lengths.size();
    std::int64_t tail_count = 0, tail_sum = 0;
    for (auto t = count.size(); t-- > 0;) {
      for (; k > 0 && lengths.lengths[k - 1] / divisor == static_cast<std::int64_t>(t); --k) {
        tail_count += static_cast<std::int64_t>(lengths.counts[k - 1]);
        tail_sum += static_cast<std::int64_t>(lengths.counts[k - 1]) * static_cast<std::int64_t>(t);
      }
      count[t] = tail_count;
      sum[t] = tail_sum;
    }
  }
};

/// Replaces `best` by `base + value / one`, rounded up, if that is better.
inline void take_better(packs_needed& best, std::int64_t base, std::int64_t value, std::int64_t one, packing_bound bound,
                        std::int64_t parameter, std::int64_t unit) {
  if (value > (best.packs - base) * one) best = {base + divide_up(value, one), bound, parameter, unit};
}

/// f(l) = F - floor((C - l) / u) for l > C / 2, F / 2 for l = C / 2, floor(l / u) below, over F = floor(C / u); for all units u from C / 2
/// down.
inline void dual_feasible_bound(length_tails const& tails, std::int64_t at_most, packs_needed& best) {
  auto const c = tails.capacity;
  auto const at = [&](std::int64_t t) { return tails.count[static_cast<std::size_t>(t)]; };
  auto const big = at(c / 2 + 1);  // each counts 1, reduced by what `steps` counts
  auto const halves = at((c + 1) / 2) - big;
  // steps[t - 1]: number of short samples of length t or more, minus big samples that leave room for t. Their sum over the multiples t of u
  // is the sum of the floors.
  pooled_vector<std::int64_t> steps(static_cast<std::size_t>(c / 2));
  for (std::int64_t t = 1; t <= c / 2; ++t) steps[static_cast<std::size_t>(t - 1)] = (at(t) - halves - big) - (big - at(c - t + 1));
  for (auto u = c / 2; u >= 1 && best.packs < at_most; --u) {
    std::int64_t floors = 0;
    for (auto t = u; t <= c / 2; t += u) floors += steps[static_cast<std::size_t>(t - 1)];
    take_better(best, big, 2 * floors + (c / u) * halves, 2 * (c / u), packing_bound::dual_feasible, u, tails.unit);
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
    for (auto p = c / k + 1; p <= c / (k - 1) && best.packs < at_most; ++p) {
      auto const q = k * p - c;
      std::int64_t value = 0;  // in 1 / (k (k - 1) q)
      for (std::int64_t j = 1; j < k; ++j) {
        auto const foot = static_cast<std::size_t>(c - (k - j) * p + 1);     // first length on the ramp
        auto const top = static_cast<std::size_t>(j * p);                    // first length on the plateau after the ramp
        auto const end = static_cast<std::size_t>(c - (k - 1 - j) * p + 1);  // first length on the next ramp
        value += j * ((k - 1) * q - c) * (tails.count[foot] - tails.count[top]) + k * (tails.sum[foot] - tails.sum[top]) +
                 j * k * q * (tails.count[top] - tails.count[end]);
      }
      take_better(best, 0, value, k * (k - 1) * q, packing_bound::ramp, p, tails.unit);
    }
}

}  // namespace ballast::inline v0_2::detail
