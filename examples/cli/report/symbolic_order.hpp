// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/symbolic_plan.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

// What is printed of a training step whose sizes depend on the batch.

namespace ballast_cli {

struct symbolic_order_report {
  std::string title;  ///< the file, or the model
  ballast::basic_graph<ballast::symbolic> const& graph;
  symbolic_request const& asked;
  symbolic_plan const& plan;
};

[[nodiscard]] std::string in_words(symbolic_order_report const& report);
[[nodiscard]] nlohmann::ordered_json to_json(symbolic_order_report const& report);

/// Says that there is no run of a batch within the budget, or that none was found.
[[nodiscard]] std::string no_run_in_words(symbolic_order_report const& report, std::size_t batch);

}  // namespace ballast_cli
