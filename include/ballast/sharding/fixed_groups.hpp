// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/status.hpp>
#include <ballast/sharding/detail/degree_times.hpp>
#include <ballast/sharding/detail/fixed_group_search.hpp>
#include <ballast/sharding/detail/tree_bounds.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/result.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

/// @file
/// @brief `fixed_groups`: each rank stays in one group for a whole batch, and groups have different sizes.

namespace ballast::inline v0_2 {

/// @brief Plans a batch on groups that do not change within it: every rank uses one communicator.
///
/// Groups have 1, 2, 4, ... ranks and run passes of their own, `execution::independent`; the next batch may have others. For a step time T,
/// each sample, longest first, wants the number of ranks that costs the fewest rank-seconds within T, and goes to such a group or a wider
/// one where it adds least, or opens a group while ranks are left. The search halves T, from groups of one size on.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `degree_cost_model`
/// @param lengths  tokens of each sample; may be empty
/// @param options  shape of the batch; `execution` is not read
/// @param cost     time of a sample by its length and the number of ranks that share it
/// @return the shards; `infeasible` if a sample fits no group of a power of two, `unknown` if there is no plan on groups of one size
/// @post `check_shards` accepts the result with `{.aligned = true}`; all groups of a rank have the same ranks. The plan is not slower than
/// that of `homogeneous_shards` under `execution::independent`. `time.lower_bound` holds for every plan by powers of two, with fixed groups
/// or not
/// @throws invalid_input if a length or an option is not positive, or the sum of all times reaches 2^62
/// @par Complexity
/// O(n log n + n groups passes) for each of at most 20 times.
/// @par Determinism
/// A pure function of its arguments; equal lengths keep their order.
template <index_type Index = std::uint32_t, length_range R, degree_cost_model Cost>
[[nodiscard]] shards<Index> fixed_groups(R const& lengths, sharding_options options, Cost const& cost) {
  options.execution = execution::independent;
  auto const times = detail::times_of_degrees(lengths, options, cost);
  shards<Index> out;
  out.execution = execution::independent;
  if (!times.allows_all()) {
    out.status = status::infeasible;
    return out;
  }
  std::int64_t lower = 0;
  detail::fixed_group_plan plan{.time = 0, .level = {}, .group_of_pass = {}, .pass_of = {}};
  if (!times.length.empty()) {
    detail::tree_bounds const bounds(times);
    lower = bounds.by_rate(bounds.by_area());
    plan = detail::fixed_group_search(times).run(lower);
  }
  if (plan.time == detail::degree_times::most) {
    out.status = status::unknown;
    out.time.lower_bound = lower;
    return out;
  }
  auto const first = plan.first_ranks();
  pass_list<Index> list;
  std::vector<std::uint32_t> all(static_cast<std::size_t>(options.ranks));
  std::iota(all.begin(), all.end(), std::uint32_t{0});
  for (auto const g : plan.group_of_pass) list.ranks.push_back(std::span(all).subspan(first[g], std::size_t{1} << plan.level[g]));
  for (std::size_t i = 0; i < plan.pass_of.size(); ++i)
    list.placements.push_back({.sample = static_cast<Index>(times.sample[i]), .pass = static_cast<std::uint32_t>(plan.pass_of[i])});
  out = make_shards(lengths, list, options.ranks, options.layout);
  out.execution = execution::independent;
  out.time = {plan.time, lower};
  return out;
}

}  // namespace ballast::inline v0_2
