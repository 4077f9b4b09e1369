// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/balance_unequal.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <vector>

/// @file
/// @brief `plan_unequal_batch`: one global batch for data-parallel ranks whose devices differ in speed and memory.

namespace ballast::inline v0_2 {

/// @brief Data-parallel ranks that differ.
struct unequal_ranks {
  std::vector<std::int64_t> unit_time{};  ///< by rank: time that it takes for a unit of cost, from 1 to 2^31
  std::vector<std::int64_t> capacity{};   ///< by rank: tokens that a micro-batch may have, positive
  refinement refine{};                    ///< how long the ranks are balanced
};

/// @brief A global batch for ranks that differ.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct unequal_batch {
  groups<Index> micro_batches{};         ///< samples of each micro-batch, rank after rank
  std::vector<std::uint64_t> rank_of{};  ///< rank r has the micro-batches from `rank_of[r]` to below `rank_of[r + 1]`; ranks + 1 entries
  certificate time{};                    ///< time of the slowest rank, and its lower bound
  std::vector<Index> too_long{};         ///< samples longer than every capacity, ascending: they are in no micro-batch
  friend bool operator==(unequal_batch const&, unequal_batch const&) = default;
};

/// @brief Plans one global batch for ranks whose devices differ: a faster rank gets more work, and one with less memory shorter samples.
///
/// Samples are dealt to ranks by `balance_unequal`, where a rank takes only samples that fit into its micro-batches. Then each rank packs
/// its samples into micro-batches of its own capacity. Ranks have different numbers of micro-batches and samples: weigh the loss by the
/// labels of the whole global batch (`loss/`), not by the mean over ranks.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @param lengths  tokens of each sample, positive; may be empty
/// @param ranks    the ranks
/// @param cost     cost of a sample by its length; a rank takes `unit_time` for a unit of it
/// @return the plan; its time counts samples, not what a micro-batch takes besides them
/// @throws invalid_input naming the argument that is out of range
/// @par Complexity
/// That of `balance_unequal` and `best_fit_decreasing`.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Shares of a batch by speed and memory: Jia et al., "Whale", USENIX ATC 2022.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] unequal_batch<Index> plan_unequal_batch(R const& lengths, unequal_ranks const& ranks, Cost const& cost) {
  require(ranks.capacity.size() == ranks.unit_time.size(),
          [&] { return sentence("capacity has ", ranks.capacity.size(), " entries for ", ranks.unit_time.size(), " ranks"); });
  for (std::size_t r = 0; r < ranks.capacity.size(); ++r)
    require(ranks.capacity[r] > 0, [&] { return entry("capacity", r, ranks.capacity[r]) + " must be positive"; });
  (void)extent_of(lengths);
  auto const most = ranks.capacity.empty() ? 0 : *std::max_element(ranks.capacity.begin(), ranks.capacity.end());
  unequal_batch<Index> out;
  std::vector<std::int64_t> fitting;
  std::vector<Index> sample;
  auto const at = read_by_position(lengths);
  require_index<Index>(static_cast<std::size_t>(std::ranges::size(lengths)), "lengths");
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::ranges::size(lengths)); ++i) {
    auto const length = static_cast<std::int64_t>(at[i]);
    (length > most ? out.too_long : sample).push_back(static_cast<Index>(i));
    if (length <= most) fitting.push_back(length);
  }
  auto const dealt =
      balance_unequal<Index>(fitting, {.unit_time = ranks.unit_time, .largest = ranks.capacity, .refine = ranks.refine}, cost);
  out.time = dealt.time;
  out.rank_of.push_back(0);
  for (std::size_t r = 0; r < dealt.sets.size(); ++r) {
    std::vector<std::int64_t> mine;
    for (auto const i : dealt.sets[r]) mine.push_back(fitting[static_cast<std::size_t>(i)]);
    auto const packed = best_fit_decreasing<Index>(mine, {.capacity = ranks.capacity[r]});
    for (auto const pack : packed.packs) {
      for (auto const p : pack)
        out.micro_batches.members.push_back(sample[static_cast<std::size_t>(dealt.sets[r][static_cast<std::size_t>(p)])]);
      out.micro_batches.offsets.push_back(out.micro_batches.members.size());
    }
    out.rank_of.push_back(out.micro_batches.size());
  }
  return out;
}

}  // namespace ballast::inline v0_2
