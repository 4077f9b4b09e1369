// SPDX-License-Identifier: Apache-2.0
// Costs of samples and packs on a device. `floor` counts the bytes that must move: lengths, offsets and results. Beside the twins, in the
// same run: the ceiling of a copy, the sums as differences of one scan (12 bytes a sample of scratch traffic, whatever the packs), Thrust's
// reduction by key, and the host on one core. Packs of best fit, whose samples are out of order, by their members and by the plan alone.
// Routed rows beside an atomic in global memory for each. Lengths: 2^5 … 2^13, bell-shaped over octaves; packs of 1 … 19 samples, of best
// fit 8192 tokens. Argument: samples, or rows.
#include "timing.hpp"

#include <ballast/core/random.hpp>
#include <ballast/cost/attention.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/tiles.hpp>
#include <ballast/gpu/core/classes.cuh>
#include <ballast/gpu/core/mapped.cuh>
#include <ballast/gpu/core/scan.cuh>
#include <ballast/gpu/core/search.cuh>
#include <ballast/gpu/cost/makespan.cuh>
#include <ballast/gpu/cost/pack_costs.cuh>
#include <ballast/gpu/cost/routed_rows.cuh>
#include <ballast/gpu/cost/sample_costs.cuh>
#include <ballast/gpu/layout/context_cu_seqlens.cuh>
#include <ballast/gpu/layout/cu_seqlens.cuh>
#include <ballast/gpu/packing/expand.cuh>
#include <ballast/gpu/packing/planned.cuh>
#include <ballast/packing/run_length.hpp>

#include <cstdint>
#include <memory>

#include <thrust/iterator/discard_iterator.h>
#include <thrust/reduce.h>
#include <thrust/system/cuda/execution_policy.h>

