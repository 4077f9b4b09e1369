// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/graph/check.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/memory/detail/cut_network.hpp>
#include <ballast/memory/detail/order_problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

/// @file
/// @brief Lower bounds on the memory that a graph needs at its peak, for any order of its operators.

namespace ballast::inline v0_2 {

/// @brief A lower bound on the peak: the most memory that one operator needs with what it reads, makes and uses as workspace, and with the
/// tensors that are there from the start until the end.
/// @param g  the graph
/// @return the bound, in bytes
/// @post not above the peak of any order
/// @throws invalid_input as `require_valid`
/// @par Complexity
/// O(operators + tensors + inputs + outputs).
/// @par Determinism
/// A pure function of the graph.
template <class = when_called>
[[nodiscard]] std::int64_t operator_bound(graph const& g) {
  require_valid(g);
  return detail::footprint_bound(detail::order_lowering<>(g).lower());
}

/// @brief A lower bound on the peak by minimum cuts, one for each of some operators.
///
/// While an operator v runs, all operators have run that must run before v, and none that must run behind it. Of all sets of operators
/// with this property that contain, with each operator, those before it, one holds the least memory: a minimum cut of a network with an arc
/// for each tensor. This memory and what v needs by itself are in use at some time in every order.
///
/// @param g          the graph
/// @param operators  the operators v to try, in any number and order: those at the peak of a good order say most
/// @param limits     limits of work; a cut that is not finished counts with what is proven so far
/// @return the largest bound of the operators, in bytes; 0 if there are none
/// @post not above the peak of any order
/// @throws invalid_input if the graph is not valid, or has no such operator
/// @par Complexity
/// For each operator, a maximum flow (Dinic) through the operators and tensors that may run on either side of it.
/// @par Determinism
/// A pure function of its arguments, unless a stop is requested or the clock ends it.
template <class = when_called>
[[nodiscard]] std::int64_t cut_bound(graph const& g, std::span<std::uint32_t const> operators, search_limits const& limits = {}) {
  require_valid(g);
  for (std::size_t i = 0; i < operators.size(); ++i)
    require(operators[i] < g.size(),
            [&] { return sentence(entry("operators", i, operators[i]), ", but there are ", g.size(), " operators"); });
  auto const p = detail::order_lowering<>(g).lower();
  search_budget budget(limits, detail::order_interval);
  detail::cut_bounds<> cuts(p);
  std::int64_t most = 0;
  for (auto const v : operators) most = (std::max)(most, cuts.of(v, budget));
  return most;
}

}  // namespace ballast::inline v0_2
