// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/karmarkar_karp.hpp>
#include <ballast/balance/longest_processing_time.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/methods/detail/group_scheduler.hpp>
#include <ballast/sharding/local_or_distributed.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/makespan_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `global_schedule`: a global batch onto data-parallel groups of context-parallel ranks, in as few micro-batches as memory allows.

namespace ballast::inline v0_2 {

/// @brief How the samples of a global batch are dealt to the data-parallel groups.
enum class group_balance : std::uint8_t {
  longest_processing_time,  ///< most expensive sample first, to the group with the least cost
  karmarkar_karp,           ///< largest differencing
};

/// @brief Shape of a global batch. The numbers of groups and ranks and the capacity have no default.
struct global_schedule_options {
  std::uint64_t groups = 0;              ///< number of data-parallel groups, at least 1
  local_or_distributed_options group{};  ///< ranks and capacity of each group, and the variants; `pieces` says whether there are `shards`
  group_balance balance = group_balance::longest_processing_time;  ///< how samples are dealt to the groups
};

/// @brief A global batch in micro-batches of each group.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct group_schedule {
  ballast::status status = ballast::status::feasible;  ///< `infeasible` and `unknown` have no micro-batches
  groups<Index> samples;                               ///< of each group, the samples that it trains
  std::vector<std::uint64_t> micro_batches;            ///< of each group, how many
  std::vector<std::int64_t> times;  ///< of each group, the sum of `split_batch::overlapped` and `cost_per_pass` over its micro-batches
  std::uint64_t rolled_back = 0;    ///< number of samples that were whole in a micro-batch and became shared
  certificate overlapped;           ///< the largest of `times`, and a lower bound on it
  ballast::shards<Index> shards;    ///< ranks i N to i N + N - 1 are those of group i; `time` is that of `time_shards`
};

/// @brief Makes the micro-batches of groups whose samples are chosen already.
///
/// A group starts with as many micro-batches as its tokens need at least. The samples are sorted by length, and of m micro-batches, number
/// j gets every m-th sample from the j-th shortest on, so that each has short and long ones. `local_or_distributed` places each
/// micro-batch; if one has no plan, there is one micro-batch more. Groups may have different numbers of micro-batches.
///
/// @tparam Index          type of the sample indices
/// @tparam R              range of integers
/// @tparam Cost           a `degree_cost_model`
/// @tparam Communication  a `cost_model`
/// @param lengths        tokens of each sample, positive
/// @param samples        the samples of each group, each sample once; of any balancer, such as `balance_phases`
/// @param options        ranks, capacity and variants; `balance` is not read
/// @param cost           time of a sample by its length and by how many ranks share it, without communication
/// @param communication  time to exchange V shared tokens of one micro-batch, which must not fall as V rises; 0 by default
/// @return the schedule. Without a plan, `status` is `infeasible` if a sample exceeds the room of a group, otherwise `unknown`
/// @throws invalid_input as `local_or_distributed`, or if the groups are not `options.groups` sets that hold each sample once, or
///         `cost_per_pass` times the number of samples reaches 2^62
/// @par Complexity
/// O(K log K + K log N) for each number of micro-batches that is tried, and that of `least_time` and `make_shards`.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Xu et al., "Skrull", arXiv 2505.19609, algorithm 2. As printed, its loop has no exit after success, and a failed micro-batch goes on
/// with the next one instead of with one micro-batch more.
template <index_type Index, length_range R, degree_cost_model Cost, cost_model Communication = linear_cost>
[[nodiscard]] group_schedule<Index> schedule_groups(R const& lengths, groups<Index> samples, global_schedule_options const& options,
                                                    Cost const& cost, Communication const& communication = no_communication) {
  auto const& group = options.group;
  require(options.groups > 0 && options.groups < 1U << 20,
          [&] { return "groups = " + std::to_string(options.groups) + " must be in 1 ... 2^20 - 1"; });
  require(samples.size() == options.groups, [&] {
    return "there are " + std::to_string(samples.size()) + " sets of samples, not groups = " + std::to_string(options.groups);
  });
  auto const count = static_cast<std::size_t>(std::ranges::size(lengths));
  std::vector<bool> seen(count);
  for (std::size_t j = 0; j < samples.members.size(); ++j) {
    auto const i = samples.members[j];
    require(i < count && !seen[i], [&] { return entry("samples.members", j, i) + " must name a sample, and no sample twice"; });
    seen[i] = true;
  }
  require(samples.members.size() == count, [&] { return std::to_string(count - samples.members.size()) + " samples are in no group"; });
  sharding_options const all{.capacity = group.capacity,
                             .ranks = options.groups * group.ranks,
                             .cost_per_pass = group.cost_per_pass,
                             .execution = execution::mixed};
  require(group.cost_per_pass < (std::int64_t{1} << 62) / static_cast<std::int64_t>(count + 1),
          [&] { return "cost_per_pass = " + std::to_string(group.cost_per_pass) + " times the number of samples reaches 2^62"; });
  auto const least = group.pieces ? least_time(lengths, all, cost) : least_time(std::vector<std::int64_t>{}, all, cost);

  std::vector<std::int64_t> tokens(count);
  auto const longest = extent_of(lengths).longest;
  std::copy_n(read_by_position(lengths), count, tokens.begin());
  group_schedule<Index> out;
  out.shards.execution = execution::mixed;
  auto const none = [&](ballast::status why) {
    group_schedule<Index> empty;
    empty.status = empty.shards.status = why;
    empty.shards.execution = execution::mixed;
    return empty;
  };
  if (longest > group.capacity * static_cast<std::int64_t>(group.ranks)) return none(status::infeasible);
  detail::group_scheduler<Index> scheduler{tokens, group};
  scheduler.group.pieces = false;
  std::int64_t makespan = 0;
  for (std::size_t g = 0; g < options.groups; ++g) {
    std::int64_t time = 0;
    if (!samples[g].empty() && !scheduler.split(samples[g], cost, communication)) return none(status::unknown);
    if (samples[g].empty()) scheduler.batches.clear();
    for (auto const& b : scheduler.batches) {
      time += b.overlapped.value + group.cost_per_pass;
      out.rolled_back += b.rolled_back;
    }
    makespan = (std::max)(makespan, scheduler.makespan());
    if (group.pieces) scheduler.append(static_cast<std::uint32_t>(g * group.ranks));
    out.micro_batches.push_back(scheduler.batches.size());
    out.times.push_back(time);
  }
  out.overlapped = {*std::max_element(out.times.begin(), out.times.end()),
                    detail::group_time_bound(tokens, static_cast<std::int64_t>(options.groups), group, cost, communication)};
  out.samples = std::move(samples);
  if (!group.pieces) return out;
  out.shards = make_shards(lengths, scheduler.list, all.ranks, group.layout);
  out.shards.execution = execution::mixed;
  out.shards.time = {makespan, least};
  return out;
}

