// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/memory/buffer_addresses.hpp>
#include <ballast/memory/peak.hpp>
#include <ballast/recompute/graph/recompute_graph.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The memory of a training step: orders of its operators, what is computed again to fit a budget, and addresses.

namespace ballast_cli {

struct order_request {
  std::optional<std::int64_t> budget;  ///< bytes that the step may take
  bool layout = false;                 ///< whether tensors get addresses
  std::uint64_t work = 0;              ///< operations of each search
};

/// An order of the operators, and the memory that it takes.
struct judged_order {
  std::string name, about;  ///< "program", "as the graph lists them"
  std::vector<std::uint32_t> order;
  std::int64_t peak = 0;
  std::int64_t reserved = 0;  ///< what PyTorch's caching allocator would take from the device; 0 if nothing of 2^62 bytes suffices
  double ms = 0;              ///< to make the order
};

struct graph_plan {
  std::vector<judged_order> orders;  ///< of the graph: program order, lists, and the planned one
  ballast::certificate peak;         ///< of the planned one

  // With a budget that is below the peak:
  std::optional<ballast::graph_recompute> recompute;  ///< feasible
  std::optional<judged_order> recomputed;             ///< a planned order of `recompute->rewritten`

  // With a layout of the last planned order:
  ballast::order_buffers buffers;
  std::optional<ballast::memory_layout> layout;
  double layout_ms = 0;

  [[nodiscard]] judged_order const& program() const { return orders.front(); }
  [[nodiscard]] judged_order const& planned() const { return recomputed ? *recomputed : orders.back(); }
  /// The graph whose operators are ordered in the end.
  [[nodiscard]] ballast::graph const& of(ballast::graph const& given) const { return recomputed ? recompute->rewritten : given; }
};

/// Plans a valid graph. Throws no_plan, naming `name`, where the budget is not kept.
[[nodiscard]] graph_plan plan_graph(ballast::graph const& graph, std::string const& name, order_request const& asked);

/// Sum of the times of all operators.
[[nodiscard]] std::int64_t time_of(ballast::graph const& graph);

}  // namespace ballast_cli
