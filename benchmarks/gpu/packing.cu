// SPDX-License-Identifier: Apache-2.0
// Packing of device lengths. Each twin has its floor as a counter, the bytes per second if only what must move moved once. Beside them, in
// the same run: the ceiling of a copy; the counting and the sort that CUB and Thrust offer; the host twin on one core, alone and with the
// way of the lengths to the host and of the packs back.
//
// Of several measures and of several levels, floors count the same way, and the host twin stands beside them.
//
// Arguments: shape / samples. Shape 0: lengths with a median of 384 and a tail like a lognormal's, capacity 8192; shape 1: pareto from 128
// on with exponent 1, capacity 131072. Images and text: 0 to 6 tiles of 256 tokens and 32 to 1055 tokens of text, 9 tiles and 4096 tokens a
// pack, by best fit, which plans 7,168 classes.
#include "timing.hpp"

#include <ballast/core/level.hpp>
#include <ballast/core/random.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/classes.cuh>
#include <ballast/gpu/core/on_stream.cuh>
#include <ballast/gpu/levels/pack.cuh>
#include <ballast/gpu/packing/best_fit_decreasing.cuh>
#include <ballast/gpu/packing/expand.cuh>
#include <ballast/gpu/packing/result.cuh>
#include <ballast/gpu/packing/runs.cuh>
#include <ballast/gpu/packing/vector/measures.cuh>
#include <ballast/gpu/packing/vector/planner.cuh>
#include <ballast/gpu/packing/vector/portfolio.cuh>
#include <ballast/levels/pack.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/vector/portfolio.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <thrust/device_ptr.h>
#include <thrust/functional.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/system/cuda/execution_policy.h>
#include <cub/device/device_histogram.cuh>

