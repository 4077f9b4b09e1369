// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/status.hpp>
#include <ballast/methods/detail/megatron_rounds.hpp>
#include <ballast/sharding/bounds.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief The scheduler of hybrid context parallelism in Megatron-Core (`BalancedCPScheduler`), as published, for comparisons.

namespace ballast::inline v0_2::megatron_hybrid_cp {

/// @brief How the samples that a group holds in a round become passes.
enum class filling : std::uint8_t {
  first_fit,  ///< each sample into the first pass of the group that has room; kinder than what is published
  one_each,   ///< a pass of its own for each sample, as the published training loop has it
};

/// @brief A run. Only `capacity` and `ranks` have no default.
struct options {
  std::int64_t capacity = 0;            ///< `max_seqlen_per_dp_cp_rank`: most tokens of one pass on one rank, at least 1
  std::uint64_t ranks = 0;              ///< ranks of the data- and context-parallel group, a power of two
  std::int64_t cost_per_pass = 0;       ///< fixed time of a pass, in units of the cost; the published scheduler does not know it
  std::int64_t bucket_tolerance = 100;  ///< a bucket closes above the mean work by so many thousandths; 0 ... 1000
  std::int64_t balance_tolerance = 50;  ///< a round is balanced if no rank is below the busiest by more thousandths of it; 0 ... 1000
  filling passes = filling::first_fit;  ///< how samples become passes
  bool widest_first = false;            ///< whether the widest groups of a round get the first ranks, so that blocks are aligned
  share_layout layout = share_layout::zigzag;  ///< how the ranks of a group cut a sample
};

/// @brief A batch in rounds. Groups run on their own inside a round; all ranks wait for each other after it.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct schedule_result {
  /// The passes, round after round. They are independent, so `shards.time`, as `time_shards` computes it, has no wait after a round.
  ballast::shards<Index> shards;
  certificate time;                     ///< with the wait after each round: the sum over rounds of the slowest group; same lower bound
  std::uint64_t rounds = 0;             ///< number of rounds
  std::vector<std::uint32_t> round_of;  ///< of each pass of the shards, counted over all ranks
};

/// @brief The context-parallel degree of a sample: the least power of two of ranks that have room for it.
/// @param length    tokens, at least 1
/// @param capacity  tokens of one rank, at least 1
/// @return `max(1, 2^ceil(log2(length / capacity)))`
[[nodiscard]] constexpr std::int64_t degree(std::int64_t length, std::int64_t capacity) noexcept {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(divide_up(length, capacity))));
}

namespace detail {

/// The samples longest first. Throws if their work does not fit 62 bits.
template <length_range R>
[[nodiscard]] std::vector<item> items_of(R const& lengths, options const& o) {
  auto const at = read_by_position(lengths);
  std::vector<item> out;
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::ranges::size(lengths)); ++i) {
    auto const length = static_cast<std::int64_t>(at[i]);
    out.push_back({i, length, degree(length, o.capacity), 0});
  }
  std::sort(out.begin(), out.end(),
            [](item const& a, item const& b) { return a.length != b.length ? a.length > b.length : a.sample < b.sample; });
  checked sum(0);
  for (auto& s : out) {
    auto const work = checked(s.length) * checked(s.length) * checked(out[0].degree / s.degree);
    sum = sum + work;
    require(sum.fits() && sum.value < std::int64_t{1} << 62,
            [&] { return entry("lengths", s.sample, s.length) + " brings the sum of squared lengths to 2^62 or more"; });
    s.work = work.value;
  }
  return out;
}

/// The bins of a group in a round: positions in its items.
[[nodiscard]] inline std::vector<std::vector<std::size_t>> bins_of(group const& g, options const& o) {
  std::vector<std::vector<std::size_t>> out;
  std::vector<std::int64_t> room;
  for (std::size_t i = 0; i < g.items.size(); ++i) {
    auto const length = g.items[i].length;
    auto const first = std::find_if(room.begin(), room.end(), [&](auto r) { return r >= length; });
    auto const b = static_cast<std::size_t>(o.passes == filling::one_each ? room.end() - room.begin() : first - room.begin());
    if (b == room.size()) {
      room.push_back(o.capacity * g.degree);
      out.emplace_back();
    }
    room[b] -= length;
    out[b].push_back(i);
  }
  return out;
}

