// SPDX-License-Identifier: Apache-2.0
// FlexSP (arXiv 2412.01523) on 64 GPUs: its planner beside the groups of one size, `lockstep_shards` and ranks that run on their own, over
// the sets of lengths of long_batches.hpp and FlexSP's fitted constants (five batches of 512 samples each; ratios are geometric means).
// `plan` times a planner: `ratio` is the modelled time over the lower bound in lockstep, `speed_up` that of the best groups of one size
// over it, `micro_batches` their mean number. `buckets` times `length_buckets`: the tokens that rounding up adds, in percent, optimally and
// by equal intervals (`naive`), with 16 buckets for a batch (argument 0) or for each of FlexSP's micro-batches (argument 1).
#include <ballast/methods/flexsp.hpp>
#include <ballast/methods/flexsp_costs.hpp>
#include <ballast/sharding.hpp>

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "long_batches.hpp"

namespace {

using namespace ballast;
using lengths_t = std::vector<std::int64_t>;

constexpr std::int64_t context = 131072;
constexpr std::uint64_t ranks = 64;

enum class method { fixed, one_size, warm_start, published, exact, all_sizes, lockstep, independent };

struct model {
  char const* name;
  flexsp::shape const* shape;
  std::int64_t usable;
};
constexpr model models[] = {{"7b_40gb", &flexsp::shapes[0], 36'000'000'000},
                            {"7b_80gb", &flexsp::shapes[0], 76'000'000'000},
                            {"7b_28gib", &flexsp::shapes[0], std::int64_t{28} << 30},  // what the paper's code leaves of 40 GB
                            {"13b_40gb", &flexsp::shapes[1], 36'000'000'000},
                            {"30b_40gb", &flexsp::shapes[2], 36'000'000'000}};

shards<> planned(method how, lengths_t const& lengths, sharding_options o, degree_cost const& cost) {
  using enum method;
  switch (how) {
    case fixed: return static_shards(lengths, context, o, cost);
    case one_size: return homogeneous_shards(lengths, o, cost);
    case warm_start: return flexsp::schedule(lengths, o, cost, {.how = flexsp::grouping::warm_start});
    case published: return flexsp::schedule(lengths, o, cost);
    case exact: return flexsp::schedule(lengths, o, cost, {.buckets = 0});
    case all_sizes: return flexsp::schedule(lengths, o, cost, {.buckets = 0, .fewest_ranks = 1});
    case lockstep: return lockstep_shards(lengths, o, cost);
    case independent: break;
  }
  o.execution = execution::independent;
  return plan_shards(lengths, o, cost);
}

std::vector<lengths_t> const& batches_of(long_batches::set const& set) {
  static std::map<std::string, std::vector<lengths_t>> drawn;
  auto const [at, is_new] = drawn.try_emplace(set.name);
  if (is_new) at->second = long_batches::draw(set, 5, 512, context);
  return at->second;
}

void plan(benchmark::State& state, method how, long_batches::set const& set, model const& by) {
  auto const& all = batches_of(set);
  if (all.empty()) return state.SkipWithError("BALLAST_TRACES does not name the folder of the traces");
  auto const o = flexsp::options_of(*by.shape, ranks, by.usable);
  auto const cost = flexsp::cost_of(*by.shape);
  double ratio = 0, speed_up = 0, micro_batches = 0;
  for (auto const& lengths : all) {
    auto const found = planned(how, lengths, o, cost);
    if (found.status != status::feasible) return state.SkipWithError("no plan");
    if (!check_shards(found, lengths, o).valid()) return state.SkipWithError("not a valid plan");
    auto const time = static_cast<double>(found.time.value);
    ratio += std::log(time / static_cast<double>(shard_bounds(lengths, o, cost).lower()));
    speed_up += std::log(static_cast<double>(planned(method::one_size, lengths, o, cost).time.value) / time);
    micro_batches += static_cast<double>(found.passes(0));
  }
  std::size_t at = 0;
  for (auto _ : state) benchmark::DoNotOptimize(planned(how, all[at++ % all.size()], o, cost));
  auto const count = static_cast<double>(all.size());
  state.counters["ratio"] = std::exp(ratio / count);
  state.counters["speed_up"] = std::exp(speed_up / count);
  state.counters["micro_batches"] = micro_batches / count;
}

/// The lengths of each micro-batch of FlexSP's planner.
std::vector<lengths_t> micro_batches_of(lengths_t const& lengths) {
  auto const& shape = flexsp::shapes[0];
  auto const found = flexsp::schedule(lengths, flexsp::options_of(shape, ranks, 36'000'000'000), flexsp::cost_of(shape));
  std::vector<lengths_t> out(found.passes(0));
  std::vector<bool> seen(lengths.size(), false);
  for (std::size_t r = 0; r < found.ranks(); ++r)
    for (std::size_t m = 0; m < out.size(); ++m)
      for (auto const& held : found(r, m)) {
        if (!seen[held.sample]) out[m].push_back(lengths[held.sample]);
        seen[held.sample] = true;
      }
  return out;
}

void buckets(benchmark::State& state, long_batches::set const& set) {
  std::vector<lengths_t> all = batches_of(set);
  if (all.empty()) return state.SkipWithError("BALLAST_TRACES does not name the folder of the traces");
  if (state.range(0) == 1) {
    std::vector<lengths_t> parts;
    for (auto const& lengths : all)
      for (auto& part : micro_batches_of(lengths)) parts.push_back(std::move(part));
    all = std::move(parts);
  }
  double tokens = 0, excess = 0, naive = 0;
  for (auto const& lengths : all) {
    for (auto const l : lengths) tokens += static_cast<double>(l);
    excess += static_cast<double>(length_buckets(lengths, 16).excess.value);
    naive += static_cast<double>(equal_interval_buckets(lengths, 16).excess.value);
  }
  std::size_t at = 0;
  for (auto _ : state) benchmark::DoNotOptimize(length_buckets(all[at++ % all.size()], 16));
  state.counters["added"] = 100 * excess / tokens;
  state.counters["naive"] = 100 * naive / tokens;
}

int const registered = [] {
  struct named {
    char const* name;
    method how;
  };
  constexpr named methods[] = {
      {"fixed", method::fixed}, {"one_size", method::one_size},   {"warm_start", method::warm_start}, {"published", method::published},
      {"exact", method::exact}, {"all_sizes", method::all_sizes}, {"lockstep", method::lockstep},     {"independent", method::independent}};
  for (auto const& set : long_batches::sets) {
    for (auto const& by : models)
      for (auto const& m : methods)
        benchmark::RegisterBenchmark(("plan/" + std::string(set.name) + "/" + by.name + "/" + m.name).c_str(),
                                     [&set, &by, how = m.how](benchmark::State& state) { plan(state, how, set, by); })
            ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("buckets/" + std::string(set.name)).c_str(), [&set](benchmark::State& state) { buckets(state, set); })
        ->Unit(benchmark::kMicrosecond)
        ->Arg(0)
        ->Arg(1);
  }
  return 0;
}();

}  // namespace
