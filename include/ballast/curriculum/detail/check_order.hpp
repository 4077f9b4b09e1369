// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/verdict.hpp>
#include <ballast/curriculum/fault.hpp>
#include <ballast/curriculum/options.hpp>
#include <ballast/curriculum/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

// The longer rules of a curriculum. They share no code with the planner.

namespace ballast::inline v0_2::detail {

/// Every source must have the demanded number of steps, and each of its steps its share of that number.
template <class = when_called>
[[nodiscard]] inline verdict<curriculum_fault> check_counts(curriculum_plan const& plan, std::span<curriculum_source const> sources,
                                                            std::vector<std::uint64_t> const& asked) {
  using enum curriculum_fault;
  auto const n = plan.source.size(), k = sources.size();
  std::vector<std::uint64_t> count(k, 0);
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
  return {};
}

/// Keys after the warm-up must ascend from bucket to bucket; there are `buckets` buckets, or as many as steps if that is less.
template <class = when_called>
[[nodiscard]] inline verdict<curriculum_fault> check_ascending(curriculum_plan const& plan, std::span<curriculum_source const> sources,
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
[[nodiscard]] inline verdict<curriculum_fault> check_interleaved(curriculum_plan const& plan, std::size_t sources) {
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

}  // namespace ballast::inline v0_2::detail
