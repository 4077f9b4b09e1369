// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/graph_plan.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>

// What is printed and drawn of the memory of a training step.

namespace ballast_cli {

/// A plan, and what it is of.
struct memory_order_report {
  std::string title;  ///< the file, or the model
  std::string command;
  ballast::graph const& graph;
  graph_plan const& plan;
  std::optional<std::int64_t> budget;
  bool counted = false;  ///< whether the graph has no times, and each operator counts as 1
};

[[nodiscard]] std::string in_words(memory_order_report const& report);
[[nodiscard]] nlohmann::ordered_json to_json(memory_order_report const& report);
/// Memory over time in program order and in the planned one, as a file of its own.
[[nodiscard]] std::string picture_of(memory_order_report const& report);
[[nodiscard]] std::string page_of(memory_order_report const& report);
/// The buffers with their addresses, as `ballast layout` reads them. Needs a layout.
[[nodiscard]] std::string addresses_of(memory_order_report const& report);

}  // namespace ballast_cli
