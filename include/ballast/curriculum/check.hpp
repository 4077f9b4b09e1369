// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/verdict.hpp>
#include <ballast/curriculum/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

/// @file
/// @brief The validator of curricula, of this library or any other planner. It shares no code with the planner.

namespace ballast::inline v0_2 {

/// @brief The rule that a curriculum breaks.
struct curriculum_fault : common_fault {
  static constexpr rule wrong_shape{
      "the lists differ in length, the warm-up is longer than they are, or the epoch is not the demanded one"};
  static constexpr rule wrong_settings{"settings[{index}] is not that of its source"};
  static constexpr rule source_out_of_range{"source[{index}] is no source"};
  static constexpr rule index_out_of_range{"index[{index}] is no step of its source"};
  static constexpr rule wrong_count{"source {index} does not have the demanded number of steps"};
  static constexpr rule step_too_often{"the step at {index} is trained more often than its share, rounded up"};
  static constexpr rule step_too_seldom{"step {index}, counted over all sources, is trained less often than its share, rounded down"};
  static constexpr rule long_warm_up{"the warm-up is longer than demanded, takes more than warm_up_share, or is not in epoch 0"};
  static constexpr rule wrong_warm_up{"the step at {index} of the warm-up is not of the smallest capacity"};
  static constexpr rule unsorted{"the key at {index} is below the key of a step, or bucket, before it"};
  static constexpr rule uneven{"at {index}, the source of the step is too far from its share"};
};

namespace detail {

/// Every source must have the demanded number of steps, and each of its steps its share of that number.
template <class = when_called>
[[nodiscard]] inline verdict check_counts(curriculum_plan const& plan, std::span<curriculum_source const> sources,
                                          std::vector<std::uint64_t> const& asked) {
  using broken = curriculum_fault;
  auto const n = plan.source.size(), k = sources.size();
  std::vector<std::uint64_t> count(k, 0);
  for (auto s : plan.source) ++count[s];
  for (std::size_t s = 0; s < k; ++s)
    if (count[s] != asked[s]) return {broken::wrong_count, s};
  std::vector<std::vector<std::uint64_t>> times(k);
  for (std::size_t s = 0; s < k; ++s) times[s].assign(static_cast<std::size_t>(sources[s].steps), 0);
  for (std::size_t i = 0; i < n; ++i) {
    auto const s = plan.source[i];
    if (++times[s][plan.index[i]] > (asked[s] - 1) / sources[s].steps + 1) return {broken::step_too_often, i};
  }
  std::uint64_t before_source = 0;
  for (std::size_t s = 0; s < k; before_source += sources[s++].steps)
    for (std::size_t i = 0; i < times[s].size(); ++i)
      if (times[s][i] < asked[s] / sources[s].steps) return {broken::step_too_seldom, before_source + i};
  return {};
}

/// Keys after the warm-up must ascend from bucket to bucket; there are `buckets` buckets, or as many as steps if that is less.
template <class = when_called>
[[nodiscard]] inline verdict check_ascending(curriculum_plan const& plan, std::span<curriculum_source const> sources,
                                             std::uint64_t most_buckets) {
  auto const first = static_cast<std::size_t>(plan.warm_up), rest = plan.source.size() - first;
  auto const buckets = static_cast<std::size_t>((std::min)(most_buckets, static_cast<std::uint64_t>(rest)));
  auto before = (std::numeric_limits<std::int64_t>::min)(), largest = before;
  for (std::size_t b = 0; b < buckets; ++b, before = largest)
    for (auto i = first + b * rest / buckets; i < first + (b + 1) * rest / buckets; ++i) {
      auto const& source = sources[plan.source[i]];
      auto const key = source.keys.empty() ? source.setting.capacity : source.keys[plan.index[i]];
      if (key < before) return {curriculum_fault::unsorted, i};
      largest = (std::max)(largest, key);
    }
  return {};
}

/// After the warm-up, every source must be as near to its share at every point as interleaving guarantees.
template <class = when_called>
[[nodiscard]] inline verdict check_interleaved(curriculum_plan const& plan, std::size_t sources) {
  auto const first = static_cast<std::size_t>(plan.warm_up), n = plan.source.size();
  std::vector<std::int64_t> of(sources, 0), seen(sources, 0);
  for (auto i = first; i < n; ++i) ++of[plan.source[i]];
  auto const present = static_cast<std::int64_t>(sources) - std::count(of.begin(), of.end(), std::int64_t{0});
  auto const all = static_cast<std::int64_t>(n - first);
  auto const limit = present > 2 ? 2 * all - (all + present - 2) / (present - 1) : all - 1;  // in steps times `all`
  for (auto i = first; i < n; ++i) {
    auto const s = plan.source[i];
    auto const place = static_cast<std::int64_t>(i - first);
    auto const behind = of[s] * place - all * seen[s]++;
    auto const ahead = all * seen[s] - of[s] * (place + 1);
    if (behind > limit || ahead > limit) return {curriculum_fault::uneven, i};
  }
  return {};
}

}  // namespace detail

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
[[nodiscard]] inline verdict check_curriculum(curriculum_plan const& plan, std::span<curriculum_source const> sources,
                                              curriculum_options const& options) {
  using broken = curriculum_fault;
  auto const n = plan.source.size(), k = sources.size();
  if (plan.index.size() != n || plan.settings.size() != k || plan.warm_up > n || plan.epoch != options.epoch)
    return {broken::wrong_shape, 0};
  for (std::size_t s = 0; s < k; ++s)
    if (plan.settings[s] != sources[s].setting) return {broken::wrong_settings, s};
  for (std::size_t i = 0; i < n; ++i)
    if (plan.source[i] >= k) return {broken::source_out_of_range, i};
  for (std::size_t i = 0; i < n; ++i)
    if (plan.index[i] >= sources[plan.source[i]].steps) return {broken::index_out_of_range, i};

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
    return {broken::long_warm_up, 0};
  auto const first = static_cast<std::size_t>(plan.warm_up);
  for (std::size_t i = 0; i < first; ++i)
    if (sources[plan.source[i]].setting.capacity != least) return {broken::wrong_warm_up, i};

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
