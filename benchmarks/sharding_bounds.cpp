// SPDX-License-Identifier: Apache-2.0
// Lower bounds on the time of a global batch, and schedules in lockstep, over sets of lengths and costs of long_batches.hpp (five batches
// each; ratios are geometric means). `price` proves bounds by prices: `gain` is what it proves beyond the bound by area, in percent,
// `most` the largest gain of a batch. `area` is that simple bound, computed alone. `lockstep` plans
// micro-batches: all ratios are to the best bound in lockstep (`bound` is that bound over the one for ranks that do not wait), `groups` is
// the best size of groups for the batch, `warm` the micro-batches of FlexSP with the best size of groups in each (its warm start), `fixed`
// the groups that the longest context needs. Argument: samples of a batch, ranks.
#include <ballast/sharding.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "long_batches.hpp"

namespace {

using ballast::execution;
using batches = std::vector<std::vector<std::int64_t>>;

constexpr std::int64_t context = 131072;

/// Geometric mean.
struct mean {
  double sum = 0, count = 0, largest = 0;
  void add(std::int64_t above, std::int64_t below) {
    auto const ratio = static_cast<double>(above) / static_cast<double>(below);
    sum += std::log(ratio);
    count += 1;
    largest = (std::max)(largest, ratio);
  }
  [[nodiscard]] double value() const { return count == 0 ? 0 : std::exp(sum / count); }
};

template <class Run>
void over_batches(benchmark::State& state, batches const& all, Run const& run) {
  if (all.empty()) return state.SkipWithError("BALLAST_TRACES does not name the folder of the traces");
  for (auto _ : state)
    for (auto const& lengths : all) benchmark::DoNotOptimize(run(lengths));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(all.size()) * static_cast<std::int64_t>(all[0].size()));
}

batches of(long_batches::set const& set, benchmark::State const& state) {
  return long_batches::draw(set, 5, static_cast<std::size_t>(state.range(0)), context);
}

void area(benchmark::State& state, long_batches::set const& set, long_batches::model const& model) {
  auto const o = model.options(static_cast<std::uint64_t>(state.range(1)), execution::independent);
  over_batches(state, of(set, state), [&](auto const& lengths) { return homogeneous_shards(lengths, o, model.cost).time.lower_bound; });
}

void price(benchmark::State& state, long_batches::set const& set, long_batches::model const& model) {
  auto const o = model.options(static_cast<std::uint64_t>(state.range(1)), execution::independent);
  auto const all = of(set, state);
  std::vector<std::int64_t> bounds;
  for (auto const& lengths : all) bounds.push_back(homogeneous_shards(lengths, o, model.cost).time.lower_bound);
  std::size_t b = 0;
  auto const run = [&](auto const& lengths) {
    auto const lower = bounds[b++ % bounds.size()];
    return price_bound(lengths, o, model.cost, {.lower = lower, .upper = lower + lower / 8});
  };
  over_batches(state, all, run);
  mean gain;
  for (std::size_t k = 0; k < all.size(); ++k) {
    auto const lower = bounds[k];
    auto const proof = price_bound(all[k], o, model.cost, {.lower = lower, .upper = lower + lower / 8});
    if (!proof.per_token.empty() && !check_prices(proof, all[k], o, model.cost)) return state.SkipWithError("not a proof");
    gain.add((std::max)(proof.lower_bound(), lower), lower);
  }
  state.counters["gain"] = 100 * (gain.value() - 1);
  state.counters["most"] = 100 * (gain.largest - 1);
}

/// FlexSP's micro-batches of neighbours in length, each on the best size of groups; 0 if some do not fit.
std::int64_t warm_start(std::vector<std::int64_t> lengths, ballast::sharding_options const& o, ballast::degree_cost const& cost) {
  std::sort(lengths.begin(), lengths.end());
  std::int64_t tokens = 0, best = 0;
  for (auto const l : lengths) tokens += l;
  auto const all = o.capacity * static_cast<std::int64_t>(o.ranks);
  auto const fewest = (tokens + all - 1) / all;
  for (auto count = fewest, found = std::int64_t{0}; count < fewest + 20 && found < 5; ++count) {
    auto low = (std::max)(lengths.back(), (tokens + count - 1) / count), high = tokens;
    auto const cut = [&](std::int64_t most) {
      std::vector<std::size_t> ends;
      std::int64_t held = most;
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        if (held + lengths[i] > most) {
          ends.push_back(i);
          held = 0;
        }
        held += lengths[i];
      }
      ends.push_back(lengths.size());
      return ends;
    };
    while (low < high) {
      auto const middle = low + (high - low) / 2;
      if (cut(middle).size() <= static_cast<std::size_t>(count) + 1)
        high = middle;
      else
        low = middle + 1;
    }
    auto const ends = cut(low);
    std::int64_t sum = 0;
    for (std::size_t m = 0; m + 1 < ends.size() && sum >= 0; ++m) {
      std::vector<std::int64_t> const part(lengths.begin() + static_cast<std::ptrdiff_t>(ends[m]),
                                           lengths.begin() + static_cast<std::ptrdiff_t>(ends[m + 1]));
      auto const plan = homogeneous_shards(part, o, cost);
      sum = plan.status == ballast::status::feasible && plan.passes(0) == 1 ? sum + plan.time.value : -1;
    }
    if (sum < 0) continue;
    ++found;
    best = best == 0 ? sum : (std::min)(best, sum);
  }
  return best;
}

void lockstep(benchmark::State& state, long_batches::set const& set, long_batches::model const& model) {
  auto const o = model.options(static_cast<std::uint64_t>(state.range(1)), execution::lockstep);
  auto const all = of(set, state);
  over_batches(state, all, [&](auto const& lengths) { return lockstep_shards(lengths, o, model.cost); });
  mean ours, groups, warm, fixed, bound;
  for (auto const& lengths : all) {
    auto const plan = lockstep_shards(lengths, o, model.cost);
    if (!check_shards(plan, lengths, o, {.aligned = true}).valid()) return state.SkipWithError("not a valid plan");
    auto const proven = plan.time.lower_bound;
    auto alone = o;
    alone.execution = execution::independent;
    bound.add(proven, homogeneous_shards(lengths, alone, model.cost).time.lower_bound);
    ours.add(plan.time.value, proven);
    groups.add(homogeneous_shards(lengths, o, model.cost).time.value, proven);
    if (auto const time = warm_start(lengths, o, model.cost); time > 0) warm.add(time, proven);
    if (auto const plan_of_context = static_shards(lengths, context, o, model.cost); plan_of_context.status == ballast::status::feasible)
      fixed.add(plan_of_context.time.value, proven);
  }
  state.counters["ratio"] = ours.value();
  state.counters["groups"] = groups.value();
  state.counters["warm"] = warm.value();
  state.counters["fixed"] = fixed.value();
  state.counters["bound"] = bound.value();
}

int const registered = [] {
  for (auto const& set : long_batches::sets)
    for (auto const& model : long_batches::models) {
      auto const add = [&](std::string const& name, auto const& run) {
        benchmark::RegisterBenchmark((name + "/" + set.name + "/" + model.name).c_str(),
                                     [&, run](benchmark::State& state) { run(state, set, model); })
            ->Unit(benchmark::kMillisecond)
            ->Args({512, 64})
            ->Args({2048, 256});
      };
      add("area", area);
      add("price", price);
      add("lockstep", lockstep);
    }
  return 0;
}();

}  // namespace
