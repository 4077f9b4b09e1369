// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/graph/check.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/memory/detail/lists.hpp>
#include <ballast/memory/detail/order_problem.hpp>

#include <cstdint>
#include <vector>

/// @file
/// @brief List schedulers: orders of a graph's operators that are made in one pass and need little memory.
///
/// `net_order`, `reverse_net_order` and `updates_at_once_order` are starts of `order_operators`. The other three are the methods that
/// PyTorch's compiler tries (torch/_inductor/memory.py, `reorder_for_peak_memory`), restated to compare with. Each result is a permutation
/// of the operators in which every operator runs behind those whose tensors it reads, and behind all readers of what it overwrites.

namespace ballast::inline v0_2 {

/// @brief Runs, of all operators that are ready, the one that adds the least memory: what it allocates less what is freed behind it.
/// @param g  the graph
/// @return the operators in the order in which they run; equal ones in program order
/// @throws invalid_input as `require_valid`
/// @par Complexity
/// O((n + e) log n) for n operators with e inputs and outputs.
/// @par Determinism
/// A pure function of the graph.
template <class = when_called>
[[nodiscard]] std::vector<std::uint32_t> net_order(graph const& g) {
  require_valid(g);
  return detail::least_change_order(detail::order_lowering<>(g).lower(), false);
}

/// @brief The mirror image of `net_order`: chooses the last operator first, by what is more in use before it than behind it.
///
/// Good where many branches join, as `net_order` is where few tensors lead to many.
/// @param g  the graph
/// @return the operators in the order in which they run
/// @throws invalid_input as `require_valid`
/// @par Complexity
/// O((n + e) log n) for n operators with e inputs and outputs.
/// @par Determinism
/// A pure function of the graph.
template <class = when_called>
[[nodiscard]] std::vector<std::uint32_t> reverse_net_order(graph const& g) {
  require_valid(g);
  return detail::least_change_order(detail::order_lowering<>(g).lower(), true);
}

/// @brief Program order, but each update of a weight runs as soon as its gradient is there and nobody reads the old weight any more.
/// @param g  the graph
/// @return the operators in the order in which they run; updates that can run at once in program order
/// @throws invalid_input as `require_valid`
/// @par Complexity
/// O(n log n + e) for n operators with e inputs and outputs.
/// @par Determinism
/// A pure function of the graph.
template <class = when_called>
[[nodiscard]] std::vector<std::uint32_t> updates_at_once_order(graph const& g) {
  require_valid(g);
  return detail::updates_at_once(detail::order_lowering<>(g).lower());
}

/// @brief Runs, of the ready operators that run within the peak so far, the one that adds the least memory; if there is none, the one that
/// needs the least to run (LPMF).
/// @param g  the graph
/// @return the operators in the order in which they run; equal ones in program order
/// @throws invalid_input as `require_valid`
/// @par Complexity
/// O((n + e) log n) for n operators with e inputs and outputs.
/// @par Determinism
/// A pure function of the graph.
template <class = when_called>
[[nodiscard]] std::vector<std::uint32_t> least_peak_first_order(graph const& g) {
  require_valid(g);
  return detail::least_peak_first(detail::order_lowering<>(g).lower());
}

/// @brief Runs first what became ready first (BFS): compares the steps of the operators that had to run before, in ascending order.
/// @param g  the graph
/// @return the operators in the order in which they run; equal ones in program order
/// @throws invalid_input as `require_valid`
/// @par Complexity
/// O((n + e) log n) comparisons for n operators with e inputs and outputs, each of as many steps as are equal.
/// @par Determinism
/// A pure function of the graph.
template <class = when_called>
[[nodiscard]] std::vector<std::uint32_t> breadth_first_order(graph const& g) {
  require_valid(g);
  return detail::breadth_first(detail::order_lowering<>(g).lower());
}

/// @brief Runs what an operator needs just before it (DFS): first what reads and writes the fewest bytes.
/// @param g  the graph
/// @return the operators in the order in which they run; equal ones in program order
/// @throws invalid_input as `require_valid`
/// @par Complexity
/// O(n log n + e) for n operators with e inputs and outputs.
/// @par Determinism
/// A pure function of the graph.
template <class = when_called>
[[nodiscard]] std::vector<std::uint32_t> depth_first_order(graph const& g) {
  require_valid(g);
  return detail::depth_first(detail::order_lowering<>(g).lower());
}

}  // namespace ballast::inline v0_2
