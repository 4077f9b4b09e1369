// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <tuple>
#include <utility>
#include <vector>

/// @file
/// @brief `shards_of`: one step of a plan as shards, so that a trainer reads the tokens of every rank from it.

namespace ballast::inline v0_2 {

namespace detail {

/// The passes of one step. A micro-batch has one for each group of ranks that shares samples in it, then one for each rank.
template <index_type Index>
struct step_passes {
  pass_list<Index> list;
  std::vector<std::uint64_t> micro_batch;  ///< of each pass

  void add(std::uint64_t m, std::uint64_t first_rank, std::uint64_t ranks) {
    std::vector<std::uint32_t> members(static_cast<std::size_t>(ranks));
    std::iota(members.begin(), members.end(), static_cast<std::uint32_t>(first_rank));
    list.ranks.push_back(members);
    micro_batch.push_back(m);
  }
  /// Puts a sample into the last pass.
  void put(Index sample) { list.placements.push_back({sample, static_cast<std::uint32_t>(micro_batch.size() - 1)}); }

  /// Joins the passes of each rank that belong to one micro-batch.
  void join(shards<Index>& out) const {
    std::vector<std::vector<std::uint64_t>> of_rank(out.ranks());
    for (std::size_t p = 0; p < micro_batch.size(); ++p)
      for (auto const r : list.ranks[p]) of_rank[r].push_back(micro_batch[p]);
    std::size_t from = 0, to = 0;  // passes, counted over all ranks
    for (std::size_t r = 0; r < of_rank.size(); ++r) {
      out.rank_offsets[r] = to;
      for (std::size_t k = 0; k < of_rank[r].size(); ++k, ++from)
        if (k == 0 || of_rank[r][k] != of_rank[r][k - 1]) out.pass_offsets[to++] = out.pass_offsets[from];
    }
    out.rank_offsets.back() = to;
    out.pass_offsets[to] = out.pieces.size();
    out.pass_offsets.resize(to + 1);
  }
};

/// The shared samples of a step, by micro-batch, then most ranks first.
template <index_type Index>
[[nodiscard]] std::vector<std::pair<std::uint64_t, shared_sample<Index>>> shared_in_step(batching<Index> const& plan, std::size_t step) {
  std::vector<std::pair<std::uint64_t, shared_sample<Index>>> out;  // micro-batch, sample
  for (auto const& s : plan.shared) {
    if (s.step != step) continue;
    std::uint64_t m = 0;
    auto const holds = [&](Index p) { return p != plan.none && std::ranges::find(plan.packs[p], s.sample) != plan.packs[p].end(); };
    while (m < plan.micro_batches && !holds(plan.at(step, static_cast<std::size_t>(s.first_rank), static_cast<std::size_t>(m)))) ++m;
    require(m < plan.micro_batches,
            [&] { return sentence("sample ", s.sample, " is shared in step ", step, ", but is not on rank ", s.first_rank); });
    out.emplace_back(m, s);
  }
  std::sort(out.begin(), out.end(), [](auto const& a, auto const& b) {
    return std::tuple(a.first, ~a.second.ranks, a.second.first_rank, a.second.sample) <
           std::tuple(b.first, ~b.second.ranks, b.second.first_rank, b.second.sample);
  });
  return out;
}

}  // namespace detail

/// @brief Returns one step of a plan as shards: the tokens of every rank in every micro-batch.
///
/// Every micro-batch of a rank is a pass. A shared sample is cut for its ranks as `make_shards` does, and is in one pass of each of them.
/// The loaders of shard_layout.hpp and `shard_weights` take the result, so a trainer runs the step as it runs any shards. Ranks that share
/// samples run the same micro-batch, and earlier micro-batches first, so no ranks wait for each other in a circle.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param plan     a plan of steps that `check_batching` accepts
/// @param step     below `plan.steps()`
/// @param lengths  tokens of each sample of the plan
/// @param layout   how the ranks cut a sample
/// @param policy   `mixed`, or `lockstep` for ranks that wait at every micro-batch: empty places are then passes without pieces
/// @return the shards; `left_out` are the samples of all other steps, and `time` is left 0 for `time_shards`
/// @post `check_shards` accepts the result under the capacity of the plan
/// @throws invalid_input if there is no such step, the policy is `independent`, a sample has no length, the step trains a sample twice
///         (`left_over::repeat` can), or a sample is shared by more ranks than it has tokens
/// @par Complexity
/// O(samples of the plan + places of the step), and the shared samples of the step times the samples of a pack.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index, length_range R>
[[nodiscard]] shards<Index> shards_of(batching<Index> const& plan, std::size_t step, R const& lengths,
                                      share_layout layout = share_layout::zigzag, execution policy = execution::mixed) {
  require(step < plan.steps(), [&] { return sentence("step = ", step, " must be below ", plan.steps(), ", the steps of the plan"); });
  require(policy != execution::independent,
          [] { return "policy = independent: a micro-batch may hold whole samples beside shared ones, so ask for mixed"; });
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  auto const length = read_by_position(lengths);
  detail::step_passes<Index> passes;
  std::vector<char> seen(n, 0);
  auto const take = [&](Index i) {
    require(i < n, [&] { return sentence("lengths has ", n, " entries, none for sample ", i); });
    require(seen[i] == 0, [&] { return sentence("step ", step, " trains sample ", i, " twice"); });
    seen[i] = 1;
    passes.put(i);
  };

  auto const shared = detail::shared_in_step(plan, step);
  std::vector<char> is_shared(n, 0);
  auto next = shared.begin();
  for (std::uint64_t m = 0; m < plan.micro_batches; ++m) {
    for (auto before = shared.end(); next != shared.end() && next->first == m; before = next++) {
      auto const& s = next->second;
      if (before == shared.end() || before->second.ranks != s.ranks || before->second.first_rank != s.first_rank)
        passes.add(m, s.first_rank, s.ranks);
      take(s.sample);
      require(std::cmp_greater_equal(length[s.sample], s.ranks), [&] {
        return sentence(entry("lengths", s.sample, length[s.sample]), ": ", s.ranks, " ranks share the sample, more than tokens");
      });
      is_shared[s.sample] = 1;
    }
    auto const pack_of = [&](std::uint64_t r) { return plan.at(step, static_cast<std::size_t>(r), static_cast<std::size_t>(m)); };
    auto const ranks = std::views::iota(std::uint64_t{0}, plan.ranks);
    auto const any = std::ranges::any_of(ranks, [&](auto r) { return pack_of(r) != plan.none; });
    for (auto const r : ranks) {
      auto const pack = pack_of(r);
      if (pack != plan.none || (any && policy == execution::lockstep)) passes.add(m, r, 1);
      if (pack == plan.none) continue;
      for (auto const i : plan.packs[pack])
        if (i >= n || is_shared[i] == 0) take(i);
    }
  }
  auto out = make_shards(lengths, passes.list, plan.ranks, layout);
  passes.join(out);
  out.execution = policy;
  for (std::size_t i = 0; i < n; ++i)
    if (seen[i] == 0) out.left_out.push_back(static_cast<Index>(i));
  return out;
}

}  // namespace ballast::inline v0_2
