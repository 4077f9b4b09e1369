// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/graph/repeat_layers.hpp>
#include <ballast/graph/repeated_blocks.hpp>
#include <ballast/memory/check_order.hpp>
#include <ballast/memory/order.hpp>
#include <ballast/memory/order_bounds.hpp>

#include <cstdint>

/// @file
/// @brief `order_folded`: the order of a model with many equal layers, from that of a model with few.

namespace ballast::inline v0_2 {

/// @brief How `order_folded` searches.
struct folded_order_options {
  std::uint32_t layers = 6;  ///< layers that the searched graph keeps, at least 4
  order_options order{};     ///< of the search for its order
};

/// @brief Searches the order of a graph with fewer layers, and repeats what it does from one layer to the next.
///
/// The search takes as long for a hundred layers as for six. If layers are equal, an order that is optimal for few is often optimal for
/// many, but that is not proven: the lower bound is the `operator_bound` of the whole graph. `order_operators` proves more.
///
/// @param g        a valid graph
/// @param options  how many layers are searched, and how
/// @param limits   when the search stops
/// @return the order; an empty one, with a value of 0, if the graph has no more equal layers than are searched, or if the order found does
/// the same for none of them
/// @throws invalid_input if the graph is not valid or `layers` is below 4
/// @par Complexity
/// O((operators + inputs + outputs) log operators), and that of `order_operators` for the shorter graph.
/// @par Determinism
/// A pure function of its arguments, unless a stop or the clock ends the search.
/// @par Source
/// The layer that is solved once and repeated: Shu et al., "ROAM", arXiv 2310.19295.
template <class = when_called>
[[nodiscard]] memory_order order_folded(graph const& g, folded_order_options const& options = {}, search_limits const& limits = {}) {
  require_valid(g);
  require(options.layers >= 4, [&] { return sentence("layers = ", options.layers, " must be at least 4"); });
  auto const blocks = find_repeats(g);
  if (blocks.layers <= options.layers) return {};
  auto const first = options.layers / 2;
  auto const shorter = without_layers(g, blocks, first, blocks.layers - options.layers);
  auto found = order_operators(shorter.reduced, options.order, limits);
  found.order = repeat_layers(blocks, shorter, found.order, first);
  auto const seen = check_order(g, found.order, {.value = -1, .lower_bound = 0});  // a peak of -1 is the last rule that can be broken
  if (seen.fault != order_fault::wrong_peak) found.order.clear();
  found.peak = {.value = found.order.empty() ? 0 : seen.expected, .lower_bound = found.order.empty() ? 0 : operator_bound(g)};
  return found;
}

BALLAST_INSTANTIATE(memory_order order_folded(graph const&, folded_order_options const&, search_limits const&))

}  // namespace ballast::inline v0_2
