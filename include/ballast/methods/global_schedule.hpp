// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/karmarkar_karp.hpp>
#include <ballast/balance/longest_processing_time.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/methods/local_or_distributed.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/makespan_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
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

namespace detail {

/// The placements of all groups, while they are made.
template <index_type Index>
struct group_scheduler {
  std::vector<std::int64_t> const& lengths;
  local_or_distributed_options group;
  pass_list<Index> list{};
  std::vector<std::int64_t> slice{};
  std::vector<Index> order{};                 ///< samples of the group, shortest first
  groups<Index> slices{};                     ///< samples of each micro-batch of the group
  std::vector<split_batch<Index>> batches{};  ///< their placements

  /// Makes the micro-batches of a group: of m, number j has every m-th sample from the j-th shortest on. Returns whether some m will do.
  template <degree_cost_model Cost, cost_model Communication>
  [[nodiscard]] bool split(std::span<Index const> samples, Cost const& cost, Communication const& communication) {
    order.assign(samples.begin(), samples.end());
    std::sort(order.begin(), order.end(), [&](Index a, Index b) { return lengths[a] != lengths[b] ? lengths[a] < lengths[b] : a < b; });
    std::int64_t tokens = 0;
    for (auto const i : order) tokens += lengths[i];
    auto const room = group.capacity * static_cast<std::int64_t>(group.ranks);
    batches.clear();
    for (auto m = static_cast<std::size_t>(divide_up(tokens, room)); m <= order.size(); ++m)
      if (split_into(m, room, cost, communication)) return true;
    return false;
  }
  /// When the last rank of the group is done, as `time_shards` computes it: ranks wait where they share a sample.
  [[nodiscard]] std::int64_t makespan() const {
    std::vector<std::int64_t> free(static_cast<std::size_t>(group.ranks), 0);
    for (auto const& b : batches) {
      if (b.shared_tokens > 0) {
        auto const start = *std::max_element(free.begin(), free.end());
        std::fill(free.begin(), free.end(), start + group.cost_per_pass + *std::max_element(b.loads.begin(), b.loads.end()));
      } else {
        for (std::size_t r = 0; r < free.size(); ++r)
          if (b.local_tokens[r] > 0) free[r] += group.cost_per_pass + b.loads[r];
      }
    }
    return *std::max_element(free.begin(), free.end());
  }
  void append(std::uint32_t first_rank) {
    for (std::size_t j = 0; j < batches.size(); ++j)
      append_pass(batches[j], [&](std::size_t k) { return std::pair(slices[j][k], batches[j].rank_of[k]); }, first_rank, list);
  }

 private:
  template <class Cost, class Communication>
  [[nodiscard]] bool split_into(std::size_t m, std::int64_t room, Cost const& cost, Communication const& communication) {
    batches.clear();
    slices.clear();
    for (std::size_t j = 0; j < m; ++j) {  // tokens are counted before anything is placed
      std::int64_t tokens = 0;
      for (auto i = j; i < order.size(); i += m) {
        slices.members.push_back(order[i]);
        tokens += lengths[order[i]];
      }
      if (tokens > room) return false;
      auto const from = slices.members.begin() + static_cast<std::ptrdiff_t>(slices.offsets.back());
      if (group.order == placing_order::as_given) std::sort(from, slices.members.end());
      slices.offsets.push_back(slices.members.size());
    }
    for (auto const samples : slices) {
      slice.clear();
      for (auto const i : samples) slice.push_back(lengths[i]);
      batches.push_back(local_or_distributed<Index>(slice, group, cost, communication));
      if (batches.back().status != status::feasible) return false;
    }
    return true;
  }
};

/// A lower bound on the largest time of a group: the mean work of all ranks with the fixed times of as many micro-batches as the tokens
/// need, and the longest sample in its one micro-batch.
template <degree_cost_model Cost, cost_model Communication>
[[nodiscard]] std::int64_t group_time_bound(std::vector<std::int64_t> const& lengths, std::int64_t groups,
                                            local_or_distributed_options const& group, Cost const& cost,
                                            Communication const& communication) {
  auto const n = static_cast<std::int64_t>(group.ranks), all = n * groups;
  std::int64_t tokens = 0, mean = 0, rest = 0, longest = 0;  // the work of all ranks is `mean * all + rest`
  for (auto const length : lengths) {
    auto const alone = static_cast<std::int64_t>(cost(length, 1)), shared = static_cast<std::int64_t>(cost(length, n));
    auto const must = length > group.capacity;
    auto const exchanged = shared + static_cast<std::int64_t>(communication(length));
    longest = (std::max)(longest, must ? exchanged : (std::min)(alone, exchanged));
    auto const by_all = must || shared <= alone / n;  // n ranks work `shared` each
    mean += by_all ? shared / groups : alone / all;
    rest += by_all ? n * (shared % groups) : alone % all;
    mean += rest / all;
    rest %= all;
    tokens += length;
  }
  auto const micro_batches = divide_up(tokens, group.capacity * n) / groups;
  return (std::max)(mean + (rest > 0 ? 1 : 0) + group.cost_per_pass * micro_batches, tokens == 0 ? 0 : longest + group.cost_per_pass);
}

}  // namespace detail

