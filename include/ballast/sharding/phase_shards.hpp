// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/sample_degree_cost.hpp>
#include <ballast/sharding/detail/moved_tokens.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/plan_shards.hpp>
#include <ballast/sharding/result.hpp>
#include <ballast/sharding/time_shards.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `phase_shards`: a global batch whose samples have tokens in several phases (vision, audio, language), planned phase by phase.

namespace ballast::inline v0_2 {

/// @brief Shards of each phase of a global batch.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct phased_shards {
  ballast::status status = ballast::status::feasible;  ///< `infeasible` has no phases
  std::vector<shards<Index>> phases;                   ///< of each phase: the shards of the samples that have tokens in it
  certificate time;                                    ///< sum of the times of the phases, and the sum of their lower bounds
  /// Of each phase, the tokens that go to another rank for the last phase. Of a sample that ranks share, a rank needs as large a part in
  /// each phase as it holds in the last one. Samples without tokens in the last phase move none.
  std::vector<std::int64_t> moved;
  /// Sum of the times if each sample has the same ranks in all phases, as `shards_like` places them; -1 if there are no such shards in one
  /// phase.
  std::int64_t time_in_place = -1;
};

/// @brief Places the samples of a phase on the ranks that train them in another phase, so that no tokens move between ranks.
///
/// Samples that a group of ranks shares are shared by the same ranks, and whole ones stay whole. They are put into passes longest
/// first, first fit.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param leader   shards of the other phase in which each sample is in one pass; those of `plan_shards` are
/// @param lengths  tokens of each sample in this phase; 0 = the sample is not in it
/// @param options  capacity, ranks, policy (not `lockstep`) and limits of this phase
/// @return the shards, with times of 0; `unknown` if the leader has other ranks or lacks a sample, a sample has no room on its ranks or
/// fewer tokens than ranks, or they may not share it
/// @throws invalid_input for a bad option, `lockstep`, or a length below 0
/// @par Complexity
/// O(pieces of the leader + samples log samples + samples * passes).
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index, length_range R>
[[nodiscard]] shards<Index> shards_like(shards<Index> const& leader, R const& lengths, sharding_options const& options) {
  detail::require_valid(options);
  require(options.execution != execution::lockstep, [] { return "execution = lockstep: ranks would have different numbers of passes"; });
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  auto const at = read_by_position(lengths);
  shards<Index> none;
  none.status = status::unknown;
  none.execution = options.execution;
  if (leader.ranks() != options.ranks || leader.status != status::feasible) return none;

  // Homes: the groups of the leader, of which several may have the same ranks, then its ranks.
  auto const groups_of_leader = leader.rank_groups.size();
  std::map<std::vector<std::uint32_t>, std::size_t> first_group;
  std::vector<std::size_t> group;
  for (auto const g : leader.rank_groups) group.push_back(first_group.try_emplace({g.begin(), g.end()}, group.size()).first->second);
  auto const homeless = groups_of_leader + leader.ranks();
  std::vector<std::size_t> home(n, homeless);
  for (std::size_t r = 0; r < leader.ranks(); ++r)
    for (std::size_t m = 0; m < leader.passes(r); ++m)
      for (auto const& p : leader(r, m))
        if (p.sample < n) home[p.sample] = p.group != not_shared ? group[p.group] : groups_of_leader + r;
  std::vector<Index> order;
  for (std::size_t i = 0; i < n; ++i) {
    auto const length = static_cast<std::int64_t>(at[i]);
    require(length >= 0, [&] { return entry("lengths", i, length) + " must not be negative"; });
    if (length > 0) order.push_back(static_cast<Index>(i));
  }
  std::sort(order.begin(), order.end(), [&](Index a, Index b) {
    return home[a] != home[b] ? home[a] < home[b] : at[a] != at[b] ? at[a] > at[b] : a < b;
  });
  auto const most = options.most_ranks_shared == 0 ? options.ranks : options.most_ranks_shared;
  pass_list<Index> list;
  std::vector<std::int64_t> room;  // of each pass
  std::size_t first = 0;           // pass of the home
  for (std::size_t k = 0; k < order.size(); ++k) {
    auto const i = order[k];
    auto const of = home[i];
    if (of == homeless) return none;
    if (k == 0 || of != home[order[k - 1]]) first = room.size();
    auto const alone = std::vector{static_cast<std::uint32_t>(of - (std::min)(of, groups_of_leader))};
    auto const ranks = of < groups_of_leader ? leader.rank_groups[of] : std::span<std::uint32_t const>(alone);
    auto const length = static_cast<std::int64_t>(at[i]), all = static_cast<std::int64_t>(ranks.size());
    if (length > options.capacity * all || length < all || (all > 1 && ranks.size() > most)) return none;
    auto pass = first;
    while (pass < room.size() && room[pass] < length) ++pass;
    if (pass == room.size()) {
      list.ranks.push_back(ranks);
      room.push_back(options.capacity * all);
    }
    room[pass] -= length;
    list.placements.push_back({.sample = i, .pass = static_cast<std::uint32_t>(pass)});
  }
  auto out = make_shards(lengths, list, options.ranks, options.layout);
  out.execution = options.execution;
  return out;
}

