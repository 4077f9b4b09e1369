// SPDX-License-Identifier: Apache-2.0
#include "planning/graph_plan.hpp"

#include "errors.hpp"
#include "readers/graph.hpp"
#include "report/progress.hpp"
#include "report/words.hpp"

#include <ballast/memory/list_orders.hpp>
#include <ballast/memory/order.hpp>
#include <ballast/memory/replay_allocator.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <utility>

namespace ballast_cli {

namespace {

using operator_list = std::vector<std::uint32_t>;

[[nodiscard]] double ms_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// Judges the order that `make()` returns.
template <class Make>
[[nodiscard]] judged_order judged(ballast::graph const& graph, std::string name, std::string about, Make const& make) {
  judged_order out{.name = std::move(name), .about = std::move(about), .order = {}};
  auto const begin = std::chrono::steady_clock::now();
  out.order = make();
  out.ms = ms_since(begin);
  out.peak = evaluate_order(graph, out.order).peak;
  auto const replay = ballast::replay_allocator(buffers_of(graph, out.order).buffers);
  out.reserved = replay.status == ballast::status::feasible ? replay.peak_reserved : 0;
  return out;
}

/// Says that no recomputation keeps the budget, or that none was found.
[[nodiscard]] no_plan over_budget(std::string const& name, std::int64_t budget, ballast::graph_recompute const& found) {
  if (found.status == ballast::status::infeasible)
    return no_plan(name + ": no choice of what to compute again keeps --budget " + many_bytes(budget) +
                   (found.lower_peak > budget ? ": in any order, at least " + many_bytes(found.lower_peak) + " are needed" : ""));
  return no_plan(name + ": nothing was found to compute again that keeps --budget " + many_bytes(budget) +
                 ", and none is proven impossible: at least " + many_bytes(found.lower_peak) + " are needed");
}

/// Chooses what is computed again. A choice is judged by the best of several lists, which a search for an order does not exceed.
[[nodiscard]] ballast::graph_recompute choose_again(ballast::graph const& graph, std::int64_t budget) {
  auto const listed = [](ballast::graph const& g) { return order_operators(g, {.states = 0, .cuts = 0}, {.work = 1}).peak.value; };
  auto const bound = [](ballast::graph const& g) {
    return order_operators(g, {.states = 0, .cuts = 4}, {.work = 100'000'000}).peak.lower_bound;
  };
  progress_line progress("choosing what is computed again");
  return recompute_graph(graph, budget, listed, bound, {.progress = progress}, {.evaluations = 2000});
}

/// Gives addresses to the buffers of the last planned order: within the budget, or as low as possible.
void lay_out(graph_plan& plan, order_request const& asked) {
  auto const begin = std::chrono::steady_clock::now();
  auto const within = [&](std::int64_t capacity) {
    progress_line progress("searching for a layout");
    return layout_buffers(plan.buffers.buffers, {.capacity = capacity}, {.work = asked.work, .progress = progress});
  };
  plan.layout.reset();
  if (asked.budget && plan.planned().peak <= *asked.budget) plan.layout = within(*asked.budget);
  if (!plan.layout || plan.layout->status != ballast::status::feasible) plan.layout = within(0);
  plan.layout_ms = ms_since(begin);
}

/// Makes the step fit the budget. Where its layout does not, what fragmentation takes is saved as well, as far as that can be found.
void recompute(graph_plan& plan, ballast::graph const& graph, std::string const& name, order_request const& asked) {
  constexpr int most_tries = 3;
  auto target = *asked.budget - (plan.layout && plan.peak.value <= *asked.budget ? plan.layout->height.value - *asked.budget : 0);
  for (int tries = 0; tries < most_tries && target >= 0; ++tries) {
    auto again = choose_again(graph, target);
    if (again.status != ballast::status::feasible) {
      if (target == *asked.budget) throw over_budget(name, target, again);
      return;
    }
    if (target < *asked.budget)
      again.time.lower_bound = plan.recompute ? plan.recompute->time.lower_bound : 0;  // that of the budget itself
    make_names_differ(again.rewritten);
    plan.recompute = std::move(again);
    auto const& rewritten = plan.recompute->rewritten;
    auto const work = asked.work / 20 + 1;  // the lists keep the budget; a lower peak only gives the layout room
    plan.recomputed = judged(rewritten, "recomputed", "planned, with operators that run again",
                             [&] { return order_operators(rewritten, {}, {.work = work}).order; });
    plan.buffers = buffers_of(rewritten, plan.recomputed->order);
    if (!asked.layout) return;
    lay_out(plan, asked);
    if (plan.layout->height.value <= *asked.budget) return;
    target -= plan.layout->height.value - *asked.budget;
  }
}

}  // namespace

std::int64_t time_of(ballast::graph const& graph) {
  return std::accumulate(graph.operators.begin(), graph.operators.end(), std::int64_t{0},
                         [](auto sum, auto const& o) { return sum + o.time; });
}

graph_plan plan_graph(ballast::graph const& graph, std::string const& name, order_request const& asked) {
  graph_plan out;
  auto const add = [&](char const* word, char const* about, auto const& make) { out.orders.push_back(judged(graph, word, about, make)); };
  add("program", "as the graph lists them", [&] {
    operator_list order(graph.size());
    std::iota(order.begin(), order.end(), 0U);
    return order;
  });
  add("updates first", "program order, with updates at once", [&] { return list_order(graph, ballast::list_rule::updates_at_once); });
  add("net", "least added memory first", [&] { return list_order(graph, ballast::list_rule::net); });
  add("reverse net", "the same from the end", [&] { return list_order(graph, ballast::list_rule::reverse_net); });
  add("least peak", "least added within the peak so far", [&] { return list_order(graph, ballast::list_rule::least_peak); });
  add("breadth first", "what became ready first", [&] { return list_order(graph, ballast::list_rule::breadth_first); });
  add("depth first", "what the next needs", [&] { return list_order(graph, ballast::list_rule::depth_first); });
  add("planned", "search with a bound", [&] {
    progress_line progress("searching for an order");
    auto made = order_operators(graph, {}, {.work = asked.work, .progress = progress});
    out.peak = made.peak;
    return made.order;
  });
  out.buffers = buffers_of(graph, out.planned().order);
  if (asked.layout) lay_out(out, asked);
  if (asked.budget && (out.layout ? out.layout->height.value : out.peak.value) > *asked.budget) recompute(out, graph, name, asked);
  return out;
}

}  // namespace ballast_cli