/// @brief Schedules a global batch: balances the samples over data-parallel groups, then makes the micro-batches of each group.
///
/// The samples are balanced by their time on one rank. A group starts with as many micro-batches as its tokens need at least. Its samples
/// are sorted by length, and of m micro-batches, number j gets every m-th sample from the j-th shortest on, so that each has short and long
/// ones. `local_or_distributed` places each micro-batch; if one has no plan, there is one micro-batch more. Groups may have different
/// numbers of micro-batches.
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
/// @throws invalid_input as `local_or_distributed`, for a bad number of groups, or if `cost_per_pass` times the number of samples reaches
/// 2^62
/// @par Complexity
/// O(n log n) to balance n samples on any number of groups, then O(K log K + K log N) for K samples of a group of N ranks and each number
/// of micro-batches that is tried, and that of `least_time` and `make_shards`.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Xu et al., "Skrull", arXiv 2505.19609, algorithm 2, which names no method of balance. As printed, its loop has no exit after success,
/// and a failed micro-batch goes on with the next one instead of with one micro-batch more.
template <index_type Index = std::uint32_t, length_range R, degree_cost_model Cost, cost_model Communication = linear_cost>
[[nodiscard]] group_schedule<Index> global_schedule(R const& lengths, global_schedule_options const& options, Cost const& cost,
                                                    Communication const& communication = no_communication) {
  auto const& group = options.group;
  require(options.groups > 0 && options.groups < 1U << 20,
          [&] { return sentence("groups = ", options.groups, " must be in 1 ... 2^20 - 1"); });
  auto const longest = extent_of(lengths).longest;
  auto const count = static_cast<std::size_t>(std::ranges::size(lengths));
  require_index<Index>(count, "samples");
  std::vector<std::int64_t> tokens(count);
  std::copy_n(read_by_position(lengths), count, tokens.begin());
  auto const alone = [&](std::int64_t length) { return static_cast<std::int64_t>(cost(length, 1)); };
  auto const dealt = options.balance == group_balance::karmarkar_karp
                         ? karmarkar_karp<Index>(tokens, {.sets = options.groups}, alone)
                         : longest_processing_time<Index>(tokens, {.sets = options.groups}, alone);
  sharding_options const all{.capacity = group.capacity,
                             .ranks = options.groups * group.ranks,
                             .cost_per_pass = group.cost_per_pass,
                             .execution = execution::mixed};
  require(group.cost_per_pass < (std::int64_t{1} << 62) / static_cast<std::int64_t>(count + 1),
          [&] { return sentence("cost_per_pass = ", group.cost_per_pass, " times the number of samples reaches 2^62"); });
  auto const least = group.pieces ? least_time(lengths, all, cost) : least_time(std::vector<std::int64_t>{}, all, cost);

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
    if (!scheduler.split(dealt.sets[g], cost, communication)) return none(status::unknown);
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
  out.samples = dealt.sets;
  if (!group.pieces) return out;
  out.shards = make_shards(lengths, scheduler.list, all.ranks, group.layout);
  out.shards.execution = execution::mixed;
  out.shards.time = {makespan, least};
  return out;
}

}  // namespace ballast::inline v0_2
