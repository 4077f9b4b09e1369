// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/replicated.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/core/wide.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief The validator of experts with copies on ranks, of this library or any other planner. It shares no code with the planners.

namespace ballast::inline v0_2 {

/// @brief The rule that experts with copies break.
enum class replication_fault : std::uint8_t {
  none,                 ///< the plan is valid
  wrong_slot_count,     ///< the number of slots is not the demanded number
  expert_out_of_range,  ///< a slot holds no expert
  expert_missing,       ///< an expert has no copy
  wrong_copies,         ///< `copies` is not what the slots hold
  copies_on_one_rank,   ///< a rank has two copies of an expert, and `may_share` was not set
  group_on_two_nodes,   ///< experts of a group are on different nodes
  wrong_load,           ///< `loads` is not the load of a rank, or has not one entry for each
  wrong_value,          ///< `load.value` is not the largest load, or `between.value` not the rows between nodes
  wrong_bound,          ///< a lower bound exceeds its value
};

/// @brief Describes a verdict in a sentence, such as "expert 17 has no copy".
/// @param v  a verdict of `check_replicated`
/// @return the sentence
template <class = when_called>
[[nodiscard]] std::string describe(verdict<replication_fault> const& v) {
  auto const index = std::to_string(v.index), found = std::to_string(v.found), expected = std::to_string(v.expected);
  switch (v.fault) {
    case replication_fault::none: return "the plan is valid";
    case replication_fault::wrong_slot_count: return "there are " + found + " slots, not " + expected;
    case replication_fault::expert_out_of_range: return "expert_of[" + index + "] = " + found + " must be below " + expected;
    case replication_fault::expert_missing: return "expert " + index + " has no copy";
    case replication_fault::wrong_copies: return "copies[" + index + "] = " + found + ", but the slots hold " + expected;
    case replication_fault::copies_on_one_rank: return "rank " + index + " has two copies of expert " + found;
    case replication_fault::group_on_two_nodes: return "group " + index + " is on node " + found + " and on node " + expected;
    case replication_fault::wrong_load: return "loads[" + index + "] = " + found + ", but the copies of the rank have " + expected;
    case replication_fault::wrong_value: return (v.index == 0 ? "load" : "between") + (".value = " + found) + " is not " + expected;
    case replication_fault::wrong_bound: return (v.index == 0 ? "load" : "between") + (".lower_bound = " + found) + " exceeds " + expected;
  }
  return {};
}

/// @brief Checks a plan of experts with copies against the options, and the figures it gives about itself.
///
/// @param plan     the plan; it may have any values
/// @param rows     rows of each expert, as `balance_replicated` takes them
/// @param options  the options that the plan must meet
/// @return the first broken rule, in the order of `replication_fault`. Its index is a slot, an expert, a rank or a group; for figures of
/// the certificates, 0 is `load` and 1 is `between`
/// @throws invalid_input if the options do not suit the number of experts
/// @par Complexity
/// O(slots log(slots) + experts nodes).
template <class = when_called>
[[nodiscard]] verdict<replication_fault> check_replicated(replicated_experts const& plan, std::span<std::int64_t const> rows,
                                                          replication_options const& options) {
  using enum replication_fault;
  require_valid(options, rows.size());
  auto const n = rows.size(), nodes = static_cast<std::size_t>(options.nodes), ranks = static_cast<std::size_t>(options.ranks);
  auto const slots = options.slots == 0 ? std::uint64_t{n} : options.slots;
  if (plan.expert_of.size() != slots) return {wrong_slot_count, 0, plan.expert_of.size(), slots};
  std::vector<std::uint64_t> copies(n), on_node(n * nodes), on_rank(n, ranks);
  for (std::size_t i = 0; i < plan.expert_of.size(); ++i) {
    auto const e = plan.expert_of[i];
    if (e >= n) return {expert_out_of_range, i, e, n};
    ++copies[e];
    ++on_node[e * nodes + i * nodes / plan.expert_of.size()];
  }
  for (std::size_t e = 0; e < n; ++e) {
    if (copies[e] == 0) return {expert_missing, e, 0, 1};
    if (plan.copies.size() != n || plan.copies[e] != copies[e])
      return {wrong_copies, e, plan.copies.size() != n ? 0 : plan.copies[e], copies[e]};
  }
  if (!options.may_share)
    for (std::size_t i = 0; i < plan.expert_of.size(); ++i) {
      auto const rank = i * ranks / plan.expert_of.size();
      if (on_rank[plan.expert_of[i]] == rank) return {copies_on_one_rank, rank, plan.expert_of[i], 0};
      on_rank[plan.expert_of[i]] = rank;
    }
  if (options.groups > 1)
    for (std::size_t e = 0; e < n; ++e) {
      auto const group = e * static_cast<std::size_t>(options.groups) / n;
      auto const first = group * n / static_cast<std::size_t>(options.groups);
      std::uint64_t home = nodes, other = nodes;
      for (std::size_t k = 0; k < nodes; ++k) {
        if (on_node[first * nodes + k] > 0 && home == nodes) home = k;
        if (on_node[e * nodes + k] > 0) other = k;
        if (on_node[e * nodes + k] > 0 && k != home) return {group_on_two_nodes, group, other, home};
      }
    }
  std::vector<std::uint64_t> load(ranks);
  auto const unit = static_cast<std::uint64_t>(row_units);
  for (std::size_t i = 0; i < plan.expert_of.size(); ++i) {
    auto const e = plan.expert_of[i];
    load[i * ranks / plan.expert_of.size()] += multiply_divide_up(unit, static_cast<std::uint64_t>(rows[e]), copies[e]);
  }
  std::uint64_t largest = 0, travelling = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    auto const found = plan.loads.size() == ranks ? static_cast<std::uint64_t>(plan.loads[r]) : 0;
    if (plan.loads.size() != ranks || found != load[r]) return {wrong_load, r, found, load[r]};
    largest = load[r] > largest ? load[r] : largest;
  }
  for (std::size_t e = 0; e < n; ++e) {
    std::uint64_t staying = 0;  // a node has copies for `copies on it / all copies` of the rows, and an n-th of them is its own
    for (std::size_t k = 0; k < nodes; ++k) {
      auto const room = nodes * on_node[e * nodes + k];
      staying += room < copies[e] ? room : copies[e];
    }
    travelling += multiply_divide_up(unit * static_cast<std::uint64_t>(rows[e]), nodes * copies[e] - staying, nodes * copies[e]);
  }
  certificate const* figures[] = {&plan.load, &plan.between};
  for (std::uint64_t k = 0; k < 2; ++k)
    if (auto const found = static_cast<std::uint64_t>(figures[k]->value), right = k == 0 ? largest : travelling; found != right)
      return {wrong_value, k, found, right};
  for (std::uint64_t k = 0; k < 2; ++k)
    if (figures[k]->lower_bound > figures[k]->value)
      return {wrong_bound, k, static_cast<std::uint64_t>(figures[k]->lower_bound), static_cast<std::uint64_t>(figures[k]->value)};
  return {};
}

}  // namespace ballast::inline v0_2
