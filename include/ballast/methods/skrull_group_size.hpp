// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/status.hpp>
#include <ballast/methods/global_schedule.hpp>
#include <ballast/methods/skrull.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

/// @file
/// @brief The size of Skrull's context-parallel groups: the best for a batch, of 8, 16, ... ranks.

namespace ballast::inline v0_2::skrull {

/// @brief A schedule, and the size of its groups.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct sized_schedule {
  std::uint64_t ranks = 0;         ///< context-parallel ranks of a group; 0 if no size has a plan
  group_schedule<Index> schedule;  ///< `infeasible` if a sample exceeds all ranks together, `unknown` if no plan was found
};

namespace detail {

/// The schedule of least `value(schedule)`, of `make(groups, ranks)` for groups of 8, 16, ... and of all ranks; the smallest groups
/// win ties.
template <index_type Index, length_range R, class Make, class Value>
[[nodiscard]] sized_schedule<Index> best_size(R const& lengths, std::uint64_t groups, std::uint64_t ranks, std::int64_t capacity,
                                              Make const& make, Value const& value) {
  require(groups > 0 && ranks > 0 && groups < 1U << 20 && ranks < 1U << 20 && groups * ranks < 1U << 20,
          [&] { return sentence(groups, " groups of ", ranks, " ranks must be 1 ... 2^20 - 1 ranks"); });
  auto const total = groups * ranks;
  require(capacity > 0, [&] { return sentence("capacity = ", capacity, " must be positive"); });
  auto const needed = static_cast<std::uint64_t>(divide_up(extent_of(lengths).longest, capacity));
  sized_schedule<Index> best;
  best.schedule.status = best.schedule.shards.status = needed > total ? status::infeasible : status::unknown;
  auto bound = std::int64_t{0};
  for (auto size = (std::min)(std::uint64_t{8}, total); size <= total; size = size < total ? (std::min)(2 * size, total) : total + 1) {
    if (size < needed || total % size != 0) continue;
    group_schedule<Index> tried = make(total / size, size);
    if (tried.status != status::feasible) continue;
    bound = best.ranks == 0 ? tried.overlapped.lower_bound : (std::min)(bound, tried.overlapped.lower_bound);
    if (best.ranks == 0 || value(tried) < value(best.schedule)) best = {size, std::move(tried)};
  }
  best.schedule.overlapped.lower_bound = bound;
  return best;
}

}  // namespace detail

/// @brief Schedules a global batch as `schedule` does, with the groups of least modelled time: 8, 16, ... ranks, as far as they divide all
/// ranks, or all ranks together.
///
/// Small groups share less, and need fewer exchanges; large groups have room for long samples and finish them sooner. The paper sets the
/// size by hand (8 ranks, and 16 for the larger model on long data).
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths  tokens of each sample of the global batch
/// @param by       the run; only the product of `groups` and `ranks` is read
/// @return the schedule of least `overlapped.value`; its bound holds for every size of groups that has a plan
/// @throws invalid_input as `schedule`
/// @par Complexity
/// log2(ranks) schedules.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] sized_schedule<Index> best_groups(R const& lengths, run by) {
  auto const pieces = std::exchange(by.pieces, false);
  auto const make = [&](std::uint64_t groups, std::uint64_t ranks) {
    by.groups = groups;
    by.ranks = ranks;
    return schedule<Index>(lengths, by);
  };
  auto best =
      detail::best_size<Index>(lengths, by.groups, by.ranks, by.model.capacity, make, [](auto const& of) { return of.overlapped.value; });
  if (!pieces || best.ranks == 0) return best;
  by.pieces = true;
  auto const bound = best.schedule.overlapped.lower_bound;
  best.schedule = make(by.groups * by.ranks / best.ranks, best.ranks);
  best.schedule.overlapped.lower_bound = bound;
  return best;
}

/// @brief The same under any cost, so that the schedule compares with those of other methods: `cost` holds the exchanges too, and the time
/// is that of `time_shards`.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `degree_cost_model`
/// @param lengths  tokens of each sample of the global batch
/// @param options  capacity and variants, such as `options_of(run)`; of `groups` and `group.ranks` only the product is read, and the
///                 schedule has `shards` whatever `group.pieces` says
/// @param cost     time of a sample by its length and the number of ranks that share it, with exchanges
/// @return the schedule of least `shards.time.value`
/// @post `shards.time.value` is the makespan that `time_shards` computes with `cost` and `options.group.cost_per_pass`
/// @throws invalid_input as `global_schedule`
/// @par Complexity
/// log2(ranks) schedules with their pieces.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t, length_range R, degree_cost_model Cost>
[[nodiscard]] sized_schedule<Index> best_groups(R const& lengths, global_schedule_options options, Cost const& cost) {
  options.group.pieces = true;
  auto const make = [&](std::uint64_t groups, std::uint64_t ranks) {
    options.groups = groups;
    options.group.ranks = ranks;
    return global_schedule<Index>(lengths, options, cost);
  };
  return detail::best_size<Index>(lengths, options.groups, options.group.ranks, options.group.capacity, make,
                                  [](auto const& of) { return of.shards.time.value; });
}

}  // namespace ballast::inline v0_2::skrull
