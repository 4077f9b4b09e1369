// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/check.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/sharding/fault.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <tuple>
#include <utility>
#include <vector>

// The rules of `check_shards`, one after the other.

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

/// Each piece for itself, and the pieces of each pass.
template <index_type Index, length_range R>
[[nodiscard]] verdict check_pieces(shards<Index> const& plan, R const& lengths, sharding_options const& options) {
  using broken = shard_fault;
  auto const n = static_cast<std::uint64_t>(std::ranges::size(lengths));
  auto const at = read_by_position(lengths);
  std::vector<std::uint64_t> seen_in(static_cast<std::size_t>(n), (std::numeric_limits<std::uint64_t>::max)());  // the last pass
  std::uint64_t pass = 0;
  for (std::size_t r = 0; r < plan.ranks(); ++r)
    for (std::size_t m = 0; m < plan.passes(r); ++m, ++pass) {
      std::uint64_t tokens = 0, i = plan.pass_offsets[pass];
      bool shared = false, whole = false;
      piece<Index> const* before = nullptr;
      for (auto const& p : plan(r, m)) {
        if (p.sample >= n) return {broken::sample_out_of_range, i, p.sample, n};
        auto const length = static_cast<std::int64_t>(at[p.sample]);
        if (p.begin >= p.end) return {broken::empty_piece, i, p.begin, p.end};
        if (p.begin < 0 || p.end > length) return {broken::bad_piece, i, p.end, length};
        if (p.group != not_shared) {
          if (p.group >= plan.rank_groups.size()) return {broken::group_out_of_range, i, p.group, plan.rank_groups.size()};
          auto const ranks = plan.rank_groups[p.group];
          if (!std::binary_search(ranks.begin(), ranks.end(), r)) return {broken::wrong_rank, i, r, p.group};
        }
        auto const first = seen_in[p.sample] != pass;
        auto const follows = before != nullptr && before->sample == p.sample && before->group == p.group && before->end <= p.begin;
        if (!first && !follows) return {broken::scattered_sample, i, p.sample, 0};
        seen_in[p.sample] = pass;
        tokens += (std::min)(static_cast<std::uint64_t>(p.end - p.begin), (std::numeric_limits<std::uint64_t>::max)() - tokens);
        (p.group == not_shared ? whole : shared) = true;
        before = &p;
        ++i;
      }
      if (std::cmp_greater(tokens, options.capacity)) return {broken::overfull_pass, pass, tokens, options.capacity};
      if (shared && whole && plan.execution == execution::independent) return {broken::mixed_pass, pass, 0, 0};
    }
  for (std::size_t j = 0; j < plan.left_out.size(); ++j)
    if (plan.left_out[j] >= n || (j > 0 && plan.left_out[j] <= plan.left_out[j - 1]))
      return {broken::sample_out_of_range, j, plan.left_out[j], n};
  return {};
}

/// Each token is on one rank; a sample in several passes is on the same ranks each time, earlier tokens first.
template <index_type Index, length_range R>
[[nodiscard]] verdict check_tokens(shards<Index> const& plan, R const& lengths) {
  using broken = shard_fault;
  struct held {
    Index sample;
    std::int64_t begin, end;
    std::size_t rank, pass;
    std::uint32_t group;
  };
  std::vector<held> all;
  for (std::size_t r = 0; r < plan.ranks(); ++r)
    for (std::size_t m = 0; m < plan.passes(r); ++m)
      for (auto const& p : plan(r, m)) all.push_back({p.sample, p.begin, p.end, r, m, p.group});
  std::sort(all.begin(), all.end(), [](held const& a, held const& b) {
    return std::tie(a.sample, a.begin, a.end, a.rank, a.pass) < std::tie(b.sample, b.begin, b.end, b.rank, b.pass);
  });
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  auto const at = read_by_position(lengths);
  std::size_t j = 0, out = 0;
  for (std::size_t i = 0; i < n; ++i) {
    auto const absent = out < plan.left_out.size() && plan.left_out[out] == i;
    if (absent) ++out;
    std::int64_t token = 0;
    auto const begin = j;
    for (; j < all.size() && all[j].sample == i; ++j) {
      if (absent || all[j].begin < token) return {broken::token_twice, i, all[j].begin, 0};
      if (all[j].begin > token) return {broken::token_missing, i, token, 0};
      token = all[j].end;
    }
    if (!absent && token != static_cast<std::int64_t>(at[i])) return {broken::token_missing, i, token, 0};

    // The pieces of one group, or those that a rank holds for itself in one pass, are a chunk; chunks must not be interleaved.
    auto const chunk_of = [&](held const& h) { return std::pair{h.group, h.group == not_shared ? h.pass : std::size_t{0}}; };
    std::size_t before = j;  // first piece of the chunk before this one
    for (auto k = begin; k < j;) {
      auto last = k;
      while (last + 1 < j && chunk_of(all[last + 1]) == chunk_of(all[k])) ++last;
      auto const token_at = static_cast<std::uint64_t>(all[k].begin);
      if (before != j) {
        auto const same_ranks = [&](std::size_t a, std::size_t b) {
          if (all[a].group == not_shared || all[b].group == not_shared)
            return all[a].group == not_shared && all[b].group == not_shared && all[a].rank == all[b].rank;
          auto const x = plan.rank_groups[all[a].group], y = plan.rank_groups[all[b].group];
          return std::equal(x.begin(), x.end(), y.begin(), y.end());
        };
        if (!same_ranks(before, k)) return {broken::other_ranks, i, token_at, 0};
        std::size_t pass_before = 0;  // of the rank of piece k, in the chunk before
        for (auto b = before; b < k; ++b)
          if (all[b].rank == all[k].rank) pass_before = (std::max)(pass_before, all[b].pass + 1);
        if (pass_before > all[k].pass) return {broken::wrong_order, i, token_at, 0};
      }
      for (auto b = k; b <= last; ++b)
        if (all[k].group == not_shared && all[b].rank != all[k].rank) return {broken::other_ranks, i, all[b].begin, 0};
      before = k;
      k = last + 1;
    }
  }
  return {};
}

}  // namespace ballast::inline v0_2::detail
