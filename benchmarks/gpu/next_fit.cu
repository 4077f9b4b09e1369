// SPDX-License-Identifier: Apache-2.0
// Next fit and best-fit decreasing in windows on the device, each beside its host twin, and beside what one would write from parts: pointer
// doubling in Thrust, and CUB's sort of every window, which is only the first half of the work. Lengths and packs are on the device. The
// floor is 8 bytes a sample: lengths read, packs written.
//
// Lengths: 2^x times 1 … 2, where x is half the heads of 24 coin flips, rounded down.
#include "timing.hpp"

#include <ballast/core/random.hpp>
#include <ballast/gpu/packing/next_fit.cuh>
#include <ballast/gpu/packing/windowed.cuh>
#include <ballast/packing/next_fit.hpp>
#include <ballast/packing/windowed.hpp>

#include <bit>
#include <cstddef>
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

using namespace ballast_bench;

std::vector<std::int32_t> lengths_for(std::size_t n) {
  ballast::splitmix64 draw(2026);
  std::vector<std::int32_t> lengths(n);
  for (auto& l : lengths) {
    auto const bits = draw();
    l = static_cast<std::int32_t>((std::uint64_t{256 + (bits >> 56)} << std::popcount(bits & 0xffffff) / 2) >> 8);
  }
  return lengths;
}

// Lengths on the device, and arrays for the outputs of a twin.
struct pack_case {
  std::size_t n;
  std::int32_t const* lengths;
  std::uint64_t *offsets, *words;
  std::uint32_t* members;
  pack_case(device_memory& memory, bench_state const& state)
      : n(static_cast<std::size_t>(state.range(0))),
        lengths(memory.send(lengths_for(n))),
        offsets(memory.take<std::uint64_t>(n + 1)),
        words(memory.take<std::uint64_t>(2)),
        members(memory.take<std::uint32_t>(n)) {}
};

// prepare(case, memory) gives the call.
template <class Prepare>
void on_device(bench_state& state, Prepare const& prepare) {
  auto const n = static_cast<double>(state.range(0));
  timed(state, n, 8 * n, [&](device_memory& memory) { return prepare(pack_case(memory, state), memory); });
}
// pack(lengths) packs them.
template <class Pack>
void on_host(bench_state& state, Pack const& pack) {
  auto const n = static_cast<double>(state.range(0));
  timed_on_host(state, n, 8 * n, [&] {
    return [&pack, lengths = lengths_for(static_cast<std::size_t>(state.range(0)))] { keep(pack(lengths).packs.size()); };
  });
}

ballast::packing_options options_of(bench_state const& state) {
  return {.capacity = state.range(1), .max_samples = static_cast<std::uint64_t>(state.range(2))};
}

// Arguments: samples / capacity / most samples of a pack.
void next_fit(bench_state& state) {
  on_device(state, [o = options_of(state)](pack_case const& c, device_memory& memory) {
    return memory.ready([=, on = memory.on](void* temp, std::size_t& bytes) {
      return gpu::next_fit(on, temp, bytes, c.lengths, c.n, o, c.offsets, c.members, c.words, c.words + 1);
    });
  });
}
void next_fit_host(bench_state& state) {
  on_host(state, [o = options_of(state)](auto const& lengths) { return ballast::next_fit(lengths, o); });
}

struct plus_capacity {
  std::int64_t capacity;
  BALLAST_HD std::int64_t operator()(std::int64_t sum) const { return sum + capacity; }
};
struct marked {
  BALLAST_HD bool operator()(std::uint8_t mark) const { return mark != 0; }
};

