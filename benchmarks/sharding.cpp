// SPDX-License-Identifier: Apache-2.0
// Plans of global batches by `plan_shards`: gaps to the proven lower bound, and times beside a heap that places the same samples longest
// first. Sets are generators of `ballast generate` and traces, models and constants those of long_batches.hpp; five batches of each set,
// two of more than 512 samples. Google Benchmark's counters are geometric means over the sets and the worst set, in percent: `gap` to the
// plan's own lower bound, `over` to the bound by area and longest sample, which is the same for all planners. Tables of the gaps by set,
// and of targets, follow. Arguments of a name: samples, ranks. With --counts (some numbers of GPUs), --counts=7, --counts=5-14 or
// --counts=all (1 to 128), small batches on those numbers instead; with --batches, those of BALLAST_TRACES: sharding_counts.hpp.
// With --costs, samples whose costs are not a function of their lengths: sharding_costs.hpp.
#include "long_batches.hpp"
#include "planning/distributions.hpp"
#include "sharding_costs.hpp"
#include "sharding_counts.hpp"

#include <ballast/sharding.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using ballast::execution;
using batches = std::vector<std::vector<std::int64_t>>;

constexpr std::int64_t context = 131072;
constexpr std::string_view generators[]{"pretraining-documents", "chat-sft", "prolong", "wlb", "wikipedia-chinese", "long-context-sft"};
constexpr std::string_view traces[]{"mooncake", "servegen", "repositories"};

struct data {
  std::string_view name;
  batches all;
};

batches generated(std::string_view name, std::size_t count, std::size_t samples) {
  auto const known = ballast_cli::distributions();
  auto const like = std::find_if(known.begin(), known.end(), [&](auto const& d) { return d.name == name; });
  batches out(count);
  for (std::size_t b = 0; b < count; ++b)
    for (auto const length : ballast_cli::draw(*like, samples, b + 1)) out[b].push_back(std::clamp(length, std::int64_t{16}, context));
  return out;
}

/// The batches of all sets, for a number of samples; drawn once.
std::vector<data> const& sets(std::size_t samples) {
  static std::map<std::size_t, std::vector<data>> drawn;
  auto& out = drawn[samples];
  if (!out.empty()) return out;
  std::size_t const count = samples > 512 ? 2 : 5;
  for (auto const name : generators) out.push_back({name, generated(name, count, samples)});
  for (auto const& set : long_batches::sets)
    if (std::find(std::begin(traces), std::end(traces), set.name) != std::end(traces))
      if (auto all = long_batches::draw(set, count, samples, context); !all.empty()) out.push_back({set.name, std::move(all)});
  return out;
}

enum class planner { quick, deep, one_attempt, four_attempts, homogeneous, longest_first };
constexpr char const* planner_names[] = {"quick", "deep", "one_attempt", "four_attempts", "homogeneous", "longest_first"};

struct setting {
  std::size_t samples;
  std::uint64_t ranks;
  long_batches::model const* model;
  execution policy;
  planner by;
  [[nodiscard]] std::string name() const {
    return std::string(by == planner::longest_first ? "" : std::string(to_string(policy)) + "/") + planner_names[static_cast<int>(by)] +
           "/" + model->name + "/" + std::to_string(samples) + "/" + std::to_string(ranks);
  }
};

ballast::shards<> planned(std::vector<std::int64_t> const& lengths, setting const& s) {
  auto const o = s.model->options(s.ranks, s.policy);
  if (s.by == planner::homogeneous) return homogeneous_shards(lengths, o, s.model->cost);
  if (s.by == planner::one_attempt) return plan_shards(lengths, o, s.model->cost, {.attempts = s.policy == execution::mixed ? 2 : 1});
  if (s.by == planner::four_attempts) return plan_shards(lengths, o, s.model->cost, {.attempts = 4});
  return plan_shards(lengths, o, s.model->cost, {.deep = s.by == planner::deep});
}

/// The largest load when samples go, longest first, to the rank of least load. Memory is not looked at.
std::int64_t longest_first(std::vector<std::int64_t> const& lengths, setting const& s) {
  std::vector<std::pair<std::int64_t, std::size_t>> order(lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) order[i] = {-s.model->cost(lengths[i], 1), i};
  std::sort(order.begin(), order.end());
  std::vector<std::pair<std::int64_t, std::uint32_t>> heap(static_cast<std::size_t>(s.ranks));
  for (std::uint32_t r = 0; r < heap.size(); ++r) heap[r] = {0, r};
  std::vector<std::uint32_t> rank_of(lengths.size());
  for (auto const& [cost, i] : order) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.back().first -= cost;
    rank_of[i] = heap.back().second;
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  }
  benchmark::DoNotOptimize(rank_of);
  return std::max_element(heap.begin(), heap.end())->first;
}

