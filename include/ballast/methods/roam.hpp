// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/memory/buffer.hpp>
#include <ballast/memory/buffer_addresses.hpp>
#include <ballast/memory/fit_layouts.hpp>
#include <ballast/memory/folded_order.hpp>
#include <ballast/memory/order.hpp>
#include <ballast/memory/peak.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief ROAM (Shu et al., 2023): the order of the operators of a training step and the addresses of its tensors, planned together.

namespace ballast::inline v0_2::roam {

/// @brief How `plan_memory` searches.
struct options {
  order_options order{};   ///< of the search for an order
  std::uint64_t seed = 0;  ///< of the search for a layout
};

/// @brief What runs when, and what is where.
struct memory_plan {
  std::vector<std::uint32_t> order;   ///< the operators in the order in which they run
  order_buffers buffers;              ///< what that order needs, and when; `of_tensor` finds the buffer of a tensor
  std::vector<std::int64_t> offsets;  ///< address of each buffer, in bytes
  certificate live;                   ///< most bytes in use at a time; no order has less than its lower bound
  certificate height;                 ///< bytes from address 0 to the highest end of a buffer; no order and no layout has less
  bool complete = true;               ///< false if a requested stop or the clock ended a search
};

/// @brief Plans the order of operators first, for the least peak of live memory, and then the layout of that order.
///
/// Fragmentation is what the height exceeds the live peak by. A layout rarely needs any, so the two searches one after the other are as
/// good as one search for both: the certificate compares the height with the lower bound of every order. What the published system does by
/// rules, and by integer programs in small subgraphs, is here a search with bounds (memory/order.hpp, memory/buffer_addresses.hpp):
/// operators that stand alone between all others cut the graph, updates run where they save most, and where the search of all layers leaves
/// a gap, a few are searched and repeated.
///
/// @param g        the graph; a training step with its updates (`training_graph`), or any other
/// @param settings how much is searched
/// @param limits   for each of both searches
/// @return order, buffers and addresses
/// @post `live.lower_bound <= live.value <= height.value`, and `height.lower_bound == live.lower_bound`
/// @throws invalid_input if the graph is not valid
/// @par Complexity
/// That of `order_operators`, at most twice, and of `layout_buffers`.
/// @par Determinism
/// A pure function of its arguments, unless a stop or the clock ends a search.
/// @par Source
/// Shu et al., "ROAM: memory-efficient large DNN training via optimized operator ordering and memory layout", arXiv 2310.19295.
template <class = when_called>
[[nodiscard]] memory_plan plan_memory(graph const& g, options const& settings = {}, search_limits const& limits = {}) {
  auto ordered = order_operators(g, settings.order, limits);
  if (!ordered.peak.optimal()) {
    auto folded = order_folded(g, {.order = settings.order}, limits);
    if (!folded.order.empty() && folded.peak.value < ordered.peak.value) {
      ordered.order = std::move(folded.order);
      ordered.peak.value = folded.peak.value;
    }
    ordered.complete = ordered.complete && folded.complete;
  }
  memory_plan out{.order = std::move(ordered.order), .buffers = {}, .offsets = {}, .live = ordered.peak, .height = {}, .complete = true};
  out.buffers = buffers_of(g, out.order);
  auto placed = layout_buffers(out.buffers.buffers, {.seed = settings.seed}, limits);
  out.offsets = std::move(placed.offsets);
  out.height = {placed.height.value, ordered.peak.lower_bound};
  out.complete = ordered.complete && placed.complete;
  return out;
}

/// @brief The published layout: what lives from the forward pass into the backward pass is at the bottom, in the order in which it is made.
///
/// Parameters and optimiser states come first. Long-lived tensors so never split the space of those above them. The published system then
/// lays out the temporaries of each small subgraph by an integer program; here they are placed by first fit, the largest first.
///
/// @param g      a valid graph
/// @param order  its operators in the order in which they run
/// @return a layout of `buffers_of(g, order).buffers`
/// @throws invalid_input as `buffers_of`
/// @par Complexity
/// That of `first_fit_layout`.
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] memory_layout layout_activations_first(graph const& g, std::span<std::uint32_t const> order) {
  auto buffers = buffers_of(g, order);
  std::int64_t backward = static_cast<std::int64_t>(order.size());  // the first step that is not of the forward pass
  for (auto i = order.size(); i-- > 0;)
    if (g.operators[order[i]].kind != operator_kind::forward) backward = static_cast<std::int64_t>(i);
  std::vector<std::uint32_t> long_lived;
  for (std::uint32_t b = 0; b < buffers.buffers.size(); ++b)
    if (buffers.buffers[b].lower < backward && buffers.buffers[b].upper > backward) long_lived.push_back(b);
  std::sort(long_lived.begin(), long_lived.end(), [&](auto a, auto b) {
    auto const &x = buffers.buffers[a], &y = buffers.buffers[b];
    return x.lower != y.lower ? x.lower < y.lower : x.upper != y.upper ? x.upper > y.upper : a < b;
  });
  std::int64_t at = 0;
  for (auto const b : long_lived) {
    buffers.buffers[b].fixed = at;
    at += buffers.buffers[b].size;
  }
  return first_fit_layout(buffers.buffers, fit_order::size);
}

}  // namespace ballast::inline v0_2::roam
