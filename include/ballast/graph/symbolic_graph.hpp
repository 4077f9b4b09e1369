// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/graph/dimension_basis.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/graph/symbolic.hpp>

#include <cstdint>
#include <span>
#include <utility>

/// @file
/// @brief Graphs of operators and tensors whose sizes depend on the batch: with every size replaced, or for one batch.

namespace ballast::inline v0_2 {

/// @brief Replaces every size and time of a graph.
/// @tparam From  number type of the graph
/// @tparam Map   a callable from `From const&` to the new number type
/// @param g    a graph
/// @param map  makes the new number from the old one
/// @return a graph with the same operators and tensors
/// @par Complexity
/// O(operators + tensors + inputs) and a call for each number.
template <class From, class Map>
[[nodiscard]] auto map_sizes(basic_graph<From> const& g, Map const& map) {
  using to = decltype(map(std::declval<From const&>()));
  basic_graph<to> out;
  for (auto const& o : g.operators) out.operators.push_back({o.name, o.kind, map(o.time), map(o.workspace)});
  for (auto const& t : g.tensors) out.tensors.push_back({t.name, t.kind, map(t.bytes), t.kept, t.shares, t.in_place});
  out.inputs = g.inputs;
  out.outputs = g.outputs;
  return out;
}

/// @brief The graph of one batch.
/// @param g       a graph whose sizes are polynomials over the dimensions of a batch
/// @param values  values of all dimensions
/// @return the same graph in numbers
/// @throws invalid_input if a dimension has no value or an intermediate result reaches 2^63
/// @par Complexity
/// O(terms + inputs).
template <class = when_called>
[[nodiscard]] graph graph_at(basic_graph<symbolic> const& g, std::span<std::int64_t const> values) {
  return map_sizes(g, [&](symbolic const& p) { return p(values); });
}

/// @brief Writes all sizes of a graph over a basis of its dimensions, so that sizes which are always equal become the same polynomial.
/// @param g      a graph whose sizes are polynomials over the dimensions of a batch
/// @param basis  the solved equalities of these dimensions
/// @return the same graph; its sizes have the numbering and the ranges of `basis.dimensions`
/// @throws invalid_input if a coefficient reaches 2^63
/// @par Complexity
/// `reduce` for each number.
template <class = when_called>
[[nodiscard]] basic_graph<symbolic> over_basis(basic_graph<symbolic> const& g, dimension_basis const& basis) {
  return map_sizes(g, [&](symbolic const& p) { return basis.reduce(p); });
}

}  // namespace ballast::inline v0_2
