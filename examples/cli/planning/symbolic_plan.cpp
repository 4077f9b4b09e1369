// SPDX-License-Identifier: Apache-2.0
#include "planning/symbolic_plan.hpp"

#include "errors.hpp"
#include "planning/graph_plan.hpp"

#include <ballast/core/error.hpp>
#include <ballast/graph/symbolic_graph.hpp>
#include <ballast/memory/order.hpp>
#include <ballast/memory/peak.hpp>

#include <chrono>
#include <span>

namespace ballast_cli {

namespace {

using ballast::symbolic;

/// Whether a sum of polynomials stays below 2^62 in every batch.
[[nodiscard]] bool stays_small(std::vector<symbolic> const& all, std::span<ballast::dimension const> dimensions) try {
  symbolic sum;
  for (auto const& p : all) sum = sum + p;
  return sum.bounds(dimensions).high < std::int64_t{1} << 62;
} catch (ballast::invalid_input const&) {  // a coefficient of the sum
  return false;
}

void require_small(ballast::basic_graph<symbolic> const& graph, std::string const& name, std::span<ballast::dimension const> dimensions) {
  std::vector<symbolic> bytes, times;
  for (auto const& t : graph.tensors) bytes.push_back(t.bytes);
  for (auto const& o : graph.operators) {
    bytes.push_back(o.workspace);
    times.push_back(o.time);
  }
  for (auto const& [what, all] : {std::pair{"bytes of all tensors and workspaces", &bytes}, {"times of all operators", &times}})
    if (!stays_small(*all, dimensions))
      throw bad_input(name + ": the " + what + " together may reach 2^62 within --dimensions; end the ranges at smaller numbers");
}

[[nodiscard]] ballast::memory_order searched_alone(ballast::graph const& graph, std::uint64_t work) {
  return order_operators(graph, {}, {.work = work});
}

}  // namespace

symbolic_plan plan_symbolic(ballast::basic_graph<symbolic> const& graph, std::string const& name, symbolic_request const& asked) {
  require_small(graph, name, asked.dimensions);
  symbolic_plan out;
  auto const begin = std::chrono::steady_clock::now();
  auto const improve = [work = asked.work / 200 + 1](ballast::graph const& g) { return searched_alone(g, work).order; };
  out.step = ballast::bladedisc::compile(graph, asked.dimensions, {}, {}, improve);
  out.compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  for (auto const& values : asked.batches) {
    auto const numbers = graph_at(graph, values);
    batch_order batch{.order = out.step.orders.pick(values).order, .alone = searched_alone(numbers, asked.work).peak, .run = {}};
    batch.peak = evaluate_order(numbers, out.step.orders.orders[batch.order]).peak;
    batch.limit = asked.budget.value_or(batch.peak);
    batch.time = time_of(numbers);
    batch.run = ballast::bladedisc::run(out.step, values, {.limit = batch.limit, .time_per_megabyte = asked.time_per_megabyte}).run;
    out.batches.push_back(std::move(batch));
  }
  return out;
}

}  // namespace ballast_cli
