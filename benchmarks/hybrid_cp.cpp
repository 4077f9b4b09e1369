// SPDX-License-Identifier: Apache-2.0
// Systems that give each sample its own context-parallel degree, beside planners of this library, over the sets of lengths and the costs of
// long_batches.hpp: five batches of each set, the traces only where BALLAST_TRACES names their folder. Time is that to plan one batch.
// Counters are modelled times over the lower bound of `shard_bounds` (powers of two, ranks that do not wait), geometric means over the
// batches of each set and over all (`mean`), and the largest (`worst`). `bound` is the lower bound for any number of ranks: plans on any
// number of ranks can be below 1. `megatron` fills passes by first fit, `megatron_one_each` has one sample in a pass as its training loop
// does, and `megatron_no_wait` is `megatron` without the waits after rounds. `dynamic_cp`, `dp_balanced` and `slime` are what frameworks
// run now, the last two on the best size of groups; `dynamic_cp_wait` waits after micro-batches, as pipelines, experts and FSDP do.
// `any_degree_2` is `any_degree` on powers of two only, `groups` the best size of groups for the batch. Argument: samples of a batch,
// ranks.
#include <ballast/cost/presets.hpp>
#include <ballast/methods/bytescale.hpp>
#include <ballast/methods/megatron_dp_balanced.hpp>
#include <ballast/methods/megatron_dynamic_cp.hpp>
#include <ballast/methods/megatron_hybrid_cp.hpp>
#include <ballast/methods/slime.hpp>
#include <ballast/sharding.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "long_batches.hpp"

namespace {

using namespace ballast;
using lengths_t = std::vector<std::int64_t>;

constexpr std::int64_t context = 131072;

/// A batch of the set with that name, and its bound.
struct batch {
  char const* set;
  lengths_t lengths;
};

std::vector<batch> batches_of(benchmark::State const& state) {
  std::vector<batch> out;
  for (auto const& set : long_batches::sets)
    for (auto& lengths : long_batches::draw(set, 5, static_cast<std::size_t>(state.range(0)), context))
      out.push_back({set.name, std::move(lengths)});
  return out;
}

/// Plans every batch by `plan(lengths, options, model)`, which returns the modelled time.
template <class Plan>
void measure(benchmark::State& state, long_batches::model const& model, Plan const& plan) {
  auto const o = model.options(static_cast<std::uint64_t>(state.range(1)), execution::independent);
  auto const all = batches_of(state);
  double sum = 0, worst = 0;
  for (auto const& b : all) {
    auto const ratio = static_cast<double>(plan(b.lengths, o, model)) / static_cast<double>(shard_bounds(b.lengths, o, model.cost).lower());
    sum += std::log(ratio);
    worst = (std::max)(worst, ratio);
    state.counters[b.set] += std::log(ratio) / 5;
  }
  for (auto& [name, value] : state.counters) value = std::exp(value);
  state.counters["mean"] = std::exp(sum / static_cast<double>(all.size()));
  state.counters["worst"] = worst;
  std::size_t at = 0;
  for (auto _ : state) benchmark::DoNotOptimize(plan(all[at++ % all.size()].lengths, o, model));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

megatron_hybrid_cp::schedule_result<> megatron(lengths_t const& lengths, sharding_options const& o, long_batches::model const& model,
                                               megatron_hybrid_cp::filling passes = megatron_hybrid_cp::filling::first_fit) {
  return megatron_hybrid_cp::schedule(
      lengths, {.capacity = o.capacity, .ranks = o.ranks, .cost_per_pass = o.cost_per_pass, .passes = passes}, model.cost);
}
std::int64_t dynamic_cp(lengths_t const& lengths, sharding_options const& o, long_batches::model const& model, execution policy) {
  return megatron_dynamic_cp::schedule(
             lengths, {.capacity = o.capacity, .ranks = o.ranks, .cost_per_pass = o.cost_per_pass, .execution = policy}, model.cost)
      .time.value;
}
std::int64_t bytescale_time(lengths_t const& lengths, sharding_options const& o, long_batches::model const& model,
                            bytescale::balance from) {
  return bytescale::schedule(lengths, {.capacity = o.capacity, .ranks = o.ranks, .cost_per_pass = o.cost_per_pass, .from = from},
                             model.cost)
      .time.value;
}

int const registered = [] {
  for (auto const& model : long_batches::models) {
    auto const add = [&](std::string const& name, auto const& plan) {
      auto* const b = benchmark::RegisterBenchmark((name + "/" + model.name).c_str(),
                                                   [&model, plan](benchmark::State& state) { measure(state, model, plan); });
      b->Unit(benchmark::kMillisecond)->Args({512, 64})->Args({2048, 256});
      return b;
    };
    add("megatron", [](auto const&... a) { return megatron(a...).time.value; })->Args({2048, 64});
    add("megatron_one_each", [](auto const&... a) { return megatron(a..., megatron_hybrid_cp::filling::one_each).time.value; });
    add("megatron_no_wait", [](auto const&... a) { return megatron(a...).shards.time.value; });
    add("dynamic_cp", [](auto const&... a) { return dynamic_cp(a..., execution::independent); });
    add("dynamic_cp_wait", [](auto const&... a) { return dynamic_cp(a..., execution::lockstep); });
    add("dp_balanced", [](auto const& l, auto const& o, auto const& m) { return megatron_dp_balanced::schedule(l, o, m.cost).time.value; });
    add("slime", [](auto const& l, auto const& o, auto const& m) {
      return slime::schedule(l, o, m.cost, slime::workload(transformer_preset("llama-3.1-8b"))).time.value;
    });
    add("bytescale", [](auto const&... a) { return bytescale_time(a..., bytescale::balance::data_parallel); });
    add("bytescale_pipeline", [](auto const&... a) { return bytescale_time(a..., bytescale::balance::pipeline); });
    add("any_degree", [](auto const& l, auto const& o, auto const& m) { return any_degree_shards(l, o, m.cost).time.value; });
    add("any_degree_2",
        [](auto const& l, auto const& o, auto const& m) { return any_degree_shards(l, o, m.cost, {.powers_of_two = true}).time.value; });
    add("plan_shards", [](auto const& l, auto const& o, auto const& m) { return plan_shards(l, o, m.cost).time.value; });
    add("groups", [](auto const& l, auto const& o, auto const& m) { return homogeneous_shards(l, o, m.cost).time.value; });
    add("bound", [](auto const& l, auto const& o, auto const& m) { return any_degree_bound(l, o, m.cost); });
  }
  return 0;
}();

}  // namespace
