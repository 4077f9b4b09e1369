// SPDX-License-Identifier: Apache-2.0
// Next fit and best-fit decreasing in windows on the device, each beside its host twin, and beside what one would write from parts: pointer
// doubling in Thrust, and CUB's sort of every window, which is only the first half of the work. Times are of events on the stream, with
// lengths and packs on the device. `floor_bytes` is what must be moved: lengths read, packs written.
//
// Lengths: 2^x times 1 … 2, where x is half the heads of 24 coin flips, rounded down.
#include <ballast/core/random.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/on_stream.cuh>
#include <ballast/gpu/packing/next_fit.cuh>
#include <ballast/gpu/packing/windowed.cuh>
#include <ballast/packing/next_fit.hpp>
#include <ballast/packing/windowed.hpp>

#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/gather.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/scan.h>
#include <thrust/scatter.h>
#include <thrust/system/cuda/execution_policy.h>
#include <cub/device/device_segmented_sort.cuh>

namespace {

namespace gpu = ballast::gpu;
using on_stream = gpu::on_stream;

std::vector<std::int32_t> lengths_for(std::int64_t n) {
  ballast::splitmix64 draw(2026);
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(n));
  for (auto& l : lengths) {
    auto const bits = draw();
    l = static_cast<std::int32_t>((std::uint64_t{256 + (bits >> 56)} << std::popcount(bits & 0xffffff) / 2) >> 8);
  }
  return lengths;
}

gpu::array<std::int32_t, on_stream> on_device(std::vector<std::int32_t> const& lengths) {
  gpu::array<std::int32_t, on_stream> out(on_stream{}, lengths.size());
  gpu::check(on_stream{}.upload(out.data(), lengths.data(), lengths.size()), "upload");
  return out;
}

bool skipped(benchmark::State& state) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) return false;
  state.SkipWithError("no CUDA device");
  return true;
}

template <class Work>
void timed(benchmark::State& state, Work const& work) {
  cudaEvent_t start{}, stop{};
  gpu::check(cudaEventCreate(&start), "cudaEventCreate");
  gpu::check(cudaEventCreate(&stop), "cudaEventCreate");
  work();  // warm
  for (auto _ : state) {
    cudaEventRecord(start, on_stream{}.stream);
    work();
    cudaEventRecord(stop, on_stream{}.stream);
    gpu::check(cudaEventSynchronize(stop), "work");
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, start, stop);
    state.SetIterationTime(static_cast<double>(milliseconds) / 1e3);
  }
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void report(benchmark::State& state, std::uint64_t packs) {
  state.counters["packs"] = static_cast<double>(packs);
  state.counters["floor_bytes"] = 8.0 * static_cast<double>(state.range(0)) + 8.0 * static_cast<double>(packs);
}

// Arrays for the outputs of a twin, and its scratch memory.
struct outputs {
  gpu::array<std::uint64_t, on_stream> offsets, words{on_stream{}, 2};
  gpu::array<std::uint32_t, on_stream> members;
  explicit outputs(std::size_t n) : offsets(on_stream{}, n + 1), members(on_stream{}, n) {}
  [[nodiscard]] std::uint64_t packs() const {
    std::uint64_t found = 0;
    gpu::check(on_stream{}.download(&found, words.data(), 1), "download");
    return found;
  }
};
template <class Twin>
void timed_twin(benchmark::State& state, outputs const& out, Twin const& twin) {
  std::size_t bytes = 0;
  gpu::check(twin(nullptr, bytes), "size");
  gpu::array<std::byte, on_stream> const temp(on_stream{}, bytes);
  timed(state, [&] { gpu::check(twin(static_cast<void*>(temp.data()), bytes), "twin"); });
  report(state, out.packs());
}

void next_fit(benchmark::State& state) {
  if (skipped(state)) return;
  auto const n = static_cast<std::size_t>(state.range(0));
  auto const lengths = on_device(lengths_for(state.range(0)));
  ballast::packing_options const o{.capacity = state.range(1), .max_samples = static_cast<std::uint64_t>(state.range(2))};
  outputs const out(n);
  timed_twin(state, out, [&](void* temp, std::size_t& bytes) {
    return gpu::next_fit(on_stream{}, temp, bytes, lengths.data(), n, o, out.offsets.data(), out.members.data(), out.words.data(),
                         out.words.data() + 1);
  });
}

