// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/check.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/core/weigh.hpp>
#include <ballast/partition/options.hpp>
#include <ballast/partition/result.hpp>
#include <ballast/partition/stage_cost.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// The definition of a partition, layer by layer, only for the validator: the partitioners do not include this header.

namespace ballast::inline v0_2 {

/// @brief The rule that a partition breaks.
struct partition_fault : common_fault {
  static constexpr rule wrong_count{"there are {found} boundaries, not {expected}"};
  static constexpr rule bad_boundaries{"boundaries[{index}] = {found}: boundaries must rise from 0 to the number of layers, {expected}"};
  static constexpr rule too_few_layers{"stage {index} has {found} layers, fewer than {expected}"};
  static constexpr rule too_few_weighted{"stage {index} has {found} layers with a cost above 0, fewer than {expected}"};
  static constexpr rule overfull_stage{"stage {index} holds {found}, more than its capacity {expected}"};
  static constexpr rule false_bound{"bottleneck.lower_bound = {found}, but some cut costs less"};
  static constexpr rule needless_refusal{"the result says that there is no plan, but there is one"};
  static constexpr rule plan_refused{"the result says that there is no plan, but has {found} boundaries"};
};

namespace detail {

/// The definition: the cost of a stage, and which rule it breaks. Sums are capped at `unaffordable`.
struct layer_rules {
  std::vector<std::int64_t> costs;
  partition_options const& options;

  template <length_range R, cost_model Cost>
  layer_rules(R const& layers, partition_options const& o, Cost const& cost) : options(o) {
    for (auto const layer : layers)
      costs.push_back(checked_cost(layer, cost, "cost", [&] { return entry("layers", costs.size(), layer); }));
  }
  [[nodiscard]] static std::int64_t add(std::int64_t a, std::int64_t b) { return a > unaffordable - b ? unaffordable : a + b; }
  [[nodiscard]] std::uint64_t layers() const { return costs.size(); }
  [[nodiscard]] std::int64_t at_cut(std::uint64_t cut) const {
    return options.transfer.empty() || cut == 0 || cut >= layers() ? 0 : options.transfer[static_cast<std::size_t>(cut - 1)];
  }

  /// A stage that grows layer by layer from its begin.
  struct stage {
    layer_rules const& rules;
    std::uint64_t number, begin, end = begin, weighted = 0;
    std::int64_t work = 0, held = 0;
    void grow() {
      auto const i = static_cast<std::size_t>(end++);
      work = add(work, rules.costs[i]);
      weighted += rules.costs[i] > 0 ? 1U : 0U;
      if (!rules.options.size.empty()) held = add(held, rules.options.size[i]);
    }
    /// The part of the cost that does not decrease if the stage grows.
    [[nodiscard]] std::int64_t least() const {
      auto const unit = rules.options.unit_time.empty() ? 1 : rules.options.unit_time[static_cast<std::size_t>(number)];
      return work > unaffordable / unit ? unaffordable : work * unit;
    }
    [[nodiscard]] std::int64_t cost() const { return add(least(), add(rules.at_cut(begin), rules.at_cut(end))); }
    [[nodiscard]] std::int64_t room() const {
      return rules.options.capacity.empty() ? unaffordable : rules.options.capacity[static_cast<std::size_t>(number)];
    }
    [[nodiscard]] verdict first_fault() const {
      using broken = partition_fault;
      if (end - begin < rules.options.min_layers) return {broken::too_few_layers, number, end - begin, rules.options.min_layers};
      if (weighted < rules.options.min_weighted) return {broken::too_few_weighted, number, weighted, rules.options.min_weighted};
      if (held > room()) return {broken::overfull_stage, number, held, room()};
      return {};
    }
    [[nodiscard]] bool outgrown(std::int64_t limit) const { return least() > limit || held > room(); }
  };
  [[nodiscard]] stage open(std::uint64_t number, std::uint64_t begin) const { return {*this, number, begin}; }
};

/// The definition for a cost given as a callable.
template <stage_cost Cost>
struct callable_rules {
  std::uint64_t count;
  partition_options const& options;
  Cost const& weigh;
  [[nodiscard]] std::uint64_t layers() const { return count; }

