// SPDX-License-Identifier: Apache-2.0
#include <ballast/recompute/graph/check.hpp>

#include "graph_suite.hpp"
#include "support/catch.hpp"
#include "support/program_order_peak.hpp"
#include "support/verdicts.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace test_recompute_graph_check {

using namespace ballast_test;
using namespace ballast;

namespace {

constexpr auto in_program_order = [](graph const& g) { return program_order_peak(g); };

/// What is wrong with a plan that was changed. Its operators: 0 ... 4 layers, 5 loss, 6 backward 4, 7 layer 0 again, 8 ... 11 backward 3
/// ... 0.
template <class Change>
verdict after(Change&& change) {
  auto const g = chain_graph(5, 100, 7);
  auto plan = recompute_graph(g, 600, in_program_order);
  REQUIRE(plan.status == status::feasible);
  change(plan);
  return ballast_test::place_of(check_graph_recompute(plan, g, 600, in_program_order));
}

/// Changes the tensors that one operator reads or makes.
void set_row(groups<std::uint32_t>& rows, std::size_t at, std::vector<std::uint32_t> const& row) {
  groups<std::uint32_t> changed;
  for (std::size_t v = 0; v < rows.size(); ++v) {
    if (v == at)
      changed.push_back(row);
    else
      changed.push_back(rows[v]);
  }
  rows = std::move(changed);
}

}  // namespace

TEST_CASE("check_graph_recompute: names the rule that a wrong plan breaks") {
  CHECK(after([](auto& p) {
          CHECK(p.dropped.size() == 1);
          CHECK(p.rewritten.size() == 12);
        }) == verdict{});
  CHECK(after([](auto& p) { p.status = status::infeasible; }) == verdict{graph_recompute_fault::wrong_status, 0});
  CHECK(after([](auto& p) { p.operator_of.pop_back(); }) == verdict{graph_recompute_fault::wrong_size, 11});
  CHECK(after([](auto& p) { p.tensor_of.pop_back(); }) == verdict{graph_recompute_fault::wrong_size, 1});
  CHECK(after([](auto& p) { p.tensor_of[1] = 999; }) == verdict{graph_recompute_fault::wrong_size, 1});
  CHECK(after([](auto& p) { p.dropped[0] = 999; }) == verdict{graph_recompute_fault::wrong_size, 999});
  CHECK(after([](auto& p) { p.rewritten.operators[3].time = -1; }) == verdict{graph_recompute_fault::invalid, 3});
  CHECK(after([](auto& p) { std::swap(p.operator_of[0], p.operator_of[1]); }) == verdict{graph_recompute_fault::wrong_operator, 0});
  CHECK(after([](auto& p) { p.operator_of[11] = 5; }) == verdict{graph_recompute_fault::wrong_operator, 11});
  CHECK(after([](auto& p) { p.rewritten.operators[3].time = 8; }) == verdict{graph_recompute_fault::changed_operator, 3});
  CHECK(after([](auto& p) { p.rewritten.operators[3].name = "?"; }) == verdict{graph_recompute_fault::changed_operator, 3});
  CHECK(after([](auto& p) { p.rewritten.operators[3].kind = operator_kind::update; }) ==
        verdict{graph_recompute_fault::changed_operator, 3});
  CHECK(after([](auto& p) { p.rewritten.tensors[2].bytes = 8; }) == verdict{graph_recompute_fault::changed_tensor, 2});
  CHECK(after([](auto& p) { p.rewritten.tensors.back().bytes = 8; }).fault == graph_recompute_fault::changed_tensor);
  CHECK(after([](auto& p) { p.time.value += 1; }) == verdict{graph_recompute_fault::wrong_time, 0});
  CHECK(after([](auto& p) { p.time.lower_bound = 8; }) == verdict{graph_recompute_fault::wrong_time, 0});
  CHECK(after([](auto& p) { p.peak += 1; }) == verdict{graph_recompute_fault::wrong_peak, 0});
  CHECK(after([](auto& p) { p.lower_peak = 601; }) == verdict{graph_recompute_fault::wrong_peak, 0});
}

TEST_CASE("check_graph_recompute: names the operator that reads or makes what it should not") {
  CHECK(after([](auto& p) { set_row(p.rewritten.inputs, 10, {p.rewritten.inputs[10][0], p.dropped[0]}); }) ==
        verdict{graph_recompute_fault::not_dropped, 10});
  CHECK(after([](auto& p) { set_row(p.rewritten.inputs, 9, {p.rewritten.inputs[9][0]}); }) ==
        verdict{graph_recompute_fault::wrong_input, 9});  // it waits for nothing
  CHECK(after([](auto& p) { set_row(p.rewritten.inputs, 1, {0}); }) == verdict{graph_recompute_fault::wrong_input, 1});
  CHECK(after([](auto& p) {
          auto const extra = p.rewritten.add({.name = "x2 (again)", .bytes = 100});
          p.tensor_of.push_back(2);
          set_row(p.rewritten.outputs, 9, {p.rewritten.outputs[9][0], extra});
        }) == verdict{graph_recompute_fault::wrong_output, 9});
  CHECK(after([](auto& p) { p.dropped.clear(); }) == verdict{graph_recompute_fault::not_dropped, 10});
}

TEST_CASE("check_graph_recompute: where nothing was found") {
  auto const g = chain_graph(5, 100, 7);
  auto plan = recompute_graph(g, 200, in_program_order);
  CHECK(plan.status == status::infeasible);
  CHECK(check_graph_recompute(plan, g, 200, in_program_order).valid());
  CHECK(!check_graph_recompute(plan, g, 5000, in_program_order).valid());  // nothing has to be dropped
  plan.dropped.push_back(1);
  CHECK(!check_graph_recompute(plan, g, 200, in_program_order).valid());
}

}  // namespace test_recompute_graph_check
