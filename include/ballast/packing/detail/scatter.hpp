// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/executor.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/pooled_memory.hpp>
#include <ballast/packing/detail/bulk_best_fit.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

// From runs to packs, in passes over memory: computes the offsets from the intervals, sorts the samples into canonical order by a counting
// sort, and copies each sample to its pack in one pass over the runs.

namespace ballast::inline v0_2::detail {

template <index_type Index>
struct scatter_workspace {
  raw_buffer<Index> order;
  raw_buffer<Index> next;
  pooled_vector<std::pair<std::int64_t, Index>> sorted;
};

/// The number of tasks of a pass over `items`, and the begin of each task.
template <class Executor>
[[nodiscard]] std::size_t task_count(Executor const& executor, std::uint64_t items) {
  if constexpr (requires { executor.width(); })
    return static_cast<std::size_t>((std::min)(std::uint64_t{executor.width()}, items / 65536 + 1));
  return 1;
}
[[nodiscard]] constexpr std::uint64_t task_begin(std::uint64_t items, std::size_t tasks, std::size_t task) noexcept {
  return items / tasks * task + (std::min)(std::uint64_t{task}, items % tasks);
}

/// The begin of each pack, from the intervals that the planner left.
inline void fill_offsets(std::uint64_t packs, bulk_workspace const& ws, std::vector<std::uint64_t>& offsets) {
  offsets.resize(static_cast<std::size_t>(packs) + 1);
  offsets[0] = 0;
  for_each_interval(ws, [&](pack_interval const& part) {
    std::fill_n(offsets.begin() + static_cast<std::ptrdiff_t>(part.key + 1), part.packs, part.samples);
  });
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
}

/// The begin of each pack, from the blocks of a plan.
inline void fill_offsets(pack_runs const& plan, std::vector<std::uint64_t>& offsets) {
  offsets.clear();
  offsets.reserve(static_cast<std::size_t>(plan.packs) + 1);
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    auto const end = b + 1 < plan.blocks.size() ? plan.blocks[b + 1].first_pack : plan.packs;
    for (auto at = plan.blocks[b].first_member; offsets.size() < end; at += plan.blocks[b].samples) offsets.push_back(at);
  }
  offsets.push_back(plan.samples);
}

/// Copies the samples at the canonical positions [from, to) to their packs.
template <index_type Index>
void fill_members(std::span<pack_run const> runs, std::uint64_t from, std::uint64_t to, std::uint64_t const* offsets, Index const* order,
                  Index* members) {
  if (from == to) return;
  auto run = std::upper_bound(runs.begin(), runs.end(), from, [](auto p, pack_run const& r) { return p < r.first; }) - 1;
  for (auto p = from; p < to; ++run) {
    auto const end = (std::min)(to, run + 1 == runs.end() ? to : run[1].first);
    auto pack = run->pack + (p - run->first) / run->per_pack;
    if (run->per_pack == 1) {
      for (auto const slot = run->slot; p < end; ++p) members[offsets[pack++] + slot] = order[p];
      continue;
    }
    auto before = (p - run->first) % run->per_pack;
    while (p < end) {
      auto* const at = members + offsets[pack++] + run->slot;
      auto const stop = (std::min)(run->per_pack, before + (end - p));
      for (; before < stop; ++before) at[before] = order[p++];
      before = 0;
    }
  }
}

/// Copies all samples to their packs, in as many tasks as `executor` offers.
template <index_type Index, class Executor>
void fill_members(std::span<pack_run const> runs, std::uint64_t samples, std::uint64_t const* offsets, Index const* order, Index* members,
                  Executor const& executor) {
  auto const tasks = task_count(executor, samples);
  executor(tasks, [&](std::size_t task) {
    fill_members(runs, task_begin(samples, tasks, task), task_begin(samples, tasks, task + 1), offsets, order, members);
  });
}

/// Writes the items of weight 1 … longest in canonical order: by weight, descending, then in the order of the visits `visit(0)` …
/// `visit(count - 1)`. The result does not depend on the number of tasks.
template <index_type Index, class Weights, class Order, class Executor>
void sort_canonically(Weights const& weight, std::size_t count, Order const& visit, histogram const& classes, Index* out,
                      scatter_workspace<Index>& ws, Executor const& executor) {
  if (classes.lengths.empty()) return;
  auto const longest = classes.lengths.back();
  if (longest > longest_for_a_table(count)) {
    ws.sorted.clear();
    for (std::size_t j = 0; j < count; ++j)
      if (auto const w = static_cast<std::int64_t>(weight[visit(j)]); w != 0) ws.sorted.emplace_back(-w, static_cast<Index>(j));
    std::sort(ws.sorted.data(), ws.sorted.data() + ws.sorted.size());
    for (std::size_t p = 0; p < ws.sorted.size(); ++p) out[p] = static_cast<Index>(visit(ws.sorted[p].second));
    return;
  }
  auto const width = static_cast<std::size_t>(longest) + 1;
  auto const tasks = task_count(executor, count);
  auto* const next = ws.next.get(tasks * width);
  auto const begin_of = [&](std::size_t task) { return static_cast<std::size_t>(task_begin(count, tasks, task)); };
  auto const weight_at = [&](std::size_t j) { return static_cast<std::size_t>(weight[visit(j)]); };
  if (tasks > 1)
    executor(tasks, [&](std::size_t task) {
      auto* const counts = next + task * width;
      std::fill_n(counts, width, Index{0});
      for (auto j = begin_of(task); j < begin_of(task + 1); ++j) ++counts[weight_at(j)];
    });
  std::uint64_t first = 0;
  for (auto c = classes.lengths.size(); c-- > 0;) {
    auto position = static_cast<Index>(first);
    for (std::size_t task = 0; task < tasks; ++task) {
      auto& slot = next[task * width + static_cast<std::size_t>(classes.lengths[c])];
      auto const here = tasks > 1 ? slot : Index{0};
      slot = position;
      position = static_cast<Index>(position + here);
    }
    first += classes.counts[c];
  }
  executor(tasks, [&](std::size_t task) {
    auto* const position = next + task * width;
    for (auto j = begin_of(task), end = begin_of(task + 1); j < end; ++j) {
      auto const w = weight_at(j);
      if (w != 0) out[position[w]++] = static_cast<Index>(visit(j));
    }
  });
}

/// The items in their given order.
struct in_order {
  [[nodiscard]] constexpr std::size_t operator()(std::size_t j) const noexcept { return j; }
};

/// The items that are packed, in canonical order, in memory of the workspace.
template <class Items, index_type Index, class Executor>
[[nodiscard]] Index const* canonical_order(Items const& items, scatter_workspace<Index>& ws, Executor const& executor) {
  auto* const order = ws.order.get(static_cast<std::size_t>(items.classes.samples()));
  sort_canonically(items.weight, items.count, in_order{}, items.classes, order, ws, executor);
  return order;
}

/// The packs of a plan that `bulk_best_fit` left, from the samples in canonical order.
template <index_type Index, class Executor>
void expand(std::uint64_t packs, bulk_workspace const& plan, Index const* order, groups<Index>& out, Executor const& executor) {
  fill_offsets(packs, plan, out.offsets);
  out.members.resize(static_cast<std::size_t>(out.offsets.back()));
  fill_members(plan.runs, out.offsets.back(), out.offsets.data(), order, out.members.data(), executor);
}

}  // namespace ballast::inline v0_2::detail
