// SPDX-License-Identifier: Apache-2.0
// The timeline of a pipeline: speed, beside a plain discrete-event simulation of the same order (a priority queue of task ends, sets of
// what has arrived) in the same run. `x_faster` is the time of that over the library's, `over` the makespan over its lower bound, `bubble`
// and `span_bubble` the shares of time that stages wait.
//
// Works: micro-batches of unequal length (a uniform factor of 1 … 16), every stage the same; forward, input and weight part 1 : 1 : 1, a
// transfer of a tenth of a forward; `chunked` has batches of long samples. Nothing is cached between iterations but memory.
#include <ballast/chunks/chunk_work.hpp>
#include <ballast/chunks/make_chunks.hpp>
#include <ballast/core/random.hpp>
#include <ballast/pipeline.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "long_batches.hpp"

namespace {

using ballast::pipeline_order;
using ballast::pipeline_pass;
using ballast::stage_work;

constexpr char const* schedules[] = {"gpipe", "1f1b", "interleaved", "zb1p", "zb2p", "zbv"};

std::vector<std::int64_t> factors(std::int64_t micro_batches, bool even = false) {
  ballast::splitmix64 generator(20240720);
  std::vector<std::int64_t> of(static_cast<std::size_t>(micro_batches), 8);
  if (!even)
    for (auto& f : of) f = 1 + static_cast<std::int64_t>(ballast::uniform_below(16, generator));
  return of;
}

struct unequal {
  std::vector<std::int64_t> const& factor;
  std::int64_t chunks;
  stage_work operator()(std::uint64_t, std::uint64_t m) const {
    auto const part = 10000 / chunks * factor[static_cast<std::size_t>(m)];
    return {.forward = part, .backward = part, .weight = part, .transfer = 1000, .kept = 1 << 20, .residue = 1 << 19};
  }
};

// A stage is free or busy; when a task ends, what it lets begin has arrived after the transfer, and every event is popped in time order.
template <class Work>
std::int64_t discrete_events(pipeline_order const& order, Work const& work) {
  using happening = std::tuple<std::int64_t, std::uint32_t, std::uint32_t, std::uint32_t, bool>;  // time, stage, task's cell, pass, arrival
  std::priority_queue<happening, std::vector<happening>, std::greater<>> queue;
  std::vector<std::set<std::pair<std::uint32_t, pipeline_pass>>> arrived(order.stages());
  std::vector<std::size_t> next(order.offsets.begin(), order.offsets.end() - 1);
  std::vector<bool> busy(order.stages());
  auto const n = static_cast<std::uint32_t>(order.micro_batches);
  auto const cell_of = [&](ballast::pipeline_task t) { return t.virtual_stage * n + t.micro_batch; };
  auto const whole = [](pipeline_pass p) { return p == pipeline_pass::backward_input ? pipeline_pass::backward : p; };
  for (std::uint32_t m = 0; m < n; ++m) queue.push({0, order.stage_of[0], m, 0, true});
  std::int64_t now = 0;
  auto const begin = [&](std::uint32_t s) {
    if (busy[s] || next[s] == order.offsets[s + 1]) return;
    auto const t = order.tasks[next[s]];
    auto const found = arrived[s].find({cell_of(t), whole(t.pass)});
    if (found == arrived[s].end()) return;
    arrived[s].erase(found);
    auto const w = work(t.virtual_stage, t.micro_batch);
    auto const time = t.pass == pipeline_pass::forward          ? w.forward
                      : t.pass == pipeline_pass::weight         ? w.weight
                      : t.pass == pipeline_pass::backward_input ? w.recompute + w.backward
                                                                : w.recompute + w.backward + w.weight;
    busy[s] = true;
    ++next[s];
    queue.push({now + time, s, cell_of(t), static_cast<std::uint32_t>(t.pass), false});
  };
  while (!queue.empty()) {
    auto const [time, s, cell, pass, arrival] = queue.top();
    queue.pop();
    now = time;
    if (arrival) {
      arrived[s].insert({cell, static_cast<pipeline_pass>(pass)});
    } else {
      busy[s] = false;
      auto const k = cell / n, last = static_cast<std::uint32_t>(order.stage_of.size()) - 1;
      auto const send = [&](std::uint32_t to, std::uint32_t link, pipeline_pass what) {
        auto const stage = order.stage_of[to];
        queue.push(
            {now + (stage == s ? 0 : work(link, cell % n).transfer), stage, to * n + cell % n, static_cast<std::uint32_t>(what), true});
      };
      if (pass == 0 && k < last) send(k + 1, k, pipeline_pass::forward);
      if (pass == 0 && k == last) send(k, k, pipeline_pass::backward);
      if ((pass == 1 || pass == 2) && k > 0) send(k - 1, k - 1, pipeline_pass::backward);
      if (pass == 2) send(k, k, pipeline_pass::weight);
    }
    begin(s);
  }
  return now;
}

// Where weight parts fill, the order with them in the places that the library chose.
pipeline_order listed(pipeline_order order, ballast::pipeline_timeline const& t) {
  if (order.fill.empty()) return order;
  order.fill.clear();
  order.tasks.clear();
  for (auto& o : order.offsets) o = o / 2 * 3;
  for (auto const& e : t.events) order.tasks.push_back({e.micro_batch, e.virtual_stage, e.pass});
  return order;
}

double seconds(std::clock_t from) { return static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC; }

// Order and timeline from the schedule on, into warm memory.
void timeline(benchmark::State& state) {
  auto const schedule = ballast::schedule_named(schedules[state.range(0)]);
  auto const stages = static_cast<std::uint64_t>(state.range(1)), micro_batches = static_cast<std::uint64_t>(state.range(2));
  auto const chunks = std::visit([](auto const& s) { return s.chunks_per_stage(); }, schedule);
  auto const factor = factors(state.range(2));
  unequal const work{factor, static_cast<std::int64_t>(chunks)};
  auto const t = simulate_pipeline(schedule, {.stages = stages, .micro_batches = micro_batches, .events = true}, work);
  auto const order = listed(order_of(schedule, stages, micro_batches), t);
  auto const start = std::clock();
  std::int64_t plain = 0;
  auto const rounds = 1 + 200000 / static_cast<int>(order.tasks.size());
  for (int i = 0; i < rounds; ++i) plain = discrete_events(order, work);
  auto const plain_time = seconds(start) / rounds;
  if (plain != t.makespan.value) return state.SkipWithError("the event simulation disagrees");

  ballast::pipeline_workspace workspace;
  ballast::pipeline_timeline out;
  auto const from = std::clock();
  for (auto _ : state) {
    simulate_order(order_of(schedule, stages, micro_batches), work, false, workspace, out);
    benchmark::DoNotOptimize(out.makespan.value);
  }
  state.SetLabel(schedules[state.range(0)]);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(order.tasks.size()));
  state.counters["x_faster"] = plain_time / (seconds(from) / static_cast<double>(state.iterations()));
  state.counters["over"] = 1 + t.makespan.gap();
  state.counters["bubble"] = t.bubble();
  state.counters["span_bubble"] = t.span_bubble();
}
BENCHMARK(timeline)
    ->ArgNames({"schedule", "stages", "micro_batches"})
    ->ArgsProduct({{0, 1, 2, 3, 4, 5}, {8}, {64}})
    ->ArgsProduct({{0, 1, 2, 3, 4, 5}, {64}, {1024}})
    ->Unit(benchmark::kMicrosecond);

