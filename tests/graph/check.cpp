// SPDX-License-Identifier: Apache-2.0
#include <ballast/graph/check.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/three_operators.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace test_graph_check {

using ballast::graph_fault;
using ballast_test::three_operators;

namespace {

constexpr auto most = std::int64_t{1} << 62;

std::string said(ballast::graph const& g) { return describe(check_graph(g), g); }

}  // namespace

TEST_CASE("check_graph: valid graphs") {
  CHECK(check_graph(three_operators()).valid());
  CHECK(said(three_operators()) == "valid");
  CHECK(check_graph(ballast::graph{}).valid());
}

TEST_CASE("check_graph: each rule, with the names of what breaks it") {
  auto const broken = [](auto&& change) {
    auto g = three_operators();
    change(g);
    auto const v = check_graph(g);
    CHECK(ballast_test::refusal([&] { return require_valid(g), 0; }) == describe(v, g));
    return std::pair(v.fault, describe(v, g));
  };
  using result = std::pair<ballast::rule, std::string>;
  CHECK(broken([](auto& g) { g.operators.pop_back(); }) ==
        result{graph_fault::wrong_rows, "inputs and outputs must have a row for each of the 2 operators; one has 3"});
  CHECK(broken([](auto& g) { g.inputs.members.push_back(0); }) ==
        result{graph_fault::bad_offsets, "offsets[3] = 4: offsets must rise from 0 to 5"});
  CHECK(broken([](auto& g) { g.outputs.offsets[1] = 9; }).first == graph_fault::bad_offsets);
  CHECK(broken([](auto& g) { g.inputs.offsets[0] = 1; }).first == graph_fault::bad_offsets);
  CHECK(broken([](auto& g) { g.inputs.members[0] = 9; }) ==
        result{graph_fault::no_such_tensor, "operator 0 (square) names tensor 9, but there are 4"});
  CHECK(broken([](auto& g) { g.inputs.members[1] = 1; }) == result{graph_fault::named_twice, "operator 1 (sum) names tensor 1 (y) twice"});
  CHECK(broken([](auto& g) { g.outputs.members[0] = 0; }) ==
        result{graph_fault::named_twice, "operator 0 (square) names tensor 0 (x) twice"});
  CHECK(broken([](auto& g) { g.outputs.members[2] = 1; }) ==
        result{graph_fault::made_twice, "operator 2 (halve) makes tensor 1 (y), which an earlier operator makes too"});
  CHECK(broken([](auto& g) { g.inputs.members[0] = 2; }) ==
        result{graph_fault::read_too_early, "operator 0 (square) reads tensor 2 (z) before operator 1 (sum) makes it"});
  CHECK(broken([](auto& g) { g.tensors[1].bytes = -5; }) == result{graph_fault::negative_size, "tensor 1 (y) has a negative size, -5"});
  CHECK(broken([](auto& g) { g.tensors[3].shares = 0; }) ==
        result{graph_fault::shares_unread, "tensor 3 (w) uses the memory of tensor 0 (x), which the operator that makes it must read"});
  CHECK(broken([](auto& g) { g.tensors[0].shares = 77; }).first == graph_fault::shares_unread);
  CHECK(broken([](auto& g) { g.operators[2].time = -1; }) ==
        result{graph_fault::negative_number, "operator 2 (halve) has a negative time or workspace, -1"});
  CHECK(broken([](auto& g) { g.operators[0].workspace = -2; }).first == graph_fault::negative_number);
  CHECK(broken([](auto& g) { g.tensors[2].bytes = most; }).first == graph_fault::too_large);
  CHECK(broken([](auto& g) { g.operators[1].workspace = most; }).first == graph_fault::too_large);
  CHECK(broken([](auto& g) { g.operators[0].time = g.operators[1].time = most / 2; }).first == graph_fault::too_large);
  auto g = three_operators();
  g.tensors[2].bytes = most - 40;  // x, y, z, w and the workspace: 8 + 8 + (most - 40) + 4 + 16
  CHECK(check_graph(g).valid());
}

TEST_CASE("check_graph: nobody reads what was overwritten, not even through a view") {
  auto g = three_operators();
  auto const out = g.add({.bytes = 1});
  g.add({.name = "late"}, {2}, {out});
  CHECK(said(g) == "operator 3 (late) reads tensor 2 (z) after tensor 3 (w) has overwritten it");

  // b, two views of it, and a change in place of the first view.
  ballast::graph v;
  auto const b = v.add({.name = "b", .bytes = 8});
  auto const first = v.add({.name = "first", .shares = b}), second = v.add({.name = "second", .shares = b});
  auto const changed = v.add({.name = "changed", .shares = first, .in_place = true}), end = v.add({.name = "end", .bytes = 2});
  v.add({.name = "views"}, {b}, {first, second});
  v.add({.name = "change"}, {first}, {changed});
  auto early = v;
  v.add({.name = "read"}, {changed}, {end});
  CHECK(check_graph(v).valid());
  early.add({.name = "read"}, {second}, {end});
  CHECK(said(early) == "operator 2 (read) reads tensor 2 (second) after tensor 3 (changed) has overwritten it");
}

}  // namespace test_graph_check
