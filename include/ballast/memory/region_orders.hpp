// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/graph/symbolic.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

/// @file
/// @brief `region_orders`: orders of operators for all batches, of which the dimensions of a batch pick one.

namespace ballast::inline v0_2 {

/// @brief A node of the tree that picks an order: a question, or the answer.
struct region_node {
  static constexpr auto none = (std::numeric_limits<std::uint32_t>::max)();  ///< no node, or no order

  symbolic question{};            ///< a polynomial over the quantities, whose sign decides which node is next; of no use in a leaf
  std::uint32_t negative = none;  ///< the next node where it is negative; `none`: no batch is known for which it is
  std::uint32_t other = none;     ///< the next node where it is not negative; `none`: no batch is known for which it is not
  std::uint32_t order = none;     ///< the index of the order in a leaf, `none` elsewhere
  bool decided = false;           ///< whether every comparison by which the order was made has this result for every batch of the leaf

  friend bool operator==(region_node const&, region_node const&) = default;
};

/// @brief The order for a batch.
struct picked_order {
  std::uint32_t order = 0;  ///< its index in `region_orders::orders`
  bool decided = false;     ///< whether it is the order that list scheduling makes with the sizes of this batch

  friend constexpr bool operator==(picked_order const&, picked_order const&) = default;
};

/// @brief Orders of the operators of a graph, each for the batches of a region. `plan_regions` makes them.
struct region_orders {
  std::vector<std::vector<std::uint32_t>> orders{};  ///< distinct orders of all operators
  std::vector<dimension> dimensions{};               ///< ranges of the dimensions
  std::vector<symbolic> quantities{};                ///< what the questions are about, over the dimensions: these, or one product of them
  std::vector<region_node> nodes{};                  ///< a tree; node 0 is its root, and a node stands before those that follow it
  bool complete = true;                              ///< false if a stop or the clock ended the planning

  /// @brief Number of regions: leaves of the tree.
  [[nodiscard]] std::size_t regions() const {
    std::size_t out = 0;
    for (auto const& n : nodes) out += n.order != region_node::none ? 1U : 0U;
    return out;
  }
  /// @brief Whether every batch within the ranges is in a region in which all comparisons are decided.
  [[nodiscard]] bool decided() const {
    for (auto const& n : nodes)
      if (n.order == region_node::none ? n.negative == region_node::none || n.other == region_node::none : !n.decided) return false;
    return true;
  }
  /// @brief Picks the order for a batch.
  /// @param values  values of all dimensions, within their ranges
  /// @return the index of the order, and whether it is what list scheduling makes for this batch
  /// @throws invalid_input if a value is missing or out of range
  /// @par Complexity
  /// One evaluation of a polynomial for each node on the way: microseconds.
  [[nodiscard]] picked_order pick(std::span<std::int64_t const> values) const {
    require(values.size() == dimensions.size(), [&] { return sentence(values.size(), " values for ", dimensions.size(), " dimensions"); });
    for (std::size_t d = 0; d < values.size(); ++d)
      require(values[d] >= dimensions[d].low && values[d] <= dimensions[d].high,
              [&] { return entry("values", d, values[d]) + " is outside the range of " + dimensions[d].name; });
    std::vector<std::int64_t> known;
    known.reserve(quantities.size());
    for (auto const& q : quantities) known.push_back(q(values));
    bool met = true;
    std::uint32_t at = 0;
    while (nodes[at].order == region_node::none) {
      auto const negative = nodes[at].question(known) < 0;
      auto next = negative ? nodes[at].negative : nodes[at].other;
      if (next == region_node::none) {
        met = false;
        next = negative ? nodes[at].other : nodes[at].negative;
      }
      at = next;
    }
    return {nodes[at].order, met && nodes[at].decided};
  }

  friend bool operator==(region_orders const& a, region_orders const& b) {
    return a.orders == b.orders && a.nodes == b.nodes && a.quantities == b.quantities && a.complete == b.complete;
  }
};

}  // namespace ballast::inline v0_2