  struct stage {
    callable_rules const& rules;
    std::uint64_t number, begin, end = begin;
    void grow() { ++end; }
    [[nodiscard]] std::int64_t cost() const { return begin == end ? 0 : static_cast<std::int64_t>(rules.weigh(begin, end, number)); }
    [[nodiscard]] verdict first_fault() const {
      using broken = partition_fault;
      if (end - begin < rules.options.min_layers) return {broken::too_few_layers, number, end - begin, rules.options.min_layers};
      if (cost() == unaffordable) return {broken::overfull_stage, number, cost(), cost() - 1};
      return {};
    }
    [[nodiscard]] bool outgrown(std::int64_t limit) const { return cost() > limit; }
  };
  [[nodiscard]] stage open(std::uint64_t number, std::uint64_t begin) const { return {*this, number, begin}; }
};

/// Whether some partition keeps the rules and has no stage above the limit: tries every end, from the last stage backwards.
template <class Rules>
[[nodiscard]] bool some_cut_within(Rules const& rules, std::int64_t limit) {
  auto const n = rules.layers(), p = rules.options.stages;
  std::uint64_t at = 0;  // if each stage takes as much as it can, it gets at least as far as in any partition
  for (std::uint64_t s = 0; s < p && at < n; ++s) {
    auto stage = rules.open(s, at);
    while (stage.end < n) {
      stage.grow();
      if (stage.outgrown(limit)) break;
      at = stage.end;
    }
  }
  if (at < n) return false;
  std::vector<bool> behind(static_cast<std::size_t>(n) + 1), here;  // whether the later stages can run the layers from there on
  behind[static_cast<std::size_t>(n)] = true;
  for (auto s = p; s-- > 0; behind = here) {
    here.assign(behind.size(), false);
    for (std::uint64_t begin = 0; begin <= n; ++begin) {
      auto stage = rules.open(s, begin);
      for (; !here[static_cast<std::size_t>(begin)] && !stage.outgrown(limit); stage.grow()) {
        if (behind[static_cast<std::size_t>(stage.end)] && stage.first_fault().valid() && stage.cost() <= limit)
          here[static_cast<std::size_t>(begin)] = true;
        if (stage.end == n) break;
      }
    }
  }
  return behind[0];
}

/// Returns the first rule that boundaries break; adds the cost of stage `s` to `loads[s % size]`.
template <class Rules, index_type Index>
[[nodiscard]] verdict check_boundaries(std::span<Index const> boundaries, Rules const& rules, std::span<std::int64_t> loads) {
  using broken = partition_fault;
  auto const n = rules.layers(), p = rules.options.stages;
  if (boundaries.size() != p + 1) return {broken::wrong_count, 0, boundaries.size(), p + 1};
  if (auto const v = check_offsets(boundaries, n, broken::bad_boundaries); !v.valid()) return v;
  for (std::size_t s = 0; s < p; ++s) {
    auto stage = rules.open(s, boundaries[s]);
    while (stage.end < boundaries[s + 1]) stage.grow();
    if (auto const v = stage.first_fault(); !v.valid()) return v;
    auto& load = loads[s % loads.size()];
    load = layer_rules::add(load, stage.cost());
  }
  return {};
}

/// Checks the complete result against the rules. If a device has several chunks, the bound is not proven again.
template <class Rules, index_type Index>
[[nodiscard]] verdict check_result(staged<Index> const& plan, Rules const& rules, std::uint64_t devices) {
  using broken = partition_fault;
  auto const& [value, bound] = plan.bottleneck;
  if (plan.status != status::feasible) {
    if (!plan.boundaries.empty()) return {broken::plan_refused, 0, plan.boundaries.size(), 0};
    if (bound <= value) return {broken::wrong_bound, 0, bound, value};
    auto const limit = rules.options.limit != 0 ? rules.options.limit : unaffordable - 1;
    if (some_cut_within(rules, limit)) return {broken::needless_refusal, 0, 0, 0};
    return {};
  }
  std::vector<std::int64_t> loads(static_cast<std::size_t>(devices));
  if (auto const v = check_boundaries(std::span<Index const>(plan.boundaries), rules, std::span(loads)); !v.valid()) return v;
  if (auto const v = check_certificate(plan.bottleneck, *std::max_element(loads.begin(), loads.end())); !v.valid()) return v;
  if (devices == rules.options.stages && bound > 0 && some_cut_within(rules, bound - 1)) return {broken::false_bound, 0, bound};
  return {};
}

}  // namespace detail

}  // namespace ballast::inline v0_2
