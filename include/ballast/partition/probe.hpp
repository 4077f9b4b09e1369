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
/// @brief Partitions under any cost of a stage, given as a callable: the probe of one limit, and the exact min-max partition by bisection.

namespace ballast::inline v0_2 {

/// @brief Decides whether a chain can be cut such that no stage costs more than a limit.
///
/// Each stage gets the longest run of layers under the limit. Where this may be a dead end (a stage must have several layers, or cannot run
/// the next one), the sets of cuts at which the stages can end are propagated instead.
///
/// @tparam Index  type of the boundaries
/// @tparam Cost   a `stage_cost`
/// @param layers   number of layers
/// @param options  `stages` and `min_layers`; nothing else is used
/// @param limit    largest cost of a stage, not negative, below `unaffordable`
/// @param cost     `cost(begin, end, stage)`
/// @return if possible, a partition, its bottleneck and 0 as lower bound; otherwise `infeasible`, with the limit as `value`, and as
///         `lower_bound` the smallest limit that the same argument does not rule out, which may be `unaffordable`
/// @pre the cost does not decrease if the range grows at either end
/// @throws invalid_input if an option or the limit is out of range, or a cost is outside [0, 2^63)
/// @par Complexity
/// O(p log n) calls of the cost; if propagation is needed, n p more calls and n p bits.
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

/// @brief Computes the exact min-max partition by stage cost in caller-owned memory. The other overload says what it computes.
/// @param layers     number of layers
/// @param options    `stages` and `min_layers`; nothing else is used
/// @param cost       `cost(begin, end, stage)`
/// @param workspace  scratch memory, kept between calls
/// @param out        overwritten with the plan; its memory is used again
/// @throws invalid_input as the other overload
template <index_type Index, stage_cost Cost>
void min_max_partition(std::uint64_t layers, partition_options const& options, Cost const& cost, partition_workspace& workspace,
                       staged<Index>& out) {
  auto const chain = detail::weighed_chain<Index>(layers, options, cost);
  if (detail::lacks_layers(chain, out)) return;
  auto& w = detail::memory_of(workspace).probe;
  detail::finish(detail::least_limit(chain, 0, unaffordable - 1, w), {}, chain.layers(), w, 1, out);
}

/// @brief Cuts a chain into stages such that the cost of the most expensive stage is minimal, for any cost of a stage.
///
/// Return `unaffordable` for stages that are not possible. This plans memory too: the cost of a stage may be the solution of a knapsack.
///
/// Where such a solution is expensive, the cost may be a lower bound on one that does not decrease, and may itself decrease. The result is
/// then a partition by these bounds: no partition has a lower true bottleneck, and `infeasible` means that none is truly possible.
///
/// @tparam Index  type of the boundaries
/// @tparam Cost   a `stage_cost`
/// @param layers   number of layers
/// @param options  `stages` and `min_layers`; nothing else is used
/// @param cost     `cost(begin, end, stage)`
/// @return the partition, always proven optimal; infeasible if every partition has a stage that is not possible
/// @pre the cost does not decrease if the range grows at either end, or is a lower bound on one that does not
/// @throws invalid_input if an option is out of range, or a cost is outside [0, 2^63)
/// @par Complexity
/// O(p log n log C) calls of the cost for n layers, p stages and a bottleneck of C, with few probes in practice; if propagation is
/// needed, n p more calls per probe, and n p bits.
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
