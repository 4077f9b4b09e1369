// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/fault.hpp>
#include <ballast/batching/unequal_batch.hpp>
#include <ballast/core/check.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/verdict.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>

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
[[nodiscard]] verdict check_unequal_batch(unequal_batch<Index> const& plan, R const& lengths, unequal_ranks const& ranks,
                                          Cost const& cost) {
  require(ranks.unit_time.size() == ranks.capacity.size(),
          [&] { return sentence("unit_time has ", ranks.unit_time.size(), " entries for ", ranks.capacity.size(), " ranks"); });
  auto const n = static_cast<std::uint64_t>(std::ranges::size(lengths)), count = std::uint64_t{ranks.capacity.size()};
  auto const length = [&](auto i) { return static_cast<std::int64_t>(std::ranges::begin(lengths)[static_cast<std::ptrdiff_t>(i)]); };
  auto const& [offsets, members] = plan.micro_batches;
  auto const& first = plan.rank_of;
  if (first.size() != count + 1 || first.front() != 0 || !std::is_sorted(first.begin(), first.end()) || first.back() + 1 != offsets.size())
    return {batching_fault::wrong_shape, 0, first.size(), count + 1};
  if (auto const v = check_offsets(offsets, members.size()); !v.valid()) return v;
  occurrences seen(static_cast<std::size_t>(n), batching_fault::member_out_of_range, batching_fault::sample_twice,
                   batching_fault::sample_missing);
  std::int64_t slowest = 0, most = 0;
  for (std::size_t r = 0; r < count; ++r) {
    most = (std::max)(most, ranks.capacity[r]);
    checked work(0);
    for (auto m = static_cast<std::size_t>(first[r]); m < first[r + 1]; ++m) {
      if (offsets[m] == offsets[m + 1]) return {batching_fault::empty_pack, m};
      std::int64_t left = ranks.capacity[r];
      for (auto at = static_cast<std::size_t>(offsets[m]); at < offsets[m + 1]; ++at) {
        auto const i = std::uint64_t{members[at]};
        if (auto const v = seen.add(i, at, m); !v.valid()) return v;
        if (length(i) > left) {
          auto const held = checked(ranks.capacity[r] - left) + checked(length(i));
          return {batching_fault::overfull_pack, m, held.fits() ? held.value : checked::most, ranks.capacity[r]};
        }
        left -= length(i);
        work = work + checked(static_cast<std::int64_t>(cost(length(i))));
      }
    }
    auto const time = work * checked(ranks.unit_time[r]);
    if (!time.fits()) return {batching_fault::wrong_value, r, plan.time.value, checked::most};
    slowest = (std::max)(slowest, time.value);
  }
  for (std::size_t k = 0; k < plan.too_long.size(); ++k) {
    auto const i = std::uint64_t{plan.too_long[k]};
    if (i >= n || (k > 0 && plan.too_long[k - 1] >= plan.too_long[k]) || length(i) <= most) return {batching_fault::wrong_list, k, i};
    if (auto const v = seen.add(i, k, k); !v.valid()) return v;
  }
  if (auto const v = seen.complete(); !v.valid()) return v;
  return check_certificate(plan.time, slowest);
}

}  // namespace ballast::inline v0_2
