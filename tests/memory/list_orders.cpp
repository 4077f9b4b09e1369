// SPDX-License-Identifier: Apache-2.0
#include <ballast/memory/check_order.hpp>
#include <ballast/memory/list_orders.hpp>
#include <ballast/memory/peak.hpp>

#include "support/catch.hpp"
#include "support/graph_families.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_memory_list_orders {

using namespace ballast_test;
using namespace ballast;

namespace {

using order = std::vector<std::uint32_t>;

list_rule const all_rules[] = {list_rule::net,        list_rule::reverse_net,   list_rule::updates_at_once,
                               list_rule::least_peak, list_rule::breadth_first, list_rule::depth_first};

/// The rules of the lists as they are written, in quadratic time: `choose` picks one of the ready operators.
template <class Choose>
order slow_list(detail::order_problem const& p, bool backwards, Choose const& choose) {
  detail::order_sweep<> sweep(p, backwards);
  std::vector<bool> done(p.size(), false);
  order out;
  while (out.size() < p.size()) {
    order ready;
    for (std::uint32_t v = 0; v < p.size(); ++v)
      if (!done[v] && sweep.ready(v)) ready.push_back(v);
    auto const v = choose(sweep, ready);
    done[v] = true;
    out.push_back(v);
    sweep.step(v, [](std::uint32_t) {});
  }
  if (backwards) std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

TEST_CASE("list orders: valid, and what their rules say") {
  for (std::uint64_t seed = 0; seed < 600; seed += round_step) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto const g = seed % 3 == 0   ? random_graph(uniform_below(40, generator), {}, generator)
                   : seed % 3 == 1 ? layered_graph(uniform_below(60, generator), 8, generator)
                                   : series_parallel_graph(2 + uniform_below(60, generator), generator);
    REQUIRE(check_graph(g).valid());
    for (auto const rule : all_rules) {
      auto const each = list_order(g, rule);
      REQUIRE(check_order(g, each, {evaluate_order(g, each).peak, 0}).valid());
    }
    auto const p = detail::order_lowering<>(g).lower();
    using sweep = detail::order_sweep<>;
    auto const least = [](sweep const& s, order const& ready) {
      return *std::min_element(ready.begin(), ready.end(), [&](auto a, auto b) { return s.change(a) < s.change(b); });
    };
    REQUIRE(list_order(g, list_rule::net) == slow_list(p, false, least));
    REQUIRE(list_order(g, list_rule::reverse_net) == slow_list(p, true, [&](sweep const& s, order ready) {
              std::reverse(ready.begin(), ready.end());
              return least(s, ready);
            }));
    std::int64_t peak = p.start;
    REQUIRE(list_order(g, list_rule::least_peak) == slow_list(p, false, [&](sweep const& s, order const& ready) {
              order within;
              for (auto const v : ready)
                if (s.memory() + p.need[v] <= peak) within.push_back(v);
              auto const v = within.empty()
                                 ? *std::min_element(ready.begin(), ready.end(), [&](auto a, auto b) { return p.need[a] < p.need[b]; })
                                 : least(s, within);
              peak = (std::max)(peak, s.memory() + p.need[v]);
              return v;
            }));
    REQUIRE(list_order(g, list_rule::updates_at_once) == slow_list(p, false, [&](sweep const&, order const& ready) {
              auto const found =
                  std::find_if(ready.begin(), ready.end(), [&](auto v) { return g.operators[v].kind == operator_kind::update; });
              return found == ready.end() ? ready[0] : *found;
            }));
    order step(p.size(), 0);
    std::uint32_t steps = 0;
    REQUIRE(list_order(g, list_rule::breadth_first) == slow_list(p, false, [&](sweep const&, order const& ready) {
              auto const key = [&](std::uint32_t v) {
                order out;
                for (auto const u : p.before[v]) out.push_back(step[u]);
                std::sort(out.begin(), out.end());
                return out;
              };
              auto const v = *std::min_element(ready.begin(), ready.end(), [&](auto a, auto b) { return key(a) < key(b); });
              step[v] = steps++;
              return v;
            }));
  }
}

TEST_CASE("list orders: depth first: what is needed runs just before, the least first") {
  graph g;
  order t;
  for (std::int64_t const bytes : {5, 3, 9, 1, 2}) t.push_back(g.add({.bytes = bytes}));
  g.add({}, {}, {t[0]});
  g.add({}, {}, {t[1]});
  g.add({}, {t[0], t[1]}, {t[2]});
  g.add({}, {t[1]}, {t[3]});
  g.add({}, {t[2], t[3]}, {t[4]});
  CHECK(list_order(g, list_rule::depth_first) == order{1, 3, 0, 2, 4});
}

TEST_CASE("list orders: no operator, one operator, a chain") {
  for (auto const rule : all_rules) CHECK(list_order(graph{}, rule).empty());
  splitmix64 generator(1);
  auto const chain = graph_of_edges({{}, {0}, {1}, {2}}, 9, generator);
  for (auto const rule : all_rules) CHECK(list_order(chain, rule) == order{0, 1, 2, 3});
}

}  // namespace test_memory_list_orders
