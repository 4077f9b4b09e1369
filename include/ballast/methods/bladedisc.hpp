// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/core/status.hpp>
#include <ballast/graph/dimension_basis.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/graph/symbolic.hpp>
#include <ballast/graph/symbolic_graph.hpp>
#include <ballast/memory/region_orders.hpp>
#include <ballast/memory/symbolic_order.hpp>
#include <ballast/recompute/graph/evict.hpp>
#include <ballast/recompute/graph/eviction_plan.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief BladeDISC++ (arXiv 2412.16985): a training step whose shapes are symbolic is ordered, and given subgraphs to recompute, once;
/// each batch then picks its order and evicts within its memory limit.

namespace ballast::inline v0_2::bladedisc {

/// @brief How a step is compiled.
struct options {
  region_options regions{};      ///< regions of dimensions with an order each; likely batches are values over the basis' dimensions
  subgraph_options subgraphs{};  ///< largest subgraph that is recomputed
};

/// @brief A training step that was compiled before its batches are known.
struct compiled_step {
  ballast::status status = ballast::status::infeasible;  ///< infeasible if the equalities contradict each other, else feasible
  dimension_basis basis{};                               ///< the dimensions and their equalities; it names a contradiction
  region_orders orders{};                                ///< orders for regions of dimensions
  std::vector<eviction_plan> evictions{};                ///< subgraphs for each order
};

/// @brief Compiles a training step: equalities of dimensions to a basis, orders for regions, subgraphs to recompute for each order.
///
/// @tparam Improve  as for `plan_regions`
/// @param g           the step; its sizes and times are polynomials over the dimensions
/// @param dimensions  ranges of the dimensions
/// @param equalities  what relates them in every batch
/// @param how         regions and subgraphs
/// @param improve     makes an order for one batch of each region, as for `plan_regions`
/// @param limits      limits of `plan_regions`
/// @return the compiled step, or that the equalities contradict each other
/// @throws invalid_input as `solve_dimensions`, `plan_regions` and `plan_evictions`
/// @par Complexity
/// That of these three, the last for each distinct order.
/// @par Determinism
/// A pure function of the arguments, unless a stop or the clock ended it.
/// @par Source
/// BladeDISC++, arXiv 2412.16985, sections 3 and 4. Where the paper's comparison of symbolic sizes is undecided, it falls back to a rule;
/// here the ranges are divided into regions.
template <class Improve = std::nullptr_t>
[[nodiscard]] compiled_step compile(basic_graph<symbolic> const& g, std::span<dimension const> dimensions,
                                    std::span<dimension_equality const> equalities, options const& how = {},
                                    Improve const& improve = nullptr, search_limits const& limits = {}) {
  compiled_step out;
  out.basis = solve_dimensions(dimensions, equalities);
  if (out.basis.status == ballast::status::infeasible) return out;
  out.status = ballast::status::feasible;
  auto const reduced = over_basis(g, out.basis);
  out.orders = plan_regions(reduced, out.basis.dimensions, how.regions, improve, limits);
  for (auto const& order : out.orders.orders) out.evictions.push_back(plan_evictions(reduced, out.basis.dimensions, order, how.subgraphs));
  return out;
}

/// @brief One batch of a compiled step.
struct batch_run {
  picked_order order{};  ///< its order
  eviction run{};        ///< its run within the limit, or that there is none
};

/// @brief Picks the order of a batch and evicts within its limit.
/// @param step     a compiled step that is feasible
/// @param values   values of the declared dimensions
/// @param evicting  limit and costs
/// @return the order and the run
/// @throws invalid_input if a dimension is out of range, an equality does not hold for the batch, or as `evict`
/// @par Complexity
/// Microseconds for the order, and `evict`.
/// @par Determinism
/// A pure function of the arguments.
template <class = when_called>
[[nodiscard]] batch_run run(compiled_step const& step, std::span<std::int64_t const> values, evict_options const& evicting) {
  auto const all = step.basis.values(step.basis.basis_values(values));
  auto const picked = step.orders.pick(all);
  return {picked, evict(step.evictions[picked.order], all, evicting)};
}

}  // namespace ballast::inline v0_2::bladedisc
