// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/graph/symbolic.hpp>
#include <ballast/methods/bladedisc.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// A training step whose sizes depend on the batch: orders that are made once, and what each batch evicts.

namespace ballast_cli {

struct symbolic_request {
  std::vector<ballast::dimension> dimensions;
  std::vector<std::vector<std::int64_t>> batches;  ///< values of all dimensions
  std::optional<std::int64_t> budget;              ///< bytes that each batch may take
  std::int64_t time_per_megabyte = 0;              ///< 0: nothing moves to the host
  std::uint64_t work = 0;                          ///< operations of the search for one batch
};

/// One batch: its order, which was made before the batch was known, and its run within the limit.
struct batch_order {
  std::uint32_t order = 0;     ///< index in `symbolic_plan::step.orders.orders`
  std::int64_t peak = 0;       ///< of the order, without eviction
  ballast::certificate alone;  ///< peak of an order that is searched for this batch alone
  std::int64_t limit = 0;      ///< the budget, or the peak where there is none
  std::int64_t time = 0;       ///< of all operators
  ballast::eviction run;       ///< within the limit
};

struct symbolic_plan {
  ballast::bladedisc::compiled_step step;
  double compile_ms = 0;
  std::vector<batch_order> batches;
};

/// Plans a valid graph whose sizes are not negative. Throws bad_input, naming `name`, where sizes or times may reach 2^62.
[[nodiscard]] symbolic_plan plan_symbolic(ballast::basic_graph<ballast::symbolic> const& graph, std::string const& name,
                                          symbolic_request const& asked);

}  // namespace ballast_cli
