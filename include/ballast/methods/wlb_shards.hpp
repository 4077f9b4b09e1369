// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/attention/document_shares.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/methods/wlb.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief The second half of WLB-LLM: the micro-batches of a step, cut over context-parallel ranks so that a trainer can run them.

namespace ballast::inline v0_2::wlb {

/// @brief The ranks of a run, for `step_shards`.
struct cluster {
  std::uint64_t groups = 0;         ///< number of data-parallel groups, at least 1
  document_share_options shares{};  ///< context-parallel ranks of a group, and the tiles of the kernel
};

/// @brief Cuts the micro-batches of a step over the ranks: micro-batch m is a pass of the context-parallel ranks of group m mod `groups`.
///
/// Each micro-batch is cut by `document_shares`. Samples of the shards are positions in `of.micro_batches.members`, whose lengths are
/// `of.lengths`.
///
/// @tparam TileTime  a `cost_model`
/// @param of         the step
/// @param on         groups and ranks; rank k of group g is rank g times the ranks of a group, plus k
/// @param tile_time  time of one tile of attention, as for `document_shares`
/// @return the shards. `time` is that of the group whose micro-batches take longest in sum, where a micro-batch takes the time of its
/// slowest rank; the bound holds for any division of the documents over all ranks
/// @throws invalid_input as `document_shares`, or if the micro-batches are no multiple of the groups
/// @par Complexity
/// O(documents times ranks of a group).
/// @par Determinism
/// A pure function of its arguments.
template <cost_model TileTime>
[[nodiscard]] shards<> step_shards(step const& of, cluster const& on, TileTime const& tile_time) {
  auto const count = of.micro_batches.size();
  require(on.groups > 0 && on.groups < 1U << 20 && count % on.groups == 0,
          [&] { return sentence("groups = ", on.groups, " must be positive and divide ", count, " micro-batches"); });
  require(of.lengths.size() == of.micro_batches.members.size(), [] { return "lengths must have an entry for each document"; });
  require(on.groups * on.shares.ranks < 1U << 20, [] { return "groups times ranks must be below 2^20"; });
  require_index<std::uint32_t>(of.lengths.size(), "documents");
  auto all = on.shares;
  all.ranks *= on.groups;
  std::vector<document_sharing<>> cuts;
  for (std::size_t m = 0; m < count; ++m) {
    auto const first = static_cast<std::size_t>(of.micro_batches.offsets[m]), size = of.micro_batches[m].size();
    cuts.push_back(document_shares(std::span(of.lengths).subspan(first, size), on.shares, tile_time));
  }
  shards<> out;
  out.execution = execution::mixed;
  out.time.lower_bound = least_share_time(of.lengths, all, tile_time);
  std::vector<std::uint32_t> shared(count);  // group of ranks of each micro-batch
  for (std::size_t g = 0; g < on.groups; ++g) {
    auto const first_rank = static_cast<std::uint32_t>(g * on.shares.ranks);
    std::int64_t time = 0;
    for (auto m = g; m < count; m += static_cast<std::size_t>(on.groups)) {
      add_checked(time, cuts[m].shards.time.value, "times of micro-batches", m);
      shared[m] = static_cast<std::uint32_t>(out.rank_groups.size());
      for (auto const ranks : cuts[m].shards.rank_groups) {
        std::vector<std::uint32_t> moved(ranks.begin(), ranks.end());
        for (auto& r : moved) r += first_rank;
        out.rank_groups.push_back(moved);
      }
    }
    out.time.value = (std::max)(out.time.value, time);
    for (std::size_t k = 0; k < on.shares.ranks; ++k) {
      for (auto m = g; m < count; m += static_cast<std::size_t>(on.groups)) {
        auto const first = static_cast<std::uint32_t>(of.micro_batches.offsets[m]);
        for (auto const& p : cuts[m].shards(k, 0))
          out.pieces.push_back({p.sample + first, p.begin, p.end, p.group == not_shared ? not_shared : p.group + shared[m]});
        out.pass_offsets.push_back(out.pieces.size());
      }
      out.rank_offsets.push_back(out.pass_offsets.size() - 1);
    }
  }
  return out;
}

}  // namespace ballast::inline v0_2::wlb
