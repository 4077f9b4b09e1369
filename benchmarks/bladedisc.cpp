// SPDX-License-Identifier: Apache-2.0
// Symbolic sizes. Table 1: 100 graphs of each family, 100 batches each: the peak of the order that is picked over the peak of the order
// that list scheduling makes with the sizes of the batch; the same for one order for all batches, made for a batch in the middle; and for
// orders that a search improves, one for each region, over those that the same search finds for the batch.
// Table 2: a training step on batches of conversations (`chat-sft` up to 4K, padded to the longest of a batch): padded static, planned for
// each batch, and compiled once. Times of steps are modelled; times of planning are of this machine, so compare their ratios.
#include "../tests/support/chat_lengths.hpp"
#include "../tests/support/symbolic_graphs.hpp"

#include <ballast/core/random.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/training_graph.hpp>
#include <ballast/memory/list_orders.hpp>
#include <ballast/memory/order.hpp>
#include <ballast/memory/peak.hpp>
#include <ballast/methods/bladedisc.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace ballast;
using order = std::vector<std::uint32_t>;
using values = std::array<std::int64_t, 2>;
auto const batch = symbolic::of(0), length = symbolic::of(1);

double milliseconds() { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
std::int64_t below(std::int64_t bound, splitmix64& draw) {
  return static_cast<std::int64_t>(uniform_below(static_cast<std::uint64_t>(bound), draw));
}
/// The graph of one batch as one without dimensions: what a planner sees that plans for each batch.
basic_graph<symbolic> constant_at(basic_graph<symbolic> const& g, values const& at) {
  return map_sizes(graph_at(g, at), [](std::int64_t size) { return symbolic(size); });
}
/// The best order within a little work.
order searched(graph const& numbers) { return order_operators(numbers, {.states = 20'000}, {.work = 5'000'000}).order; }
std::int64_t peak_of(graph const& numbers, order const& in) { return evaluate_order(numbers, in).peak; }

struct family {
  std::string_view name;
  std::vector<dimension> ranges;
  basic_graph<symbolic> (*graph)(splitmix64&);
};

basic_graph<symbolic> layered(splitmix64& draw, bool both) {
  return ballast_test::layered_graph(40, 6, draw, [both](splitmix64& d) -> symbolic {
    switch (below(both ? 4 : 2, d)) {
      case 0: return below(1 << 22, d);
      case 1: return batch * length * (1 + below(64, d));
      case 2: return batch * length * length + below(1 << 20, d);
      default: return length * (1 + below(4000, d));
    }
  });
}
basic_graph<symbolic> step(splitmix64& draw, bool scores) {
  auto model = transformer_preset(below(2, draw) == 0 ? "qwen2.5-0.5b" : "gpt2-xl");
  model.layers = 1 + below(4, draw);
  model.hidden = 64 * (2 + below(63, draw));
  model.ffn = model.hidden * (2 + below(3, draw));
  if (below(2, draw) == 0) model.vocabulary = 1000 * (1 + below(150, draw));
  return training_graph(model, batch, length, {.scores = scores});
}

struct ratios {
  double sum = 0, worst = 0;
  void add(std::int64_t peak, std::int64_t own) {
    auto const ratio = static_cast<double>(peak) / static_cast<double>(own);
    sum += ratio;
    worst = (std::max)(worst, ratio);
  }
};

void compare_orders(family const& f) {
  constexpr int graphs = 100, batches = 100;
  ratios picked, single, improved;
  double plan_ms = 0, pick_us = 0;
  std::size_t regions = 0, decided = 0, same = 0, operators = 0;
  for (std::uint64_t seed = 0; seed < graphs; ++seed) {
    splitmix64 draw(seed);
    auto const g = f.graph(draw);
    operators += g.size();
    auto begin = milliseconds();
    auto const plan = plan_regions(g, f.ranges);
    plan_ms += milliseconds() - begin;
    regions += plan.regions();
    auto const one = plan_regions(g, f.ranges, {.regions = 1}).orders[0];
    auto const better = plan_regions(g, f.ranges, {}, searched);
    for (int i = 0; i < batches; ++i) {
      values at{};
      for (std::size_t d = 0; d < 2; ++d) {  // uniform, or uniform in the logarithm
        auto const low = f.ranges[d].low, high = f.ranges[d].high;
        at[d] = low + below(high - low + 1, draw);
        if (i % 2 == 0)
          while (at[d] / 2 >= low && below(2, draw) == 0) at[d] /= 2;
      }
      auto const numbers = graph_at(g, at);
      auto const own = list_order(numbers, list_rule::net);
      begin = milliseconds();
      auto const found = plan.pick(at);
      pick_us += 1000 * (milliseconds() - begin);
      auto const own_peak = peak_of(numbers, own);
      picked.add(peak_of(numbers, plan.orders[found.order]), own_peak);
      single.add(peak_of(numbers, one), own_peak);
      improved.add(peak_of(numbers, better.orders[better.pick(at).order]), peak_of(numbers, searched(numbers)));
      decided += found.decided ? 1U : 0U;
      same += plan.orders[found.order] == own ? 1U : 0U;
    }
  }
  auto const all = static_cast<double>(graphs * batches);
  std::printf("| %s | %zu | %.1f | %.2f %% | %.2f %% | %.5f | %.3f | %.3f | %.3f | %.4f | %.3f | %.1f | %.2f |\n", f.name.data(),
              operators / graphs, static_cast<double>(regions) / graphs, 100 * static_cast<double>(decided) / all,
              100 * static_cast<double>(same) / all, picked.sum / all, picked.worst, single.sum / all, single.worst, improved.sum / all,
              improved.worst, plan_ms / graphs, pick_us / all);
  std::fflush(stdout);
}

struct step_totals {
  double peak = 0, most = 0, time = 0, added = 0, planning = 0, evicting = 0, without = 0;
};

void print_totals(char const* name, step_totals const& t, double exact_time, double once, std::size_t batches) {
  auto const count = static_cast<double>(batches);
  std::printf("| %s | %.2f | %.2f | %.3f | %.0f %% | %.2f %% | %.0f | %.1f | %.2f |\n", name, t.peak / count / 1e9, t.most / 1e9,
              (t.time + t.added) / exact_time, 100 * t.evicting / count, 100 * t.added / t.time, t.without, once, t.planning / count);
  std::fflush(stdout);
}

void compare_steps(bool scores, int percent) {
  constexpr std::int64_t per_batch = 8, longest = 4096;
  constexpr std::size_t batches = 100;
  auto const model = transformer_preset("qwen2.5-0.5b");
  auto const g = training_graph(model, batch, length, {.scores = scores});
  std::vector<dimension> const ranges{{"batch", 1, per_batch}, {"length", 1, longest}};
  auto const lengths = ballast_test::chat_lengths(batches * per_batch, longest, 1);
  auto const step_time = [](graph const& numbers) {
    double out = 0;
    for (auto const& o : numbers.operators) out += static_cast<double>(o.time);
    return out;
  };
  // 400 TFLOP/s and 25 GB/s to the host; times are in thousands of FLOPs
  evict_options limited{.limit = std::int64_t{1} << 62, .time_per_megabyte = 16'000'000};
  values const padded{per_batch, longest};
  auto begin = milliseconds();
  auto const compiled = bladedisc::compile(g, ranges, {});
  auto const compile_ms = milliseconds() - begin;
  begin = milliseconds();
  auto const constant = constant_at(g, padded);
  auto const static_plan = plan_evictions(constant, {}, list_order(graph_at(g, padded), list_rule::net));
  auto const static_peak = evict(static_plan, {}, limited).memory.value;
  if (percent < 100) limited.limit = static_peak / 100 * percent;
  auto const static_run = evict(static_plan, {}, limited);
  auto const static_ms = milliseconds() - begin;
  step_totals fixed, exact, once;
  auto const add = [&](step_totals& to, eviction const& run, double time, double planning) {
    to.peak += static_cast<double>(run.memory.value);
    to.most = (std::max)(to.most, static_cast<double>(run.memory.value));
    to.time += time;
    to.added += static_cast<double>(run.time.value);
    to.evicting += run.time.value > 0 ? 1 : 0;
    to.without += run.status != status::feasible ? 1 : 0;
    to.planning += planning;
  };
  for (std::size_t b = 0; b < batches; ++b) {
    auto const first = lengths.begin() + static_cast<std::ptrdiff_t>(b * per_batch);
    values const at{per_batch, *std::max_element(first, first + per_batch)};
    auto const time = step_time(graph_at(g, at));
    add(fixed, static_run, step_time(graph_at(g, padded)), 0);
    begin = milliseconds();
    auto const own = constant_at(g, at);
    auto const run = evict(plan_evictions(own, {}, list_order(graph_at(g, at), list_rule::net)), {}, limited);
    add(exact, run, time, milliseconds() - begin);
    begin = milliseconds();
    auto const picked = bladedisc::run(compiled, at, limited);
    add(once, picked.run, time, milliseconds() - begin);
  }
  std::printf("\n%zu operators, attention scores %s memory, limit %d %% of the padded peak of %.2f GB; %zu regions, %zu orders\n\n",
              g.size(), scores ? "in" : "not in", percent, static_cast<double>(static_peak) / 1e9, compiled.orders.regions(),
              compiled.orders.orders.size());
  std::puts(
      "| plan | mean peak GB | largest GB | time | batches that evict | added time | without a run | planned once ms | for a batch ms |");
  std::puts("|---|---|---|---|---|---|---|---|---|");
  print_totals("padded static", fixed, exact.time + exact.added, static_ms, batches);
  print_totals("for each batch", exact, exact.time + exact.added, 0, batches);
  print_totals("compiled once", once, exact.time + exact.added, compile_ms, batches);
}

}  // namespace

int main() {
  std::puts(
      "| graphs | operators | regions | decided | same order | mean | worst | one order, mean | worst | searched, mean | worst | planning "
      "ms | pick us |");
  std::puts("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
  std::vector<dimension> const wide{{"batch", 1, 64}, {"length", 1, 32768}}, narrow{{"batch", 1, 8}, {"length", 2048, 8192}};
  for (auto const& f : {family{"layered, batch x length", wide, [](splitmix64& d) { return layered(d, false); }},
                        family{"layered, four kinds of sizes", wide, [](splitmix64& d) { return layered(d, true); }},
                        family{"training, fused attention", wide, [](splitmix64& d) { return step(d, false); }},
                        family{"training, scores in memory", wide, [](splitmix64& d) { return step(d, true); }},
                        family{"training, scores, narrow", narrow, [](splitmix64& d) { return step(d, true); }}})
    compare_orders(f);
  for (auto const scores : {false, true})
    for (auto const percent : {100, 80, 60}) compare_steps(scores, percent);
  return 0;
}
