// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/recompute/graph/eviction_plan.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/symbolic_graphs.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace test_recompute_graph_eviction_plan {

using namespace ballast;
using ballast_test::refusal;

namespace {
auto const n = symbolic::of(0);
std::vector<dimension> const tokens{{"tokens", 1, 4096}};

std::vector<std::uint32_t> program_order(basic_graph<symbolic> const& g) {
  std::vector<std::uint32_t> out(g.size());
  std::iota(out.begin(), out.end(), 0U);
  return out;
}
// x -> a -> b -> c, then a small operator that reads c, then one that reads b; sizes in tokens.
basic_graph<symbolic> chain(std::int64_t size_x, std::int64_t size_a, std::int64_t size_b) {
  basic_graph<symbolic> g;
  auto const add = [&](symbolic const& bytes, bool kept = false) { return g.add(graph_tensor<symbolic>{.bytes = bytes, .kept = kept}); };
  auto const x = add(size_x * n), a = add(size_a * n + 100), b = add(size_b * n), c = add(n), d = add(n), e = add(n, true);
  g.add(graph_operator<symbolic>{.time = 3 * n}, {x}, {a});
  g.add(graph_operator<symbolic>{.time = 5 * n}, {a}, {b});
  g.add(graph_operator<symbolic>{.time = 7 * n}, {b}, {c});
  g.add(graph_operator<symbolic>{}, {c}, {d});
  g.add(graph_operator<symbolic>{}, {b, d}, {e});
  return g;
}
}  // namespace

TEST_CASE("eviction_plan: a subgraph grows over what would have to stay for it") {
  // b comes back from a, which stays for it, or from x, which is smaller
  auto const smaller = plan_evictions(chain(1, 4, 6), tokens, program_order(chain(1, 4, 6)));
  CHECK(smaller.subgraphs == std::vector<recompute_subgraph>{{2, 4, {1}, {1}, 5 * n, 2 * n - 100}, {2, 4, {0, 1}, {0}, 8 * n, 5 * n}});
  // x is larger than a, except in batches of fewer than 100 tokens: without them, the longer subgraph is never better
  auto const larger = plan_evictions(chain(5, 4, 6), tokens, program_order(chain(5, 4, 6)));
  CHECK(larger.subgraphs == std::vector<recompute_subgraph>{{2, 4, {1}, {1}, 5 * n, 2 * n - 100}, {2, 4, {0, 1}, {0}, 8 * n, n}});
  std::vector<dimension> const many{{"tokens", 100, 4096}};
  CHECK(plan_evictions(chain(5, 4, 6), many, program_order(chain(5, 4, 6))).subgraphs ==
        std::vector<recompute_subgraph>{{2, 4, {1}, {1}, 5 * n, 2 * n - 100}});
  // b is smaller than a, so the shorter subgraph is a last resort: it frees b now, but holds more for it
  auto const resort = plan_evictions(chain(1, 4, 3), tokens, program_order(chain(1, 4, 3)));
  CHECK(resort.subgraphs == std::vector<recompute_subgraph>{{2, 4, {1}, {1}, 5 * n, -1 * n - 100}, {2, 4, {0, 1}, {0}, 8 * n, 2 * n}});
  auto const shortest = plan_evictions(chain(1, 4, 3), tokens, program_order(chain(1, 4, 3)), {.operators = 1});
  CHECK(shortest.subgraphs == std::vector<recompute_subgraph>{resort.subgraphs[0]});
}

TEST_CASE("eviction_plan: no operator runs again after what it reads or makes was changed in place") {
  for (auto const kind : {0, 1, 2}) {  // not changed; a weight that it reads is changed; another output of it is changed
    basic_graph<symbolic> g;
    auto const x = g.add(graph_tensor<symbolic>{.bytes = n, .kept = true}), w = g.add(graph_tensor<symbolic>{.bytes = n}),
               a = g.add(graph_tensor<symbolic>{.bytes = n}), b = g.add(graph_tensor<symbolic>{.bytes = n});
    g.add(graph_operator<symbolic>{.time = n}, {x, w}, {a, b});
    auto const changed = kind == 1 ? w : a;
    auto const after = g.add(graph_tensor<symbolic>{
        .bytes = n, .kept = true, .shares = kind == 0 ? graph_tensor<symbolic>::own : changed, .in_place = kind != 0});
    auto const last = g.add(graph_tensor<symbolic>{.bytes = n, .kept = true});
    g.add(graph_operator<symbolic>{}, {changed}, {after});
    g.add(graph_operator<symbolic>{}, {b, w}, {last});
    if (kind == 1) g.inputs.members.back() = x;  // the weight has been overwritten
    auto const plan = plan_evictions(g, tokens, program_order(g));
    CHECK(plan.subgraphs.size() == (kind == 0 ? 1U : 0U));
  }
}

TEST_CASE("eviction_plan: what makes no sense is refused") {
  auto g = chain(1, 1, 1);
  auto order = program_order(g);
  CHECK(refusal([&] { return plan_evictions(g, tokens, order, {.operators = 0}).bytes; }) ==
        "plan_evictions: a subgraph has at least 1 operator");
  std::reverse(order.begin(), order.end());
  CHECK(refusal([&] { return plan_evictions(g, tokens, order).bytes; }).find(", whose tensor it reads") != std::string::npos);
  order[0] = order[1];
  CHECK(refusal([&] { return plan_evictions(g, tokens, order).bytes; }) == "order[1] = 3 is no operator, or runs twice");
  order.pop_back();
  CHECK(refusal([&] { return plan_evictions(g, tokens, order).bytes; }) == "order has 4 entries for 5 operators");
  g.operators[2].time = n - 5;
  CHECK(refusal([&] { return plan_evictions(g, tokens, program_order(g)).bytes; }) ==
        "operators[2] holds 1 tokens - 5, which may be negative");
}

}  // namespace test_recompute_graph_eviction_plan
