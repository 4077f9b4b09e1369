// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/graph/detail/subgraph_finder.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/graph/subgraphs.hpp>

/// @file
/// @brief `find_repeated_subgraphs`: parts of a graph that occur several times, in whatever order the operators are listed.

namespace ballast::inline v0_2 {

/// @brief Finds the subgraphs that occur several times: operators that look alike, and read and are read alike.
///
/// Operators look alike if their kind, time, workspace and the sizes and kinds of their tensors agree, input by input and output by output.
/// Rounds as those of Weisfeiler and Leman split such a class where edges, with their places among the outputs and inputs, lead to or from
/// operators of different classes: two equal matrices are told apart by the input of attention that they make. An edge between neighbouring
/// layers is missing at an end of both classes, and splits none, so the first and the last layer stay like those between. Then classes that
/// an edge joins one to one become one subgraph, as large as possible, and copies whose inner edges differ are separated.
///
/// The order in which the graph lists operators and tensors does not matter. Unlike `find_repeats`, it demands nothing of how layers follow
/// each other, and finds layers of several shapes, each with its own copies. A single odd layer leaves those parts of its neighbours that
/// look like its own in smaller subgraphs; where operators have names with scopes, `names` keeps layers whole.
///
/// @param g       a valid graph
/// @param limits  which subgraphs count
/// @return the subgraphs and the operators outside of them
/// @post each operator is in one copy or in `alone`, once
/// @throws invalid_input if `limits.repeats` is below 2
/// @par Complexity
/// Each round takes expected O(operators + tensors + inputs + outputs) operations, hash tables included. Before the rounds, O((inputs +
/// outputs) log operators).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Folding of repeated subgraphs: Shi et al., "TAP", arXiv 2302.00247. Refinement: Weisfeiler and Leman, 1968. The algorithm is our own.
template <class = when_called>
[[nodiscard]] repeated_subgraphs find_repeated_subgraphs(graph const& g, subgraph_limits const& limits = {}) {
  require(limits.repeats >= 2, [&] { return sentence("repeats = ", limits.repeats, " must be at least 2"); });
  return detail::subgraph_finder<>(g, limits).find();
}

BALLAST_INSTANTIATE(repeated_subgraphs find_repeated_subgraphs(graph const&, subgraph_limits const&))

}  // namespace ballast::inline v0_2
