// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/graph/check.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/memory/detail/lists.hpp>
#include <ballast/memory/detail/order_problem.hpp>

#include <cstdint>
#include <vector>

/// @file
/// @brief `list_order`: an order of a graph's operators that is made in one pass and needs little memory.

namespace ballast::inline v0_2 {

/// @brief Which of the operators that are ready a list scheduler runs next; of equal ones, the first in program order.
///
/// The first three are starts of `order_operators`. The others are the methods that PyTorch's compiler tries (torch/_inductor/memory.py,
/// `reorder_for_peak_memory`), restated to compare with.
enum class list_rule : std::uint8_t {
  net,              ///< the one that adds the least memory: what it allocates less what is freed behind it
  reverse_net,      ///< the mirror image: the last operator is chosen first, by what is more in use before it; good where branches join
  updates_at_once,  ///< program order, but an update of a weight runs once its gradient is there and nobody reads the old weight any more
  least_peak,       ///< of those that run within the peak so far, the one that adds least; without one, what needs the least to run (LPMF)
  breadth_first,    ///< what became ready first (BFS): compares the steps of the operators that had to run before, in ascending order
  depth_first,      ///< what an operator needs runs just before it (DFS): first what reads and writes the fewest bytes
};

/// @brief Orders the operators of a graph by a list scheduler.
/// @param g     the graph
/// @param rule  what runs next
/// @return the operators in the order in which they run: each behind those whose tensors it reads, and behind all readers of what it
/// overwrites
/// @throws invalid_input as `require_valid`
/// @par Complexity
/// O((n + e) log n) for n operators with e inputs and outputs; for `breadth_first` that many comparisons, each of as many steps as are
/// equal.
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] std::vector<std::uint32_t> list_order(graph const& g, list_rule rule) {
  require_valid(g);
  auto const p = detail::order_lowering<>(g).lower();
  switch (rule) {
    case list_rule::net: return detail::least_change_order(p, false);
    case list_rule::reverse_net: return detail::least_change_order(p, true);
    case list_rule::updates_at_once: return detail::updates_at_once(p);
    case list_rule::least_peak: return detail::least_peak_first(p);
    case list_rule::breadth_first: return detail::breadth_first(p);
    case list_rule::depth_first: return detail::depth_first(p);
  }
  return {};
}

}  // namespace ballast::inline v0_2
