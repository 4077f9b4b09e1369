// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/classes.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/run_length.hpp>
#include <ballast/packing/shuffled.hpp>
#include <ballast/packing/vector/bin_completion.hpp>
#include <ballast/packing/vector/measures.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

// How `plan_steps` packs if it makes packs first.

namespace ballast::inline v0_2::detail {

/// Packs by best fit in a random order, which mixes samples well. While this takes more steps than best-fit decreasing, up to a few rounds
/// pack its emptiest packs again, longest samples first, which mixes nearly as well.
template <index_type Index>
[[nodiscard]] groups<Index> pack_for_steps(weighed_samples const& items, batching_options const& o) {
  auto const places = static_cast<std::size_t>(o.ranks * o.micro_batches);
  auto const steps_of = [&](std::size_t count) { return (count + places - 1) / places; };
  std::deque<groups<Index>> made;
  made.push_back(best_fit_shuffled<Index>(items.tokens, {.capacity = o.capacity, .seed = epoch_seed(o)}).packs);
  auto const goal = steps_of(static_cast<std::size_t>(count_packs(ballast::fold(items.tokens), {.capacity = o.capacity}).count.value));
  if (steps_of(made[0].size()) <= goal) return std::move(made[0]);
  std::vector<std::span<Index const>> packs(made[0].begin(), made[0].end());
  std::vector<keyed_item<Index>> order, scratch;
  for (std::size_t p = 0; p < packs.size(); ++p) order.push_back({-sum_of(items.tokens, packs[p]), static_cast<Index>(p)});
  std::vector<Index> members;
  std::vector<std::int64_t> tokens;
  for (std::size_t const part : {10U, 10U, 10U, 20U, 15U, 30U}) {
    if (steps_of(packs.size()) <= goal) break;
    auto const again = packs.size() * part / 100;
    sort_largest_first(order, scratch);
    members.clear();
    tokens.clear();
    for (std::size_t k = 0; k < again; ++k)
      for (auto i : packs[order[k].item]) {
        members.push_back(i);
        tokens.push_back(items.tokens[i]);
      }
    made.push_back(best_fit_decreasing<Index>(tokens, {.capacity = o.capacity}).packs);
    auto& fewer = made.back();
    if (fewer.size() > again) continue;
    for (auto& m : fewer.members) m = members[m];
    std::vector<std::span<Index const>> now(fewer.begin(), fewer.end());
    for (std::size_t k = again; k < packs.size(); ++k) now.push_back(packs[order[k].item]);
    scratch.clear();
    for (std::size_t p = 0; p < now.size(); ++p)
      scratch.push_back({p < fewer.size() ? -sum_of(items.tokens, now[p]) : order[p - fewer.size() + again].key, static_cast<Index>(p)});
    packs.swap(now);
    order.swap(scratch);
  }
  return groups_of(packs);
}

/// Packs by best fit in a random order or, if that takes fewer steps, by completion, for which a limit of samples is one more measure.
template <index_type Index>
[[nodiscard]] groups<Index> pack_limited(weighed_samples const& items, batching_options const& o, std::uint64_t max_samples) {
  auto const seed = epoch_seed(o);
  auto const places = o.ranks * o.micro_batches;
  auto mixed = best_fit_shuffled<Index>(items.tokens, {.capacity = o.capacity, .max_samples = max_samples, .seed = seed}).packs;
  auto const order = random_permutation<Index>(items.size(), seed);  // equal samples change places from epoch to epoch
  std::vector<keyed_item<Index>> shortest_first, scratch;
  shortest_first.reserve(order.size());
  for (auto const i : order) shortest_first.push_back({-items.tokens[i], static_cast<Index>(shortest_first.size())});
  sort_largest_first(shortest_first, scratch);
  measure_classes classes{2, {}, {}};
  std::vector<std::size_t> next;  // of each class: its first sample that has no pack yet
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (auto const key = shortest_first[k].key; k == 0 || key != shortest_first[k - 1].key) {
      classes.values.insert(classes.values.end(), {-key, 1});
      classes.counts.push_back(0);
      next.push_back(k);
    }
    ++classes.counts.back();
  }
  constexpr std::uint64_t most = (std::numeric_limits<std::int64_t>::max)();
  std::int64_t const capacity[] = {o.capacity, static_cast<std::int64_t>((std::min)(max_samples, most))};
  auto const completed = plan_bin_completion(classes, capacity);
  if (divide_up(completed.packs(), places) >= divide_up(std::uint64_t{mixed.size()}, places)) return mixed;
  groups<Index> packs;
  std::vector<Index> members;
  for (std::size_t p = 0; p < completed.size(); ++p)
    for (std::uint64_t copy = 0; copy < completed.repeats[p]; ++copy) {
      members.clear();
      for (auto const& [c, copies] : completed[p])
        for (std::uint32_t k = 0; k < copies; ++k) members.push_back(order[shortest_first[next[c]++].item]);
      packs.push_back(members);
    }
  return packs;
}

/// Packs the items of each key by best fit in a random order.
template <index_type Index>
[[nodiscard]] groups<Index> pack_apart(weighed_samples const& items, std::span<std::uint64_t const> key, batching_options const& o) {
  std::vector<Index> order(items.size());
  std::iota(order.begin(), order.end(), Index{0});
  if (!key.empty()) sort_by(order, [&](Index a, Index b) { return key[a] != key[b] ? key[a] < key[b] : a < b; });
  groups<Index> packs;
  std::vector<std::int64_t> tokens;
  std::vector<Index> members;
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    tokens.clear();
    for (end = begin; end < order.size() && (key.empty() || key[order[end]] == key[order[begin]]); ++end)
      tokens.push_back(items.tokens[order[end]]);
    for (auto const pack : best_fit_shuffled<Index>(tokens, {.capacity = o.capacity, .seed = epoch_seed(o)}).packs) {
      members.clear();
      for (auto k : pack) members.push_back(order[begin + k]);
      packs.push_back(members);
    }
  }
  return packs;
}

}  // namespace ballast::inline v0_2::detail
