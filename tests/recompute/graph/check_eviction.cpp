// SPDX-License-Identifier: Apache-2.0
#include <ballast/recompute/graph/check_eviction.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace test_recompute_graph_check_eviction {

using namespace ballast;

TEST_CASE("check_eviction: names each broken rule and the first event that breaks it") {
  // x and a weight at the start; a = f(x, w); b = g(a); w is changed in place (w2); b is kept
  graph g;
  auto const x = g.add(graph_tensor<>{.bytes = 10}), w = g.add(graph_tensor<>{.bytes = 100}), a = g.add(graph_tensor<>{.bytes = 20}),
             b = g.add(graph_tensor<>{.bytes = 5, .kept = true}),
             w2 = g.add(graph_tensor<>{.bytes = 100, .kept = true, .shares = w, .in_place = true});
  auto const f = g.add(graph_operator<>{.workspace = 7}, {x, w}, {a});
  auto const gg = g.add(graph_operator<>{}, {a}, {b});
  auto const update = g.add(graph_operator<>{}, {w}, {w2});
  using enum memory_event::action;
  using events = std::vector<memory_event>;
  events const good{{run, f}, {store, a}, {drop, x}, {load, a}, {run, gg}, {drop, a}, {run, update}};
  auto const found = [&](events const& e, std::int64_t limit = 137) { return describe(check_eviction(g, e, limit)); };
  CHECK(found(good) == "valid");
  CHECK(found(good, 136) == "event 0 brings the memory in use to 137 bytes, above 136");
  CHECK(found({}, 109) == "event 0 brings the memory in use to 110 bytes, above 109");
  CHECK(found({{run, 9}}) == "event 0 names 9, which is no operator, or no tensor with memory of its own");
  CHECK(found({{drop, w2}}) == "event 0 names 4, which is no operator, or no tensor with memory of its own");
  CHECK(found({{run, gg}}) == "event 0 reads or frees tensor 2, which is not in memory");
  CHECK(found({{drop, a}}) == "event 0 reads or frees tensor 2, which is not in memory");
  CHECK(found({{run, update}, {run, f}}) == "event 1 reads tensor 1, but its memory holds tensor 4");
  CHECK(found({{run, f}, {run, f}}) == "event 1 runs operator 0 for the first time, but it has run");
  CHECK(found({{rerun, f}}) == "event 0 runs operator 0 again, but it has not run");
  CHECK(found({{run, f}, {drop, a}, {rerun, f}, {run, gg}, {run, update}}) == "valid");
  CHECK(found({{run, update}, {rerun, update}}) == "event 1 reads tensor 1, but its memory holds tensor 4");
  CHECK(found({{load, a}}) == "event 0 loads tensor 2, which is not on the host, or already in memory");
  CHECK(found({{run, f}, {store, a}, {load, a}, {load, a}}) == "event 3 loads tensor 2, which is not on the host, or already in memory");
  CHECK(found({{run, f}}) == "operator 1 does not run");
  CHECK(found({{run, f}, {run, gg}, {run, update}, {drop, b}}) == "tensor 3 is not in memory at the end");
  // an old copy of the weights is not what the step leaves
  CHECK(found({{store, w}, {load, w}, {run, f}, {run, gg}, {run, update}, {drop, w}, {load, w}}) == "tensor 4 is not in memory at the end");
  // an operator that changes its input in place, with that input brought back from the host, would change it twice
  CHECK(found({{store, w}, {load, w}, {run, f}, {run, gg}, {run, update}, {drop, w}, {load, w}, {rerun, update}}) ==
        "event 7 runs operator 2 again, which would undo or repeat a change in place");
}

}  // namespace test_recompute_graph_check_eviction
