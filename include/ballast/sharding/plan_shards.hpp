// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/cost/sample_degree_cost.hpp>
#include <ballast/sharding/bounds.hpp>
#include <ballast/sharding/detail/any_degree_search.hpp>
#include <ballast/sharding/detail/any_degree_times.hpp>
#include <ballast/sharding/detail/block_exact.hpp>
#include <ballast/sharding/detail/block_incumbent.hpp>
#include <ballast/sharding/detail/block_search.hpp>
#include <ballast/sharding/detail/degree_times.hpp>
#include <ballast/sharding/detail/group_runs.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/price_bound.hpp>
#include <ballast/sharding/result.hpp>
#include <ballast/sharding/simple_shards.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `plan_shards`: the default planner of one global batch of samples of very different lengths.

namespace ballast::inline v0_2 {

/// @brief How far `plan_shards` searches.
struct shard_search {
  /// Most plans that are constructed; 0 = 2^20 over the number of samples, at least 1 and at most 24, and twice that for mixed passes. Then
  /// as many by another rule where ranks have few passes and the best plan is more than 1 % above its bound.
  std::int64_t attempts = 0;
  bool deep = false;  ///< whether more rules are tried in smaller steps, and `price_bound` searches longer
};

namespace detail {

/// The passes of a plan on blocks, the widest first.
template <index_type Index>
[[nodiscard]] pass_list<Index> passes_of_blocks(degree_times const& t, block_plan const& plan) {
  pass_list<Index> out;
  std::vector<std::uint32_t> all(static_cast<std::size_t>(t.options.ranks)), number(plan.passes.size());
  std::iota(all.begin(), all.end(), std::uint32_t{0});
  auto const order =
      order_by<std::uint32_t>(plan.passes.size(), [&](std::uint32_t p) { return -static_cast<std::int64_t>(plan.passes[p].level); });
  for (std::size_t k = 0; k < order.size(); ++k) {
    auto const& p = plan.passes[order[k]];
    number[order[k]] = static_cast<std::uint32_t>(k);
    out.ranks.push_back(std::span(all).subspan(std::size_t{p.block} << p.level, std::size_t{1} << p.level));
  }
  out.placements.reserve(plan.placements.size());
  for (auto const& p : plan.placements)
    out.placements.push_back({.sample = static_cast<Index>(t.sample[p.position]), .pass = number[p.pass], .rank = p.rank});
  return out;
}

/// Whether each rank of each pass that shares samples has a token. Only a sample with room on no block of at most as many ranks as it has
/// tokens can be alone in a pass that breaks this, so the capacity is 1.
[[nodiscard]] inline bool shares_reach_all_ranks(degree_times const& t, block_plan const& plan) {
  std::vector<std::int64_t> shared(plan.passes.size(), 0);
  for (auto const& p : plan.placements)
    if (p.rank == block_placement::everywhere) shared[p.pass] += t.length[p.position];
  for (std::size_t p = 0; p < shared.size(); ++p)
    if (shared[p] > 0 && shared[p] < std::int64_t{1} << plan.passes[p].level) return false;
  return true;
}

/// How many numbers of micro-batches `lockstep_shards` tries.
[[nodiscard]] constexpr std::uint64_t lockstep_counts(shard_search const& search) noexcept { return search.deep ? 6 : 3; }

/// How many plans of each kind are constructed of so many samples, at least one; `deeper` times as many of few samples if the search is
/// deep. A hard batch takes up to 24 until the interval of times is small.
[[nodiscard]] constexpr std::int64_t attempts_of(std::size_t samples, shard_search const& search, std::int64_t deeper) noexcept {
  auto const n = static_cast<std::int64_t>(samples);
  auto const most = [n](std::int64_t placed) { return std::clamp(placed / n, std::int64_t{1}, std::int64_t{24}); };
  return search.deep ? deeper * most(std::int64_t{1} << 15) : most(std::int64_t{1} << 20);
}

/// Micro-batches in lockstep, without their waits, where those of simple rounds take at most a sixty-fourth more than `value`; otherwise,
/// or if `value` is within 0.1 % of `lower`, none. Many samples are tried in such rounds alone.
[[nodiscard]] inline run_plan lockstep_runs_near(degree_times t, std::int64_t value, std::int64_t lower) {
  constexpr std::size_t few = 1024;
  if (value == block_plan::none || value - lower <= lower / 1000) return {};
  auto const limit = value + value / 64;
  t.options.execution = execution::lockstep;
  auto rounds = round_runs(t, limit, 1000, 1);
  if (rounds.value == block_plan::none || t.length.size() > few) return rounds;
  auto all = without_waits(t, search_lockstep(t, limit, divide_up(lockstep_counts({}), t.any_sizes() ? std::uint64_t{2} : 1)));
  return all.value < rounds.value ? all : rounds;
}

/// The best plan of independent or mixed passes that is found.
template <class = when_called>
[[nodiscard]] block_plan search_blocks(degree_times const& t, std::int64_t lower, shard_search const& search) {
  constexpr std::int64_t few = 1024;  // samples of a batch whose groups of one size are improved, and those of one pass planned
  auto const n = static_cast<std::int64_t>(t.length.size());
  auto const policies = t.options.execution == execution::mixed ? 2 : 1;  // pure passes first, so that mixed ones are never slower
  auto const attempts = search.attempts > 0 ? search.attempts : policies * attempts_of(t.length.size(), search, 40);
  // Where ranks have few passes, and the plan may be at fault by a percent, wide passes are dealt anew.
  auto const deals = search.attempts == 0 && t.tokens / static_cast<std::int64_t>(t.options.ranks) / t.options.capacity < 8;
  block_plan plan;
  auto const improve = [&](block_fill fill, std::int64_t most) {
    for (auto const deal_anew : {false, true}) {
      if (deal_anew && (!deals || plan.value - lower <= lower / 100)) continue;
      auto next = tree_search(t, lower, deal_anew ? block_plan::none : plan.value, fill, deal_anew, search.deep).run(most);
      if (next.value < plan.value) plan = std::move(next);
    }
  };
  improve(block_fill::shared, (attempts + policies - 1) / policies);
  if (policies > 1 && attempts > 1) improve(block_fill::whole, attempts / 2);
  if (t.options.capacity == 1 && !shares_reach_all_ranks(t, plan)) plan.clear();
  auto const keep = [&](run_plan const& runs) {
    if (runs.value < plan.value) plan = blocks_of(runs);
  };
  keep(equal_runs(t, plan.value, n <= few || search.deep));
  if (n <= few || search.deep) keep(one_pass_runs(t));
  // Groups that stay, and rounds, are planned for at most so many pairs of a sample and a rank, unless the search is deep.
  auto const worth = [&](std::int64_t most) {
    return search.deep || (n <= most / static_cast<std::int64_t>(t.options.ranks) && plan.value - lower > lower / 1000);
  };
  if (worth(std::int64_t{1} << 14)) keep(fixed_runs(t, lower));
  if (worth(std::int64_t{1} << 12)) keep(all_round_runs(t, 1));
  if (search.deep) {
    keep(all_round_runs(t, 0));
    keep(lockstep_runs(t, lockstep_counts(search)));
  } else if (search.attempts == 0) {
    keep(lockstep_runs_near(t, plan.value, lower));
  }
  if (exact_tree::takes(t, search.deep)) exact_tree(t).improve(plan);
  return plan;
}

/// The passes of blocks of units, of `unit` ranks each, the widest first; none if a rank has no token in a pass.
[[nodiscard]] inline run_plan runs_of_units(degree_times const& t, block_plan const& plan, std::int64_t unit) {
  run_plan out;
  std::vector<std::int64_t> tokens(plan.passes.size(), 0);
  for (auto const& p : plan.placements) tokens[p.pass] += t.length[p.position];
  std::vector<std::uint32_t> number(plan.passes.size());
  auto const ranks = static_cast<std::uint32_t>(unit);
  for (auto const p : order_by<std::uint32_t>(plan.passes.size(), [&](std::uint32_t k) { return -std::int64_t{plan.passes[k].level}; })) {
    auto const& pass = plan.passes[p];
    number[p] = static_cast<std::uint32_t>(out.passes.size());
    out.passes.push_back({(pass.block << pass.level) * ranks, ranks << pass.level});
    if (tokens[p] < std::int64_t{ranks} << pass.level) return {};
  }
  out.pass_of.resize(plan.placements.size());
  for (auto const& p : plan.placements) out.pass_of[p.position] = number[p.pass];
  out.value = plan.value;
  return out;
}

/// The best plan below `best` on units of several ranks: blocks of 1, 2, 4, ... units, for odd sizes of units whose bounds are least: one
/// unless the search is deep.
/// @param sizes  numbers of ranks that are worth trying
template <length_range R, shard_cost_model Cost>
[[nodiscard]] run_plan search_units(R const& lengths, sharding_options const& o, Cost const& cost, std::vector<std::int64_t> const& sizes,
                                    std::int64_t best, shard_search const& search) {
  struct unit {
    std::int64_t ranks, lower;
    degree_times times;
  };
  std::vector<unit> units;
  for (auto const d : sizes) {
    if (d == 1 || d % 2 == 0) continue;
    auto by = o;
    by.ranks /= static_cast<std::uint64_t>(d);
    by.capacity *= d;
    by.most_ranks_shared = widest_group(o) / static_cast<std::uint64_t>(d);
    by.execution = execution::independent;
    unit next{d, 0, times_of_degrees(lengths, by, cost_of_units<Cost>{&cost, d})};
    if (!next.times.allows_all()) continue;
    next.lower = bound_on_blocks(next.times);
    if (next.lower < best) units.push_back(std::move(next));
  }
  std::sort(units.begin(), units.end(),
            [](unit const& a, unit const& b) { return a.lower != b.lower ? a.lower < b.lower : a.ranks < b.ranks; });
  if (!search.deep && units.size() > 1) units.resize(1);
  run_plan out;
  for (auto const& u : units) {
    if (u.lower >= (std::min)(best, out.value)) break;
    auto next = runs_of_units(u.times, search_blocks(u.times, u.lower, search), u.ranks);
    if (next.value < (std::min)(best, out.value)) out = std::move(next);
  }
  return out;
}

/// The shards of a plan that takes the time, or `unknown` where that is `block_plan::none`. @param passes  returns the passes of the plan
template <index_type Index, length_range R, class Passes>
[[nodiscard]] shards<Index> shards_in_time(R const& lengths, sharding_options const& o, certificate time, Passes const& passes) {
  shards<Index> out;
  if (time.value == block_plan::none) {
    out.status = status::unknown;
    time.value = 0;
  } else {
    out = make_shards(lengths, passes(), o.ranks, o.layout);
  }
  out.execution = o.execution;
  out.time = time;
  return out;
}

/// The best plan on groups of any number of ranks that is found, for at least one sample.
/// @param t  on 1, 2, 4, ... ranks @param proven  a known lower bound
template <index_type Index, length_range R, shard_cost_model Cost>
[[nodiscard]] shards<Index> plan_any_sizes(R const& lengths, degree_times const& t, Cost const& cost, shard_search const& search,
                                           std::int64_t proven) {
  auto const& o = t.options;
  shards<Index> out;
  out.execution = o.execution;
  any_degree_times const any(lengths, o, cost);
  if (!any.allows_all(false)) {
    out.status = status::infeasible;
    return out;
  }
  auto const lower = any.bound();
  block_plan blocks;
  if (t.allows_all())  // by their own bound, so that they are those of `group_sizes::powers_of_two`
    blocks = search_blocks(t, bound_on_blocks(t), search);
  auto const attempts = search.attempts > 0 ? search.attempts : divide_up(attempts_of(t.length.size(), search, 16), std::int64_t{2});
  auto const on_sizes = times_of_degrees(lengths, o, cost, any.sizes());
  auto runs = search_runs(any, on_sizes, lower, blocks.value, false, attempts, search.deep);
  if (auto units = search_units(lengths, o, cost, any.sizes(), (std::min)(blocks.value, runs.value), search); units.value < runs.value)
    runs = std::move(units);
  auto value = (std::min)(blocks.value, runs.value);
  if (!search.deep && search.attempts == 0)
    if (auto next = lockstep_runs_near(on_sizes, value, lower); next.value < value) {
      value = next.value;
      runs = std::move(next);
    }
  proven = (std::max)(proven, lower);
  if (search.deep && value != block_plan::none)
    proven = (std::max)(proven, price_bound(lengths, o, cost, {.lower = proven, .upper = value}).lower_bound());
  return shards_in_time<Index>(lengths, o, {value, proven}, [&] {
    return runs.value < blocks.value ? passes_of_runs<Index>(t, runs) : passes_of_blocks<Index>(t, blocks);
  });
}

/// The best plan on blocks that is found, for at least one sample. @param proven  a known lower bound
template <index_type Index, length_range R, shard_cost_model Cost>
[[nodiscard]] shards<Index> plan_blocks(R const& lengths, degree_times const& t, Cost const& cost, shard_search const& search,
                                        std::int64_t proven) {
  auto const& o = t.options;
  shards<Index> out;
  out.execution = o.execution;
  if (!t.allows_all()) {
    out.status = status::infeasible;
    return out;
  }
  auto const lower = bound_on_blocks(t);
  auto const plan = search_blocks(t, lower, search);
  proven = (std::max)(proven, lower);
  // A quick search proves more only where the plan may be at fault by a percent.
  if (plan.value != block_plan::none && (search.deep || plan.value - proven > proven / 100)) {
    price_options const by{.lower = proven, .upper = plan.value, .evaluations = search.deep ? 3000 : 1000};
    proven = (std::max)(proven, price_bound(lengths, o, cost, by).lower_bound());
  }
  return shards_in_time<Index>(lengths, o, {plan.value, proven}, [&] { return passes_of_blocks<Index>(t, plan); });
}

}  // namespace detail

/// @brief Plans one global batch: which ranks share which samples, in which passes, so that the last rank is done as early as possible.
///
/// Under `execution::independent` and `execution::mixed`, a pass is on an aligned block of 1, 2, 4, ... ranks. For a step time T, each
/// sample goes to the number of ranks that costs the fewest rank-seconds within T; passes of several ranks are filled with shorter samples
/// where a pass saved is worth more than their exchange; the others go to single ranks, which have two resources, time and tokens. The
/// search shortens T and tries several rules for each. Each rank runs its widest passes first, so no rank waits before its last pass.
/// Batches of at most 8 samples (12 if the search is deep) on a power of two ranks are planned optimally among independent passes on
/// blocks. Under `execution::lockstep` the plan is that of `lockstep_shards`.
///
/// Where `options.sizes` allows groups of any number of ranks, by default if the ranks are no power of two, the best of three is kept: the
/// plan on blocks; plans as those of `any_degree_shards`; and plans on blocks of units of 3, 5, 7, ... ranks.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `shard_cost_model`
/// @param lengths  tokens of each sample; may be empty
/// @param options  `{.capacity = 16384, .ranks = 64, .cost_per_pass = 30'000'000}`: the shape of the batch and its policy
/// @param cost     time of a sample by its length and the number of ranks that share it, such as a `degree_cost`
/// @param search   how far to search
/// @return the shards, their modelled time and a lower bound; `infeasible` if a sample has room on no group, `unknown` if no plan was found
/// that gives each rank of a group a token: with a capacity of 1, samples whose lengths are no powers of two need others beside them
/// @post `check_shards` accepts the result, on blocks with `{.aligned = true}`, and `time.value` is the makespan of `time_shards`. The
/// plan is not slower than that of `homogeneous_shards`, nor than with `group_sizes::powers_of_two` and, if the search is deep, those of
/// `lockstep_shards` with 6 counts, of fixed groups and of a search that is not deep, whose bound it does not fall below
/// @throws invalid_input if a length or an option is not positive, `cost_per_pass` or a time is negative, the sum of all times reaches
/// 2^62, or there are 2^32 samples or more
/// @par Complexity
/// O(n log n + n log ranks) for the bound, and O(n log ranks + passes of several ranks) for each attempt. A pass of a rank is found by
/// first fit among its open passes. Rounds of `lockstep_shards` are added where the plan is more than 0.1 % above the bound, and its whole
/// search for up to 1,024 samples where rounds are near; `price_bound` where it is more than 1 % above. A deep search begins with one
/// that is not, and adds `price_bound` always, `lockstep_shards` and fixed groups. Groups of any size add the bound of `shard_bounds` and
/// that of `any_degree_shards`, together about as much again for batches of 2 to 8 samples a rank.
/// @par Determinism
/// A pure function of its arguments, in integers; equal lengths keep their order.
/// @par Source
/// The dual search is that of monotone moldable tasks (Mounie, Rapine and Trystram, SIAM J. Computing 37, 2007). FlexSP (arXiv 2412.01523)
/// states the problem for passes in lockstep, Skrull (2505.19609) for mixed ones, ByteScale (2502.21231) for independent ones.
template <index_type Index = std::uint32_t, length_range R, shard_cost_model Cost>
[[nodiscard]] shards<Index> plan_shards(R const& lengths, sharding_options const& options, Cost const& cost,
                                        shard_search const& search = {}) {
  require_index<std::uint32_t>(std::ranges::size(lengths), "samples");
  require(search.attempts >= 0, [&] { return sentence("attempts = ", search.attempts, " must not be negative"); });
  if (options.execution == execution::lockstep)
    return lockstep_shards<Index>(lengths, options, cost, {.counts = detail::lockstep_counts(search)});
  auto const times = detail::times_of_degrees(lengths, options, cost);
  auto const n = times.length.size();
  if (n == 0) return detail::shards_in_time<Index>(lengths, options, {}, [] { return pass_list<Index>{}; });
  auto const plan = [&](shard_search const& how, std::int64_t proven) {
    return detail::takes_any_size(options, n) ? detail::plan_any_sizes<Index>(lengths, times, cost, how, proven)
                                              : detail::plan_blocks<Index>(lengths, times, cost, how, proven);
  };
  auto quick = plan({.attempts = search.attempts}, 0);
  if (!search.deep || quick.status == status::infeasible || (quick.status == status::feasible && quick.time.optimal())) return quick;
  auto deep = plan(search, quick.time.lower_bound);
  if (deep.status == status::feasible && (quick.status != status::feasible || deep.time.value < quick.time.value)) return deep;
  quick.time.lower_bound = deep.time.lower_bound;
  return quick;
}

BALLAST_INSTANTIATE(detail::block_plan detail::search_blocks(degree_times const&, std::int64_t, shard_search const&))

}  // namespace ballast::inline v0_2
