// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/check.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/weights/detail/layout_walk.hpp>
#include <ballast/weights/layout_model.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief The validator of layouts, of this library or any other planner. It shares no code with the planner.

namespace ballast::inline v0_2 {

/// @brief The rules that a plan of layouts can break.
struct weight_layout_fault : common_fault {
  static constexpr rule runs_without_plan{"the plan is infeasible, but has {found} runs"};
  static constexpr rule wrong_chain{"block {index} of the chain is block {found} in the plan, not {expected}"};
  static constexpr rule broken_border{"run {index} reads another layout than is made before it"};
  static constexpr rule illegal_layouts{"layouts {index}: operator {found} cannot work in its layouts"};
  static constexpr rule wrong_time{"layouts {index} take {expected} picoseconds, not {found}"};
  static constexpr rule wrong_bytes{"layouts {index} take {expected} bytes, not {found}"};
  static constexpr rule over_memory{"a device needs {found} bytes, more than the memory {expected}"};
};

/// @brief Computes what layouts of a block cost, from the definition.
/// @param block    the operators
/// @param layouts  the layouts of each; its own time and bytes are not read
/// @param options  devices, tokens, links, and what is allowed
/// @return the cost; not legal if an operator cannot work in its layouts, or a number reaches 2^60
/// @throws invalid_input as `collective_time`
/// @par Complexity
/// O(weights) collectives.
template <class = when_called>
[[nodiscard]] layout_cost cost_of_layouts(layout_block const& block, block_layouts const& layouts, layout_setting const& options) {
  return detail::layout_walk<>(block, layouts, options).cost();
}

/// @brief Lists what devices exchange under the layouts of a block, in the order of its operators.
/// @param block    the operators
/// @param layouts  the layouts of each
/// @param options  devices, tokens, links, and what is allowed
/// @return a collective each time that it is called in a pass, and those of gradients; empty if an operator cannot work in its layouts
/// @throws invalid_input as `collective_time`
/// @par Complexity
/// O(weights) collectives.
template <class = when_called>
[[nodiscard]] std::vector<layout_exchange> exchanges_of(layout_block const& block, block_layouts const& layouts,
                                                        layout_setting const& options) {
  std::vector<layout_exchange> out;
  if (!detail::layout_walk<>(block, layouts, options, &out).cost().legal) out.clear();
  return out;
}

/// @brief Checks a plan of layouts against the definition.
/// @param chain    the model
/// @param plan     the plan; all members may have any values
/// @param options  what it was planned for
/// @return the first broken rule. Its index is a block of the chain, a run, or an entry of `layouts`; the number of entries for the sums of
/// the plan
/// @throws invalid_input as `collective_time`
/// @par Complexity
/// O(runs + layouts x weights).
template <class = when_called>
[[nodiscard]] verdict check_layouts(layout_chain const& chain, layout_plan const& plan, layout_setting const& options) {
  using broken = weight_layout_fault;
  if (plan.status != status::feasible) return plan.runs.empty() ? verdict{} : verdict{broken::runs_without_plan, 0, plan.runs.size()};
  std::vector<std::uint32_t> given, planned;
  for (auto const& r : chain.runs) given.insert(given.end(), r.count, r.block);
  for (std::size_t r = 0; r < plan.runs.size(); ++r) {
    auto const& run = plan.runs[r];
    if (run.block >= plan.layouts.size()) return {broken::wrong_chain, planned.size(), run.block, 0};
    auto const& l = plan.layouts[run.block];
    if ((run.count > 1 && l.exit != l.entry) || (r > 0 && plan.layouts[plan.runs[r - 1].block].exit != l.entry))
      return {broken::broken_border, r, 0, 0};
    if (planned.size() + run.count > given.size()) return {broken::wrong_chain, given.size(), l.block, 0};
    planned.insert(planned.end(), run.count, l.block);
  }
  for (std::size_t i = 0; i < given.size(); ++i)
    if (i >= planned.size() || planned[i] != given[i])
      return {broken::wrong_chain, i, i < planned.size() ? std::int64_t{planned[i]} : -1, given[i]};
  std::vector<layout_cost> costs;
  for (std::size_t i = 0; i < plan.layouts.size(); ++i) {
    auto const& l = plan.layouts[i];
    if (l.block >= chain.blocks.size()) return {broken::wrong_chain, 0, l.block, 0};
    costs.push_back(cost_of_layouts(chain.blocks[l.block], l, options));
    if (!costs[i].legal) return {broken::illegal_layouts, i, costs[i].broken, 0};
    if (l.time != costs[i].time.value) return {broken::wrong_time, i, l.time, costs[i].time.value};
    if (l.bytes != costs[i].bytes.value) return {broken::wrong_bytes, i, l.bytes, costs[i].bytes.value};
  }
  checked time(0), bytes(0);
  for (auto const& r : plan.runs) {
    time = time + costs[r.block].time * checked(r.count);
    bytes = bytes + costs[r.block].bytes * checked(r.count);
  }
  if (plan.time.value != time.value) return {broken::wrong_time, plan.layouts.size(), plan.time.value, time.value};
  if (plan.bytes != bytes.value) return {broken::wrong_bytes, plan.layouts.size(), plan.bytes, bytes.value};
  if (plan.bytes > options.memory) return {broken::over_memory, 0, plan.bytes, options.memory};
  return check_certificate(plan.time, plan.time.value);
}

}  // namespace ballast::inline v0_2