/// The first rank of each group of a round.
[[nodiscard]] inline std::vector<std::size_t> first_ranks(std::vector<group> const& groups, bool widest_first) {
  std::vector<std::size_t> out(groups.size());
  std::size_t next = 0;
  for (auto const g : order_by<std::size_t>(groups.size(), [&](std::size_t i) { return widest_first ? -groups[i].degree : 0; })) {
    out[g] = next;
    next += static_cast<std::size_t>(groups[g].degree);
  }
  return out;
}

/// The passes of all rounds, and when each rank is done.
template <index_type Index, class Cost>
struct pass_writer {
  options const& o;
  Cost const& cost;
  pass_list<Index> list{};
  std::vector<std::uint32_t> round{};                                                       // of each pass
  std::vector<std::uint32_t> all = every_rank(o.ranks);                                     // rank numbers
  std::vector<std::int64_t> done = std::vector<std::int64_t>(all.size(), 0), ready = done;  // with and without the waits after rounds
  bool fits = true;                                                                         // no pass is above the capacity

  [[nodiscard]] static std::vector<std::uint32_t> every_rank(std::uint64_t ranks) {
    std::vector<std::uint32_t> out(static_cast<std::size_t>(ranks));
    std::iota(out.begin(), out.end(), std::uint32_t{0});
    return out;
  }
  void add_pass(group const& g, std::vector<std::size_t> const& bin, std::size_t first, std::uint32_t in_round) {
    std::uint64_t tokens = 0;
    for (auto const i : bin) tokens += static_cast<std::uint64_t>(g.items[i].length);
    auto const width = (std::min)(std::bit_floor(tokens), static_cast<std::uint64_t>(g.degree));
    fits = fits && divide_up(tokens, width) <= static_cast<std::uint64_t>(o.capacity);
    auto time = o.cost_per_pass;
    for (auto const i : bin) {
      time += static_cast<std::int64_t>(cost(g.items[i].length, static_cast<std::int64_t>(width)));
      list.placements.push_back({.sample = static_cast<Index>(g.items[i].sample), .pass = static_cast<std::uint32_t>(round.size())});
    }
    auto const used = std::span(std::as_const(all)).subspan(first, static_cast<std::size_t>(width));
    list.ranks.push_back(used);
    round.push_back(in_round);
    for (auto* times : {&done, &ready}) {
      auto const begin = times->begin() + static_cast<std::ptrdiff_t>(first), end = begin + static_cast<std::ptrdiff_t>(width);
      std::fill(begin, end, *std::max_element(begin, end) + time);
    }
  }
  void add_round(std::vector<group> const& groups, std::uint32_t number) {
    auto const first = first_ranks(groups, o.widest_first);
    for (std::size_t g = 0; g < groups.size(); ++g)
      for (auto const& bin : bins_of(groups[g], o)) add_pass(groups[g], bin, first[g], number);
    std::fill(done.begin(), done.end(), *std::max_element(done.begin(), done.end()));
  }
};

}  // namespace detail