namespace {

namespace gpu = ballast::gpu;

struct draw_length {
  std::uint32_t* lengths;
  bool pareto;
  std::uint32_t capacity;
  BALLAST_HD void operator()(std::size_t i) const {
    ballast::splitmix64 random(i);
    auto bits = random();
    auto const draw = random();
    std::uint64_t power = pareto ? 128 : 1;
    if (pareto)
      for (; bits % 2 == 0 && power < capacity; bits /= 2) power *= 2;
    else
      for (bits &= 0xffff; bits != 0; bits &= bits - 1) power *= 2;
    auto const length = power + draw % power;
    lengths[i] = static_cast<std::uint32_t>(length < capacity ? length : capacity);
  }
};

struct draw_images {
  std::uint32_t* tiles;
  std::uint32_t* tokens;
  BALLAST_HD void operator()(std::size_t i) const {
    ballast::splitmix64 random(i);
    tiles[i] = static_cast<std::uint32_t>(random() % 7);
    tokens[i] = 256 * tiles[i] + 32 + static_cast<std::uint32_t>(random() % 1024);
  }
};

// One problem on the device.
struct device_case {
  ballast_bench::device_memory& memory;
  gpu::on_stream on = memory.on;
  std::size_t n;
  ballast::packing_options options;
  std::uint32_t* lengths = memory.take<std::uint32_t>(n);
  device_case(ballast_bench::device_memory& of, ballast_bench::bench_state const& state)
      : memory(of), n(static_cast<std::size_t>(state.range(1))), options{.capacity = state.range(0) == 0 ? 8192 : 131072} {
    draw_length const draw{lengths, state.range(0) == 1, static_cast<std::uint32_t>(options.capacity)};
    gpu::check(on.for_each(n, draw), "draw_length");
  }
  template <class T>
  T* take(std::size_t count) {
    return memory.take<T>(count);
  }
  template <class Twin>
  auto ready(Twin const& twin) {
    return memory.ready(twin);
  }
};

// Times what `prepare(problem)` returns.
template <class Prepare>
void timed(ballast_bench::bench_state& state, double floor_bytes, Prepare const& prepare) {
  auto const n = static_cast<double>(state.range(1));
  ballast_bench::timed(state, n, floor_bytes * n, [&](ballast_bench::device_memory& memory) {
    auto problem = std::make_shared<device_case>(memory, state);
    return [problem, call = prepare(*problem)]() mutable { call(); };
  });
}

void copy(ballast_bench::bench_state& state) {
  timed(state, 8, [](device_case& c) {
    return [&c, to = c.take<std::uint32_t>(c.n)] {
      gpu::check(cudaMemcpyAsync(to, c.lengths, 4 * c.n, cudaMemcpyDeviceToDevice, c.on.stream), "copy");
    };
  });
}

void fold(ballast_bench::bench_state& state) {
  timed(state, 4, [](device_case& c) {
    auto const words = static_cast<std::size_t>(c.options.capacity) + 1;
    return c.ready([&c, words, counts = c.take<std::uint64_t>(words + 1)](void* temp, std::size_t& bytes) {
      return gpu::fold(c.on, temp, bytes, c.lengths, c.n, c.options.capacity, counts, counts + words);
    });
  });
}

void cub_histogram(ballast_bench::bench_state& state) {
  timed(state, 4, [](device_case& c) {
    auto const levels = static_cast<int>(c.options.capacity) + 2;
    return c.ready([&c, levels, counts = c.take<unsigned>(static_cast<std::size_t>(levels))](void* temp, std::size_t& bytes) {
      return cub::DeviceHistogram::HistogramEven(temp, bytes, c.lengths, counts, levels, 0, levels - 1, static_cast<std::int64_t>(c.n),
                                                 c.on.stream);
    });
  });
}

// The order of the samples alone, as a first version would have it: whole lengths as keys.
void thrust_sort(ballast_bench::bench_state& state) {
  timed(state, 12, [](device_case& c) {
    return [&c, keys = c.take<std::uint32_t>(c.n), order = c.take<std::uint32_t>(c.n)] {
      auto const policy = thrust::cuda::par_nosync.on(c.on.stream);
      gpu::check(cudaMemcpyAsync(keys, c.lengths, 4 * c.n, cudaMemcpyDeviceToDevice, c.on.stream), "copy");
      auto const first = thrust::device_pointer_cast(keys), last = thrust::device_pointer_cast(keys + c.n);
      thrust::sequence(policy, thrust::device_pointer_cast(order), thrust::device_pointer_cast(order + c.n));
      thrust::stable_sort_by_key(policy, first, last, thrust::device_pointer_cast(order), thrust::greater<std::uint32_t>());
    };
  });
}

void expand(ballast_bench::bench_state& state) {
  timed(state, 8, [](device_case& c) {
    auto const plan = ballast::plan_best_fit_decreasing(gpu::fold(c.on, c.lengths, c.n, c.options.capacity), c.options);
    auto runs = std::make_shared<gpu::device_runs<gpu::on_stream>>(c.on);
    gpu::check(runs->upload(plan), "upload");
    gpu::pack_arrays<> const out{c.take<std::uint64_t>(static_cast<std::size_t>(plan.packs) + 1), c.take<std::uint32_t>(c.n)};
    return c.ready([&c, runs, out, first_bad = c.take<std::uint64_t>(1)](void* temp, std::size_t& bytes) {
      return gpu::expand(c.on, temp, bytes, *runs, c.lengths, c.n, nullptr, out, first_bad);
    });
  });
}

void pack(ballast_bench::bench_state& state) {
  timed(state, 8, [](device_case& c) {
    auto planner = std::make_shared<gpu::pack_planner<gpu::on_stream>>(c.on);
    gpu::pack_arrays<> const out{c.take<std::uint64_t>(c.n + 1), c.take<std::uint32_t>(c.n)};
    return c.ready([&c, planner, out](void* temp, std::size_t& bytes) {
      return gpu::best_fit_decreasing(c.on, temp, bytes, c.lengths, c.n, c.options, *planner, out);
    });
  });
}

// The form that allocates, with what the other one does not take.
auto pack_all(ballast::packing_options const& more) {
  return [more](ballast_bench::bench_state& state) {
    timed(state, 8, [&](device_case& c) {
      auto options = more;
      options.capacity = c.options.capacity / (more.oversize == ballast::oversize::reject ? 1 : 8);
      return [&c, options] { ballast_bench::keep(gpu::best_fit_decreasing(c.on, c.lengths, c.n, options)); };
    });
  };
}

// Images and text, by the twin or by the host with the way there and back.
void pack_images(ballast_bench::bench_state& state, bool on_host) {
  timed(state, 12, [&](device_case& c) {
    ballast::vector_packing_options const options{.capacity = {9, 4096}};
    ballast::portfolio_options const best_fit{.members = {ballast::vector_packer::best_fit}};
    auto* const tiles = c.take<std::uint32_t>(c.n);
    gpu::check(c.on.for_each(c.n, draw_images{tiles, c.lengths}), "draw_images");
    gpu::pack_arrays<> const out{c.take<std::uint64_t>(c.n + 1), c.take<std::uint32_t>(c.n)};
    auto planner = std::make_shared<gpu::vector_planner<gpu::on_stream>>(c.on);
    gpu::sample_measures<std::uint32_t> const samples{{tiles, c.lengths}, c.n};
    auto twin = c.ready([=, &c](void* temp, std::size_t& bytes) {
      return gpu::pack_portfolio(c.on, temp, bytes, samples, options, best_fit, *planner, out);
    });
    return [=, &c]() mutable {
      if (!on_host) return twin();
      std::vector<std::int64_t> columns[2];
      for (std::size_t m = 0; m < 2; ++m) {
        auto const column = gpu::fetch(c.on, samples.columns[m], c.n);
        columns[m].assign(column.begin(), column.end());
      }
      auto const packed = ballast::pack_portfolio({columns[0], columns[1]}, options, best_fit);
      gpu::check(c.on.upload(out.offsets, packed.packs.offsets.data(), packed.packs.offsets.size()), "upload");
      gpu::check(c.on.upload(out.members, packed.packs.members.data(), c.n), "upload");
    };
  });
}

// Three levels, the longest of which has the capacity of the shape.
void pack_levels(ballast_bench::bench_state& state, bool on_host) {
  timed(state, 8, [&](device_case& c) {
    auto const longest = c.options.capacity;
    std::vector<ballast::level> const levels{{.capacity = longest / 16}, {.capacity = longest / 4}, {.capacity = longest}};
    gpu::pack_arrays<> const out{c.take<std::uint64_t>(c.n + 1), c.take<std::uint32_t>(c.n)};
    auto planner = std::make_shared<gpu::level_planner<gpu::on_stream>>(c.on);
    auto twin = c.ready(
        [=, &c](void* temp, std::size_t& bytes) { return gpu::pack_levels(c.on, temp, bytes, c.lengths, c.n, levels, {}, *planner, out); });
    return [=, &c]() mutable {
      if (!on_host) return twin();
      auto const packed = ballast::pack_levels(gpu::fetch(c.on, c.lengths, c.n), levels);
      gpu::check(c.on.upload(out.offsets, packed.packs.offsets.data(), packed.packs.offsets.size()), "upload");
      gpu::check(c.on.upload(out.members, packed.packs.members.data(), c.n), "upload");
    };
  });
}

// One core; with `there_and_back`, from device lengths to device packs.
void host_pack(ballast_bench::bench_state& state, bool there_and_back) {
  timed(state, 8, [&](device_case& c) {
    auto lengths = std::make_shared<std::vector<std::uint32_t>>(c.n);
    gpu::check(c.on.download(lengths->data(), c.lengths, c.n), "download");
    auto workspace = std::make_shared<ballast::packing_workspace<>>();
    auto packed = std::make_shared<ballast::packing<>>();
    auto* const offsets = c.take<std::uint64_t>(c.n + 1);
    auto* const members = c.take<std::uint32_t>(c.n);
    return [=, &c] {
      if (there_and_back) gpu::check(c.on.download(lengths->data(), c.lengths, c.n), "download");
      ballast::best_fit_decreasing(*lengths, c.options, ballast::token_cost{}, *workspace, *packed);
      if (!there_and_back) return;
      gpu::check(c.on.upload(offsets, packed->packs.offsets.data(), packed->packs.offsets.size()), "upload");
      gpu::check(c.on.upload(members, packed->packs.members.data(), c.n), "upload");
    };
  });
}

}  // namespace

