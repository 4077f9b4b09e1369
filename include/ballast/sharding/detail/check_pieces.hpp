// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/sharding/fault.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <tuple>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

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
        if (p.begin < 0 || p.begin >= p.end || p.end > length) return {broken::bad_piece, i, p.end, length};
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
