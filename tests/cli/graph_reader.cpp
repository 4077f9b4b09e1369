// SPDX-License-Identifier: Apache-2.0
#include "readers/graph.hpp"

#include "errors.hpp"
#include "support/catch.hpp"

#include <ballast/cost/presets.hpp>
#include <ballast/footprint/training_graph.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace test_cli_graph_reader {

namespace {

using namespace ballast_cli;
using ballast::graph;

/// A graph of two operators with some text replaced.
std::string with(std::string const& old, std::string const& fresh) {
  std::string text = R"({"operators": [
    {"name": "mul", "time": 3, "inputs": ["x", "w", "x"], "outputs": ["y"], "workspace": 64},
    {"name": "step", "kind": "update", "inputs": [1, "y"], "outputs": ["w2"]}],
  "tensors": [
    {"name": "x", "bytes": 8},
    {"name": "w", "bytes": 16, "kind": "parameter"},
    {"name": "y", "bytes": 32, "kind": "temporary", "kept": true},
    {"name": "w2", "bytes": 16, "kind": "parameter", "in_place_of": "w"}]})";
  auto const at = text.find(old);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old.size(), fresh);
}

std::string refusal(std::string const& text) {
  try {
    (void)read_graph(text, "f");
  } catch (bad_input const& e) {
    return e.what();
  }
  return "read";
}

}  // namespace

TEST_CASE("graph: operators and tensors, by name or index, with their defaults", "[cli][graph_reader]") {
  graph expected;
  expected.add({.name = "x", .bytes = 8});
  expected.add({.name = "w", .kind = ballast::tensor_kind::parameter, .bytes = 16, .kept = true});
  expected.add({.name = "y", .kind = ballast::tensor_kind::temporary, .bytes = 32, .kept = true});
  expected.add({.name = "w2", .kind = ballast::tensor_kind::parameter, .bytes = 16, .kept = true, .shares = 1, .in_place = true});
  expected.add({.name = "mul", .time = 3, .workspace = 64}, {0, 1}, {2});  // x is read twice, and named once
  expected.add({.name = "step", .kind = ballast::operator_kind::update}, {1, 2}, {3});
  CHECK(read_graph(with("{", "{"), "f") == expected);
}

TEST_CASE("graph: what is written is read back", "[cli][graph_reader]") {
  auto const& model = ballast::transformer_preset("llama-3.1-8b");
  for (auto const scores : {false, true}) {
    auto made = ballast::training_graph<std::int64_t>(model, 2, 128, {.state = {}, .activation_bytes = 2, .scores = scores});
    make_names_differ(made);
    CHECK(read_graph(graph_json(made), "f") == made);
  }
  auto const views = read_graph(with("\"in_place_of\": \"w\"", "\"view_of\": \"w\", \"kept\": false"), "f");
  CHECK_FALSE(views.tensors[3].in_place);
  CHECK(read_graph(graph_json(views), "f") == views);
}

TEST_CASE("graph: names that occur again are numbered", "[cli][graph_reader]") {
  graph g;
  for (auto const* name : {"a", "a", "a (2)", "a", "b"}) g.add({.name = name});
  make_names_differ(g);
  std::string names;
  for (auto const& t : g.tensors) names += t.name + ", ";
  CHECK(names == "a, a (2), a (2) (2), a (3), b, ");
}

TEST_CASE("graph: a file that cannot be read is refused, naming the place", "[cli][graph_reader]") {
  auto const replaced = [](std::string const& old, std::string const& fresh, std::string const& sentence) {
    CAPTURE(old, fresh);
    CHECK(refusal(with(old, fresh)) == "f: " + sentence);
  };
  CHECK(refusal("") == "f: not JSON");
  CHECK(refusal("[]") == "f: expected an object with the lists operators and tensors");
  CHECK(refusal("{\"operators\": []}") == "f: the list tensors is missing");
  CHECK(refusal("{\"operators\": [], \"tensors\": []}") == "f: there are no operators in it");
  replaced("\"operators\"", "\"nodes\": 1, \"operators\"", "the key nodes is not known; there are operators and tensors");
  replaced("\"bytes\": 8", "\"bytes\": 8, \"bytes\": 9", "the key tensors.bytes occurs twice in one object");
  replaced("{\"name\": \"x\", \"bytes\": 8}", "7", "tensors[0]: expected an object, not 7");
  replaced("\"name\": \"x\"", "\"name\": \"\"", "tensors[0]: the key name is missing, or not a text; every operator and tensor has a name");
  replaced("\"name\": \"y\"", "\"name\": \"x\"", "tensors[2] (x): another tensor has this name");
  replaced("\"name\": \"step\"", "\"name\": \"mul\"", "operators[1] (mul): another operator has this name");
  replaced("\"bytes\": 8", "\"size\": 8",
           "tensors[0] (x): the key size is not known; there are name, bytes, kind, kept, view_of, in_place_of");
  replaced(", \"bytes\": 8", "", "tensors[0] (x): the key bytes is missing");
  replaced("\"bytes\": 8", "\"bytes\": -8", "tensors[0] (x): bytes: -8 is not a whole number from 0 to 2^62-1");
  replaced("\"bytes\": 8", "\"bytes\": 8.5", "tensors[0] (x): bytes: 8.5 is not a whole number from 0 to 2^62-1");
  replaced("\"parameter\"", "\"weight\"",
           "tensors[1] (w): kind: \"weight\" is not one of activation, gradient, parameter, state, temporary");
  replaced("\"kept\": true", "\"kept\": 1", "tensors[2] (y): kept: 1 is not true or false");
  replaced("\"in_place_of\": \"w\"", "\"in_place_of\": \"v\"",
           "tensors[3] (w2): in_place_of: there is no tensor \"v\"; tensors[] lists the names, and indices count from 0");
  replaced("\"in_place_of\": \"w\"", "\"in_place_of\": \"w\", \"view_of\": \"w\"",
           "tensors[3] (w2): a tensor is view_of or in_place_of another, not both");
  replaced("[1, \"y\"]", "[4, \"y\"]",
           "operators[1] (step): inputs[0]: there is no tensor 4; tensors[] lists the names, and indices count from 0");
  replaced("[1, \"y\"]", "[-1]",
           "operators[1] (step): inputs[0]: there is no tensor -1; tensors[] lists the names, and indices count from 0");
  replaced("[1, \"y\"]", "3", "operators[1] (step): inputs: expected a list of tensors, not 3");
  replaced("\"update\"", "3", "operators[1] (step): kind: 3 is not one of forward, backward, update");
  replaced("\"time\": 3", "\"time\": \"3\"",
           "operators[0] (mul): time: \"3\" is not a whole number from 0 to 2^62-1; for a polynomial, give --dimensions");
  // What only the graph as a whole shows:
  replaced(
      "[1, \"y\"]", "[1, \"w2\"]",
      "operator 1 (step) names tensor 3 (w2) twice; an output is named once, and is no input of its operator (in_place_of is for that)");
  replaced("[\"x\", \"w\", \"x\"]", "[\"w2\"]",
           "operator 0 (mul) reads tensor 3 (w2) before operator 1 (step) makes it; list the operators in an order in which they can run");
  replaced("[1, \"y\"]", "[\"y\"]",
           "tensor 3 (w2) uses the memory of tensor 1 (w), which the operator that makes it must read; name it among the inputs of that "
           "operator");
  replaced("\"bytes\": 8", "\"bytes\": 4611686018427387903",
           "the sizes of all tensors with the largest workspace, or the times of all operators, reach 2^62");
}

}  // namespace test_cli_graph_reader