int main(int argc, char** argv) {
  ballast_bench::program const p(argc, argv);
  std::vector<std::vector<std::int64_t>> const host_sizes{{0, 1}, {1'000'000, 10'000'000, 100'000'000}};
  auto sizes = host_sizes;
  sizes[1].push_back(1'000'000'000);
  run(p, "copy", copy, sizes);
  run(p, "fold", fold, sizes);
  run(p, "cub_histogram", cub_histogram, host_sizes);
  run(p, "thrust_sort", thrust_sort, sizes);
  run(p, "expand", expand, sizes);
  run(p, "pack", pack, sizes);
  run(p, "pack_set_aside", pack_all({.oversize = ballast::oversize::set_aside}), host_sizes);
  run(p, "pack_split", pack_all({.oversize = ballast::oversize::split}), host_sizes);
  run(p, "pack_raised", pack_all({.pack_count_multiple = 4096}), host_sizes);
  auto const plain = [](auto const& f) { return [f](ballast_bench::bench_state& state) { f(state, false); }; };
  auto const there_and_back = [](auto const& f) { return [f](ballast_bench::bench_state& state) { f(state, true); }; };
  std::vector<std::vector<std::int64_t>> const images{{0}, {1'000'000, 10'000'000, 100'000'000}};
  run(p, "pack_images", plain(pack_images), images);
  run(p, "host_images/there_and_back", there_and_back(pack_images), images);
  run(p, "pack_levels", plain(pack_levels), host_sizes);
  run(p, "host_levels/there_and_back", there_and_back(pack_levels), host_sizes);
  run(p, "host_pack/alone", plain(host_pack), host_sizes);
  run(p, "host_pack/there_and_back", there_and_back(host_pack), host_sizes);
}
