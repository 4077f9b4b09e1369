// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/partition/stage_cost.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

// The forms in which a chain comes to the probe. Each answers five questions: the cost of a stage; a lower bound on it that does not
// decrease if the stage grows (`relaxed`); how far a stage reaches under a limit on that bound (`furthest`); the latest begin at which a
// stage still has the minimum of layers (`latest_start`); and whether the cost itself does not decrease (`monotone`).

namespace ballast::inline v0_2::detail {

inline constexpr std::size_t no_start = (std::numeric_limits<std::size_t>::max)();

/// The last position in [low, high] with sums[position] <= target; `sums[low] <= target`, and sums never decrease.
[[nodiscard]] inline std::size_t last_within(std::span<std::int64_t const> sums, std::int64_t target, std::size_t low, std::size_t high) {
  if (sums[high] <= target) return high;
  auto const* first = sums.data() + low + 1;  // the first sum above the target is in [first, first + left)
  auto left = high - low;
  while (left > 1) {
    auto const half = left / 2;
    first += first[half - 1] <= target ? half : 0;
    left -= half;
  }
  return static_cast<std::size_t>(first - sums.data()) - 1;
}

/// Layers as prefix sums, with everything that options say about them.
struct chain_data {
  std::vector<std::int64_t> work, size;     ///< prefix sums: layers + 1 entries from 0; no sizes if there are no capacities
  std::vector<std::int64_t> transfer;       ///< for each cut 0 … layers, 0 at both ends; empty if there are no transfers
  std::vector<std::size_t> rank, weighted;  ///< number of layers with a cost above 0 before each cut, and their positions; if limited
  std::span<std::int64_t const> unit_time, capacity;
  std::size_t layers = 0, stages = 0, min_layers = 0, min_weighted = 0;
  std::size_t used = 0;      ///< stages that a search considers: all, or the first ones if the others only stay empty
  std::int64_t largest = 0;  ///< cost of the most expensive layer
  double units_per_1 = 1;

