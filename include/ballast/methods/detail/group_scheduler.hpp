// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/status.hpp>
#include <ballast/sharding/local_or_distributed.hpp>
#include <ballast/sharding/make_shards.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

// The micro-batches of one data-parallel group after the other.

namespace ballast::inline v0_2::detail {

/// The placements of all groups, while they are made.
template <index_type Index>
struct group_scheduler {
  std::vector<std::int64_t> const& lengths;
  local_or_distributed_options group;
  pass_list<Index> list{};
  std::vector<std::int64_t> slice{};
  std::vector<Index> order{};                 ///< samples of the group, shortest first
  groups<Index> slices{};                     ///< samples of each micro-batch of the group
  std::vector<split_batch<Index>> batches{};  ///< their placements

  /// Makes the micro-batches of a group: of m, number j has every m-th sample from the j-th shortest on. Returns whether some m will do.
  template <degree_cost_model Cost, cost_model Communication>
  [[nodiscard]] bool split(std::span<Index const> samples, Cost const& cost, Communication const& communication) {
    order.assign(samples.begin(), samples.end());
    std::sort(order.begin(), order.end(), [&](Index a, Index b) { return lengths[a] != lengths[b] ? lengths[a] < lengths[b] : a < b; });
    std::int64_t tokens = 0;
    for (auto const i : order) tokens += lengths[i];
    auto const room = group.capacity * static_cast<std::int64_t>(group.ranks);
    batches.clear();
    for (auto m = static_cast<std::size_t>(divide_up(tokens, room)); m <= order.size(); ++m)
      if (split_into(m, room, cost, communication)) return true;
    return false;
  }
  /// When the last rank of the group is done, as `time_shards` computes it: ranks wait where they share a sample.
  [[nodiscard]] std::int64_t makespan() const {
    std::vector<std::int64_t> free(static_cast<std::size_t>(group.ranks), 0);
    for (auto const& b : batches) {
      if (b.shared_tokens > 0) {
        auto const start = *std::max_element(free.begin(), free.end());
        std::fill(free.begin(), free.end(), start + group.cost_per_pass + *std::max_element(b.loads.begin(), b.loads.end()));
      } else {
        for (std::size_t r = 0; r < free.size(); ++r)
          if (b.local_tokens[r] > 0) free[r] += group.cost_per_pass + b.loads[r];
      }
    }
    return *std::max_element(free.begin(), free.end());
  }
  /// Appends the passes of the micro-batches: of all ranks where they share a sample, otherwise of the ranks that hold one.
  void append(std::uint32_t first_rank) {
    for (std::size_t j = 0; j < batches.size(); ++j) {
      auto const& b = batches[j];
      auto const pass = static_cast<std::uint32_t>(list.ranks.size());
      for (std::uint32_t r = 0; r < group.ranks; ++r)
        if (b.shared_tokens > 0 || b.local_tokens[r] > 0) list.ranks.members.push_back(first_rank + r);
      list.ranks.offsets.push_back(list.ranks.members.size());
      for (std::size_t i = 0; i < b.rank_of.size(); ++i)
        list.placements.push_back({slices[j][i], pass, b.rank_of[i] == list.all_ranks ? list.all_ranks : first_rank + b.rank_of[i]});
    }
  }

 private:
  template <class Cost, class Communication>
  [[nodiscard]] bool split_into(std::size_t m, std::int64_t room, Cost const& cost, Communication const& communication) {
    batches.clear();
    slices.clear();
    for (std::size_t j = 0; j < m; ++j) {  // tokens are counted before anything is placed
      std::int64_t tokens = 0;
      for (auto i = j; i < order.size(); i += m) {
        slices.members.push_back(order[i]);
        tokens += lengths[order[i]];
      }
      if (tokens > room) return false;
      auto const from = slices.members.begin() + static_cast<std::ptrdiff_t>(slices.offsets.back());
      if (group.order == placing_order::as_given) std::sort(from, slices.members.end());
      slices.offsets.push_back(slices.members.size());
    }
    for (auto const samples : slices) {
      slice.clear();
      for (auto const i : samples) slice.push_back(lengths[i]);
      batches.push_back(local_or_distributed<Index>(slice, group, cost, communication));
      if (batches.back().status != status::feasible) return false;
    }
    return true;
  }
};

/// A lower bound on the largest time of a group: the mean work of all ranks with the fixed times of as many micro-batches as the tokens
/// need, and the longest sample in its one micro-batch.
template <degree_cost_model Cost, cost_model Communication>
[[nodiscard]] std::int64_t group_time_bound(std::vector<std::int64_t> const& lengths, std::int64_t groups,
                                            local_or_distributed_options const& group, Cost const& cost,
                                            Communication const& communication) {
  auto const n = static_cast<std::int64_t>(group.ranks), all = n * groups;
  std::int64_t tokens = 0, mean = 0, rest = 0, longest = 0;  // the work of all ranks is `mean * all + rest`
  for (auto const length : lengths) {
    auto const alone = static_cast<std::int64_t>(cost(length, 1)), shared = static_cast<std::int64_t>(cost(length, n));
    auto const must = length > group.capacity;
    auto const exchanged = shared + static_cast<std::int64_t>(communication(length));
    longest = (std::max)(longest, must ? exchanged : (std::min)(alone, exchanged));
    auto const by_all = must || shared <= alone / n;  // n ranks work `shared` each
    mean += by_all ? shared / groups : alone / all;
    rest += by_all ? n * (shared % groups) : alone % all;
    mean += rest / all;
    rest %= all;
    tokens += length;
  }
  auto const micro_batches = divide_up(tokens, group.capacity * n) / groups;
  return (std::max)(mean + (rest > 0 ? 1 : 0) + group.cost_per_pass * micro_batches, tokens == 0 ? 0 : longest + group.cost_per_pass);
}

}  // namespace ballast::inline v0_2::detail