// What each schedule makes of the same works: `waits` as a share of those of 1F1B, `memory` as a multiple of its peak, and `closed_form`,
// the sum over micro-batches and S - 1 times the longest, over the makespan. Micro-batches are equal, in random order, ascending, or
// `hill`: every other one ascending, the rest descending. No transfers.
void quality(benchmark::State& state) {
  auto const schedule = ballast::schedule_named(schedules[state.range(0)]);
  constexpr char const* orders[] = {"equal", "random", "ascending", "hill"};
  auto factor = factors(64, state.range(1) == 0);
  if (state.range(1) >= 2) std::sort(factor.begin(), factor.end());
  if (state.range(1) == 3) {
    auto const sorted = factor;
    for (std::size_t i = 0; i < 32; ++i) {
      factor[i] = sorted[2 * i];
      factor[63 - i] = sorted[2 * i + 1];
    }
  }
  auto const run = [&](ballast::any_schedule const& s) {
    auto const chunks = static_cast<std::int64_t>(std::visit([](auto const& of) { return of.chunks_per_stage(); }, s));
    return simulate_pipeline(s, {.stages = 8, .micro_batches = 64}, [&](std::uint64_t, std::uint64_t m) {
      auto const part = 10000 / chunks * factor[m], bytes = 1200 / chunks * factor[m];
      return stage_work{.forward = part, .backward = part, .weight = part, .kept = bytes, .residue = bytes};
    });
  };
  auto const peak = [](ballast::pipeline_timeline const& t) {
    auto const less = [](auto const& a, auto const& b) { return a.peak_memory < b.peak_memory; };
    return static_cast<double>(std::max_element(t.stages.begin(), t.stages.end(), less)->peak_memory);
  };
  ballast::pipeline_timeline t;
  for (auto _ : state) t = run(schedule);
  auto const one = run(ballast::one_f_one_b_schedule{});
  auto const work = one.stages[0].busy;  // the same for every stage and schedule
  auto const longest = *std::max_element(factor.begin(), factor.end());
  state.SetLabel(std::string(schedules[state.range(0)]) + ", " + orders[state.range(1)]);
  state.counters["bubble"] = t.bubble();
  state.counters["over"] = 1 + t.makespan.gap();
  state.counters["waits"] = static_cast<double>(t.makespan.value - work) / static_cast<double>(one.makespan.value - work);
  state.counters["span_waits"] = static_cast<double>(t.span - work) / static_cast<double>(one.span - work);
  state.counters["memory"] = peak(t) / peak(one);
  state.counters["closed_form"] = static_cast<double>(work + 7 * 30000 * longest) / static_cast<double>(t.makespan.value);
}
BENCHMARK(quality)->ArgNames({"schedule", "order"})->ArgsProduct({{0, 1, 2, 3, 4, 5}, {0, 1, 2, 3}})->Iterations(1);