namespace {

using namespace ballast_bench;

constexpr std::int64_t longest = 1 << 13;

struct draw_lengths {
  std::uint32_t* lengths;
  BALLAST_HD void operator()(std::size_t i) const {
    ballast::splitmix64 draw(i);
    auto const coins = draw();
    auto const fraction = draw();
    std::uint32_t value = 32;
    for (auto c = coins & 0x7f; c != 0; c &= c - 1) value *= 2;
    lengths[i] = value + static_cast<std::uint32_t>(fraction % value);
  }
};
struct draw_offsets {
  std::uint64_t *offsets, packs, samples;
  BALLAST_HD void operator()(std::size_t p) const {
    ballast::splitmix64 draw(p);
    offsets[p] = p == packs ? samples : p == 0 ? 0 : 10 * p - draw() % 10;
  }
};

gpu::packed_lengths<std::uint32_t> packs_of(device_memory& memory, std::uint64_t samples) {
  auto const packs = samples / 10;
  auto* const lengths = memory.take<std::uint32_t>(samples);
  auto* const offsets = memory.take<std::uint64_t>(packs + 1);
  gpu::check(memory.on.for_each(samples, draw_lengths{lengths}), "draw_lengths");
  gpu::check(memory.on.for_each(packs + 1, draw_offsets{offsets, packs, samples}), "draw_offsets");
  return {.lengths = lengths, .samples = samples, .placed = samples, .offsets = offsets, .packs = packs};
}

void copy(bench_state& state) {
  auto const n = static_cast<std::uint64_t>(state.range(0));
  timed(state, static_cast<double>(n), 8.0 * static_cast<double>(n), [&](device_memory& memory) {
    auto const in = packs_of(memory, n);
    return [&memory, in, to = memory.take<std::uint32_t>(n)] {
      gpu::check(cudaMemcpyAsync(to, in.lengths, 4 * in.samples, cudaMemcpyDeviceToDevice, memory.on.stream), "copy");
    };
  });
}

template <class Cost>
void samples(bench_state& state, Cost cost) {
  auto const n = static_cast<std::uint64_t>(state.range(0));
  timed(state, static_cast<double>(n), 12.0 * static_cast<double>(n), [&](device_memory& memory) {
    auto const in = packs_of(memory, n);
    return memory.ready([on = memory.on, in, cost, out = memory.take<std::int64_t>(n), bad = memory.take<std::uint64_t>(1)](
                            void* temp, std::size_t& bytes) {
      return gpu::sample_costs(on, temp, bytes, in.lengths, in.samples, longest, cost, out, bad);
    });
  });
}

double floor_of_packs(std::uint64_t n, double result) {
  return 4.0 * static_cast<double>(n) + (8.0 + result) * static_cast<double>(n / 10);
}
template <class Prepare>
void of_packs(bench_state& state, double result, Prepare const& prepare) {
  auto const n = static_cast<std::uint64_t>(state.range(0));
  timed(state, static_cast<double>(n), floor_of_packs(n, result),
        [&](device_memory& memory) { return prepare(memory, packs_of(memory, n)); });
}

template <class Cost>
void packs(bench_state& state, Cost cost) {
  of_packs(state, 8, [&](device_memory& memory, auto const& in) {
    return memory.ready([on = memory.on, in, cost, out = memory.take<std::int64_t>(in.packs), bad = memory.take<std::uint64_t>(1)](
                            void* temp, std::size_t& bytes) { return gpu::pack_costs(on, temp, bytes, in, longest, cost, out, bad); });
  });
}

void tile_work(bench_state& state) {
  of_packs(state, 16, [&](device_memory& memory, auto const& in) {
    return memory.ready([on = memory.on, in, out = memory.take<ballast::tile_work>(in.packs), bad = memory.take<std::uint64_t>(1)](
                            void* temp, std::size_t& bytes) {
      return gpu::pack_tile_work(on, temp, bytes, in, longest, ballast::tile_cost{.heads = 32}, out, bad);
    });
  });
}

template <class Cost>
struct cost_at {
  Cost cost;
  std::uint32_t const* lengths;
  std::uint64_t samples;
  BALLAST_HD std::uint64_t operator()(std::size_t i) const { return i < samples ? static_cast<std::uint64_t>(cost(lengths[i])) : 0; }
};
struct difference {
  std::uint64_t const *sums, *offsets;
  std::int64_t* out;
  BALLAST_HD void operator()(std::size_t p) const { out[p] = static_cast<std::int64_t>(sums[offsets[p + 1]] - sums[offsets[p]]); }
};
template <class Cost>
void packs_by_scan(bench_state& state, Cost cost) {
  of_packs(state, 8, [&](device_memory& memory, auto const& in) {
    return memory.ready([on = memory.on, in, cost, out = memory.take<std::int64_t>(in.packs),
                         sums = memory.take<std::uint64_t>(in.samples + 1)](void* temp, std::size_t& bytes) {
      gpu::mapped const costs(cost_at<Cost>{cost, in.lengths, in.samples});
      auto const summed = on.exclusive_sum(temp, bytes, costs, sums, in.samples + 1, std::uint64_t{0});
      return temp == nullptr || summed != cudaSuccess ? summed : on.for_each(in.packs, difference{sums, in.offsets, out});
    });
  });
}

struct pack_at {
  std::uint64_t const* offsets;
  std::uint64_t packs;
  BALLAST_HD std::uint64_t operator()(std::size_t i) const { return gpu::first_above(offsets, packs + 1, i); }
};
template <class Cost>
void packs_by_key(bench_state& state, Cost cost) {
  of_packs(state, 8, [&](device_memory& memory, auto const& in) {
    return [on = memory.on, in, cost, out = memory.take<std::uint64_t>(in.packs)] {
      gpu::mapped const keys(pack_at{in.offsets, in.packs}), end = keys + static_cast<std::ptrdiff_t>(in.samples);
      thrust::reduce_by_key(thrust::cuda::par_nosync.on(on.stream), keys, end, gpu::mapped(cost_at<Cost>{cost, in.lengths, in.samples}),
                            thrust::make_discard_iterator(), out);
    };
  });
}

template <class Cost>
void packs_on_host(bench_state& state, Cost cost) {
  auto const n = static_cast<std::uint64_t>(state.range(0));
  timed_on_host(state, static_cast<double>(n), floor_of_packs(n, 8), [&] {
    device_memory memory;
    auto const in = packs_of(memory, n);
    return [cost, lengths = gpu::fetch(memory.on, in.lengths, in.samples), offsets = gpu::fetch(memory.on, in.offsets, in.packs + 1),
            out = std::vector<std::int64_t>(in.packs)]() mutable {
      for (std::size_t p = 0; p < out.size(); ++p) {
        out[p] = 0;
        for (auto i = offsets[p]; i < offsets[p + 1]; ++i) out[p] += cost(lengths[i]);
      }
      keep(out[0]);
    };
  });
}

// Packs of best fit on the device, and their plan.
struct best_fit {
  ballast::pack_runs plan;
  gpu::packed_lengths<std::uint32_t> packs;
  best_fit(device_memory& memory, std::uint64_t samples) : packs(packs_of(memory, samples)) {
    auto const n = static_cast<std::size_t>(samples);
    plan = ballast::plan_best_fit_decreasing(gpu::fold(memory.on, packs.lengths, n, longest), {.capacity = longest});
    auto* const members = memory.take<std::uint32_t>(n);
    auto* const offsets = memory.take<std::uint64_t>(static_cast<std::size_t>(plan.packs) + 1);
    gpu::device_runs<gpu::on_stream> runs(memory.on);
    gpu::array<std::uint64_t, gpu::on_stream> const bad(memory.on, 1);
    gpu::check(runs.upload(plan), "upload");
    gpu::call(memory.on, "expand", [&](void* temp, std::size_t& bytes) {
      return gpu::expand(memory.on, temp, bytes, runs, packs.lengths, n, nullptr, gpu::pack_arrays<>{offsets, members}, bad.data());
    });
    packs.members = members;
    packs.offsets = offsets;
    packs.packs = plan.packs;
  }
};
// The floor of the plan is a tenth of a sample's bytes or less: what is written for packs of ten samples.
template <class Cost>
void packs_by_members(bench_state& state, Cost cost) {
  auto const n = static_cast<std::uint64_t>(state.range(0));
  timed(state, static_cast<double>(n), 8.0 * static_cast<double>(n), [&](device_memory& memory) {
    best_fit const made(memory, n);
    return memory.ready(
        [on = memory.on, in = made.packs, cost, out = memory.take<std::int64_t>(made.packs.packs), bad = memory.take<std::uint64_t>(1)](
            void* temp, std::size_t& bytes) { return gpu::pack_costs(on, temp, bytes, in, longest, cost, out, bad); });
  });
}
template <class Cost>
void packs_by_plan(bench_state& state, Cost cost) {
  auto const n = static_cast<std::uint64_t>(state.range(0));
  timed(state, static_cast<double>(n), 0.8 * static_cast<double>(n), [&](device_memory& memory) {
    best_fit const made(memory, n);
    return [plan = made.plan, cost, costs = std::make_shared<gpu::planned_costs<gpu::on_stream>>(memory.on),
            out = memory.take<std::int64_t>(made.packs.packs)] {
      gpu::check(costs->upload(plan, cost), "upload");
      gpu::check(costs->write(out), "write");
    };
  });
}
void entries_by_members(bench_state& state) {
  auto const n = static_cast<std::uint64_t>(state.range(0));
  timed(state, static_cast<double>(n), 12.0 * static_cast<double>(n), [&](device_memory& memory) {
    best_fit const made(memory, n);
    return memory.ready([on = memory.on, in = made.packs, out = memory.take<std::int32_t>(n + made.packs.packs),
                         bad = memory.take<std::uint64_t>(1)](void* temp, std::size_t& bytes) {
      return gpu::cu_seqlens(on, temp, bytes, in.offsets, in.packs, in.members, in.placed, in.lengths, in.samples, 1, out, bad);
    });
  });
}
// Both cumulative lengths of a rank in 8, in a CUDA graph; beside it, each alone by `cu_seqlens`: the lengths of whole rows.
template <bool Both>
void context_entries(bench_state& state) {
  auto const n = static_cast<std::uint64_t>(state.range(0));
  timed(state, static_cast<double>(n), 16.0 * static_cast<double>(n), [&](device_memory& memory) {
    best_fit const made(memory, n);
    auto const entries = n + made.packs.packs;
    return memory.graph_of([in = made.packs, cu = memory.take<std::int32_t>(entries), padded = memory.take<std::int32_t>(entries),
                            bad = memory.take<std::uint64_t>(1)](gpu::on_stream on, void* temp, std::size_t& bytes) {
      if constexpr (Both)
        return gpu::context_cu_seqlens(on, temp, bytes, in.offsets, in.packs, in.members, in.placed, in.lengths, in.samples, {8}, 3, cu,
                                       padded, bad);
      auto const error = gpu::cu_seqlens(on, temp, bytes, in.offsets, in.packs, in.members, in.placed, in.lengths, in.samples, 1, cu, bad);
      return temp == nullptr || error != cudaSuccess
                 ? error
                 : gpu::cu_seqlens(on, temp, bytes, in.offsets, in.packs, in.members, in.placed, in.lengths, in.samples, 16, padded, bad);
    });
  });
}
void entries_by_plan(bench_state& state) {
  auto const n = static_cast<std::uint64_t>(state.range(0));
  timed(state, static_cast<double>(n), 4.0 * static_cast<double>(n), [&](device_memory& memory) {
    best_fit const made(memory, n);
    auto const runs = std::make_shared<gpu::device_runs<gpu::on_stream>>(memory.on);
    gpu::check(runs->upload(made.plan), "upload");
    return [on = memory.on, runs, out = memory.take<std::int32_t>(n + made.packs.packs)] {
      gpu::check(gpu::cu_seqlens(on, *runs, out), "cu_seqlens");
    };
  });
}

// Rows of 256 experts, the lower ones more often, in 8 segments.
struct draw_expert {
  std::uint32_t* expert_of;
  BALLAST_HD void operator()(std::size_t i) const {
    ballast::splitmix64 draw(i);
    auto const a = static_cast<std::uint32_t>(draw() % 256), b = static_cast<std::uint32_t>(draw() % 256);
    expert_of[i] = a < b ? a : b;
  }
};
struct add_row {
  std::uint32_t const* expert_of;
  std::uint64_t const* offsets;
  std::uint64_t* loads;
  BALLAST_HD void operator()(std::size_t i) const { gpu::atomic_add(loads[gpu::first_above(offsets + 1, 8, i) * 256 + expert_of[i]], 1); }
};
struct routed {
  std::uint32_t* expert_of;
  std::uint64_t* offsets;
  std::int64_t* loads;
  routed(device_memory& memory, std::size_t n) : expert_of(memory.take<std::uint32_t>(n)), loads(memory.take<std::int64_t>(8 * 256)) {
    gpu::check(memory.on.for_each(n, draw_expert{expert_of}), "draw_expert");
    std::vector<std::uint64_t> ends;
    for (std::uint64_t s = 0; s <= 8; ++s) ends.push_back(n * s / 8);
    offsets = memory.send(ends);
  }
};
void segment_loads(bench_state& state) {
  auto const n = static_cast<std::size_t>(state.range(0));
  timed(state, static_cast<double>(n), 4.0 * static_cast<double>(n), [&](device_memory& memory) {
    return memory.ready([on = memory.on, n, r = routed(memory, n), bad = memory.take<std::uint64_t>(1)](void* temp, std::size_t& bytes) {
      return gpu::segment_loads(on, temp, bytes, r.expert_of, n, r.offsets, 8, 256, r.loads, bad);
    });
  });
}
void segment_loads_by_global_atomics(bench_state& state) {
  auto const n = static_cast<std::size_t>(state.range(0));
  timed(state, static_cast<double>(n), 4.0 * static_cast<double>(n), [&](device_memory& memory) {
    return [on = memory.on, n, r = routed(memory, n)] {
      gpu::check(on.fill(r.loads, 0, 8 * 256 * sizeof(std::int64_t)), "fill");
      gpu::check(on.for_each(n, add_row{r.expert_of, r.offsets, reinterpret_cast<std::uint64_t*>(r.loads)}), "add_row");
    };
  });
}
void clip_rows(bench_state& state) {
  auto const n = static_cast<std::size_t>(state.range(0));
  timed(state, static_cast<double>(n), 8.0 * static_cast<double>(n), [&](device_memory& memory) {
    return memory.ready([on = memory.on, n, r = routed(memory, n), slots = memory.take<std::uint32_t>(n),
                         bad = memory.take<std::uint64_t>(1)](void* temp, std::size_t& bytes) {
      return gpu::clip_rows(on, temp, bytes, r.expert_of, n, 256, static_cast<std::uint32_t>(n / 256), r.loads, slots, bad);
    });
  });
}

constexpr ballast::masked_cost<> flops{.per_token = 24576, .per_pair = 2};
constexpr ballast::tile_cost tiles{.heads = 32}, windowed{.tiles = {.columns = 96, .window = 4096}, .heads = 32};

}  // namespace

