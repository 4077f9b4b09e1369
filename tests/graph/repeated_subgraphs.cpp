// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/graph/check.hpp>
#include <ballast/graph/repeated_subgraphs.hpp>

#include "support/catch.hpp"
#include "support/equal_layers.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace test_graph_repeated_subgraphs {

using namespace ballast;
using ballast_test::equal_layers;

namespace {

using copy = std::vector<std::uint32_t>;

/// The copies of a class, each as a set of operators renamed by `number`.
std::set<std::set<std::uint32_t>> sets_of(repeated_subgraph const& s, std::vector<std::uint32_t> const& number) {
  std::set<std::set<std::uint32_t>> out;
  for (auto const c : s.copies) {
    std::set<std::uint32_t> one;
    for (auto const v : c) one.insert(number[v]);
    out.insert(std::move(one));
  }
  return out;
}

struct permuted {
  graph made;
  std::vector<std::uint32_t> original;  ///< of each operator
};

/// The same graph in a random order in which it can run, its tensors numbered anew.
permuted shuffled(graph const& g, std::uint64_t seed) {
  splitmix64 random(seed);
  permuted out;
  std::vector<std::uint32_t> number(g.tensors.size());
  auto const places = random_permutation(g.tensors.size(), seed);
  for (std::uint32_t t = 0; t < places.size(); ++t) number[places[t]] = t;
  for (auto const t : places) {
    out.made.add(g.tensors[t]);
    if (auto& s = out.made.tensors.back().shares; s != graph_tensor<>::own) s = number[s];
  }
  auto const uses = uses_of(g);
  std::vector<bool> done(g.size());
  auto const updates = static_cast<std::size_t>(std::ranges::count(g.operators, operator_kind::update, &graph_operator<>::kind));
  for (std::size_t left = g.size(); left > 0; --left) {
    copy ready;
    for (std::uint32_t v = 0; v < g.size(); ++v)
      if (!done[v] && (g.operators[v].kind != operator_kind::update || left <= updates) &&
          std::ranges::all_of(g.inputs[v], [&](auto t) { return uses.maker[t] == graph_uses::none || done[uses.maker[t]]; }))
        ready.push_back(v);
    auto const v = ready[uniform_below(ready.size(), random)];
    done[v] = true;
    copy rows[2];
    for (auto const t : g.inputs[v]) rows[0].push_back(number[t]);
    for (auto const t : g.outputs[v]) rows[1].push_back(number[t]);
    out.made.add(g.operators[v], rows[0], rows[1]);
    out.original.push_back(v);
  }
  return out;
}

/// A chain of layers of the given shapes: norm, two equal matrices, a sum that tells their order, the residual.
graph layered(std::vector<std::int64_t> const& shapes) {
  graph g;
  auto x = g.add({.bytes = 64});
  g.add({.name = "embedding", .time = 7}, {}, {x});
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    auto const at = "layers." + std::to_string(i);
    auto const n = g.add({.bytes = 64}), a = g.add({.bytes = shapes[i]}), b = g.add({.bytes = shapes[i]}), y = g.add({.bytes = 64});
    auto const w = g.add({.kind = tensor_kind::parameter, .bytes = 8}), u = g.add({.kind = tensor_kind::parameter, .bytes = 8});
    g.add({.name = at + ".norm", .time = 1}, {x}, {n});
    g.add({.name = at + ".keys", .time = 2}, {n, w}, {a});
    g.add({.name = at + ".values", .time = 2}, {n, u}, {b});
    g.add({.name = at + ".join", .time = 3}, {a, b, x}, {y});
    x = y;
  }
  return g;
}

std::vector<std::uint32_t> identity(std::size_t n) {
  std::vector<std::uint32_t> out(n);
  for (std::uint32_t i = 0; i < n; ++i) out[i] = i;
  return out;
}

/// Whether each operator is in one copy or alone, once.
bool complete(repeated_subgraphs const& found, std::size_t operators) {
  auto all = found.alone;
  for (auto const& c : found.classes) all.insert(all.end(), c.copies.members.begin(), c.copies.members.end());
  std::sort(all.begin(), all.end());
  return all == identity(operators);
}

}  // namespace

TEST_CASE("find_repeated_subgraphs: forward, backward and update of a layer are one copy") {
  auto const g = equal_layers(9);
  auto const found = find_repeated_subgraphs(g);
  CHECK(found.complete);
  CHECK(complete(found, g.size()));
  REQUIRE(found.classes.size() == 1);
  CHECK(found.classes[0].kinds == 8);
  REQUIRE(found.classes[0].copies.size() == 9);
  for (std::uint32_t i = 0; i < 9; ++i)
    for (auto const v : found.classes[0].copies[i]) CHECK(g.operators[v].name.find("layer " + std::to_string(i)) == 0);
  CHECK(found.alone.size() == 3);  // embedding, loss and its backward
  CHECK(find_repeated_subgraphs(graph{}) == repeated_subgraphs{.rounds = 1});
}

