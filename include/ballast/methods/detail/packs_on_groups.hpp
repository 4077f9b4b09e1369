// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/status.hpp>
#include <ballast/sharding/any_degree.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/power_of_two_groups.hpp>
#include <ballast/sharding/result.hpp>
#include <ballast/sharding/time_shards.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

// Packs on context-parallel groups of one size, as frameworks with a fixed degree train them.

namespace ballast::inline v0_2::detail {

/// Appends a group of `width` ranks, or of as many as the pack has tokens. The ranks that are left are idle.
template <index_type Index, class Lengths>
void append_group(grouped_samples<Index>& together, std::span<Index const> pack, std::uint64_t width, Lengths const& at) {
  std::uint64_t tokens = 0;
  for (auto const i : pack) tokens += static_cast<std::uint64_t>(at[static_cast<std::size_t>(i)]);
  auto const used = tokens < width ? tokens : width;
  for (auto const ranks : {used, width - used}) {
    if (ranks == 0) continue;
    together.widths.push_back(static_cast<std::uint32_t>(ranks));
    together.samples.push_back(ranks == used && tokens > 0 ? pack : std::span<Index const>{});
    tokens = 0;
  }
}

/// Shards of packs: pack m * groups + g is the micro-batch m of group g, where groups have `degree` ranks each.
template <index_type Index, length_range R, degree_cost_model Cost>
[[nodiscard]] shards<Index> shards_of_packs(R const& lengths, groups<Index> const& packs, std::uint64_t degree, sharding_options const& o,
                                            Cost const& cost) {
  auto const at = read_by_position(lengths);
  auto const side_by_side = static_cast<std::size_t>(o.ranks / degree);
  pass_list<Index> list;
  for (std::size_t first = 0; first < packs.size(); first += side_by_side) {
    grouped_samples<Index> together;
    for (auto p = first; p < packs.size() && p < first + side_by_side; ++p) append_group(together, packs[p], degree, at);
    append_micro_batch(list, together, o.ranks);
  }
  auto out = make_shards(lengths, list, o.ranks, o.layout);
  out.execution = o.execution;
  out.time.value = time_shards(out, cost, o.cost_per_pass).makespan;
  return out;
}

/// The shards that take least time, of groups of `context_ranks` ranks, or if it is 0 of every divisor of the ranks. `packs_of(degree)`
/// returns packs as `shards_of_packs` takes them, or nothing if it finds none.
template <index_type Index, length_range R, degree_cost_model Cost, class Packs>
[[nodiscard]] shards<Index> on_equal_groups(R const& lengths, sharding_options o, Cost const& cost, std::uint64_t context_ranks,
                                            Packs const& packs_of) {
  if (o.execution != execution::lockstep) o.execution = execution::independent;
  auto const least = any_degree_bound(lengths, o, cost);
  auto const longest = extent_of(lengths).longest;
  auto const most = o.most_ranks_shared == 0 || o.most_ranks_shared > o.ranks ? o.ranks : o.most_ranks_shared;
  require(context_ranks <= most && (context_ranks == 0 || o.ranks % context_ranks == 0), [&] {
    return sentence("context_ranks = ", context_ranks, " must divide ranks = ", o.ranks, " and be at most ", most, " that share a sample");
  });
  shards<Index> best;
  best.status = status::infeasible;
  for (std::uint64_t degree = 1; degree <= most; ++degree) {
    if (o.ranks % degree != 0 || (context_ranks != 0 && degree != context_ranks)) continue;
    if (longest > o.capacity * static_cast<std::int64_t>(degree)) continue;
    auto const packs = packs_of(degree);
    if (!packs) {
      if (best.status == status::infeasible) best.status = status::unknown;
      continue;
    }
    auto one = shards_of_packs(lengths, *packs, degree, o, cost);
    if (best.status != status::feasible || one.time.value < best.time.value) best = std::move(one);
  }
  best.execution = o.execution;
  best.time.lower_bound = best.status == status::feasible ? least : 0;
  return best;
}

}  // namespace ballast::inline v0_2::detail
