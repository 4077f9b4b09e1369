// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include "readers/buffers.hpp"
#include "readers/graph.hpp"
#include "refused.hpp"
#include "support/catch.hpp"

#include <ballast/memory/peak.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace test_cli_order {

namespace {

using namespace ballast_test;
using nlohmann::json;

/// Two branches with a large tensor each: program order makes both before it reads either, 23 bytes; one after the other takes 14.
std::string const branches = R"({"operators": [
  {"name": "left", "inputs": ["x"], "outputs": ["a"], "time": 5},
  {"name": "right", "inputs": ["x"], "outputs": ["b"], "time": 5},
  {"name": "left sum", "inputs": ["a"], "outputs": ["c"], "time": 1},
  {"name": "right sum", "inputs": ["b"], "outputs": ["d"], "time": 1},
  {"name": "join", "kind": "backward", "inputs": ["c", "d"], "outputs": ["e"], "time": 1}],
"tensors": [
  {"name": "x", "bytes": 3}, {"name": "a", "bytes": 10}, {"name": "b", "bytes": 10, "kind": "temporary"},
  {"name": "c", "bytes": 1}, {"name": "d", "bytes": 1}, {"name": "e", "bytes": 2, "kind": "gradient", "kept": true}]})";

/// A chain whose forward tensors are read again by its backward in reverse: what is computed again lowers the peak.
std::string chain(int layers) {
  std::string operators, tensors = "{\"name\": \"x0\", \"bytes\": 8}";
  auto const name = [](char const* of, int i) { return "\"" + (of + std::to_string(i)) + "\""; };
  for (int i = 1; i <= layers; ++i) {
    operators +=
        "{\"name\": " + name("f", i) + ", \"time\": 2, \"inputs\": [" + name("x", i - 1) + "], \"outputs\": [" + name("x", i) + "]},\n";
    tensors += ", {\"name\": " + name("x", i) + ", \"bytes\": 8}";
  }
  tensors += ", {\"name\": " + name("g", layers) + ", \"bytes\": 2}";
  operators += "{\"name\": \"loss\", \"time\": 1, \"kind\": \"backward\", \"inputs\": [" + name("x", layers) + "], \"outputs\": [" +
               name("g", layers) + "]}";
  for (int i = layers; i >= 1; --i) {
    operators += ",\n{\"name\": " + name("b", i) + ", \"time\": 4, \"kind\": \"backward\", \"inputs\": [" + name("x", i - 1) + ", " +
                 name("g", i) + "], \"outputs\": [" + name("g", i - 1) + "]}";
    tensors += ", {\"name\": " + name("g", i - 1) + ", \"bytes\": 2, \"kind\": \"gradient\"}";
  }
  return "{\"operators\": [" + operators + "], \"tensors\": [" + tensors + "]}";
}

/// The order that was printed, as indices of the operators.
std::vector<std::uint32_t> order_of(json const& figures, ballast::graph const& graph) {
  std::map<std::string, std::uint32_t> index;
  for (std::uint32_t v = 0; v < graph.size(); ++v) index[graph.operators[v].name] = v;
  std::vector<std::uint32_t> out;
  for (auto const& name : figures["order"]) out.push_back(index.at(name.get<std::string>()));
  return out;
}

json figures_of(scratch const& in, std::string const& arguments) {
  auto const o = in.ballast("order " + arguments + " --json");
  CAPTURE(o.err);
  REQUIRE(o.code == 0);
  return json::parse(o.out);
}

}  // namespace

TEST_CASE("order: the planned order can run and has the peak that is printed, which is proven", "[cli][order]") {
  scratch const in;
  in.file("g.json", branches);
  auto const figures = figures_of(in, "g.json");
  CHECK(figures["operators"] == 5);
  CHECK(figures["tensors"] == 6);
  CHECK(figures["orders"][0] == json{{"order", "program"}, {"peak", 23}, {"reserved", 2 << 20}});
  CHECK(figures["orders"].size() == 8);
  CHECK(figures["orders"][7]["order"] == "planned");
  CHECK(figures["peak"] == 14);
  CHECK(figures["lower_bound"] == 14);
  CHECK(figures["optimal"] == true);
  CHECK_FALSE(figures.contains("recompute"));
  CHECK_FALSE(figures.contains("layout"));
  auto const graph = ballast_cli::read_graph(branches, "f");
  CHECK(evaluate_order(graph, order_of(figures, graph)).peak == 14);
}

