// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/packing/detail/expand_runs.hpp>
#include <ballast/packing/runs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// @file
/// @brief Turns a plan of runs into packs of samples: `expand` for all samples, in a new random order each epoch if wanted; `place` for the
/// samples of one rank.

namespace ballast::inline v0_2 {

/// @brief Returns the packs of a plan, where samples of equal length are taken in the order of their indices.
///
/// @tparam Index  type of the sample indices
/// @param plan     the plan, from `plan_best_fit_decreasing`
/// @param lengths  lengths of the samples that the plan was made for, in any order: the same histogram after padding
/// @param executor  `serial`, `threads` or an executor of the caller; the packs do not depend on it
/// @return exactly the packs of `best_fit_decreasing` on these lengths
/// @throws invalid_input unless the lengths are those that the plan was made for; the message names a length and both counts
/// @par Complexity
/// O(n + runs) in a few passes over memory; O(n log n) if the longest length is far above n.
template <index_type Index = std::uint32_t, length_range R, executor Executor = serial>
[[nodiscard]] groups<Index> expand(pack_runs const& plan, R const& lengths, Executor const& executor = {}) {
  return detail::expand<Index>(plan, lengths, detail::in_order{}, executor);
}

/// @brief Returns the packs of a plan, where samples of equal length are taken in the given order: a new shuffle for each epoch without a
/// new plan.
///
/// @tparam Index  type of the sample indices
/// @param plan     the plan, from `plan_best_fit_decreasing`
/// @param lengths  lengths of the samples that the plan was made for
/// @param order    a permutation of 0 … n - 1, for example `random_permutation(n, epoch)`
/// @param executor  `serial`, `threads` or an executor of the caller; the packs do not depend on it
/// @return the packs of the other overload with the same lengths in them, but other samples of these lengths
/// @throws invalid_input unless `order` is a permutation and the lengths are those that the plan was made for
/// @par Complexity
/// As the other overload; the lengths are read in the given order.
template <index_type Index, length_range R, executor Executor = serial>
[[nodiscard]] groups<Index> expand(pack_runs const& plan, R const& lengths, std::vector<Index> const& order,
                                   Executor const& executor = {}) {
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  require(order.size() == n,
          [&] { return "order has " + std::to_string(order.size()) + " entries for " + std::to_string(n) + " samples"; });
  std::vector<bool> seen(n);
  for (std::size_t j = 0; j < n; ++j) {
    require(order[j] < n && !seen[order[j]],
            [&] { return entry("order", j, order[j]) + (order[j] < n ? " occurs twice" : " is not the index of a sample"); });
    seen[order[j]] = true;
  }
  return detail::expand<Index>(plan, lengths, detail::by_order<Index>{order.data()}, executor);
}

/// @brief Returns the places of one shard's samples in a plan that was made for all shards.
///
/// The shards have a fixed order, and rank r passes the summed histogram of ranks 0 … r - 1. Together the ranks then hold the packing of
/// all samples in the order of the shards, though no sample was exchanged between ranks.
///
/// @param plan     the plan, from `plan_best_fit_decreasing` on the sum of the histograms of all shards
/// @param lengths  lengths of this shard's samples
/// @param before   histogram of all samples in earlier shards
/// @return pack, slot, token offset and member position of each sample, in input order
/// @throws invalid_input unless `before` is a valid histogram, and the plan has a place for every sample of each length
/// @par Complexity
/// O(n log runs).
template <length_range R>
[[nodiscard]] std::vector<placement> place(pack_runs const& plan, R const& lengths, histogram const& before = {}) {
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  auto const length_at = read_by_position(lengths);
  (void)extent_of(lengths);
  require_valid(before);
  auto const planned = detail::classes_of(plan);
  std::vector<std::uint64_t> next(planned.lengths.size()),
      end(planned.lengths.size());  // positions of the next and past the last sample of a length
  std::uint64_t first = 0;
  for (auto c = planned.lengths.size(); c-- > 0;) {
    next[c] = first;
    end[c] = first += planned.counts[c];
  }
  auto const class_of = [&](std::int64_t length) {
    auto const weight = length <= plan.capacity ? round_up(length, plan.sample_multiple) : length;
    auto const it = std::lower_bound(planned.lengths.begin(), planned.lengths.end(), weight);
    require(it != planned.lengths.end() && *it == weight,
            [&] { return "the plan was made without samples of " + std::to_string(length) + " tokens"; });
    return static_cast<std::size_t>(it - planned.lengths.begin());
  };
  auto const take = [&](std::int64_t length, std::uint64_t count) {
    auto const c = class_of(length);
    require(count <= end[c] - next[c], [&] { return "more samples of " + std::to_string(length) + " tokens than the plan was made for"; });
    next[c] += count;
    return next[c] - count;
  };
  for (std::size_t i = 0; i < before.lengths.size(); ++i) (void)take(before.lengths[i], before.counts[i]);
  std::vector<placement> places(n);
  for (std::size_t i = 0; i < n; ++i) places[i] = plan.at(take(static_cast<std::int64_t>(length_at[i]), 1));
  return places;
}

}  // namespace ballast::inline v0_2
