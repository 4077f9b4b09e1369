// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/verdict.hpp>
#include <ballast/curriculum/detail/check_order.hpp>
#include <ballast/curriculum/fault.hpp>
#include <ballast/curriculum/options.hpp>
#include <ballast/curriculum/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief The validator of curricula, of this library or any other planner. It shares no code with the planner.

namespace ballast::inline v0_2 {

/// @brief Describes a verdict in a few words. @param v any verdict @return for instance "wrong warm-up at 17"
[[nodiscard]] inline std::string describe(verdict<curriculum_fault> const& v) {
  return v.valid() ? "valid" : std::string(to_string(v.fault)) + " at " + std::to_string(v.index);
}

/// @brief Checks a curriculum: every step is trained as often as demanded, the warm-up keeps its limits, and the order is the demanded one.
///
/// @param plan     the plan; its members may have any values
/// @param sources  the sources of the plan; valid
/// @param options  the options that the plan must meet; valid
/// @return the first broken rule, in the order of `curriculum_fault`. Its index is a position in training order; a source, for settings and
/// counts; or a step, for `step_too_seldom`, where the steps of all sources are numbered one after another
/// @par Complexity
/// O(steps + sources).
template <class = when_called>
[[nodiscard]] inline verdict<curriculum_fault> check_curriculum(curriculum_plan const& plan, std::span<curriculum_source const> sources,
                                                                curriculum_options const& options) {
  using enum curriculum_fault;
  auto const n = plan.source.size(), k = sources.size();
  if (plan.index.size() != n || plan.settings.size() != k || plan.warm_up > n || plan.epoch != options.epoch) return {wrong_shape, 0};
  for (std::size_t s = 0; s < k; ++s)
    if (plan.settings[s] != sources[s].setting) return {wrong_settings, s};
  for (std::size_t i = 0; i < n; ++i)
    if (plan.source[i] >= k) return {source_out_of_range, i};
  for (std::size_t i = 0; i < n; ++i)
    if (plan.index[i] >= sources[plan.source[i]].steps) return {index_out_of_range, i};

  std::vector<std::uint64_t> asked(k);
  for (std::size_t s = 0; s < k; ++s) {
    auto const& listed = sources[s].per_epoch;
    auto const last = static_cast<std::uint64_t>(listed.size()) - 1;
    asked[s] = listed.empty() ? sources[s].steps : listed[static_cast<std::size_t>((std::min)(options.epoch, last))];
  }
  if (auto const v = detail::check_counts(plan, sources, asked); !v.valid()) return v;

  auto least = (std::numeric_limits<std::int64_t>::max)();
  std::uint64_t eligible = 0;
  for (std::size_t s = 0; s < k; ++s)
    if (asked[s] > 0) least = (std::min)(least, sources[s].setting.capacity);
  for (std::size_t s = 0; s < k; ++s) eligible += sources[s].setting.capacity == least ? asked[s] : 0;
  if (plan.warm_up > (options.epoch > 0 ? 0 : options.warm_up) || plan.warm_up * 1000 > eligible * options.warm_up_share)
    return {long_warm_up, 0};
  auto const first = static_cast<std::size_t>(plan.warm_up);
  for (std::size_t i = 0; i < first; ++i)
    if (sources[plan.source[i]].setting.capacity != least) return {wrong_warm_up, i};

  switch (options.order) {
    case curriculum_order::ascending: return detail::check_ascending(plan, sources, n - first);
    case curriculum_order::ascending_buckets: return detail::check_ascending(plan, sources, options.buckets);
    case curriculum_order::interleaved: return detail::check_interleaved(plan, k);
    case curriculum_order::random:
    case curriculum_order::shuffled_buckets: break;
  }
  return {};
}

}  // namespace ballast::inline v0_2
