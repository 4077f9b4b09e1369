// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/curriculum/apportion.hpp>
#include <ballast/curriculum/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `plan_curriculum`: orders the steps of an epoch.

namespace ballast::inline v0_2 {

namespace detail {

// The purpose of a draw; each purpose has its own random numbers.
enum class curriculum_draw : std::uint64_t { pass, thinned, window, phase, mix, buckets };

[[nodiscard]] constexpr std::uint64_t curriculum_seed(std::uint64_t seed, curriculum_draw what,
                                                      std::initializer_list<std::uint64_t> which) noexcept {
  auto mixed = splitmix64(splitmix64(seed)() + static_cast<std::uint64_t>(what))();
  for (auto w : which) mixed = splitmix64(mixed + w)();
  return mixed;
}

template <class = when_called>
inline void shuffle(std::vector<std::uint32_t>& items, std::size_t first, std::uint64_t seed) {
  splitmix64 draw(seed);
  for (auto i = first + 1; i < items.size(); ++i)
    std::swap(items[i], items[first + static_cast<std::size_t>(uniform_below(i - first + 1, draw))]);
}

// How far epochs 0 … epoch - 1 have moved the window of a source that trains a part of its steps.
[[nodiscard]] inline std::uint64_t window_start(curriculum_source const& source, std::uint64_t epoch) {
  auto const listed = (std::min)(epoch, static_cast<std::uint64_t>(source.per_epoch.size()));
  std::uint64_t moved = 0;
  for (std::uint64_t e = 0; e < listed; ++e) moved += steps_in_epoch(source, e) % source.steps;
  return (moved + (epoch - listed) * (steps_in_epoch(source, epoch) % source.steps)) % source.steps;
}

// The steps of source `s` in an epoch: full passes in random order, then the rest. The rest of each epoch is the next window of one fixed
// permutation, taken cyclically. So over any number of epochs, the numbers of times that two steps were trained differ by at most one.
template <class = when_called>
[[nodiscard]] inline std::vector<std::uint32_t> epoch_sequence(curriculum_source const& source, std::uint64_t s, std::uint64_t epoch,
                                                               std::uint64_t seed) {
  auto const count = steps_in_epoch(source, epoch);
  if (count == 0) return {};
  auto const n = static_cast<std::size_t>(source.steps);
  auto const pass = [&](std::uint64_t p) { return random_permutation(n, curriculum_seed(seed, curriculum_draw::pass, {s, epoch, p})); };
  if (count == n) return pass(0);
  std::vector<std::uint32_t> sequence;
  sequence.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t p = 0; p < count / n; ++p) {
    auto const all = pass(p);
    sequence.insert(sequence.end(), all.begin(), all.end());
  }
  if (auto const rest = static_cast<std::size_t>(count % n); rest > 0) {
    auto const fixed = random_permutation(n, curriculum_seed(seed, curriculum_draw::thinned, {s}));
    auto const start = static_cast<std::size_t>(window_start(source, epoch)), whole = sequence.size();
    for (std::size_t i = 0; i < rest; ++i) sequence.push_back(fixed[(start + i) % n]);
    shuffle(sequence, whole, curriculum_seed(seed, curriculum_draw::window, {s, epoch}));
  }
  return sequence;
}

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

}  // namespace detail

/// @brief Orders the steps of one epoch: a warm-up on the smallest capacity, then all other steps in the order `options.order`.
///
/// Each source has exactly the number of steps in its `per_epoch`, so the length of an epoch is known before planning. The plan is a pure
/// function of its arguments, so training can continue at any step after planning again.
///
/// @param sources  levels or data sets, with their setting, number of steps and keys
/// @param options  order, warm-up, seed and epoch
/// @return source and index of every step, in training order
///
/// @post if a source has n steps and an epoch trains c steps of it, each step is trained c / n times, rounded down or up; after any number
/// of epochs, the numbers of times that two steps of a source were trained differ by at most one
/// @post with `interleaved`, after the warm-up every source is within 2 - 1 / (k - 1) steps of its share at every point, where k > 1
/// sources have steps left; with two sources within less than 1 step
/// @throws invalid_input unless every capacity, every SP degree and the number of buckets are positive, keys match their steps in number,
/// no source without steps must give some, and every epoch has fewer than 2^31 steps
/// @par Complexity
/// O(steps log sources) for `interleaved`, O(steps) for `random`, O(steps log steps) by keys.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Warm-up: Yao et al., "Hierarchical Balance Packing", arXiv 2503.07680, section on the dynamic training pipeline. Limit of the warm-up:
/// this library. Interleaving: Tijdeman, "The chairman assignment problem", Discrete Mathematics 32 (1980), rotated by a random phase.
template <class = when_called>
[[nodiscard]] curriculum_plan plan_curriculum(std::span<curriculum_source const> sources, curriculum_options const& options = {}) {
  detail::require_valid(sources, options);
  auto const total = static_cast<std::size_t>(detail::steps_in_epoch(sources, options.epoch));
  curriculum_plan plan;
  plan.epoch = options.epoch;
  std::vector<std::uint64_t> count;
  for (auto const& source : sources) {
    plan.settings.push_back(source.setting);
    count.push_back(detail::steps_in_epoch(source, options.epoch));
  }
  auto const early = detail::warm_up_counts(sources, count, options);
  for (std::size_t s = 0; s < count.size(); ++s) {
    plan.warm_up += early[s];
    count[s] -= early[s];
  }
  auto const seed = [&](detail::curriculum_draw what, std::uint64_t part) {
    return detail::curriculum_seed(options.seed, what, {options.epoch, part});
  };
  plan.source.reserve(total);
  detail::append_interleaved(plan.source, early, seed(detail::curriculum_draw::phase, 0));
  if (options.order == curriculum_order::interleaved) {
    detail::append_interleaved(plan.source, count, seed(detail::curriculum_draw::phase, 1));
  } else {
    for (std::uint32_t s = 0; s < count.size(); ++s) plan.source.insert(plan.source.end(), static_cast<std::size_t>(count[s]), s);
    detail::shuffle(plan.source, static_cast<std::size_t>(plan.warm_up), seed(detail::curriculum_draw::mix, 0));
  }
  std::vector<std::vector<std::uint32_t>> sequence;
  sequence.reserve(sources.size());
  for (std::size_t s = 0; s < sources.size(); ++s) sequence.push_back(detail::epoch_sequence(sources[s], s, options.epoch, options.seed));
  std::vector<std::size_t> taken(sources.size(), 0);
  plan.index.reserve(total);
  for (auto s : plan.source) plan.index.push_back(sequence[s][taken[s]++]);
  if (options.order > curriculum_order::random && total > plan.warm_up) detail::order_by_key(plan, sources, options);
  return plan;
}

BALLAST_INSTANTIATE(curriculum_plan plan_curriculum(std::span<curriculum_source const>, curriculum_options const&))

}  // namespace ballast::inline v0_2
