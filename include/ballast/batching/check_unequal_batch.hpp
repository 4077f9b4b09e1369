// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/fault.hpp>
#include <ballast/batching/unequal_batch.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/verdict.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string>
#include <vector>

/// @file
/// @brief The validator of a global batch for ranks that differ. It shares no code with the planner.

namespace ballast::inline v0_2 {

/// @brief Checks the result of `plan_unequal_batch`, or a plan of any other program.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @param plan     the plan; its arrays may have any values
/// @param lengths  tokens of each sample, positive
/// @param ranks    the ranks, valid
/// @param cost     cost of a sample by its length
/// @return the first broken rule: `wrong_shape` if `rank_of` does not divide the micro-batches over the ranks; micro-batch after
/// micro-batch `bad_offsets`, `empty_pack`, `member_out_of_range`, `sample_twice`, `overfull_pack`; `wrong_list` if `too_long` is not
/// ascending or names a sample that a rank has room for; `sample_missing`; `wrong_value` and `wrong_bound` of the time
/// @throws invalid_input unless each rank has a capacity and a time
/// @par Complexity
/// O(samples + micro-batches + ranks).
template <index_type Index, length_range R, cost_model Cost>
[[nodiscard]] verdict<batching_fault> check_unequal_batch(unequal_batch<Index> const& plan, R const& lengths, unequal_ranks const& ranks,
                                                          Cost const& cost) {
  require(ranks.unit_time.size() == ranks.capacity.size(), [&] {
    return "unit_time has " + std::to_string(ranks.unit_time.size()) + " entries for " + std::to_string(ranks.capacity.size()) + " ranks";
  });
  auto const n = static_cast<std::uint64_t>(std::ranges::size(lengths)), count = std::uint64_t{ranks.capacity.size()};
  auto const length = [&](auto i) { return static_cast<std::int64_t>(std::ranges::begin(lengths)[static_cast<std::ptrdiff_t>(i)]); };
  auto const unsign = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
  auto const& [offsets, members] = plan.micro_batches;
  auto const& first = plan.rank_of;
  if (first.size() != count + 1 || first.front() != 0 || !std::is_sorted(first.begin(), first.end()) || first.back() + 1 != offsets.size())
    return {batching_fault::wrong_shape, 0, first.size(), count + 1};
  if (offsets.front() != 0 || offsets.back() != members.size() || !std::is_sorted(offsets.begin(), offsets.end()))
    return {batching_fault::bad_offsets, 0, offsets.back(), members.size()};
  std::vector<bool> seen(static_cast<std::size_t>(n));
  std::int64_t slowest = 0, most = 0;
  for (std::size_t r = 0; r < count; ++r) {
    most = (std::max)(most, ranks.capacity[r]);
    checked work(0);
    for (auto m = static_cast<std::size_t>(first[r]); m < first[r + 1]; ++m) {
      if (offsets[m] == offsets[m + 1]) return {batching_fault::empty_pack, m};
      std::int64_t left = ranks.capacity[r];
      for (auto at = static_cast<std::size_t>(offsets[m]); at < offsets[m + 1]; ++at) {
        auto const i = std::uint64_t{members[at]};
        if (i >= n) return {batching_fault::member_out_of_range, at, i, n};
        if (seen[static_cast<std::size_t>(i)]) return {batching_fault::sample_twice, i, 2, 1};
        seen[static_cast<std::size_t>(i)] = true;
        if (length(i) > left)
          return {batching_fault::overfull_pack, m, unsign(ranks.capacity[r] - left + length(i)), unsign(ranks.capacity[r])};
        left -= length(i);
        work = work + checked(static_cast<std::int64_t>(cost(length(i))));
      }
    }
    auto const time = work * checked(ranks.unit_time[r]);
    if (!time.fits()) return {batching_fault::wrong_value, r, unsign(plan.time.value), unsign(checked::most)};
    slowest = (std::max)(slowest, time.value);
  }
  for (std::size_t k = 0; k < plan.too_long.size(); ++k) {
    auto const i = std::uint64_t{plan.too_long[k]};
    if (i >= n || (k > 0 && plan.too_long[k - 1] >= plan.too_long[k]) || length(i) <= most) return {batching_fault::wrong_list, k, i};
    if (seen[static_cast<std::size_t>(i)]) return {batching_fault::sample_twice, i, 2, 1};
    seen[static_cast<std::size_t>(i)] = true;
  }
  if (auto const missing = std::find(seen.begin(), seen.end(), false); missing != seen.end())
    return {batching_fault::sample_missing, static_cast<std::uint64_t>(missing - seen.begin())};
  if (plan.time.value != slowest) return {batching_fault::wrong_value, 0, unsign(plan.time.value), unsign(slowest)};
  if (plan.time.lower_bound > slowest) return {batching_fault::wrong_bound, 0, unsign(plan.time.lower_bound), unsign(slowest)};
  return {};
}

}  // namespace ballast::inline v0_2