// starts[i] = 1 where a pack starts, by log2(packs) rounds over all samples.
void next_fit_doubling(bench_state& state) {
  on_device(state, [capacity = state.range(1)](pack_case const& c, device_memory& memory) {
    auto* const sums = memory.take<std::int64_t>(c.n + 1);
    auto *const next = memory.take<std::uint32_t>(c.n + 1), *const twice = memory.take<std::uint32_t>(c.n + 1);
    auto *const starts = memory.take<std::uint8_t>(c.n + 1), *const before = memory.take<std::uint8_t>(c.n + 1);
    return [=, on = memory.on] {
      auto const run = thrust::cuda::par_nosync.on(on.stream);
      gpu::check(on.fill(sums, 0, sizeof(std::int64_t)), "fill");
      thrust::inclusive_scan(run, c.lengths, c.lengths + c.n, sums + 1);
      auto const wanted = thrust::make_transform_iterator(static_cast<std::int64_t const*>(sums), plus_capacity{capacity});
      thrust::upper_bound(run, sums + 1, sums + c.n + 1, wanted, wanted + static_cast<std::ptrdiff_t>(c.n) + 1, next);
      gpu::check(on.fill(starts, 0, c.n + 1), "fill");
      gpu::check(on.fill(starts, 1, 1), "fill");
      auto const* from = next;
      auto* to = twice;
      for (std::size_t steps = 1; steps < c.n; steps *= 2) {
        thrust::copy(run, starts, starts + c.n + 1, before);
        thrust::scatter_if(run, before, before + c.n + 1, from, before, starts, marked{});
        thrust::gather(run, from, from + c.n + 1, from, to);
        from = to;
        to = from == next ? twice : next;
      }
    };
  });
}

// Arguments: samples / capacity / window.
void windowed(bench_state& state) {
  on_device(state,
            [capacity = state.range(1), window = static_cast<std::size_t>(state.range(2))](pack_case const& c, device_memory& memory) {
              return memory.ready([=, on = memory.on](void* temp, std::size_t& bytes) {
                return gpu::windowed_best_fit_decreasing(on, temp, bytes, c.lengths, c.n, window, {.capacity = capacity}, c.offsets,
                                                         c.members, c.words, c.words + 1);
              });
            });
}
void windowed_host(bench_state& state) {
  on_host(state, [capacity = state.range(1), window = static_cast<std::size_t>(state.range(2))](auto const& lengths) {
    return ballast::windowed_best_fit_decreasing(lengths, window, {.capacity = capacity});
  });
}

struct window_end {
  std::int64_t window, count;
  BALLAST_HD std::int64_t operator()(std::int64_t w) const { return w * window < count ? w * window : count; }
};

// Sorting the windows alone, by CUB.
void windows_sorted_by_cub(bench_state& state) {
  on_device(state, [window = state.range(1)](pack_case const& c, device_memory& memory) {
    auto const count = static_cast<std::int64_t>(c.n);
    auto const ends = thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0), window_end{window, count});
    auto* const keys = memory.take<std::int32_t>(c.n);
    auto* const indices = memory.take<std::uint32_t>(c.n);
    return memory.ready([=, on = memory.on](void* temp, std::size_t& bytes) {
      return cub::DeviceSegmentedSort::StableSortPairsDescending(temp, bytes, c.lengths, keys, static_cast<std::uint32_t const*>(indices),
                                                                 c.members, count, (count + window - 1) / window, ends, ends + 1,
                                                                 on.stream);
    });
  });
}

}  // namespace

int main(int argc, char** argv) {
  program const p(argc, argv);
  std::vector<std::int64_t> const host_sizes{1'000'000, 10'000'000}, sizes{1'000'000, 10'000'000, 100'000'000};
  // 7 samples of a pack: a guessed start would never meet the packs' starts.
  run(p, "next_fit", next_fit, {sizes, {8192, 131'072}, {0, 7}});
  run(p, "next_fit_host", next_fit_host, {host_sizes, {8192, 131'072}, {0, 7}});
  run(p, "next_fit_doubling", next_fit_doubling, {sizes, {8192, 131'072}});
  run(p, "windowed", windowed, {sizes, {8192, 65'536}, {1000, 8192}});
  run(p, "windowed_host", windowed_host, {host_sizes, {8192, 65'536}, {1000, 8192}});
  run(p, "windows_sorted_by_cub", windows_sorted_by_cub, {sizes, {1000, 8192}});
}
