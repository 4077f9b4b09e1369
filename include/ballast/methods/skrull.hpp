// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/status.hpp>
#include <ballast/methods/global_schedule.hpp>
#include <ballast/methods/local_or_distributed_options.hpp>
#include <ballast/methods/skrull_costs.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/makespan_bound.hpp>
#include <ballast/sharding/time_shards.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <vector>

/// @file
/// @brief Skrull (Xu et al., arXiv 2505.19609): its two-level schedule, and the baselines it is compared with.

namespace ballast::inline v0_2::skrull {

/// @brief A run: model, cluster, and variants. Only `model` has no default.
struct run {
  shape model{};                                        ///< the model; `model.capacity` is that of a rank
  std::uint64_t groups = 4;                             ///< number of data-parallel groups
  std::uint64_t ranks = 8;                              ///< context-parallel ranks of a group
  std::int64_t flops_per_second = 400'000'000'000'000;  ///< rate that a device reaches
  std::int64_t cost_per_micro_batch = 0;                ///< nanoseconds of a micro-batch beside its tokens, such as launches
  rolling_back roll_back = rolling_back::corrected;     ///< see `local_or_distributed`
  local_rank local = local_rank::least_loaded;          ///< see `local_or_distributed`; `emptiest` is the round-robin baseline
  placing_order order = placing_order::shortest_first;  ///< see `local_or_distributed`
  bool share_more = false;                              ///< see `local_or_distributed`; the paper does not
  bool pieces = true;                                   ///< whether the result has `shards`
};

/// @brief The options of a run for `global_schedule`. @param of the run @return groups, ranks, capacity and variants
[[nodiscard]] inline global_schedule_options options_of(run const& of) {
  return {.groups = of.groups,
          .group = {.capacity = of.model.capacity,
                    .ranks = of.ranks,
                    .cost_per_pass = of.cost_per_micro_batch,
                    .roll_back = of.roll_back,
                    .local = of.local,
                    .order = of.order,
                    .share_more = of.share_more,
                    .pieces = of.pieces}};
}

/// @brief Schedules a global batch as Skrull does: `global_schedule` with the paper's cost models.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths  tokens of each sample of the global batch
/// @param by       the run
/// @return the schedule, in nanoseconds
/// @throws invalid_input as `global_schedule`
/// @par Complexity
/// As `global_schedule`.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] group_schedule<Index> schedule(R const& lengths, run const& by) {
  return global_schedule<Index>(lengths, options_of(by), compute_time(by.model, by.flops_per_second), exchange_of(by.model));
}

/// @brief A baseline that shares every sample among all ranks of a group.
enum class baseline : std::uint8_t {
  deepspeed,  ///< samples in the given order, dealt to the groups in turn
  sorted,     ///< as `deepspeed`, sorted by length
};

namespace detail {

/// The micro-batches of one group in a baseline, appended to a schedule.
template <index_type Index, class Lengths>
void share_group(std::vector<Index> const& mine, Lengths const& length, run const& by, std::uint64_t most, std::uint32_t first,
                 pass_list<Index>& list, group_schedule<Index>& out) {
  auto const cost = compute_time(by.model, by.flops_per_second);
  auto const exchange = exchange_of(by.model);
  auto const d = static_cast<std::int64_t>(by.ranks);
  std::int64_t time = 0;
  std::uint64_t micro_batches = 0;
  for (std::size_t i = 0, j = 0; i < mine.size(); i = j, ++micro_batches) {
    std::int64_t whole = 0, shared = 0, alone = 0, together = 0;  // tokens and times
    for (; j < mine.size() && j - i < most; ++j) {
      auto const tokens = length(mine[j]);
      auto const is_whole = tokens < d;
      if (j > i && (is_whole ? whole + tokens + divide_up(shared, d) : whole + divide_up(shared + tokens, d)) > by.model.capacity) break;
      list.placements.push_back({mine[j], static_cast<std::uint32_t>(list.ranks.size()), is_whole ? first : list.all_ranks});
      (is_whole ? whole : shared) += tokens;
      (is_whole ? alone : together) += cost(tokens, is_whole ? 1 : d);
    }
    for (std::uint32_t r = 0; r < (shared > 0 ? by.ranks : 1); ++r) list.ranks.members.push_back(first + r);
    list.ranks.offsets.push_back(list.ranks.members.size());
    time += together + (std::max)(exchange(shared), alone) + by.cost_per_micro_batch;
  }
  out.samples.push_back(mine);
  out.micro_batches.push_back(micro_batches);
  out.times.push_back(time);
}

}  // namespace detail

/// @brief Schedules a global batch as a baseline does: all ranks of a group share every sample.
///
/// Neighbouring samples of a group form a micro-batch, up to `samples_per_micro_batch` and up to the room of the group. A sample with fewer
/// tokens than there are ranks is whole on the first rank of its group.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths                  tokens of each sample of the global batch
/// @param by                       the run; its variants are not read
/// @param how                      the baseline
/// @param samples_per_micro_batch  most samples of a micro-batch, at least 1
/// @return the schedule, in nanoseconds, or `infeasible` if a sample exceeds the room of a group
/// @throws invalid_input as `global_schedule`
/// @par Complexity
/// O(n log n + pieces).
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] group_schedule<Index> share_all(R const& lengths, run const& by, baseline how, std::uint64_t samples_per_micro_batch = 1) {
  require(samples_per_micro_batch > 0, [] { return "samples_per_micro_batch = 0 must be positive"; });
  require(by.groups > 0 && by.groups < 1U << 20, [&] { return sentence("groups = ", by.groups, " must be in 1 ... 2^20 - 1"); });
  auto const cost = compute_time(by.model, by.flops_per_second);
  sharding_options const all{.capacity = by.model.capacity, .ranks = by.groups * by.ranks, .cost_per_pass = by.cost_per_micro_batch};
  auto const least = least_time(lengths, all, cost);
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  require_index<Index>(n, "samples");
  group_schedule<Index> out;
  out.shards.execution = execution::mixed;
  if (extent_of(lengths).longest > by.model.capacity * static_cast<std::int64_t>(by.ranks)) {
    out.status = out.shards.status = status::infeasible;
    return out;
  }
  auto const at = read_by_position(lengths);
  auto const length = [&](Index i) { return static_cast<std::int64_t>(at[static_cast<std::size_t>(i)]); };
  auto const order = order_by<Index>(n, [&](Index i) { return how == baseline::sorted ? length(i) : 0; });
  std::vector<Index> mine;
  pass_list<Index> list;
  for (std::size_t g = 0; g < by.groups; ++g) {
    mine.clear();
    for (auto i = g; i < n; i += static_cast<std::size_t>(by.groups)) mine.push_back(order[i]);
    detail::share_group(mine, length, by, samples_per_micro_batch, static_cast<std::uint32_t>(g * by.ranks), list, out);
  }
  out.overlapped = {*std::max_element(out.times.begin(), out.times.end()), least};
  if (!by.pieces) return out;
  out.shards = make_shards(lengths, list, all.ranks);
  out.shards.execution = execution::mixed;
  out.shards.time = {time_shards(out.shards, cost, by.cost_per_micro_batch).makespan, least};
  return out;
}

}  // namespace ballast::inline v0_2::skrull
