// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/check.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/sharding/fault.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Offsets of ranks and passes.
template <index_type Index>
[[nodiscard]] verdict check_shape(shards<Index> const& plan, sharding_options const& options) {
  for (auto const* offsets : {&plan.rank_offsets, &plan.pass_offsets}) {
    auto const end = offsets == &plan.rank_offsets ? plan.passes() : plan.pieces.size();
    if (offsets->empty()) return {common_fault::bad_offsets, 0, 0, end};
    if (auto const v = check_offsets(*offsets, end); !v.valid()) return v;
  }
  if (plan.ranks() != options.ranks) return {shard_fault::wrong_rank_count, 0, plan.ranks(), options.ranks};
  if (plan.execution == execution::lockstep)
    for (std::size_t r = 1; r < plan.ranks(); ++r)
      if (plan.passes(r) != plan.passes(0)) return {shard_fault::uneven_passes, r, plan.passes(r), plan.passes(0)};
  return {};
}

/// The ranks of each group.
template <index_type Index>
[[nodiscard]] verdict check_rank_groups(shards<Index> const& plan, sharding_options const& options, bool aligned) {
  using broken = shard_fault;
  if (auto const v = check_offsets(plan.rank_groups.offsets, plan.rank_groups.members.size()); !v.valid()) return v;
  auto const most = options.most_ranks_shared == 0 ? options.ranks : options.most_ranks_shared;
  for (std::size_t g = 0; g < plan.rank_groups.size(); ++g) {
    auto const ranks = plan.rank_groups[g];
    auto const width = std::uint64_t{ranks.size()};
    if (width < 2) return {broken::bad_group, g, width, options.ranks};
    for (std::size_t k = 0; k < ranks.size(); ++k)
      if (ranks[k] >= options.ranks || (k > 0 && ranks[k] <= ranks[k - 1])) return {broken::bad_group, g, ranks[k], options.ranks};
    if (width > most) return {broken::group_too_large, g, width, most};
    auto const block = std::has_single_bit(width) && ranks.front() % width == 0 && ranks.back() - ranks.front() + 1 == width;
    if (aligned && !block) return {broken::group_not_aligned, g, width, 0};
  }
  return {};
}

/// Each group is used in one pass of each of its ranks.
template <index_type Index>
[[nodiscard]] verdict check_group_use(shards<Index> const& plan) {
  using broken = shard_fault;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> uses;  // group, rank: once for each pass
  std::vector<std::uint32_t> of_pass;
  for (std::size_t r = 0; r < plan.ranks(); ++r) {
    auto const first = uses.size();
    for (std::size_t m = 0; m < plan.passes(r); ++m) {
      of_pass.clear();
      for (auto const& p : plan(r, m))
        if (p.group != not_shared) of_pass.push_back(p.group);
      std::sort(of_pass.begin(), of_pass.end());
      of_pass.erase(std::unique(of_pass.begin(), of_pass.end()), of_pass.end());
      for (auto const g : of_pass) uses.emplace_back(g, static_cast<std::uint32_t>(r));
    }
    std::sort(uses.begin() + static_cast<std::ptrdiff_t>(first), uses.end());
    auto const again = std::adjacent_find(uses.begin() + static_cast<std::ptrdiff_t>(first), uses.end());
    if (again == uses.end()) continue;
    auto last = plan.passes(r);
    auto const uses_it = [&](std::size_t m) {
      auto const pieces = plan(r, m);
      return std::any_of(pieces.begin(), pieces.end(), [&](auto const& p) { return p.group == again->first; });
    };
    while (!uses_it(last - 1)) --last;
    return {broken::group_twice, plan.rank_offsets[r] + last - 1, again->first, 0};
  }
  std::vector<std::uint64_t> ranks(plan.rank_groups.size(), 0);
  for (auto const& use : uses) ++ranks[use.first];
  for (std::size_t g = 0; g < ranks.size(); ++g)
    if (ranks[g] != plan.rank_groups[g].size()) return {broken::group_incomplete, g, ranks[g], plan.rank_groups[g].size()};
  return {};
}

/// Every pass starts at some time: repeat over the ranks, and run the next pass of a rank if each rank of its groups is at that group.
template <index_type Index>
[[nodiscard]] verdict check_waits(shards<Index> const& plan) {
  auto const ranks = plan.ranks();
  std::vector<std::size_t> next(ranks, 0);
  std::vector<std::vector<std::uint32_t>> groups_of(plan.passes());
  for (std::size_t p = 0; p < plan.passes(); ++p)
    for (auto const& held : plan.of_pass(p))
      if (held.group != not_shared && (groups_of[p].empty() || groups_of[p].back() != held.group)) groups_of[p].push_back(held.group);
  std::vector<std::uint64_t> arrived(plan.rank_groups.size(), 0);  // ranks that are at a pass with this group
  std::vector<std::size_t> waiting(ranks, 0);                      // groups of the rank's pass that lack a rank
  std::vector<std::size_t> free;
  auto const arrive = [&](std::size_t r) {
    if (next[r] == plan.passes(r)) return;
    auto groups = groups_of[plan.rank_offsets[r] + next[r]];
    std::sort(groups.begin(), groups.end());
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    waiting[r] = groups.size();
    for (auto const g : groups)
      if (++arrived[g] == plan.rank_groups[g].size())
        for (auto const other : plan.rank_groups[g])
          if (--waiting[other] == 0) free.push_back(other);
    if (groups.empty()) free.push_back(r);
  };
  for (std::size_t r = 0; r < ranks; ++r) arrive(r);
  while (!free.empty()) {
    auto const r = free.back();
    free.pop_back();
    ++next[r];
    arrive(r);
  }
  for (std::size_t r = 0; r < ranks; ++r)
    if (next[r] != plan.passes(r)) return {shard_fault::circular_wait, plan.rank_offsets[r] + next[r], 0, 0};
  return {};
}

}  // namespace ballast::inline v0_2::detail