void next_fit_host(benchmark::State& state) {
  auto const lengths = lengths_for(state.range(0));
  ballast::packing_options const o{.capacity = state.range(1), .max_samples = static_cast<std::uint64_t>(state.range(2))};
  for (auto _ : state) benchmark::DoNotOptimize(ballast::next_fit(lengths, o));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

struct plus_capacity {
  std::int64_t capacity;
  BALLAST_HD std::int64_t operator()(std::int64_t sum) const { return sum + capacity; }
};
struct marked {
  BALLAST_HD bool operator()(std::uint8_t mark) const { return mark != 0; }
};

// starts[i] = 1 where a pack starts, by log2(packs) rounds over all samples.
void next_fit_doubling(benchmark::State& state) {
  if (skipped(state)) return;
  auto const n = static_cast<std::size_t>(state.range(0));
  auto const lengths = on_device(lengths_for(state.range(0)));
  gpu::array<std::int64_t, on_stream> const sums(on_stream{}, n + 1);
  gpu::array<std::uint32_t, on_stream> const next(on_stream{}, n + 1), twice(on_stream{}, n + 1);
  gpu::array<std::uint8_t, on_stream> const starts(on_stream{}, n + 1), before(on_stream{}, n + 1);
  auto const run = thrust::cuda::par_nosync.on(on_stream{}.stream);
  timed(state, [&] {
    gpu::check(on_stream{}.fill(sums.data(), 0, sizeof(std::int64_t)), "fill");
    thrust::inclusive_scan(run, lengths.data(), lengths.data() + n, sums.data() + 1);
    auto const wanted = thrust::make_transform_iterator(sums.data(), plus_capacity{state.range(1)});
    thrust::upper_bound(run, sums.data() + 1, sums.data() + n + 1, wanted, wanted + static_cast<std::ptrdiff_t>(n) + 1, next.data());
    gpu::check(on_stream{}.fill(starts.data(), 0, n + 1), "fill");
    gpu::check(on_stream{}.fill(starts.data(), 1, 1), "fill");
    auto const* from = next.data();
    auto* to = twice.data();
    for (std::size_t steps = 1; steps < n; steps *= 2) {
      thrust::copy(run, starts.data(), starts.data() + n + 1, before.data());
      thrust::scatter_if(run, before.data(), before.data() + n + 1, from, before.data(), starts.data(), marked{});
      thrust::gather(run, from, from + n + 1, from, to);
      from = to;
      to = from == next.data() ? twice.data() : next.data();
    }
  });
}

void windowed(benchmark::State& state) {
  if (skipped(state)) return;
  auto const n = static_cast<std::size_t>(state.range(0)), window = static_cast<std::size_t>(state.range(2));
  auto const lengths = on_device(lengths_for(state.range(0)));
  outputs const out(n);
  timed_twin(state, out, [&](void* temp, std::size_t& bytes) {
    return gpu::windowed_best_fit_decreasing(on_stream{}, temp, bytes, lengths.data(), n, window, {.capacity = state.range(1)},
                                             out.offsets.data(), out.members.data(), out.words.data(), out.words.data() + 1);
  });
}

void windowed_host(benchmark::State& state) {
  auto const lengths = lengths_for(state.range(0));
  auto const window = static_cast<std::size_t>(state.range(2));
  for (auto _ : state) benchmark::DoNotOptimize(ballast::windowed_best_fit_decreasing(lengths, window, {.capacity = state.range(1)}));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

struct window_end {
  std::int64_t window, count;
  BALLAST_HD std::int64_t operator()(std::int64_t w) const { return w * window < count ? w * window : count; }
};

// Sorting the windows alone, by CUB.
void windows_sorted_by_cub(benchmark::State& state) {
  if (skipped(state)) return;
  auto const n = static_cast<std::size_t>(state.range(0));
  auto const windows = (state.range(0) + state.range(2) - 1) / state.range(2);
  auto const lengths = on_device(lengths_for(state.range(0)));
  gpu::array<std::int32_t, on_stream> const keys(on_stream{}, n);
  gpu::array<std::uint32_t, on_stream> const indices(on_stream{}, n), sorted(on_stream{}, n);
  auto const ends = thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0), window_end{state.range(2), state.range(0)});
  std::size_t bytes = 0;
  auto const sort = [&](void* temp) {
    return cub::DeviceSegmentedSort::StableSortPairsDescending(temp, bytes, lengths.data(), keys.data(), indices.data(), sorted.data(),
                                                               state.range(0), windows, ends, ends + 1, on_stream{}.stream);
  };
  gpu::check(sort(nullptr), "size");
  gpu::array<std::byte, on_stream> const temp(on_stream{}, bytes);
  timed(state, [&] { gpu::check(sort(temp.data()), "sort"); });
}

}  // namespace

// samples, capacity, most samples of a pack. 7 of a pack: a guessed start would never meet the packs' starts.
BENCHMARK(next_fit)->UseManualTime()->ArgsProduct({{1'000'000, 10'000'000, 100'000'000}, {8192, 131'072}, {0, 7}});
BENCHMARK(next_fit_host)->ArgsProduct({{1'000'000, 10'000'000}, {8192, 131'072}, {0, 7}});
BENCHMARK(next_fit_doubling)->UseManualTime()->ArgsProduct({{1'000'000, 10'000'000, 100'000'000}, {8192, 131'072}});
// samples, capacity, window
BENCHMARK(windowed)->UseManualTime()->ArgsProduct({{1'000'000, 10'000'000, 100'000'000}, {8192, 65'536}, {1000, 8192}});
BENCHMARK(windowed_host)->ArgsProduct({{1'000'000, 10'000'000}, {8192, 65'536}, {1000, 8192}});
BENCHMARK(windows_sorted_by_cub)->UseManualTime()->ArgsProduct({{1'000'000, 10'000'000, 100'000'000}, {8192}, {1000, 8192}});
