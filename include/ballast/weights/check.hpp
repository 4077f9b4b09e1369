// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/weights/detail/layout_walk.hpp>
#include <ballast/weights/layout_model.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// @file
/// @brief The validator of layouts, of this library or any other planner. It shares no code with the planner.

namespace ballast::inline v0_2 {

/// @brief The rules that a plan of layouts can break.
enum class weight_layout_fault : std::uint8_t {
  none,
  runs_without_plan,  ///< the plan is infeasible but lists layouts
  wrong_chain,        ///< the runs are not the blocks of the model in order
  broken_border,      ///< a block reads another layout than the one before it makes
  illegal_layouts,    ///< an operator cannot work in its layouts, or they are not allowed
  wrong_time,         ///< layouts of a block, or the plan, take another time
  wrong_bytes,        ///< layouts of a block, or the plan, take other bytes
  over_memory,        ///< the bytes of a device exceed the memory
  wrong_bound,        ///< the lower bound exceeds the time
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

/// @brief Describes a verdict in a sentence.
/// @param v  a verdict of `check_layouts`
/// @return the sentence
template <class = when_called>
[[nodiscard]] inline std::string describe(verdict<weight_layout_fault, std::int64_t> const& v) {
  auto const index = std::to_string(v.index), found = std::to_string(v.found), expected = std::to_string(v.expected);
  switch (v.fault) {
    case weight_layout_fault::none: return "the layouts are valid";
    case weight_layout_fault::runs_without_plan: return "the plan is infeasible, but has " + found + " runs";
    case weight_layout_fault::wrong_chain: return "block " + index + " of the chain is block " + found + " in the plan, not " + expected;
    case weight_layout_fault::broken_border: return "run " + index + " reads another layout than is made before it";
    case weight_layout_fault::illegal_layouts: return "layouts " + index + ": operator " + found + " cannot work in its layouts";
    case weight_layout_fault::wrong_time: return "layouts " + index + " take " + expected + " picoseconds, not " + found;
    case weight_layout_fault::wrong_bytes: return "layouts " + index + " take " + expected + " bytes, not " + found;
    case weight_layout_fault::over_memory: return "a device needs " + found + " bytes, more than the memory " + expected;
    case weight_layout_fault::wrong_bound: return "time.lower_bound = " + found + " exceeds time.value = " + expected;
  }
  return {};
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
[[nodiscard]] verdict<weight_layout_fault, std::int64_t> check_layouts(layout_chain const& chain, layout_plan const& plan,
                                                                       layout_setting const& options) {
  using enum weight_layout_fault;
  if (plan.status != status::feasible)
    return plan.runs.empty()
               ? verdict<weight_layout_fault, std::int64_t>{}
               : verdict<weight_layout_fault, std::int64_t>{runs_without_plan, 0, static_cast<std::int64_t>(plan.runs.size()), 0};
  std::vector<std::uint32_t> given, planned;
  for (auto const& r : chain.runs) given.insert(given.end(), r.count, r.block);
  for (std::size_t r = 0; r < plan.runs.size(); ++r) {
    auto const& run = plan.runs[r];
    if (run.block >= plan.layouts.size()) return {wrong_chain, planned.size(), static_cast<std::int64_t>(run.block), 0};
    auto const& l = plan.layouts[run.block];
    if ((run.count > 1 && l.exit != l.entry) || (r > 0 && plan.layouts[plan.runs[r - 1].block].exit != l.entry))
      return {broken_border, r, 0, 0};
    if (planned.size() + run.count > given.size()) return {wrong_chain, given.size(), static_cast<std::int64_t>(l.block), 0};
    planned.insert(planned.end(), run.count, l.block);
  }
  for (std::size_t i = 0; i < given.size(); ++i)
    if (i >= planned.size() || planned[i] != given[i])
      return {wrong_chain, i, i < planned.size() ? static_cast<std::int64_t>(planned[i]) : -1, static_cast<std::int64_t>(given[i])};
  std::vector<layout_cost> costs;
  for (std::size_t i = 0; i < plan.layouts.size(); ++i) {
    auto const& l = plan.layouts[i];
    if (l.block >= chain.blocks.size()) return {wrong_chain, 0, static_cast<std::int64_t>(l.block), 0};
    costs.push_back(cost_of_layouts(chain.blocks[l.block], l, options));
    if (!costs[i].legal) return {illegal_layouts, i, static_cast<std::int64_t>(costs[i].broken), 0};
    if (l.time != costs[i].time.value) return {wrong_time, i, l.time, costs[i].time.value};
    if (l.bytes != costs[i].bytes.value) return {wrong_bytes, i, l.bytes, costs[i].bytes.value};
  }
  checked time(0), bytes(0);
  for (auto const& r : plan.runs) {
    time = time + costs[r.block].time * checked(r.count);
    bytes = bytes + costs[r.block].bytes * checked(r.count);
  }
  if (plan.time.value != time.value) return {wrong_time, plan.layouts.size(), plan.time.value, time.value};
  if (plan.bytes != bytes.value) return {wrong_bytes, plan.layouts.size(), plan.bytes, bytes.value};
  if (plan.bytes > options.memory) return {over_memory, 0, plan.bytes, options.memory};
  if (plan.time.lower_bound > plan.time.value) return {wrong_bound, 0, plan.time.lower_bound, plan.time.value};
  return {};
}

}  // namespace ballast::inline v0_2
