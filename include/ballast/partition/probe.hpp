// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/partition/detail/least_bottleneck.hpp>
#include <ballast/partition/detail/reach.hpp>
#include <ballast/partition/options.hpp>
#include <ballast/partition/result.hpp>
#include <ballast/partition/stage_cost.hpp>
#include <ballast/partition/workspace.hpp>

#include <cstdint>
#include <string>

/// @file
/// @brief Partitions whose stage cost is a callable: the probe of one limit, and the exact min-max cut by bisection over it.

namespace ballast::inline v0_2 {

/// @brief Says whether a chain can be cut so that no stage costs more than a limit.
///
/// Each stage is given the longest prefix under the limit. Where that is a dead end (a stage that must have several layers, or cannot run
/// the next one) the sets of cuts that the stages can end at are propagated instead.
///
/// @tparam Index  type of the boundaries
/// @tparam Cost   a `stage_cost`
/// @param layers   number of layers
/// @param options  `stages` and `min_layers`; nothing else
/// @param limit    largest cost of a stage, not negative, below `unaffordable`
/// @param cost     `cost(begin, end, stage)`
/// @return where possible a cut, its bottleneck and 0 as a lower bound of it; else `infeasible`, with the limit as `value` and as
/// `lower_bound` the least limit that is not ruled out by the same argument, which may be `unaffordable`
/// @pre the cost does not fall when the range grows at either end
/// @throws invalid_input for a bad option or limit, or a cost outside [0, 2^63)
/// @par Complexity
/// O(p log n) calls of the cost; where propagation is needed n p more, and n p bits.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Nicol, J. Parallel Distrib. Comput. 23 (1994).
template <index_type Index = std::uint32_t, stage_cost Cost>
[[nodiscard]] staged<Index> probe_partition(std::uint64_t layers, partition_options const& options, std::int64_t limit, Cost const& cost) {
  auto const chain = detail::weighed_chain<Index>(layers, options, cost);
  require(limit >= 0 && limit < unaffordable, [&] { return "limit = " + std::to_string(limit) + " must be in [0, 2^63 - 1)"; });
  staged<Index> out;
  if (detail::lacks_layers(chain, out)) return out;
  detail::probe_state w;
  w.start(chain);
  auto const found = detail::decide(chain, limit, w);
  detail::finish(found, {}, chain.layers(), w, 1, out);
  out.bottleneck = found ? certificate{w.value, 0} : certificate{limit, w.next};
  return out;
}

/// @brief The exact min-max partition by a stage cost, into caller-owned memory. See the other overload for what it computes.
/// @param layers     number of layers
/// @param options    `stages` and `min_layers`; nothing else
/// @param cost       `cost(begin, end, stage)`
/// @param workspace  scratch memory, kept between calls
/// @param out        overwritten with the plan; its memory is used again
/// @throws invalid_input as the other overload
template <index_type Index, stage_cost Cost>
void min_max_partition(std::uint64_t layers, partition_options const& options, Cost const& cost, partition_workspace& workspace,
                       staged<Index>& out) {
  auto const chain = detail::weighed_chain<Index>(layers, options, cost);
  if (detail::lacks_layers(chain, out)) return;
  auto& w = workspace.probe;
  detail::finish(detail::least_limit(chain, 0, unaffordable - 1, w), {}, chain.layers(), w, 1, out);
}

/// @brief Cuts a chain into stages so that the most expensive stage costs as little as any cut allows, whatever a stage costs.
///
/// With `unaffordable` for stages that cannot be, this plans memory too: a stage's cost may be the answer of a knapsack.
///
/// @tparam Index  type of the boundaries
/// @tparam Cost   a `stage_cost`
/// @param layers   number of layers
/// @param options  `stages` and `min_layers`; nothing else
/// @param cost     `cost(begin, end, stage)`
/// @return the cut, with a certificate that is always closed; infeasible where every cut has a stage that cannot be
/// @pre the cost does not fall when the range grows at either end
/// @throws invalid_input for a bad option, or a cost outside [0, 2^63)
/// @par Complexity
/// O(p log n log C) calls of the cost for n layers, p stages and a bottleneck of C, with few probes in practice; where propagation is
/// needed n p more a probe, and n p bits.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// As `min_max_partition` of layers.
template <index_type Index = std::uint32_t, stage_cost Cost>
[[nodiscard]] staged<Index> min_max_partition(std::uint64_t layers, partition_options const& options, Cost const& cost) {
  partition_workspace workspace;
  staged<Index> out;
  min_max_partition(layers, options, cost, workspace, out);
  return out;
}

}  // namespace ballast::inline v0_2