/// What a planner reached: ratios are geometric means over the batches of a set.
struct outcome {
  std::vector<double> gap, over;                  ///< of each set: value over its own lower bound, and over the common one
  std::vector<std::vector<std::int64_t>> values;  ///< of each set and batch
  double ms = 0;                                  ///< time of a plan
  [[nodiscard]] static double mean(std::vector<double> const& of) {
    double sum = 0;
    for (auto const r : of) sum += std::log(r);
    return 100 * (std::exp(sum / static_cast<double>(of.size())) - 1);
  }
  [[nodiscard]] static double worst(std::vector<double> const& of) { return 100 * (*std::max_element(of.begin(), of.end()) - 1); }
};
std::map<std::string, outcome> outcomes;

/// The bound by area and longest sample, of each set and batch.
std::vector<std::vector<std::int64_t>> const& common_bounds(setting const& s) {
  static std::map<std::string, std::vector<std::vector<std::int64_t>>> known;
  auto& out = known[s.model->name + std::to_string(s.samples)];
  if (out.empty())
    for (auto const& set : sets(s.samples)) {
      out.emplace_back();
      for (auto const& lengths : set.all)
        out.back().push_back(
            homogeneous_shards(lengths, s.model->options(s.ranks, execution::independent), s.model->cost).time.lower_bound);
    }
  return out;
}

void run(benchmark::State& state, setting const& s) {
  auto const& all = sets(s.samples);
  auto const& bounds = common_bounds(s);
  std::size_t plans = 0;
  for (auto const& set : all) plans += set.all.size();
  outcome out;
  auto const heap = s.by == planner::longest_first;
  auto const begin = std::clock();
  for (auto _ : state)
    for (auto const& set : all)
      for (auto const& lengths : set.all)
        if (heap)
          benchmark::DoNotOptimize(longest_first(lengths, s));
        else
          benchmark::DoNotOptimize(planned(lengths, s));
  out.ms = static_cast<double>(std::clock() - begin) * 1e3 / CLOCKS_PER_SEC / static_cast<double>(state.iterations()) /
           static_cast<double>(plans);
  state.counters["ms"] = out.ms;
  for (std::size_t k = 0; k < all.size() && !heap; ++k) {
    double gap = 0, over = 0;
    out.values.emplace_back();
    for (std::size_t b = 0; b < all[k].all.size(); ++b) {
      auto const plan = planned(all[k].all[b], s);
      if (!check_shards(plan, all[k].all[b], s.model->options(s.ranks, s.policy), {.aligned = true}).valid())
        return state.SkipWithError("not a valid plan");
      gap += std::log(static_cast<double>(plan.time.value) / static_cast<double>(plan.time.lower_bound));
      over += std::log(static_cast<double>(plan.time.value) / static_cast<double>(bounds[k][b]));
      out.values.back().push_back(plan.time.value);
    }
    out.gap.push_back(std::exp(gap / static_cast<double>(all[k].all.size())));
    out.over.push_back(std::exp(over / static_cast<double>(all[k].all.size())));
  }
  if (!heap) {
    state.counters["gap"] = outcome::mean(out.gap);
    state.counters["worst_gap"] = outcome::worst(out.gap);
    state.counters["over"] = outcome::mean(out.over);
    state.counters["worst_over"] = outcome::worst(out.over);
  }
  outcomes[s.name()] = std::move(out);
}

std::vector<setting> settings() {
  std::vector<setting> out;
  constexpr std::pair<std::size_t, std::uint64_t> sizes[]{{512, 64}, {2048, 256}, {4096, 1024}, {32768, 64}};
  for (auto const& [samples, ranks] : sizes)
    for (auto const& model : long_batches::models) {
      auto const add = [&, n = samples, d = ranks](execution policy, planner by) { out.push_back({n, d, &model, policy, by}); };
      add(execution::independent, planner::longest_first);
      for (auto const policy : {execution::independent, execution::mixed}) {
        add(policy, samples > 4096 ? planner::one_attempt : planner::quick);
        add(policy, samples > 4096 ? planner::four_attempts : planner::deep);
      }
      if (samples <= 4096) add(execution::lockstep, planner::quick);
      if (samples <= 2048) add(execution::lockstep, planner::deep);
      add(execution::independent, planner::homogeneous);
      if (samples <= 4096) add(execution::lockstep, planner::homogeneous);
    }
  return out;
}

void print_by_set() {
  std::printf("\nPercent over the common lower bound, by set; time of a plan and as a multiple of placing longest first\n\n| planner |");
  for (auto const& set : sets(512)) std::printf(" %s |", std::string(set.name).c_str());
  std::printf(" mean | worst | ms | multiple |\n|---|");
  for (std::size_t k = 0; k < sets(512).size() + 4; ++k) std::printf("---|");
  for (auto s : settings()) {
    auto const found = outcomes.find(s.name());
    if (found == outcomes.end() || found->second.over.empty()) continue;
    auto const& o = found->second;
    s.by = planner::longest_first;
    auto const heap = outcomes.find(s.name());
    std::printf("\n| %s |", found->first.c_str());
    for (auto const r : o.over) std::printf(" %.1f |", 100 * (r - 1));
    std::printf(" %.2f | %.2f | %.2f | %.2f |", outcome::mean(o.over), outcome::worst(o.over), o.ms,
                heap == outcomes.end() ? 0.0 : o.ms / heap->second.ms);
  }
  std::puts("");
}

