// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/status.hpp>
#include <ballast/methods/detail/packing_aware_rounds.hpp>
#include <ballast/methods/detail/packs_on_groups.hpp>
#include <ballast/sharding/any_degree.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/power_of_two_groups.hpp>
#include <ballast/sharding/result.hpp>
#include <ballast/sharding/time_shards.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief The scheduler `default_dynamic_cp` of Megatron-Core, which verl, Megatron-Bridge and NeMo run: a context-parallel degree for each
/// pack.

namespace ballast::inline v0_2::megatron_dynamic_cp {

/// @brief A run. Only `capacity` and `ranks` have no default.
struct options {
  std::int64_t capacity = 0;               ///< `max_seqlen_per_dp_cp_rank`: most tokens of a pack on one rank, at least 1
  std::uint64_t ranks = 0;                 ///< ranks of the data- and context-parallel group
  std::int64_t cost_per_pass = 0;          ///< fixed time of a pass, in units of the cost; the published scheduler does not know it
  std::uint64_t fewest_ranks = 1;          ///< `min_dynamic_context_parallel_size`, a power of two
  std::uint64_t micro_batch_multiple = 1;  ///< micro-batches are a multiple of it, for virtual pipeline stages
  ballast::execution execution = execution::independent;  ///< lockstep: all ranks wait after a micro-batch, as for pipelines, experts, FSDP
  share_layout layout = share_layout::zigzag;             ///< how the ranks of a group cut a sample
};

/// @brief A micro-batch: packs that run side by side, on all ranks together.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct micro_batch {
  std::vector<std::uint32_t> widths;  ///< number of ranks of each pack; a pack has the ranks behind those of the packs before
  groups<Index> packs;                ///< samples of each pack, in the order in which they were placed
  friend bool operator==(micro_batch const&, micro_batch const&) = default;
};

/// @brief The micro-batches of a batch.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct plan {
  /// `infeasible` if all ranks have no room for a sample, `unknown` if no multiple of micro-batches is found.
  ballast::status status = status::infeasible;
  std::vector<micro_batch<Index>> micro_batches;  ///< in training order
};

