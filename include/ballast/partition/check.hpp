// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/partition/detail/rules.hpp>
#include <ballast/partition/options.hpp>
#include <ballast/partition/result.hpp>
#include <ballast/partition/stage_cost.hpp>

#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief Validators of partitions from this library or any other planner. They share no code with the partitioners and prove lower bounds
/// again.

namespace ballast::inline v0_2 {

/// @brief Checks boundaries against the definition: they go from 0 to the number of layers without decreasing, and every stage keeps the
/// minima and its capacity.
///
/// @tparam Index  type of the boundaries
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @param boundaries  stages + 1 entries; may hold any values
/// @param layers      the chain
/// @param options     the options of the request, valid
/// @param cost        cost of one layer; the integer itself by default
/// @return the first broken rule: number of boundaries, their order, then the rules of each stage in turn; the index is the stage, or the
///         entry of `boundaries`
/// @throws invalid_input if a cost is outside [0, 2^63)
/// @par Complexity
/// O(layers + stages).
template <index_type Index, length_range R, cost_model Cost = token_cost>
[[nodiscard]] verdict check_partition(std::span<Index const> boundaries, R const& layers, partition_options const& options,
                                      Cost const& cost = {}) {
  detail::layer_rules const rules(layers, options, cost);
  std::vector<std::int64_t> loads(1);
  return detail::check_boundaries(boundaries, rules, std::span(loads));
}

/// @brief Checks the complete result of a partitioner: the boundaries and the certificate, or that no partition exists.
///
/// The lower bound is proven again: no partition has a smaller bottleneck.
///
/// @tparam Index  type of the boundaries
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @param plan     the result; may hold any values
/// @param layers   the chain
/// @param options  the options of the request, valid; `limit` matters only if the result is infeasible
/// @param cost     cost of one layer; the integer itself by default
/// @return the first broken rule
/// @throws invalid_input if a cost is outside [0, 2^63)
/// @par Complexity
/// O(layers + stages) if equal stages without minima above 1 already prove the bound, O(stages * layers * longest stage) otherwise.
template <index_type Index, length_range R, cost_model Cost = token_cost>
[[nodiscard]] verdict check_partition(staged<Index> const& plan, R const& layers, partition_options const& options, Cost const& cost = {}) {
  return detail::check_result(plan, detail::layer_rules(layers, options, cost), options.stages);
}

/// @brief Checks the complete result of a partitioner by stage cost, in the same way.
///
/// @tparam Index  type of the boundaries
/// @tparam Cost   a `stage_cost`
/// @param plan     the result; may hold any values
/// @param layers   number of layers
/// @param options  the options of the request: `stages` and `min_layers`
/// @param cost     `cost(begin, end, stage)`
/// @return the first broken rule
/// @par Complexity
/// O(stages * layers * longest stage) calls of the cost.
template <index_type Index, stage_cost Cost>
[[nodiscard]] verdict check_partition(staged<Index> const& plan, std::uint64_t layers, partition_options const& options, Cost const& cost) {
  return detail::check_result(plan, detail::callable_rules<Cost>{layers, options, cost}, options.stages);
}

/// @brief Checks virtual stages: chunk `c` runs on device `c mod device_count`. Their lower bound is not proven again.
///
/// @tparam Index  type of the boundaries
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @param plan          the result; may hold any values
/// @param layers        the chain
/// @param device_count  number of devices, at least 1
/// @param chunks        number of chunks of each device, at least 1
/// @param min_layers    smallest number of layers of a chunk
/// @param cost          cost of one layer; the integer itself by default
/// @return the first broken rule
/// @throws invalid_input if a cost is outside [0, 2^63)
/// @par Complexity
/// O(layers + devices * chunks).
template <index_type Index, length_range R, cost_model Cost = token_cost>
[[nodiscard]] verdict check_virtual_stages(staged<Index> const& plan, R const& layers, std::uint64_t device_count, std::uint64_t chunks,
                                           std::uint64_t min_layers = 1, Cost const& cost = {}) {
  partition_options const options{.stages = device_count * chunks, .min_layers = min_layers};
  return detail::check_result(plan, detail::layer_rules(layers, options, cost), device_count);
}

}  // namespace ballast::inline v0_2