struct target {
  std::string of;
  double mean, worst, ms, multiple;  ///< percent over the common bound, milliseconds, multiple of longest first; 0 = no target
};

void print_targets() {
  std::vector<target> wanted;
  for (auto const& model : long_batches::models) {
    wanted.push_back({"independent/one_attempt/" + std::string(model.name) + "/32768/64", 0, 2, 5, 1.5});
    wanted.push_back({"mixed/one_attempt/" + std::string(model.name) + "/32768/64", 0, 1.5, 5, 1.5});
  }
  wanted.push_back({"independent/quick/skrull_7b/512/64", 0, 2, 1, 0});
  wanted.push_back({"independent/quick/skrull_0.5b/512/64", 0, 4, 1, 0});
  for (auto const* const model : {"flexsp_40gb", "flexsp_80gb"}) {
    wanted.push_back({"independent/deep/" + std::string(model) + "/512/64", 5, 6.5, 0, 0});
    wanted.push_back({"mixed/deep/" + std::string(model) + "/512/64", 4, 6.5, 0, 0});
  }
  wanted.push_back({"independent/quick/skrull_7b/4096/1024", 3, 0, 5, 0});
  wanted.push_back({"mixed/quick/flexsp_80gb/4096/1024", 2, 0, 5, 0});
  std::puts("\nTargets: percent over the common lower bound, milliseconds, multiple of longest first (seen / at most)\n");
  std::puts("| planner | mean | worst set | ms | multiple | |\n|---|---|---|---|---|---|");
  for (auto const& w : wanted) {
    auto const found = outcomes.find(w.of);
    if (found == outcomes.end() || found->second.over.empty()) continue;
    auto const& o = found->second;
    auto const heap = outcomes.find("longest_first" + w.of.substr(w.of.find('/', w.of.find('/') + 1)));
    auto missed = false;
    std::printf("| %s |", w.of.c_str());
    for (auto const& [seen, most] : {std::pair(outcome::mean(o.over), w.mean), std::pair(outcome::worst(o.over), w.worst),
                                     std::pair(o.ms, w.ms), std::pair(heap == outcomes.end() ? 0.0 : o.ms / heap->second.ms, w.multiple)}) {
      if (most > 0)
        std::printf(" %.2f / %.1f |", seen, most);
      else
        std::printf(" – |");
      missed = missed || (most > 0 && seen > most);
    }
    std::puts(missed ? " **missed** |" : " holds |");
  }
}

/// Counts the plans that are slower than those of a simpler planner under the same policy or a stricter one.
void print_slower(planner theirs, execution policy, char const* name) {
  std::size_t slower = 0, compared = 0;
  for (auto s : settings()) {
    if (s.policy == execution::lockstep || s.by == planner::homogeneous) continue;
    auto const ours = outcomes.find(s.name());
    s.by = theirs;
    s.policy = policy;
    auto const other = outcomes.find(s.name());
    if (ours == outcomes.end() || other == outcomes.end()) continue;
    for (std::size_t k = 0; k < ours->second.values.size(); ++k)
      for (std::size_t b = 0; b < ours->second.values[k].size(); ++b, ++compared)
        slower += ours->second.values[k][b] > other->second.values[k][b];
  }
  std::printf("\nIndependent and mixed plans slower than %s: %zu of %zu.\n", name, slower, compared);
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view const first = argc > 1 ? argv[1] : "";
  if (first == "--costs") return sharding_costs::print_costs() ? 0 : 1;
  if (first == "--batches") return sharding_counts::print_batches() ? 0 : 1;
  if (first.starts_with("--counts"))
    return sharding_counts::print_counts(std::string(first.substr((std::min)(first.size(), std::string_view("--counts=").size())))) ? 0 : 1;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  for (auto const& s : settings())
    benchmark::RegisterBenchmark(s.name().c_str(), [s](benchmark::State& state) { run(state, s); })
        ->Unit(benchmark::kMillisecond)
        ->MinTime(s.by == planner::deep ? 0.01 : 0.3);
  benchmark::RunSpecifiedBenchmarks();
  if (sets(512).size() == std::size(generators)) std::puts("BALLAST_TRACES does not name the folder of the traces: generators alone");
  print_by_set();
  print_targets();
  print_slower(planner::homogeneous, execution::independent, "groups of one size");
  print_slower(planner::quick, execution::lockstep, "lockstep_shards, whose plans are valid without waiting too");
  return 0;
}