/// @brief Schedules a global batch: balances the samples over data-parallel groups, then makes the micro-batches of each group.
///
/// The samples are balanced by their time on one rank; see `schedule_groups` for the micro-batches.
///
/// @tparam Index          type of the sample indices
/// @tparam R              range of integers
/// @tparam Cost           a `degree_cost_model`
/// @tparam Communication  a `cost_model`
/// @param lengths        tokens of each sample, positive; may be empty
/// @param options        groups, ranks, capacity and variants
/// @param cost           time of a sample by its length and by how many ranks share it, without communication
/// @param communication  time to exchange V shared tokens of one micro-batch, which must not fall as V rises; 0 by default
/// @return the schedule. Without a plan, `status` is `infeasible` if a sample exceeds the room of a group, otherwise `unknown`
/// @post with the corrected roll-back no rank exceeds the capacity in any pass, and there is a plan if no sample exceeds the room of a
///       group or has fewer tokens than a group has ranks
/// @throws invalid_input as `schedule_groups`
/// @par Complexity
/// O(n log n) to balance n samples on any number of groups, and that of `schedule_groups`.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Xu et al., "Skrull", arXiv 2505.19609, algorithm 2, which names no method of balance.
template <index_type Index = std::uint32_t, length_range R, degree_cost_model Cost, cost_model Communication = linear_cost>
[[nodiscard]] group_schedule<Index> global_schedule(R const& lengths, global_schedule_options const& options, Cost const& cost,
                                                    Communication const& communication = no_communication) {
  auto const at = read_by_position(lengths);
  auto const count = static_cast<std::size_t>(std::ranges::size(lengths));
  require_index<Index>(count, "samples");
  std::vector<Index> items(count);
  std::iota(items.begin(), items.end(), Index{0});
  auto const alone = [&](std::int64_t i) {
    return static_cast<std::int64_t>(cost(static_cast<std::int64_t>(at[static_cast<std::size_t>(i)]), 1));
  };
  require(options.groups > 0 && options.groups < 1U << 20,
          [&] { return "groups = " + std::to_string(options.groups) + " must be in 1 ... 2^20 - 1"; });
  static_cast<void>(extent_of(lengths));
  auto dealt = options.balance == group_balance::karmarkar_karp
                   ? karmarkar_karp<Index>(items, balance_options{.sets = options.groups}, alone, token_cost{})
                   : longest_processing_time<Index>(items, balance_options{.sets = options.groups}, alone, token_cost{});
  return schedule_groups(lengths, std::move(dealt.sets), options, cost, communication);
}

}  // namespace ballast::inline v0_2