// Batches of 128 samples in chunks of at most K thousand tokens; a chain keeps the activations of 32,768 tokens. The published order,
// strict in its turns, beside the list schedule in the same run; sums over 5 batches. `same`, `twice` and `free` are makespans of the list
// over the published order's, with that order's peak as the capacity of each stage, with twice that, and without a limit; `bound` is the
// lower bound over it. `peak` is the largest peak without a limit over that of the published order. The time is that of `twice`, and
// `x_simulate` that over the time to simulate the order it finds.
void chunked(benchmark::State& state) {
  auto const& set = long_batches::sets[static_cast<std::size_t>(state.range(0))];
  auto const stages = static_cast<std::uint64_t>(state.range(1));
  auto const size = std::int64_t{1024} * state.range(2);
  auto const cost = [](std::int64_t length) { return length * (183957 + 5 * length); };  // FlexSP's fit of a 7B model
  auto const peak_of = [](ballast::pipeline_timeline const& t) {
    auto const less = [](auto const& a, auto const& b) { return a.peak_memory < b.peak_memory; };
    return static_cast<double>(std::max_element(t.stages.begin(), t.stages.end(), less)->peak_memory);
  };
  struct task {
    ballast::groups<std::uint32_t> chains;
    ballast::chunk_works work;
    ballast::list_options options;
  };
  std::vector<task> tasks;
  std::int64_t published = 0, of[3] = {}, bound = 0;
  double published_bubble = 0, free_bubble = 0, peak = 0;
  for (auto const& lengths : long_batches::draw(set, 5, 128, 131072)) {
    auto const plan = ballast::make_chunks(lengths, {.size = size});
    auto const work = ballast::chunk_work(plan, {.retained = static_cast<std::uint64_t>(32768 / size)}, cost);
    auto const strict = simulate_order(ballast::chunked_order(stages, plan.chains), work);
    ballast::list_options options{.stages = stages};
    auto const free = list_schedule(plan.chains, options, work).timeline;
    for (auto const& s : strict.stages) options.capacity.push_back(s.peak_memory);
    of[0] += list_schedule(plan.chains, options, work).timeline.makespan.value;
    for (auto& c : options.capacity) c *= 2;
    of[1] += list_schedule(plan.chains, options, work).timeline.makespan.value;
    of[2] += free.makespan.value;
    published += strict.makespan.value;
    bound += strict.makespan.lower_bound;
    published_bubble += strict.bubble() / 5;
    free_bubble += free.bubble() / 5;
    peak = (std::max)(peak, peak_of(free) / peak_of(strict));
    tasks.push_back({plan.chains, work, options});
  }
  if (tasks.empty()) return state.SkipWithError("BALLAST_TRACES is not set");
  ballast::list_workspace workspace;
  ballast::scheduled_pipeline out;
  ballast::pipeline_workspace simulator;
  ballast::pipeline_timeline timeline;
  double simulated = 0, scheduled = 0;
  for (int round = 0; round < 20; ++round)
    for (auto const& t : tasks) {
      auto const start = std::clock();
      list_schedule(t.chains, t.options, t.work, workspace, out);
      scheduled += seconds(start);
      auto const from = std::clock();
      simulate_order(out.order, t.work, false, simulator, timeline);
      simulated += seconds(from);
    }
  std::int64_t chunks = 0;
  for (auto _ : state)
    for (auto const& t : tasks) {
      list_schedule(t.chains, t.options, t.work, workspace, out);
      benchmark::DoNotOptimize(out.timeline.makespan.value);
      chunks += static_cast<std::int64_t>(t.chains.members.size());
    }
  auto const over = [&](std::int64_t time) { return static_cast<double>(time) / static_cast<double>(published); };
  state.SetLabel(set.name);
  state.SetItemsProcessed(2 * static_cast<std::int64_t>(stages) * chunks);
  state.counters["same"] = over(of[0]);
  state.counters["twice"] = over(of[1]);
  state.counters["free"] = over(of[2]);
  state.counters["bound"] = over(bound);
  state.counters["peak"] = peak;
  state.counters["x_simulate"] = scheduled / simulated;
  state.counters["published_bubble"] = published_bubble;
  state.counters["free_bubble"] = free_bubble;
}
BENCHMARK(chunked)->ArgNames({"set", "stages", "K"})->ArgsProduct({{0, 2, 3, 4}, {4, 8}, {8, 32}})->Unit(benchmark::kMicrosecond);

}  // namespace