int main(int argc, char** argv) {
  program const p(argc, argv);
  std::vector<std::vector<std::int64_t>> const host_sizes{{1'000'000, 10'000'000, 100'000'000}};
  auto sizes = host_sizes;
  sizes[0].push_back(1'000'000'000);
  run(p, "copy", copy, sizes);
  run(p, "samples/flops", [](bench_state& s) { samples(s, flops); }, sizes);
  run(p, "samples/tiles", [](bench_state& s) { samples(s, tiles); }, sizes);
  run(p, "samples/windowed_tiles", [](bench_state& s) { samples(s, windowed); }, sizes);
  run(
      p, "samples/transformer", [](bench_state& s) { samples(s, ballast::sample_cost(ballast::transformer_preset("llama-3.1-8b"))); },
      sizes);
  run(p, "packs/tokens", [](bench_state& s) { packs(s, ballast::token_cost{}); }, sizes);
  run(p, "packs/flops", [](bench_state& s) { packs(s, flops); }, sizes);
  run(p, "packs/tiles", [](bench_state& s) { packs(s, tiles); }, sizes);
  run(p, "tile_work", tile_work, sizes);
  run(p, "packs_by_members/flops", [](bench_state& s) { packs_by_members(s, flops); }, sizes);
  run(p, "packs_by_plan/flops", [](bench_state& s) { packs_by_plan(s, flops); }, sizes);
  run(p, "entries_by_members", entries_by_members, sizes);
  run(p, "entries_by_plan", entries_by_plan, sizes);
  std::vector<std::vector<std::int64_t>> const samples_of_steps{{64, 1'024, 10'000'000}};
  run(p, "context_entries", context_entries<true>, samples_of_steps);
  run(p, "entries_one_by_one", context_entries<false>, samples_of_steps);
  run(p, "segment_loads", segment_loads, host_sizes);
  run(p, "segment_loads_by_global_atomics", segment_loads_by_global_atomics, host_sizes);
  run(p, "clip_rows", clip_rows, host_sizes);
  run(p, "packs_by_scan/flops", [](bench_state& s) { packs_by_scan(s, flops); }, sizes);
  run(p, "packs_by_scan/tiles", [](bench_state& s) { packs_by_scan(s, tiles); }, sizes);
  run(p, "packs_by_key/flops", [](bench_state& s) { packs_by_key(s, flops); }, host_sizes);
  run(p, "packs_on_host/flops", [](bench_state& s) { packs_on_host(s, flops); }, host_sizes);
  run(p, "packs_on_host/tiles", [](bench_state& s) { packs_on_host(s, tiles); }, host_sizes);
}
