// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/graph/check.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/memory/detail/order_planner.hpp>
#include <ballast/memory/detail/order_problem.hpp>

#include <cstdint>
#include <vector>

/// @file
/// @brief `order_operators`: the order of a graph's operators that needs the least memory at its peak.

namespace ballast::inline v0_2 {

/// @brief How much `order_operators` searches, beside its limits of work.
struct order_options {
  std::uint64_t states = 100'000;  ///< most sets of operators that an exact search keeps, in each direction
  std::uint64_t cuts = 24;         ///< most operators for which a minimum cut is computed

  friend constexpr bool operator==(order_options const&, order_options const&) = default;
};

/// @brief The result of `order_operators`.
struct memory_order {
  std::vector<std::uint32_t> order;  ///< the operators in the order in which they run
  certificate peak;                  ///< most memory in use at a time, in bytes; no order has less than its lower bound
  std::uint64_t states = 0;          ///< sets of operators that were looked at
  bool complete = true;              ///< false if a requested stop or the clock ended the search

  friend bool operator==(memory_order const&, memory_order const&) = default;
};

/// @brief Finds an order of the operators that needs little memory at its peak, and proves how little is possible.
///
/// Seven list schedules come first: program order and those of `list_rule`. Operators that must run behind all before them and before all
/// behind them divide every order into parts; each part is taken from the best list. Then the part with the peak is improved until its peak
/// meets a lower bound (`cut_bound`) or the limits end it: by an exact search over sets of operators, from the first operator on and from
/// the last backwards, and between its stages by exact searches of windows of steps around the peak. What an exact search proves raises the
/// lower bound.
///
/// The search needs no rule for updates of weights: an update in place frees a gradient and allocates nothing, so it runs as soon as its
/// gradient is complete, wherever that helps.
///
/// @param g        the graph
/// @param options  how much is searched
/// @param limits   when the search stops
/// @return the order, its peak with a lower bound, and what was searched
/// @post never above the best of program order, and of `least_peak`, `breadth_first` and `depth_first` (`list_order`)
/// @throws invalid_input as `require_valid`
/// @par Complexity
/// O((n + e) log n) for the lists of n operators with e inputs and outputs; then what `limits` allow. Memory for n / 8 bytes and about 100
/// more for each state.
/// @par Determinism
/// A pure function of its arguments, unless a stop is requested or the clock ends the search.
/// @par Source
/// The bounds, the search and its pruning use that the memory in use behind a set of operators is submodular.
template <class = when_called>
[[nodiscard]] memory_order order_operators(graph const& g, order_options const& options = {}, search_limits const& limits = {}) {
  require_valid(g);
  auto const p = detail::order_lowering<>(g).lower();
  detail::order_planner<> planner(p, options.states, options.cuts, limits);
  planner.plan();
  return {planner.order(), planner.peak(), planner.states(), planner.complete()};
}

BALLAST_INSTANTIATE(memory_order order_operators(graph const&, order_options const&, search_limits const&))

}  // namespace ballast::inline v0_2
