// SPDX-License-Identifier: Apache-2.0
// Dealing many global batches, naming samples from a plan on classes, and scoring candidate plans. `floor` counts the bytes that must move:
// costs or lengths read, sets or figures written. Beside the twins, in the same run: the two halves of a deal as one would write them,
// CUB's sort of every batch and, of items in any order, a deal with one lane a batch; scores by atomics in global memory; the host on one
// core.
//
// Costs: 24576 l + l^2, with lengths 2^5 … 2^13, bell-shaped over octaves.
#include "timing.hpp"

#include <ballast/balance/bulk.hpp>
#include <ballast/balance/longest_processing_time.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/gpu/balance/bulk.cuh>
#include <ballast/gpu/balance/longest_processing_time.cuh>
#include <ballast/gpu/balance/score.cuh>

#include <cstdint>
#include <span>
#include <vector>

#include <cub/device/device_segmented_sort.cuh>

namespace {

using namespace ballast_bench;

constexpr ballast::quadratic_cost cost{.linear = 24576, .quadratic = 1};

std::vector<std::int64_t> lengths_of(std::size_t count) {
  ballast::splitmix64 draw(2026);
  std::vector<std::int64_t> lengths(count);
  for (auto& l : lengths) {
    std::uint64_t value = 32;
    for (auto coins = draw() & 0x7f; coins != 0; coins &= coins - 1) value *= 2;
    l = static_cast<std::int64_t>(value + ballast::uniform_below(value, draw));
  }
  return lengths;
}
std::vector<std::int64_t> costs_of(std::size_t count) {
  auto costs = lengths_of(count);
  for (auto& c : costs) c = cost(c);
  return costs;
}

// Arguments: batches / items of each / sets.
struct batches {
  std::size_t count, items, sets, all;
  std::vector<std::uint64_t> offsets;
  explicit batches(bench_state const& state)
      : count(static_cast<std::size_t>(state.range(0))),
        items(static_cast<std::size_t>(state.range(1))),
        sets(static_cast<std::size_t>(state.range(2))),
        all(count * items) {
    for (std::size_t b = 0; b <= count; ++b) offsets.push_back(b * items);
  }
  [[nodiscard]] double floor() const { return 12.0 * static_cast<double>(all) + 8.0 * static_cast<double>(count * sets); }
};

void deal(bench_state& state) {
  batches const b(state);
  timed(state, static_cast<double>(b.all), b.floor(), [&](device_memory& memory) {
    gpu::cost_batches const in{memory.send(costs_of(b.all)), b.all, memory.send(b.offsets), b.count};
    return memory.ready([on = memory.on, in, sets = b.sets, set_of = memory.take<std::uint32_t>(b.all),
                         loads = memory.take<std::int64_t>(b.count * b.sets),
                         bad = memory.take<std::uint64_t>(1)](void* temp, std::size_t& bytes) {
      return gpu::longest_processing_time(on, temp, bytes, in, {.sets = sets}, set_of, loads, bad);
    });
  });
}

void batches_sorted_by_cub(bench_state& state) {
  batches const b(state);
  timed(state, static_cast<double>(b.all), b.floor(), [&](device_memory& memory) {
    auto* const costs = memory.send(costs_of(b.all));
    auto* const offsets = memory.send(b.offsets);
    return memory.ready([on = memory.on, costs, offsets, &b, sorted = memory.take<std::int64_t>(b.all),
                         values = memory.take<std::uint32_t>(b.all),
                         order = memory.take<std::uint32_t>(b.all)](void* temp, std::size_t& bytes) {
      return cub::DeviceSegmentedSort::StableSortPairsDescending(temp, bytes, costs, sorted, values, order,
                                                                 static_cast<std::int64_t>(b.all), static_cast<std::int64_t>(b.count),
                                                                 offsets, offsets + 1, on.stream);
    });
  });
}

// The loads are in global memory.
struct deal_alone {
  std::int64_t const* costs;
  std::size_t items, sets;
  std::int64_t* loads;
  std::uint32_t* set_of;
  BALLAST_HD void operator()(std::size_t b) const {
    auto* const load = loads + b * sets;
    for (std::size_t s = 0; s < sets; ++s) load[s] = 0;
    for (auto i = b * items; i < (b + 1) * items; ++i) {
      std::size_t best = 0;
      for (std::size_t s = 1; s < sets; ++s)
        if (load[s] < load[best]) best = s;
      load[best] += costs[i];
      set_of[i] = static_cast<std::uint32_t>(best);
    }
  }
};
void deal_by_one_lane(bench_state& state) {
  batches const b(state);
  timed(state, static_cast<double>(b.all), b.floor(), [&](device_memory& memory) {
    deal_alone const work{memory.send(costs_of(b.all)), b.items, b.sets, memory.take<std::int64_t>(b.count * b.sets),
                          memory.take<std::uint32_t>(b.all)};
    return [on = memory.on, work, count = b.count] { gpu::check(on.for_each(count, work), "deal_alone"); };
  });
}

void deal_on_host(bench_state& state) {
  batches const b(state);
  timed_on_host(state, static_cast<double>(b.all), b.floor(), [&] {
    return [&b, costs = costs_of(b.all), workspace = ballast::balance_workspace<>{}, out = ballast::balanced_sets<>{}]() mutable {
      ballast::token_cost const itself;
      for (std::size_t k = 0; k < b.count; ++k)
        ballast::longest_processing_time(std::span(costs).subspan(k * b.items, b.items), {.sets = b.sets}, itself, itself, workspace, out);
      keep(out.load.value);
    };
  });
}

// Arguments: candidates / items of each / sets.
struct plans {
  gpu::candidate_plans in;
  plans(device_memory& memory, batches const& b) {
    std::vector<std::uint32_t> set_of(b.all);
    ballast::splitmix64 draw(7);
    for (auto& s : set_of) s = static_cast<std::uint32_t>(draw() % b.sets);
    in = {memory.send(costs_of(b.items)), b.items, memory.send(set_of), b.count, b.sets};
  }
};
double score_floor(batches const& b) {
  return 4.0 * static_cast<double>(b.all) + 8.0 * static_cast<double>(b.items) + 24.0 * static_cast<double>(b.count);
}

void score(bench_state& state) {
  batches const b(state);
  timed(state, static_cast<double>(b.all), score_floor(b), [&](device_memory& memory) {
    plans const p(memory, b);
    return memory.ready([on = memory.on, in = p.in, out = memory.take<gpu::load_figures>(b.count), bad = memory.take<std::uint64_t>(2)](
                            void* temp, std::size_t& bytes) { return gpu::score(on, temp, bytes, in, out, bad); });
  });
}

struct add_globally {
  gpu::candidate_plans in;
  std::uint64_t* loads;
  BALLAST_HD void operator()(std::size_t i) const {
    gpu::atomic_add(loads[i / in.items * in.sets + in.set_of[i]], static_cast<std::uint64_t>(in.costs[i % in.items]));
  }
};
struct figures_of_loads {
  std::uint64_t const* loads;
  std::size_t sets;
  gpu::load_figures* out;
  BALLAST_HD void operator()(std::size_t c) const {
    auto const* const load = loads + c * sets;
    auto largest = load[0], smallest = load[0], total = load[0];
    for (std::size_t s = 1; s < sets; ++s) {
      largest = load[s] > largest ? load[s] : largest;
      smallest = load[s] < smallest ? load[s] : smallest;
      total += load[s];
    }
    out[c] = {static_cast<std::int64_t>(largest), static_cast<std::int64_t>(smallest), static_cast<std::int64_t>(total)};
  }
};
void score_by_global_atomics(bench_state& state) {
  batches const b(state);
  timed(state, static_cast<double>(b.all), score_floor(b), [&](device_memory& memory) {
    plans const p(memory, b);
    return
        [on = memory.on, in = p.in, loads = memory.take<std::uint64_t>(b.count * b.sets), out = memory.take<gpu::load_figures>(b.count)] {
          gpu::check(on.fill(loads, 0, in.candidates * in.sets * sizeof(std::uint64_t)), "fill");
          gpu::check(on.for_each(in.candidates * in.items, add_globally{in, loads}), "add_globally");
          gpu::check(on.for_each(in.candidates, figures_of_loads{loads, in.sets, out}), "figures_of_loads");
        };
  });
}

// Arguments: samples / sets.
void bulk(bench_state& state) {
  auto const n = static_cast<std::size_t>(state.range(0));
  timed(state, static_cast<double>(n), 8.0 * static_cast<double>(n), [&](device_memory& memory) {
    auto const all = lengths_of(n);
    auto* const lengths = memory.send(std::vector<std::uint32_t>(all.begin(), all.end()));
    return [on = memory.on, n, lengths, sets = static_cast<std::uint64_t>(state.range(1)), set_of = memory.take<std::uint32_t>(n)] {
      keep(gpu::bulk_longest_processing_time(on, lengths, n, 8192, sets, cost, set_of).load.value);
    };
  });
}
void bulk_on_host(bench_state& state) {
  auto const n = static_cast<std::size_t>(state.range(0));
  timed_on_host(state, static_cast<double>(n), 8.0 * static_cast<double>(n), [&] {
    return [lengths = lengths_of(n), sets = static_cast<std::uint64_t>(state.range(1)), workspace = ballast::bulk_balance_workspace{},
            runs = ballast::balance_runs{}, out = ballast::balanced_sets<>{}]() mutable {
      ballast::bulk_longest_processing_time(lengths, sets, cost, workspace, runs, out);
      keep(out.load.value);
    };
  });
}

}  // namespace

int main(int argc, char** argv) {
  program const p(argc, argv);
  auto const dealt = [&](char const* name, void (*benchmark)(bench_state&)) {
    run(p, name, benchmark, {{100}, {4096}, {64}});
    run(p, name, benchmark, {{1000}, {512}, {64}});
    run(p, name, benchmark, {{1000}, {4096}, {8, 64, 1024}});
  };
  dealt("deal", deal);
  dealt("batches_sorted_by_cub", batches_sorted_by_cub);
  dealt("deal_by_one_lane", deal_by_one_lane);
  dealt("deal_on_host", deal_on_host);
  auto const scored = [&](char const* name, void (*benchmark)(bench_state&)) {
    run(p, name, benchmark, {{1000, 10'000}, {4096}, {64}});
    run(p, name, benchmark, {{10'000}, {512}, {8}});
  };
  scored("score", score);
  scored("score_by_global_atomics", score_by_global_atomics);
  run(p, "bulk", bulk, {{1'000'000, 10'000'000, 100'000'000}, {64, 1024}});
  run(p, "bulk_on_host", bulk_on_host, {{1'000'000, 10'000'000, 100'000'000}, {64, 1024}});
}