TEST_CASE("order: a model's graph is what --write-graph writes", "[cli][order]") {
  scratch const in;
  auto const of = [&](std::string const& what) { return figures(in.ballast("order " + what + " --json").out); };
  auto const made = of("--model qwen2.5-0.5b --length 256 --batch 2 --scores --write-graph g.json");
  REQUIRE(made.starts_with("{\"operators\":"));
  CHECK(of("g.json") == made);
  CHECK(of("--model qwen2.5-0.5b --length 256 --batch 2") != made);
  auto const figures = json::parse(made + "}");
  CHECK(figures["peak"].get<std::int64_t>() < figures["orders"][0]["peak"].get<std::int64_t>());
  for (auto const& each : figures["orders"]) {
    CHECK(each["peak"].get<std::int64_t>() >= figures["peak"].get<std::int64_t>());
    CHECK(each["reserved"].get<std::int64_t>() >= each["peak"].get<std::int64_t>());
  }
}

TEST_CASE("order: addresses do not overlap, and views have those of what they are views of", "[cli][order]") {
  scratch const in;
  auto text = branches;
  text.replace(text.find("{\"name\": \"d\""), 12, "{\"name\": \"v\", \"bytes\": 10, \"view_of\": \"a\"}, {\"name\": \"d\"");
  text.replace(text.find("[\"a\"]"), 5, "[\"a\", \"v\"]");
  text.replace(text.find("[\"a\", \"v\"]"), 10, "[\"a\"]");
  text.replace(text.find("[\"a\"], \"outputs\": [\"c\"]"), 23, "[\"a\"], \"outputs\": [\"c\", \"v\"], \"workspace\": 7");
  in.file("g.json", text);
  auto const figures = figures_of(in, "g.json --layout --out a.csv");
  auto const& layout = figures["layout"];
  CHECK(layout["height"].get<std::int64_t>() >= figures["peak"].get<std::int64_t>());
  CHECK(layout["offsets"]["v"] == layout["offsets"]["a"]);
  CHECK(layout["workspaces"].contains("left sum"));
  auto const table = ballast_cli::read_buffers(read_whole(in / "a.csv"), "a.csv");
  auto const graph = ballast_cli::read_graph(text, "f");
  auto const expected = buffers_of(graph, order_of(figures, graph)).buffers;
  REQUIRE(table.buffers.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    auto const& a = table.buffers[i];
    CHECK((a.lower == expected[i].lower && a.upper == expected[i].upper && a.size == expected[i].size));
    CHECK(a.fixed + a.size <= layout["height"].get<std::int64_t>());
    for (std::size_t j = 0; j < i; ++j) {
      auto const& b = table.buffers[j];
      CHECK((a.upper <= b.lower || b.upper <= a.lower || a.fixed + a.size <= b.fixed || b.fixed + b.size <= a.fixed));
    }
  }
  CHECK(in.ballast("layout a.csv").code == 0);
}

TEST_CASE("order: a budget is kept by computing again, met without, or proven too small", "[cli][order]") {
  scratch const in;
  in.file("g.json", chain(6));
  auto const whole = figures_of(in, "g.json");
  auto const peak = whole["peak"].get<std::int64_t>();
  auto const kept = figures_of(in, "g.json --budget " + std::to_string(peak - 12) + " --layout");
  REQUIRE(kept.contains("recompute"));
  auto const& again = kept["recompute"];
  CHECK(again["budget"] == peak - 12);
  CHECK(again["peak"].get<std::int64_t>() <= peak - 12);
  CHECK(kept["layout"]["height"].get<std::int64_t>() <= peak - 12);
  CHECK(again["added_time"].get<std::int64_t>() > 0);
  CHECK(again["lower_bound"].get<std::int64_t>() <= again["added_time"].get<std::int64_t>());
  CHECK(again["dropped"].size() >= 1);
  CHECK(again["time"] == 6 * 2 + 1 + 6 * 4);
  CHECK(kept["order"].size() == whole["order"].size() + again["again"].size());
  CHECK(kept["peak"] == peak);

  CHECK_FALSE(figures_of(in, "g.json --budget " + std::to_string(peak)).contains("recompute"));
  auto const words = in.ballast("order g.json --budget " + std::to_string(peak));
  CHECK(words.out.find("Within " + std::to_string(peak) + " bytes nothing has to be computed again.\n") != std::string::npos);
  check_refused(in.ballast("order g.json --budget 9"), "g.json: no choice of what to compute again keeps --budget 9 bytes", 3);
}

