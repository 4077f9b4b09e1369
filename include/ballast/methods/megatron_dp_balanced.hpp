// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/methods/detail/packs_on_groups.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

/// @file
/// @brief The scheduler `dp_balanced` of Megatron-Core: packs in the order of arrival, one after the other to the data-parallel ranks.

namespace ballast::inline v0_2::megatron_dp_balanced {

/// @brief A run of `packs`. Only `capacity` has no default.
struct options {
  std::int64_t capacity = 0;               ///< most tokens of a pack: those of all context-parallel ranks together
  std::uint64_t data_ranks = 1;            ///< data-parallel ranks, which get equally many packs
  std::uint64_t max_samples = 0;           ///< most samples of a pack; 0 = no limit
  std::uint64_t micro_batch_multiple = 1;  ///< packs of a data-parallel rank are a multiple of it, for virtual pipeline stages
};

/// @brief Packs samples as `dp_balanced` does: next fit in the given order, then single samples of the last packs become packs of their own
/// until each data-parallel rank has equally many.
///
/// The last pack gives its samples away, last one first, until it has one; then the pack before it, and so on. Nothing balances work.
///
/// Where the published code aborts, this does not: if there are fewer samples than packs are needed, the packs that are missing are empty.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths  tokens of each sample, in order of arrival
/// @param o        the run
/// @return the packs; pack `m * data_ranks + r` is micro-batch m of data-parallel rank r
/// @throws invalid_input if an option is out of its range, or a length is not positive or exceeds the capacity
/// @par Complexity
/// O(n + packs).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// `DpBalancedScheduler` in megatron/core/datasets/data_schedule.py of NVIDIA/Megatron-LM (2026).
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] groups<Index> packs(R const& lengths, options const& o) {
  require(o.capacity > 0, [&] { return sentence("capacity = ", o.capacity, " must be positive"); });
  for (auto const& [name, value] : {std::pair{"data_ranks", o.data_ranks}, {"micro_batch_multiple", o.micro_batch_multiple}})
    require(value > 0 && value < std::uint64_t{1} << 20, [&] { return sentence(name, " = ", value, " must be in 1 ... 2^20 - 1"); });
  (void)extent_of(lengths);
  auto const at = read_by_position(lengths);
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  require_index<Index>(n, "samples");
  std::vector<std::vector<Index>> bins;
  std::int64_t room = 0;
  for (std::size_t i = 0; i < n; ++i) {
    auto const length = static_cast<std::int64_t>(at[i]);
    require(length <= o.capacity, [&] { return sentence(entry("lengths", i, length), " exceeds capacity = ", o.capacity); });
    if (bins.empty() || length > room || (o.max_samples > 0 && bins.back().size() == o.max_samples)) {
      bins.emplace_back();
      room = o.capacity;
    }
    bins.back().push_back(static_cast<Index>(i));
    room -= length;
  }
  auto const wanted = static_cast<std::size_t>(round_up(std::uint64_t{bins.size()}, o.data_ranks * o.micro_batch_multiple));
  bins.reserve(wanted);
  for (auto from = bins.size(); from-- > 0 && bins.size() < wanted;)
    while (bins[from].size() > 1 && bins.size() < wanted) {
      bins.push_back({bins[from].back()});
      bins[from].pop_back();
    }
  bins.resize(wanted);
  groups<Index> out;
  for (auto const& b : bins) out.push_back(b);
  return out;
}

/// @brief Schedules a batch by `packs`, on context-parallel groups of one size.
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `degree_cost_model`
/// @param lengths        tokens of each sample, in order of arrival; may be empty
/// @param o              shape of the batch; all `execution` but lockstep is that of independent passes
/// @param cost           time of a sample by its length and the number of ranks that share it; it times the plan and chooses the groups
/// @param context_ranks  ranks that share every sample, a divisor of the ranks; 0 = the divisor that takes least time for the batch
/// @return the shards; `infeasible` if a sample has no room in a group. A pack of fewer tokens than ranks is on as many ranks as tokens
/// @post `check_shards` accepts the result; `time.lower_bound` is `any_degree_bound`
/// @throws invalid_input if a length or an option is out of its range
/// @par Complexity
/// O(n + ranks) for each divisor, the pieces and their times.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// As `packs`.
template <index_type Index = std::uint32_t, length_range R, degree_cost_model Cost>
[[nodiscard]] shards<Index> schedule(R const& lengths, sharding_options const& o, Cost const& cost, std::uint64_t context_ranks = 0) {
  return ballast::detail::on_equal_groups<Index>(lengths, o, cost, context_ranks, [&](std::uint64_t degree) {
    return std::optional(
        packs<Index>(lengths, {.capacity = o.capacity * static_cast<std::int64_t>(degree), .data_ranks = o.ranks / degree}));
  });
}

}  // namespace ballast::inline v0_2::megatron_dp_balanced