/// @brief Schedules a batch as the `BalancedCPScheduler` of Megatron-Core does.
///
/// The work of a sample is `length^2 / degree`, without a linear term and without the time of a pass. Samples are sorted, longest first,
/// and cut into buckets of equal work, as many as there are degrees. A round takes the next sample of the first bucket that has one to
/// place: a sample gets a new group of idle ranks, or if there are too few the least loaded group of its degree. The round ends when it is
/// balanced, or when no bucket has a sample to place. Then the busiest group gives back its last sample while that lowers the largest
/// difference of work, and idle ranks go to the smallest groups, whose degrees double. What is left forms the next round.
///
/// Where a description leaves a choice, this is what the published code does, or what it needs here:
/// - balance is checked once a sample has a lower degree than the first of the round, and only while samples are left;
/// - a bucket also closes if the samples left are at most the number of degrees less twice the number of buckets closed;
/// - samples that were given back come after all others in the next round, so a round may place a wide group behind narrow ones. Its block
///   is not aligned then, as the communicators of Megatron-Core must be; `widest_first` repairs that without a change of times;
/// - equal lengths keep their order, and of groups with equal load the first counts;
/// - comparisons are exact, in integers; the published ones are in floating point;
/// - a pass with fewer tokens than its group has ranks runs on the first 1, 2, 4, ... of them. With a capacity of 1 they may have no room
///   for it, and there is no plan;
/// - the number of ranks is a power of two; the published code does not double groups reliably otherwise.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `degree_cost_model`
/// @param lengths  tokens of each sample; may be empty
/// @param o        the run
/// @param cost     time of a sample by its length and the number of ranks that share it; it times the plan and does not change it
/// @return the rounds; `shards.status` is `infeasible` if all ranks together have no room for a sample, `unknown` if a pass of fewer tokens
/// than ranks has no room on fewer ranks
/// @post `check_shards` accepts the shards, with `widest_first` under `{.aligned = true}` too. The lower bound is that of `shard_bounds`
/// @throws invalid_input if a length or an option is out of its range, the sum of all times reaches 2^62, or that of squared lengths does
/// @par Complexity
/// O(n log n + n groups + rounds n) and the pieces.
/// @par Determinism
/// A pure function of its arguments, in integers.
/// @par Source
/// `BalancedCPScheduler` in megatron/core/pipeline_parallel/hybrid_cp_schedule.py of NVIDIA/Megatron-LM (2025).
template <index_type Index = std::uint32_t, length_range R, degree_cost_model Cost>
[[nodiscard]] schedule_result<Index> schedule(R const& lengths, options const& o, Cost const& cost) {
  require(std::has_single_bit(o.ranks), [&] { return sentence("ranks = ", o.ranks, " must be a power of two"); });
  for (auto const& [name, value] : {std::pair{"bucket_tolerance", o.bucket_tolerance}, {"balance_tolerance", o.balance_tolerance}})
    require(value >= 0 && value <= 1000, [&] { return sentence(name, " = ", value, " must be in 0 ... 1000"); });
  require_index<Index>(std::ranges::size(lengths), "samples");
  sharding_options const shape{
      .capacity = o.capacity, .ranks = o.ranks, .cost_per_pass = o.cost_per_pass, .execution = execution::independent};
  auto const lower = shard_bounds(lengths, shape, cost).lower();
  auto items = detail::items_of(lengths, o);
  schedule_result<Index> out;
  if (!items.empty() && items[0].degree > static_cast<std::int64_t>(o.ranks)) {
    out.shards.status = status::infeasible;
    return out;
  }

  detail::pass_writer<Index, Cost> passes{.o = o, .cost = cost};
  detail::round_limits const limits{static_cast<std::int64_t>(o.ranks), o.bucket_tolerance, o.balance_tolerance};
  for (detail::round_builder builder(std::move(items), limits); !builder.empty(); ++out.rounds)
    passes.add_round(builder.next(), static_cast<std::uint32_t>(out.rounds));
  if (!passes.fits) {
    out.shards.status = status::unknown;
    return out;
  }
  auto const& list = passes.list;
  out.shards = make_shards(lengths, list, o.ranks, o.layout);
  out.shards.execution = execution::independent;
  out.shards.time = {*std::max_element(passes.ready.begin(), passes.ready.end()), lower};
  out.time = {passes.done[0], lower};
  out.round_of.resize(out.shards.passes());
  std::vector<std::uint64_t> next(out.shards.rank_offsets.begin(), out.shards.rank_offsets.end() - 1);
  for (std::size_t p = 0; p < list.ranks.size(); ++p)
    for (auto const r : list.ranks[p]) out.round_of[static_cast<std::size_t>(next[r]++)] = passes.round[p];
  return out;
}

}  // namespace ballast::inline v0_2::megatron_hybrid_cp