/// @brief Forms micro-batches as `default_dynamic_cp` of Megatron-Core does.
///
/// The work of a sample is `length^2 / degree`, without a linear term and without the time of a pass. A micro-batch takes samples longest
/// first. The longest gets the fewest ranks that hold it, a power of two. Each other sample may go to a pack with room on as many ranks as
/// it needs, or on 2, 4, ... times as many, or onto idle ranks: where the busiest rank has least work, of equal places on the fewest ranks,
/// in the oldest pack. No rank gets more work than 1.05 times the longest sample times the capacity; a sample without a place waits for the
/// next micro-batch. Idle ranks go to the smallest packs, whose ranks double, the oldest first. If they do not suffice for that, the
/// micro-batch is one pack of all ranks, of the longest samples that fit.
///
/// A larger number of micro-batches is made of the last ones: half of the ranks' packs become a micro-batch, and the packs of both halves
/// are widened.
///
/// Where the published code fails, this does not:
/// - on 5, 7, 9, 10, 14 ranks it may widen a pack until others are beyond the last rank, and ends with an error of an index; here such a
///   micro-batch is one pack of all ranks, as in later versions;
/// - on 7 ranks it may widen the packs of a half for ever; here the half becomes one pack of all ranks;
/// - it refuses a sample that more ranks must share than the largest power of two; here such a sample begins a pack of all ranks;
/// - it refuses micro-batches whose packs are not ordered by ranks when it splits them; here they are split like others;
/// - it compares in floating point, this in integers.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths  tokens of each sample; may be empty
/// @param o        the run; `cost_per_pass`, `execution` and `layout` are not read
/// @return the micro-batches
/// @throws invalid_input if a length or an option is out of its range, or the sum of squared lengths times ranks reaches 2^62
/// @par Complexity
/// O(n log n + micro-batches n packs log ranks).
/// @par Determinism
/// A pure function of its arguments, in integers; equal lengths keep their order.
/// @par Source
/// `DefaultDynamicCPScheduler` in megatron/core/datasets/data_schedule.py and data_schedule_utils.py of NVIDIA/Megatron-LM (2026).
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] plan<Index> micro_batches(R const& lengths, options const& o) {
  ballast::detail::require_valid(sharding_options{.capacity = o.capacity, .ranks = o.ranks});
  require(std::has_single_bit(o.fewest_ranks) && o.fewest_ranks <= o.ranks,
          [&] { return sentence("fewest_ranks = ", o.fewest_ranks, " must be a power of two, and at most ranks = ", o.ranks); });
  require(o.micro_batch_multiple > 0, [] { return std::string("micro_batch_multiple = 0 must be positive"); });
  auto const longest = extent_of(lengths).longest;
  auto const at = read_by_position(lengths);
  require_index<Index>(static_cast<std::size_t>(std::ranges::size(lengths)), "samples");
  plan<Index> out;
  if (divide_up(longest, o.capacity) > static_cast<std::int64_t>(o.ranks)) return out;
  std::vector<detail::item> items;
  checked sum(0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::ranges::size(lengths)); ++i) {
    auto const length = static_cast<std::int64_t>(at[i]);
    auto const work = checked(length) * checked(length) * checked(static_cast<std::int64_t>(std::bit_floor(o.ranks)));
    sum = sum + work;
    require(sum.fits() && sum.value < std::int64_t{1} << 62,
            [&] { return entry("lengths", i, length) + " brings the sum of squared lengths times ranks to 2^62 or more"; });
    auto const needed = std::bit_ceil(static_cast<std::uint64_t>(divide_up(length, o.capacity)));
    items.push_back({i, length, work.value, (std::max)(o.fewest_ranks, needed)});
  }
  std::sort(items.begin(), items.end(),
            [](auto const& a, auto const& b) { return a.length != b.length ? a.length > b.length : a.sample < b.sample; });
  std::vector<detail::round> rounds;
  for (detail::round_builder builder(std::move(items), {o.capacity, o.ranks}); !builder.empty();) rounds.push_back(builder.next());
  if (!detail::split_rounds(rounds, o.ranks, o.micro_batch_multiple)) {
    out.status = status::unknown;
    return out;
  }
  for (auto const& groups : rounds) {
    auto& of = out.micro_batches.emplace_back();
    for (auto const& g : groups) {
      of.widths.push_back(static_cast<std::uint32_t>(g.width));
      std::vector<Index> mine;
      for (auto const i : g.samples) mine.push_back(static_cast<Index>(i));
      of.packs.push_back(mine);
    }
  }
  out.status = status::feasible;
  return out;
}

/// @brief Schedules a batch by `micro_batches`.
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `degree_cost_model`
/// @param lengths  tokens of each sample; may be empty
/// @param o        the run
/// @param cost     time of a sample by its length and the number of ranks that share it; it times the plan and does not change it
/// @return the shards, with the status of the plan. A pack of fewer tokens than ranks is on as many ranks as tokens, and the others are
/// idle
/// @post `check_shards` accepts a plan; `time.lower_bound` is `any_degree_bound`
/// @throws invalid_input as `micro_batches`, or as `any_degree_bound`
/// @par Complexity
/// As `micro_batches`, the bound, the pieces and their times.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// As `micro_batches`.
template <index_type Index = std::uint32_t, length_range R, degree_cost_model Cost>
[[nodiscard]] shards<Index> schedule(R const& lengths, options const& o, Cost const& cost) {
  auto const made = micro_batches<Index>(lengths, o);
  shards<Index> out;
  if (made.status == status::feasible) {
    auto const at = read_by_position(lengths);
    pass_list<Index> list;
    for (auto const& m : made.micro_batches) {
      grouped_samples<Index> together;
      for (std::size_t g = 0; g < m.widths.size(); ++g) ballast::detail::append_group(together, m.packs[g], m.widths[g], at);
      append_micro_batch(list, together, o.ranks);
    }
    out = make_shards(lengths, list, o.ranks, o.layout);
  }
  out.status = made.status;
  out.execution = o.execution == execution::lockstep ? execution::lockstep : execution::independent;
  if (made.status == status::feasible)
    out.time = {time_shards(out, cost, o.cost_per_pass).makespan,
                any_degree_bound(lengths, {.capacity = o.capacity, .ranks = o.ranks, .cost_per_pass = o.cost_per_pass}, cost)};
  return out;
}

}  // namespace ballast::inline v0_2::megatron_dynamic_cp
