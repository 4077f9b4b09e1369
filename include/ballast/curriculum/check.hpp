// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/verdict.hpp>
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
/// @brief The validator of curricula, ours or anybody's. It shares no code with the planner.

namespace ballast::inline v0_2 {

/// @brief The rule that a curriculum breaks.
enum class curriculum_fault : std::uint8_t {
  none,                 ///< it is a valid plan
  wrong_shape,          ///< the lists are not of one length, or the warm-up is longer than the plan, or the epoch is another
  wrong_settings,       ///< a setting is not that of its source
  source_out_of_range,  ///< a step is of no source
  index_out_of_range,   ///< a step is none of its source's
  wrong_count,          ///< a source does not have as many steps as asked
  step_too_often,       ///< a step is trained more often than its share of the source's count, rounded up
  step_too_seldom,      ///< a step is trained less often than that, rounded down
  long_warm_up,         ///< the warm-up is longer than asked, or takes more than its share, or is not in epoch 0
  wrong_warm_up,        ///< a step of the warm-up is not of the least capacity
  unsorted,             ///< keys, or buckets of them, are to ascend and do not
  uneven,               ///< sources are to be interleaved, and one is too far from its share
};

/// @brief The fault's name. @param fault any of them @return a few words
[[nodiscard]] constexpr char const* to_string(curriculum_fault fault) noexcept {
  constexpr char const* names[] = {"none",        "wrong shape",    "wrong settings",  "source out of range", "index out of range",
                                   "wrong count", "step too often", "step too seldom", "long warm-up",        "wrong warm-up",
                                   "unsorted",    "uneven"};
  return names[static_cast<std::size_t>(fault)];
}

/// @brief A sentence for a verdict. @param v any verdict @return for instance "wrong warm-up at 17"
[[nodiscard]] inline std::string describe(verdict<curriculum_fault> const& v) {
  return v.valid() ? "valid" : std::string(to_string(v.fault)) + " at " + std::to_string(v.index);
}

/// @brief Checks a curriculum against its definition: every step as often as asked, the warm-up short and capped, the order kept.
///
/// @param plan     the plan; it may hold anything
/// @param sources  what was given; valid
/// @param options  what was asked; valid
/// @return the first rule broken, in the order of `curriculum_fault`; its index is the place in training order, for settings and counts
/// the source, for a step too seldom the step, those of all sources numbered one after another
/// @par Complexity
/// O(steps + sources).
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

  std::vector<std::uint64_t> asked(k), count(k, 0);
  for (std::size_t s = 0; s < k; ++s) {
    auto const& listed = sources[s].per_epoch;
    auto const last = static_cast<std::uint64_t>(listed.size()) - 1;
    asked[s] = listed.empty() ? sources[s].steps : listed[static_cast<std::size_t>((std::min)(options.epoch, last))];
  }
  for (auto s : plan.source) ++count[s];
  for (std::size_t s = 0; s < k; ++s)
    if (count[s] != asked[s]) return {wrong_count, s};
  std::vector<std::vector<std::uint64_t>> times(k);
  for (std::size_t s = 0; s < k; ++s) times[s].assign(static_cast<std::size_t>(sources[s].steps), 0);
  for (std::size_t i = 0; i < n; ++i) {
    auto const s = plan.source[i];
    if (++times[s][plan.index[i]] > (asked[s] - 1) / sources[s].steps + 1) return {step_too_often, i};
  }
  std::uint64_t before_source = 0;
  for (std::size_t s = 0; s < k; before_source += sources[s++].steps)
    for (std::size_t i = 0; i < times[s].size(); ++i)
      if (times[s][i] < asked[s] / sources[s].steps) return {step_too_seldom, before_source + i};

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

  auto const rest = n - first;
  if (options.order == curriculum_order::ascending || options.order == curriculum_order::ascending_buckets) {
    auto const most = static_cast<std::uint64_t>(rest);
    auto const buckets = static_cast<std::size_t>(options.order == curriculum_order::ascending ? most : (std::min)(options.buckets, most));
    auto before = (std::numeric_limits<std::int64_t>::min)(), largest = before;
    for (std::size_t b = 0; b < buckets; ++b, before = largest)
      for (auto i = first + b * rest / buckets; i < first + (b + 1) * rest / buckets; ++i) {
        auto const& source = sources[plan.source[i]];
        auto const key = source.keys.empty() ? source.setting.capacity : source.keys[plan.index[i]];
        if (key < before) return {unsorted, i};
        largest = (std::max)(largest, key);
      }
  }
  if (options.order == curriculum_order::interleaved) {
    std::vector<std::int64_t> of(k, 0), seen(k, 0);
    for (auto i = first; i < n; ++i) ++of[plan.source[i]];
    auto const present = static_cast<std::int64_t>(k) - std::count(of.begin(), of.end(), std::int64_t{0});
    auto const all = static_cast<std::int64_t>(rest);
    auto const limit = present > 2 ? 2 * all - (all + present - 2) / (present - 1) : all - 1;  // in steps times `all`
    for (auto i = first; i < n; ++i) {
      auto const s = plan.source[i];
      auto const place = static_cast<std::int64_t>(i - first);
      auto const behind = of[s] * place - all * seen[s]++;
      auto const ahead = all * seen[s] - of[s] * (place + 1);
      if (behind > limit || ahead > limit) return {uneven, i};
    }
  }
  return {};
}

}  // namespace ballast::inline v0_2