TEST_CASE("order: updates run as soon as nobody needs what they overwrite", "[cli][order]") {
  // Two layers: the backward of the second reads its weight behind the operator that makes its gradient.
  std::string const text = R"({"operators": [
    {"name": "f1", "inputs": ["x0", "w1"], "outputs": ["x1"]}, {"name": "f2", "inputs": ["x1", "w2"], "outputs": ["x2"]},
    {"name": "dw2", "kind": "backward", "inputs": ["x1", "x2"], "outputs": ["d2"]},
    {"name": "dx1", "kind": "backward", "inputs": ["x2", "w2"], "outputs": ["d1"]},
    {"name": "dw1", "kind": "backward", "inputs": ["x0", "d1"], "outputs": ["e1"]},
    {"name": "u1", "kind": "update", "inputs": ["w1", "e1"], "outputs": ["v1"]},
    {"name": "u2", "kind": "update", "inputs": ["w2", "d2"], "outputs": ["v2"]}],
  "tensors": [
    {"name": "x0", "bytes": 1}, {"name": "x1", "bytes": 1}, {"name": "x2", "bytes": 1}, {"name": "d1", "bytes": 1},
    {"name": "d2", "bytes": 100}, {"name": "e1", "bytes": 100}, {"name": "w1", "bytes": 100, "kind": "parameter"},
    {"name": "w2", "bytes": 100, "kind": "parameter"}, {"name": "v1", "bytes": 100, "kind": "parameter", "in_place_of": "w1"},
    {"name": "v2", "bytes": 100, "kind": "parameter", "in_place_of": "w2"}]})";
  scratch const in;
  in.file("g.json", text);
  auto const figures = figures_of(in, "g.json");
  CHECK(figures["orders"][0]["peak"] == 402);  // both gradients, while dw1 runs
  CHECK(figures["orders"][1]["order"] == "updates first");
  CHECK(figures["orders"][1]["peak"] == 303);  // u2 runs behind dx1 and before dw1
  CHECK(figures["peak"] == 303);
  auto const graph = ballast_cli::read_graph(text, "f");
  CHECK(evaluate_order(graph, order_of(figures, graph)).peak == 303);
}

TEST_CASE("order: pictures, page and options", "[cli][order]") {
  scratch const in;
  in.file("g.json", branches);
  REQUIRE(in.ballast("order g.json --layout --svg p.svg --report r.html").code == 0);
  auto const svg = read_whole(in / "p.svg"), page = read_whole(in / "r.html");
  for (auto const& text : {svg, page}) {
    CHECK(text.find("program order: memory, bytes") != text.npos);
    CHECK(text.find("planned order: memory, bytes") != text.npos);
    CHECK(text.find(">peak 23 bytes<") != text.npos);
    CHECK(text.find(">peak 14 bytes<") != text.npos);
    CHECK(text.find(">temporary<") != text.npos);
    CHECK(text.find(">optimiser states<") == text.npos);  // there are none
  }
  CHECK(page.find("{{") == page.npos);
  CHECK(page.find("address, bytes") != page.npos);

  check_refused(in.ballast("order"), "order: GRAPH, or --model with --length, is required\n");
  check_refused(in.ballast("order --model gpt2-xl"), "--model requires --length\n");
  check_refused(in.ballast("order g.json --out a.csv"), "--out requires --layout\n");
  check_refused(in.ballast("order --model deepseek-v3 --length 8"), "training_graph: models with ");
  check_refused(in.ballast("order none.json"), "none.json: ");
}

}  // namespace test_cli_order