  [[nodiscard]] std::int64_t total() const { return work[layers]; }
  [[nodiscard]] std::size_t latest_start(std::size_t end) const {
    if (end < min_layers) return no_start;
    auto const start = end - min_layers;
    if (min_weighted == 0) return start;
    return rank[end] < min_weighted ? no_start : (std::min)(start, weighted[rank[end] - min_weighted]);
  }
  /// Whether every stage costs the sum of its layers, without other limits.
  [[nodiscard]] bool plain() const { return unit_time.empty() && capacity.empty() && transfer.empty(); }
  /// Stages that can have layers: if all stages are equal and may be empty, at most as many as layers.
  [[nodiscard]] std::size_t useful_stages() const {
    auto const spare = min_layers == 0 && min_weighted == 0 && unit_time.empty() && capacity.empty();
    return spare ? (std::min)(stages, (std::max)(layers, std::size_t{1})) : stages;
  }
};

/// Equal stages without capacities: only the sums matter.
struct plain_chain {
  chain_data const& data;
  [[nodiscard]] std::size_t layers() const { return data.layers; }
  [[nodiscard]] std::size_t stages() const { return data.used; }
  [[nodiscard]] std::size_t latest_start(std::size_t end) const { return data.latest_start(end); }
  [[nodiscard]] static constexpr bool monotone() { return true; }
  [[nodiscard]] std::int64_t cost(std::size_t begin, std::size_t end, std::size_t) const { return data.work[end] - data.work[begin]; }
  [[nodiscard]] std::int64_t relaxed(std::size_t begin, std::size_t end, std::size_t) const { return data.work[end] - data.work[begin]; }
  [[nodiscard]] std::size_t furthest(std::size_t begin, std::size_t, std::int64_t limit, std::size_t low, std::size_t high) const {
    auto const before = data.work[begin];
    return last_within(data.work, limit < unaffordable - before ? before + limit : unaffordable, low, high);
  }
};

/// Stages with speeds, capacities and transfers.
struct limited_chain {
  chain_data const& data;
  [[nodiscard]] std::size_t layers() const { return data.layers; }
  [[nodiscard]] std::size_t stages() const { return data.used; }
  [[nodiscard]] std::size_t latest_start(std::size_t end) const { return data.latest_start(end); }
  [[nodiscard]] bool monotone() const { return data.transfer.empty(); }
  [[nodiscard]] std::int64_t unit(std::size_t stage) const { return data.unit_time.empty() ? 1 : data.unit_time[stage]; }
  [[nodiscard]] bool fits(std::size_t begin, std::size_t end, std::size_t stage) const {
    return data.capacity.empty() || data.size[end] - data.size[begin] <= data.capacity[stage];
  }
  [[nodiscard]] std::int64_t relaxed(std::size_t begin, std::size_t end, std::size_t stage) const {
    return fits(begin, end, stage) ? unit(stage) * (data.work[end] - data.work[begin]) : unaffordable;
  }
  [[nodiscard]] std::int64_t cost(std::size_t begin, std::size_t end, std::size_t stage) const {
    auto const own = relaxed(begin, end, stage);
    return own == unaffordable || data.transfer.empty() ? own : own + data.transfer[begin] + data.transfer[end];
  }
  /// The cost of a stage that fits is a value of its end minus this value of its begin; the best begin has the largest value.
  [[nodiscard]] std::int64_t begin_key(std::size_t begin, std::size_t stage) const {
    return unit(stage) * data.work[begin] - data.transfer[begin];
  }
  [[nodiscard]] std::size_t furthest(std::size_t begin, std::size_t stage, std::int64_t limit, std::size_t low, std::size_t high) const {
    auto const budget = limit / unit(stage), before = data.work[begin];
    auto const end = last_within(data.work, budget < unaffordable - before ? before + budget : unaffordable, low, high);
    if (data.capacity.empty()) return end;
    auto const room = data.capacity[stage], held = data.size[begin];
    return last_within(data.size, room < unaffordable - held ? held + room : unaffordable, low, end);
  }
};

/// Stages whose cost is a callable.
template <stage_cost Cost>
struct callable_chain {
  Cost const& weigh;
  std::size_t layer_count, stage_count, min_layers;
  [[nodiscard]] std::size_t layers() const { return layer_count; }
  [[nodiscard]] std::size_t stages() const { return stage_count; }
  [[nodiscard]] static constexpr bool monotone() { return true; }
  [[nodiscard]] std::size_t latest_start(std::size_t end) const { return end < min_layers ? no_start : end - min_layers; }
  [[nodiscard]] std::int64_t cost(std::size_t begin, std::size_t end, std::size_t stage) const {
    if (begin == end) return 0;
    auto const value = weigh(begin, end, stage);
    require(std::in_range<std::int64_t>(value) && std::cmp_greater_equal(value, 0),
            [&] { return sentence("cost(", begin, ", ", end, ", ", stage, ") = ", value, " is outside [0, 2^63)"); });
    return static_cast<std::int64_t>(value);
  }
  [[nodiscard]] std::int64_t relaxed(std::size_t begin, std::size_t end, std::size_t stage) const { return cost(begin, end, stage); }
  [[nodiscard]] std::size_t furthest(std::size_t begin, std::size_t stage, std::int64_t limit, std::size_t low, std::size_t high) const {
    if (low == high) return low;
    std::size_t step = 1;  // costs of long ranges may be expensive to compute, so the search gallops
    while (step < high - low && cost(begin, low + step, stage) <= limit) {
      low += step;
      step *= 2;
    }
    if (step >= high - low) {
      if (cost(begin, high, stage) <= limit) return high;
      step = high - low;
    }
    return first_where(low + 1, low + step, [&](std::size_t end) { return cost(begin, end, stage) > limit; }) - 1;
  }
};

}  // namespace ballast::inline v0_2::detail
