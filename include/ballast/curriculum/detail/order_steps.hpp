// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/curriculum/apportion.hpp>
#include <ballast/curriculum/detail/interleave.hpp>
#include <ballast/curriculum/detail/sequence.hpp>
#include <ballast/curriculum/options.hpp>
#include <ballast/curriculum/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

// The number of steps of each source in the warm-up: in proportion, from the sources of smallest capacity that have steps.
template <class = when_called>
[[nodiscard]] inline std::vector<std::uint64_t> warm_up_counts(std::span<curriculum_source const> sources,
                                                               std::span<std::uint64_t const> count, curriculum_options const& o) {
  auto least = (std::numeric_limits<std::int64_t>::max)();
  for (std::size_t s = 0; s < sources.size(); ++s)
    if (count[s] > 0) least = (std::min)(least, sources[s].setting.capacity);
  std::vector<std::int64_t> share(sources.size(), 0);
  std::uint64_t eligible = 0;
  for (std::size_t s = 0; s < sources.size(); ++s)
    if (sources[s].setting.capacity == least) {
      share[s] = static_cast<std::int64_t>(count[s]);
      eligible += count[s];
    }
  return largest_remainder(share, o.epoch > 0 ? 0 : (std::min)(o.warm_up, eligible * o.warm_up_share / 1000));
}

// Appends `count[s]` steps of each source to the order, evenly mixed; the seed rotates the cycle.
template <class = when_called>
inline void append_interleaved(std::vector<std::uint32_t>& order, std::span<std::uint64_t const> count, std::uint64_t seed) {
  auto const cycle = interleave(count);
  if (cycle.empty()) return;
  splitmix64 draw(seed);
  auto const phase = static_cast<std::ptrdiff_t>(uniform_below(cycle.size(), draw));
  order.insert(order.end(), cycle.begin() + phase, cycle.end());
  order.insert(order.end(), cycle.begin(), cycle.begin() + phase);
}

// Sorts the steps after the warm-up, which are in random order, by their keys. Steps with equal keys, and steps of one bucket, keep their
// order.
template <class = when_called>
inline void order_by_key(curriculum_plan& plan, std::span<curriculum_source const> sources, curriculum_options const& o) {
  auto const first = static_cast<std::size_t>(plan.warm_up), n = plan.size() - first;
  std::vector<std::pair<std::int64_t, std::uint32_t>> by_key(n);
  for (std::size_t i = 0; i < n; ++i) {
    auto const& source = sources[plan.source[first + i]];
    by_key[i] = {source.keys.empty() ? source.setting.capacity : source.keys[plan.index[first + i]], static_cast<std::uint32_t>(i)};
  }
  std::sort(by_key.begin(), by_key.end());
  std::vector<std::uint32_t> order(n);
  if (o.order == curriculum_order::ascending) {
    for (std::size_t i = 0; i < n; ++i) order[i] = by_key[i].second;
  } else {
    auto const buckets = static_cast<std::size_t>((std::min)(o.buckets, static_cast<std::uint64_t>(n)));
    auto turn = random_permutation(buckets, curriculum_seed(o.seed, curriculum_draw::buckets, {o.epoch}));
    if (o.order == curriculum_order::ascending_buckets) std::sort(turn.begin(), turn.end());
    std::vector<std::size_t> bucket(n), next(buckets);
    std::size_t place = 0;
    for (std::size_t b : turn) {
      next[b] = place;
      for (auto r = b * n / buckets; r < (b + 1) * n / buckets; ++r, ++place) bucket[by_key[r].second] = b;
    }
    for (std::uint32_t i = 0; i < n; ++i) order[next[bucket[i]]++] = i;
  }
  std::vector<std::uint32_t> const source(plan.source.begin() + static_cast<std::ptrdiff_t>(first), plan.source.end());
  std::vector<std::uint32_t> const index(plan.index.begin() + static_cast<std::ptrdiff_t>(first), plan.index.end());
  for (std::size_t i = 0; i < n; ++i) {
    plan.source[first + i] = source[order[i]];
    plan.index[first + i] = index[order[i]];
  }
}

}  // namespace ballast::inline v0_2::detail