namespace detail {

/// The cost of some of the samples, numbered anew.
template <sample_degree_cost_model Cost, index_type Index>
struct cost_of_some {
  Cost const* cost;
  std::span<Index const> number;  // in `cost`, of each
  [[nodiscard]] auto operator()(std::size_t sample, std::int64_t length, std::int64_t ranks) const {
    return (*cost)(static_cast<std::size_t>(number[sample]), length, ranks);
  }
  [[nodiscard]] bool fits(std::size_t sample, std::int64_t length, std::int64_t ranks) const {
    return shard_time_fits(*cost, static_cast<std::size_t>(number[sample]), length, ranks);
  }
};

/// `plan_shards` for the samples that have tokens.
template <index_type Index, length_range R, shard_cost_model Cost>
[[nodiscard]] shards<Index> plan_present(R const& lengths, sharding_options const& options, Cost const& cost, shard_search const& search) {
  auto const at = read_by_position(lengths);
  std::vector<std::int64_t> present;
  std::vector<Index> sample;
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::ranges::size(lengths)); ++i) {
    auto const length = static_cast<std::int64_t>(at[i]);
    require(length >= 0, [&] { return entry("lengths", i, length) + " must not be negative"; });
    if (length == 0) continue;
    present.push_back(length);
    sample.push_back(static_cast<Index>(i));
  }
  auto out = [&] {
    if constexpr (sample_degree_cost_model<Cost>)
      return plan_shards<Index>(present, options, cost_of_some<Cost, Index>{&cost, sample}, search);
    else
      return plan_shards<Index>(present, options, cost, search);
  }();
  for (auto& p : out.pieces) p.sample = sample[p.sample];
  return out;
}

}  // namespace detail

/// @brief Plans a global batch whose samples have tokens in several phases: the ranks of a sample are chosen for each phase anew.
///
/// In a multimodal step, all ranks wait for each other after the vision encoder, after the audio encoder and after the language model, and
/// between phases the tokens of a sample may go to other ranks. So the time of the step is the sum of the times of the phases, and each is
/// planned by `plan_shards` alone. If `shards_like` takes no more time on the ranks of the last phase, the samples stay there, and no token
/// moves. Otherwise ranks that share no sample of the phase are renamed so that fewer tokens move. The time of moves is not counted:
/// `moved` says how many tokens there are.
///
/// @tparam Index    type of the sample indices
/// @tparam Lengths  range of ranges of integers
/// @tparam Options  range of `sharding_options`
/// @tparam Costs    range of a `shard_cost_model`
/// @param lengths  of each phase, the tokens of each sample in it; 0 = the sample is not in this phase. The last phase is the language
/// model
/// @param options  of each phase, its shape; all with the same ranks
/// @param costs    of each phase, the time of a sample by its length and the number of ranks that share it
/// @param search   how far `plan_shards` searches
/// @return shards of each phase, their times, and the tokens that move; `infeasible` if a phase is
/// @post `check_shards` accepts the shards of each phase with its lengths, and `time.value` is at most `time_in_place` unless that is -1
/// @throws invalid_input as `plan_shards`, or if there is no phase, one lacks options or a cost, or phases differ in samples or ranks
/// @par Complexity
/// For each phase that of `plan_shards` and `shards_like`, and O(pieces log pieces).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// "OrchMLLM", arXiv 2503.23830, deals the samples of each phase anew, whole, and without a bound.
template <index_type Index = std::uint32_t, std::ranges::random_access_range Lengths, std::ranges::random_access_range Options,
          std::ranges::random_access_range Costs>
  requires length_range<std::ranges::range_value_t<Lengths>> && shard_cost_model<std::ranges::range_value_t<Costs>>
[[nodiscard]] phased_shards<Index> phase_shards(Lengths const& lengths, Options const& options, Costs const& costs,
                                                shard_search const& search = {}) {
  auto const count = static_cast<std::size_t>(std::ranges::size(lengths));
  require(count > 0 && std::ranges::size(options) == count && std::ranges::size(costs) == count, [&] {
    return sentence("there are ", count, " phases of lengths, ", std::ranges::size(options), " of options and ", std::ranges::size(costs),
                    " of costs");
  });
  auto const& tokens = lengths[count - 1];
  for (std::size_t p = 0; p < count; ++p)
    require(std::ranges::size(lengths[p]) == std::ranges::size(tokens) && options[p].ranks == options[count - 1].ranks,
            [&] { return sentence("phase ", p, " has other samples or ranks than the last one"); });
  phased_shards<Index> out;
  for (std::size_t p = 0; p < count; ++p) {
    out.phases.push_back(detail::plan_present<Index>(lengths[p], options[p], costs[p], search));
    if (out.phases.back().status == status::feasible) continue;
    out.phases.clear();
    out.status = status::infeasible;
    return out;
  }
  auto const& last = out.phases.back();
  std::int64_t in_place = last.time.value;
  for (std::size_t p = 0; p < count; ++p) {
    auto& phase = out.phases[p];
    if (p + 1 < count && options[p].execution != execution::lockstep) {
      auto like = shards_like(last, lengths[p], options[p]);
      if (like.status == status::feasible)
        like.time = {time_shards(like, costs[p], options[p].cost_per_pass).makespan, phase.time.lower_bound};
      else
        in_place = -1;
      if (in_place >= 0) add_checked(in_place, like.time.value, "times of phases", p);
      if (like.status == status::feasible && like.time.value <= phase.time.value) phase = std::move(like);
    } else if (p + 1 < count) {
      in_place = -1;
    }
    out.moved.push_back(detail::moved_tokens(phase, last, lengths[p], tokens));
    if (auto& moved = out.moved.back(); moved > 0) {
      auto renamed = detail::renamed_ranks(phase, last, lengths[p], tokens);
      if (auto const fewer = detail::moved_tokens(renamed, last, lengths[p], tokens); fewer < moved) {
        moved = fewer;
        phase = std::move(renamed);
      }
    }
    add_checked(out.time.value, phase.time.value, "times of phases", p);
    out.time.lower_bound += phase.time.lower_bound;
  }
  out.time_in_place = in_place;
  return out;
}

}  // namespace ballast::inline v0_2
