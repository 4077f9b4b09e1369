// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/math.hpp>
#include <ballast/packing/detail/scatter.hpp>
#include <ballast/packing/runs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <vector>

/// @file
/// @brief Turns a plan of runs into packs of samples: `expand` for all samples, in a new random order each epoch if wanted; `place` for the
/// samples of one rank.

namespace ballast::inline v0_2 {

namespace detail {

// Expands a plan of runs with samples, which must be those that it was made for.

/// Lengths with the rounding of a plan.
template <class Lengths>
struct padded_lengths {
  Lengths length;
  std::int64_t multiple;
  [[nodiscard]] std::int64_t operator[](std::size_t i) const { return round_up(static_cast<std::int64_t>(length[i]), multiple); }
};

/// The weights that a plan was made for.
[[nodiscard]] inline histogram classes_of(pack_runs const& plan) {
  histogram h;
  for (auto r = plan.runs.size(); r-- > 0;)
    h.append(plan.runs[r].length, (r + 1 < plan.runs.size() ? plan.runs[r + 1].first : plan.samples) - plan.runs[r].first);
  return h;
}

inline void require_same_classes(histogram const& here, histogram const& planned) {
  if (here == planned) return;
  for (std::size_t i = 0, j = 0;;) {  // the message names the shortest length whose count differs
    auto const a = i < here.lengths.size() ? here.lengths[i] : 0;
    auto const b = j < planned.lengths.size() ? planned.lengths[j] : 0;
    auto const length = a == 0 || (b != 0 && b < a) ? b : a;
    auto const mine = a == length ? here.counts[i] : 0;
    auto const theirs = b == length ? planned.counts[j] : 0;
    require(mine == theirs,
            [&] { return sentence("lengths: ", mine, " samples of ", length, " tokens, but the plan was made for ", theirs); });
    i += a == length ? 1 : 0;
    j += b == length ? 1 : 0;
  }
}

/// The order in which samples are visited.
template <index_type Index>
struct by_order {
  Index const* order;
  [[nodiscard]] std::size_t operator()(std::size_t j) const noexcept { return static_cast<std::size_t>(order[j]); }
};

template <index_type Index, length_range R, class Visit, class Executor>
groups<Index> expand(pack_runs const& plan, R const& lengths, Visit const& visit, Executor const& executor) {
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  auto const length_at = read_by_position(lengths);
  require(n == plan.samples, [&] { return sentence(n, " lengths, but the plan was made for ", plan.samples, " samples"); });
  require_index<Index>(n, "samples");
  auto const whole = extent_of(lengths);
  auto const planned = classes_of(plan);
  padded_lengths<decltype(length_at)> const weight{length_at, plan.sample_multiple};
  require(whole.longest <= plan.capacity,
          [&] { return sentence("lengths: one of ", whole.longest, " tokens, but the plan was made for packs of ", plan.capacity); });
  histogram classes;
  fold_workspace folds;
  fold(weight, n, n == 0 ? 0 : round_up(whole.longest, plan.sample_multiple), classes, folds);
  require_same_classes(classes, planned);

  groups<Index> packs;
  scatter_workspace<Index> ws;
  fill_offsets(plan, packs.offsets);
  auto* const order = ws.order.get(n);
  sort_canonically(weight, n, visit, planned, order, ws, executor);
  packs.members.resize(n);
  fill_members(plan.runs, n, packs.offsets.data(), order, packs.members.data(), executor);
  return packs;
}

}  // namespace detail

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
  require(order.size() == n, [&] { return sentence("order has ", order.size(), " entries for ", n, " samples"); });
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
            [&] { return sentence("the plan was made without samples of ", length, " tokens"); });
    return static_cast<std::size_t>(it - planned.lengths.begin());
  };
  auto const take = [&](std::int64_t length, std::uint64_t count) {
    auto const c = class_of(length);
    require(count <= end[c] - next[c], [&] { return sentence("more samples of ", length, " tokens than the plan was made for"); });
    next[c] += count;
    return next[c] - count;
  };
  for (std::size_t i = 0; i < before.lengths.size(); ++i) (void)take(before.lengths[i], before.counts[i]);
  std::vector<placement> places(n);
  for (std::size_t i = 0; i < n; ++i) places[i] = plan.at(take(static_cast<std::int64_t>(length_at[i]), 1));
  return places;
}

}  // namespace ballast::inline v0_2