TEST_CASE("find_repeated_subgraphs: copies are found in every order of operators and tensors") {
  for (auto const& g : {equal_layers(7), layered({30, 30, 30, 50, 50, 50, 50, 30})}) {
    auto const found = find_repeated_subgraphs(g);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      CAPTURE(seed);
      auto const other = shuffled(g, seed);
      REQUIRE(check_graph(other.made).valid());
      auto const again = find_repeated_subgraphs(other.made);
      CHECK(complete(again, g.size()));
      std::set<std::set<std::set<std::uint32_t>>> a, b;
      for (auto const& c : found.classes) a.insert(sets_of(c, identity(g.size())));
      for (auto const& c : again.classes) b.insert(sets_of(c, other.original));
      CHECK(a == b);
      for (auto const& c : again.classes)  // operators at the same position look alike
        for (std::size_t i = 1; i < c.copies.size(); ++i)
          for (std::size_t p = 0; p < c.copies[i].size(); ++p)
            CHECK(other.made.operators[c.copies[0][p]].time == other.made.operators[c.copies[i][p]].time);
    }
  }
}

TEST_CASE("find_repeated_subgraphs: near-copies are not copies") {
  auto g = equal_layers(9);
  SECTION("another size") {
    for (auto& t : g.tensors)
      if (t.name == "layer 4 product") ++t.bytes;
  }
  SECTION("another order of inputs") {
    for (std::uint32_t v = 0; v < g.size(); ++v)
      if (g.operators[v].name == "layer 4 weight backward")
        std::swap(g.inputs.members[g.inputs.offsets[v]], g.inputs.members[g.inputs.offsets[v] + 1]);
  }
  for (auto const names : {false, true}) {
    CAPTURE(names);
    auto const found = find_repeated_subgraphs(g, {.names = names});
    CHECK(complete(found, g.size()));
    REQUIRE(!found.classes.empty());
    CHECK(found.classes[0].copies.size() == 8);
    std::size_t of_layer_4 = 0;  // operators in copies that are not whole layers: those that look as in the other layers
    for (auto const& c : found.classes)
      for (auto const v : c.copies.members) of_layer_4 += g.operators[v].name.find("layer 4") != std::string::npos;
    if (names) {
      CHECK(found.classes.size() == 1);
      CHECK(found.classes[0].kinds == 8);
      CHECK(of_layer_4 == 0);
      CHECK(found.alone.size() == 3 + 8);
    } else {
      CHECK(of_layer_4 < 8);
    }
  }
}

TEST_CASE("find_repeated_subgraphs: an edge that differs separates a copy") {
  auto g = layered(std::vector<std::int64_t>(6, 30));
  REQUIRE(find_repeated_subgraphs(g).classes.size() == 1);
  auto const join = 1 + 4 * 3 + 3;  // of layer 3: keys in the place of values
  std::swap(g.inputs.members[g.inputs.offsets[join]], g.inputs.members[g.inputs.offsets[join] + 1]);
  auto const same = find_repeated_subgraphs(g);  // nobody can tell which of two equal matrices makes the keys
  CHECK(same.classes.size() == 1);
  CHECK(same.classes[0].copies.size() == 6);
  auto const named = find_repeated_subgraphs(g, {.names = true});
  REQUIRE(named.classes.size() == 1);
  CHECK(named.classes[0].copies.size() == 5);
  CHECK(named.alone == copy{0, 13, 14, 15, 16});
}

TEST_CASE("find_repeated_subgraphs: layers of several shapes, and periods of several layers") {
  auto const two = find_repeated_subgraphs(layered({30, 30, 30, 50, 50, 50, 50, 50}));
  REQUIRE(two.classes.size() == 2);
  CHECK(two.classes[0].copies.size() == 3);
  CHECK(two.classes[1].copies.size() == 5);
  CHECK(two.classes[1].copies[0].size() == 4);
  CHECK(two.alone == copy{0});
  auto const period = find_repeated_subgraphs(layered({30, 50, 30, 50, 30, 50}));
  REQUIRE(period.classes.size() == 1);
  CHECK(period.classes[0].copies.size() == 3);
  CHECK(period.classes[0].copies[0].size() == 8);
}

TEST_CASE("find_repeated_subgraphs: limits, and how rounds end") {
  auto const g = equal_layers(9);
  CHECK(find_repeated_subgraphs(g, {.repeats = 10}).classes.empty());
  CHECK(find_repeated_subgraphs(g, {.operators = 9}).classes.empty());
  CHECK(find_repeated_subgraphs(g, {.operators = 8, .kinds = 8}).classes.size() == 1);
  CHECK(find_repeated_subgraphs(g, epl_subgraph_limits).alone.size() == g.size());  // a layer of 8 operators is too small for EPL
  CHECK(ballast_test::refusal([&] { return find_repeated_subgraphs(g, {.repeats = 1}); }) == "repeats = 1 must be at least 2");
  // Rounds follow the longest path in a layer, not the number of layers.
  auto const few = layered(std::vector<std::int64_t>(8, 30)), many = layered(std::vector<std::int64_t>(800, 30));
  CHECK(find_repeated_subgraphs(few).rounds == find_repeated_subgraphs(many).rounds);
  auto const cut = find_repeated_subgraphs(few, {.rounds = 1});
  CHECK_FALSE(cut.complete);
  CHECK(complete(cut, few.size()));
}

}  // namespace test_graph_repeated_subgraphs
