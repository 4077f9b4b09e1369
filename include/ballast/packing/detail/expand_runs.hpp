// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/math.hpp>
#include <ballast/packing/detail/scatter.hpp>
#include <ballast/packing/runs.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <string>

// Expands a plan of runs with samples, which must be those that it was made for.

namespace ballast::inline v0_2::detail {

/// Lengths with the rounding of a plan.
template <class Lengths>
struct padded_lengths {
  Lengths length;
  std::int64_t multiple;
  [[nodiscard]] std::int64_t operator[](std::size_t i) const { return round_up(static_cast<std::int64_t>(length[i]), multiple); }
};

/// The weights that a plan was made for.
[[nodiscard]] inline histogram classes_of(pack_runs const& plan) {
  histogram h;
  for (auto r = plan.runs.size(); r-- > 0;) {
    if (h.lengths.empty() || h.lengths.back() != plan.runs[r].length) {
      h.lengths.push_back(plan.runs[r].length);
      h.counts.push_back(0);
    }
    h.counts.back() += (r + 1 < plan.runs.size() ? plan.runs[r + 1].first : plan.samples) - plan.runs[r].first;
  }
  return h;
}

inline void require_same_classes(histogram const& here, histogram const& planned) {
  if (here == planned) return;
  for (std::size_t i = 0, j = 0;;) {  // the message names the shortest length whose count differs
    auto const a = i < here.lengths.size() ? here.lengths[i] : 0;
    auto const b = j < planned.lengths.size() ? planned.lengths[j] : 0;
    auto const length = a == 0 || (b != 0 && b < a) ? b : a;
    auto const mine = a == length ? here.counts[i] : 0;
    auto const theirs = b == length ? planned.counts[j] : 0;
    require(mine == theirs, [&] {
      return "lengths: " + std::to_string(mine) + " samples of " + std::to_string(length) + " tokens, but the plan was made for " +
             std::to_string(theirs);
    });
    i += a == length ? 1 : 0;
    j += b == length ? 1 : 0;
  }
}

/// The order in which samples are visited.
template <index_type Index>
struct by_order {
  Index const* order;
  [[nodiscard]] std::size_t operator()(std::size_t j) const noexcept { return static_cast<std::size_t>(order[j]); }
};

template <index_type Index, length_range R, class Visit, class Executor>
groups<Index> expand(pack_runs const& plan, R const& lengths, Visit const& visit, Executor const& executor) {
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  auto const length_at = read_by_position(lengths);
  require(n == plan.samples,
          [&] { return std::to_string(n) + " lengths, but the plan was made for " + std::to_string(plan.samples) + " samples"; });
  require(n <= (std::numeric_limits<Index>::max)(),
          [&] { return std::to_string(n) + " samples need a 64-bit index: call with <std::uint64_t>"; });
  auto const whole = extent_of(lengths);
  auto const planned = classes_of(plan);
  padded_lengths<decltype(length_at)> const weight{length_at, plan.sample_multiple};
  require(whole.longest <= plan.capacity, [&] {
    return "lengths: one of " + std::to_string(whole.longest) + " tokens, but the plan was made for packs of " +
           std::to_string(plan.capacity);
  });
  histogram classes;
  fold_workspace folds;
  fold(weight, n, n == 0 ? 0 : round_up(whole.longest, plan.sample_multiple), classes, folds);
  require_same_classes(classes, planned);

  groups<Index> packs;
  scatter_workspace<Index> ws;
  fill_offsets(plan, packs.offsets);
  auto* const order = ws.order.get(n);
  sort_canonically(weight, n, visit, planned, order, ws, executor);
  packs.members.resize(n);
  fill_members(plan.runs, n, packs.offsets.data(), order, packs.members.data(), executor);
  return packs;
}

}  // namespace ballast::inline v0_2::detail
