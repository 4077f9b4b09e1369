// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/core/status.hpp>
#include <ballast/graph/check.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/recompute/graph/detail/graph_choice.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

/// @file
/// @brief `recompute_graph`: which activations of a graph are dropped after the forward pass and computed again, within a memory budget.

namespace ballast::inline v0_2 {

/// @brief A callable that returns the peak bytes of a graph in the order in which it will run; a pure function.
template <class P>
concept graph_peak = requires(P const& p, graph const& g) {
  { p(g) } -> std::convertible_to<std::int64_t>;
};

/// @brief How `recompute_graph` searches.
struct graph_recompute_tuning {
  std::uint64_t exact = 12;            ///< all sets are searched if there are no more candidates than this
  std::uint64_t evaluations = 20'000;  ///< most calls of the peak and its bound together, at least 1
};

/// @brief The result of `recompute_graph`.
struct graph_recompute {
  ballast::status status = ballast::status::unknown;  ///< infeasible: `lower_peak` exceeds the budget, or all sets were tried
  certificate time;                                   ///< time of the operators that run again, and a lower bound for any set of candidates
  std::int64_t peak = 0;                              ///< peak bytes of the rewritten graph
  std::int64_t lower_peak = 0;                        ///< no set of candidates has a lower peak; 0 if nothing has to be dropped
  std::vector<std::uint32_t> dropped;                 ///< tensors that are dropped after the forward pass, ascending
  graph rewritten;                                    ///< the graph with the operators that run again; empty unless feasible
  std::vector<std::uint32_t> operator_of;             ///< for each operator of `rewritten`, the one of the given graph that it runs
  std::vector<std::uint32_t> tensor_of;  ///< for each added tensor, the one that it copies; 2^32 - 1 for one that only orders two operators
  std::uint64_t evaluations = 0;         ///< calls of the peak and its bound
  bool complete = true;                  ///< false if a requested stop or the clock ended the search
};

/// @brief The tensors of a graph that can be dropped after the forward pass and computed again.
///
/// A candidate is an activation with memory of its own that is made by a forward operator, read by another operator, and not kept. All
/// views of it are made by forward operators, and nothing is changed in place.
///
/// @param g  a valid graph
/// @return the candidates, in the order in which they are made
/// @par Complexity
/// That of `uses_of`.
template <class = when_called>
[[nodiscard]] std::vector<std::uint32_t> recompute_candidates(graph const& g) {
  return detail::graph_rewriter<>(g).candidates();
}

/// @brief Chooses which activations of a graph to drop after the forward pass, so that the peak is within a budget and little time is
/// added.
///
/// A dropped tensor is freed after the last forward operator that reads it. Just before the first other operator that reads it, its maker
/// runs again, and so does, before the maker, each operator whose result is needed and in memory no more, back to tensors that are kept. No
/// operator runs more than twice: a copy is held until its last reader. In the rewritten graph, such operators and tensors have the suffix
/// " (again)", belong to the backward pass, and read a tensor of no bytes that the first run makes, so that they run after it in any order.
///
/// Candidates are dropped where program order is short of memory, first those that free most bytes for the time that they add; and beside
/// this, all but what forward operators hold at 0, 1, 2, ... narrow cuts of the forward pass (checkpoints). From the three fastest results,
/// tensors are kept again while the budget allows it. With few candidates, all sets are searched by branch and bound.
///
/// The lower bound on the time comes from operators at which too much is in use. Candidates that are idle there must free it, and each
/// takes at least its share of the operators that surely run again for it: a fractional knapsack. It is the value where all sets were
/// searched.
///
/// @tparam Peak   a `graph_peak`
/// @tparam Bound  a `graph_peak`
/// @param g       a valid graph, of which all bytes and all times are below 2^61
/// @param budget  most bytes, not negative
/// @param peak    the peak of a graph in the order in which it would run: of program order, or of an order that is planned. It is called
///                with graphs without names
/// @param bound   never more than the peak of any order of a graph that may be used; of a planned order, a lower bound for all orders
/// @param limits  when the search ends; a call of `peak` or `bound` counts as 1 of its work for each operator and tensor
/// @param tuning  how it searches
/// @return the rewritten graph, the added time with its lower bound, and what is dropped; or that no set of candidates keeps the budget
/// @throws invalid_input if the graph is not valid or too large, the budget is negative, or `evaluations` is 0
/// @par Complexity
/// O(graph + candidates log candidates) and a call of `peak` or `bound`, for each evaluation; O(operators x candidates) for the bound.
/// @par Determinism
/// A pure function of its arguments, unless a stop or the clock ends it.
/// @par Source
/// Checkpoints at cuts: Chen et al., "Training deep nets with sublinear memory cost", 2016; dropping by bytes and time: Kirisame et al.,
/// "Dynamic tensor rematerialization", ICLR 2021.
template <graph_peak Peak, graph_peak Bound>
[[nodiscard]] graph_recompute recompute_graph(graph const& g, std::int64_t budget, Peak const& peak, Bound const& bound,
                                              search_limits const& limits = {}, graph_recompute_tuning const& tuning = {}) {
  require_valid(g);
  require(budget >= 0, [&] { return sentence("budget = ", budget, " must not be negative"); });
  require(tuning.evaluations > 0, [] { return "evaluations must be at least 1"; });
  std::int64_t bytes = 0, time = 0;
  for (auto const& t : g.tensors) bytes += t.bytes;
  for (auto const& o : g.operators) time += o.time;
  require((std::max)(bytes, time) < std::int64_t{1} << 61, [] { return "all bytes and all times must be below 2^61"; });
  detail::graph_rewriter<> const rewriter(g);
  auto evaluations = limits;  // counts them
  evaluations.work = (std::min)(tuning.evaluations, limits.work / (g.size() + g.tensors.size() + 1) + 1);
  detail::graph_choice<Peak, Bound> choice(rewriter, budget, peak, bound, evaluations);
  choice.run(tuning.exact);
  graph_recompute out;
  out.lower_peak = choice.lower_peak();
  out.evaluations = choice.evaluations();
  out.complete = !choice.stopped();
  auto const* best = choice.best();
  if (best == nullptr) {
    if (choice.lower_peak() > budget || choice.searched()) out.status = status::infeasible;
    return out;
  }
  out.status = status::feasible;
  out.time = {best->time, choice.lower_time()};
  out.peak = best->peak;
  for (std::uint32_t t = 0; t < best->dropped.size(); ++t)
    if (best->dropped[t]) out.dropped.push_back(t);
  auto written = rewriter.rewrite(best->dropped, *rewriter.repeated(best->dropped), true);
  out.rewritten = std::move(written.changed);
  out.operator_of = std::move(written.operator_of);
  out.tensor_of = std::move(written.tensor_of);
  return out;
}

/// @brief `recompute_graph` with a peak that is its own lower bound.
///
/// So is the peak of program order, and that of an optimal order: without an operator, or without the memory of a tensor, it is not higher.
///
/// @tparam Peak  a `graph_peak`
/// @param g       a valid graph
/// @param budget  most bytes, not negative
/// @param peak    the peak of a graph
/// @param limits  when the search ends; a call of `peak` or `bound` counts as 1 of its work for each operator and tensor
/// @param tuning  how it searches
/// @return the rewritten graph, the added time with its lower bound, and what is dropped
/// @throws invalid_input as the overload above
/// @par Complexity
/// As above.
/// @par Determinism
/// As above.
template <graph_peak Peak>
[[nodiscard]] graph_recompute recompute_graph(graph const& g, std::int64_t budget, Peak const& peak, search_limits const& limits = {},
                                              graph_recompute_tuning const& tuning = {}) {
  return recompute_graph(g, budget, peak, peak, limits, tuning);
}

}  // namespace ballast::inline v0_2
