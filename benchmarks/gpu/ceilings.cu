// SPDX-License-Identifier: Apache-2.0
// What the device can do at most, for every other figure to be a share of: copies, reads and writes in several patterns, and sorts by width
// of the key; and the steps that a packing is made of, each alone.
//
// Arguments: samples, but for the patterns: distance of the places that follow each other / words.
#include "timing.hpp"

#include <ballast/core/config.hpp>
#include <ballast/core/random.hpp>
#include <ballast/gpu/core/classes.cuh>
#include <ballast/gpu/core/map_each.cuh>
#include <ballast/gpu/core/sort.cuh>
#include <ballast/gpu/packing/detail/canonical_order.cuh>
#include <ballast/packing/run_length.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using namespace ballast_bench;

struct draw_lengths {
  std::uint32_t *lengths, longest;
  BALLAST_HD void operator()(std::size_t i) const { lengths[i] = static_cast<std::uint32_t>(1 + ballast::splitmix64(i)() % longest); }
};
std::uint32_t* uniform_lengths(device_memory& memory, std::size_t count, std::uint32_t longest) {
  auto* const lengths = memory.take<std::uint32_t>(count);
  gpu::check(memory.on.for_each(count, draw_lengths{lengths, longest}), "draw_lengths");
  return lengths;
}
double items_of(bench_state const& state, std::size_t argument) { return static_cast<double>(state.range(argument)); }

void copy(bench_state& state) {
  auto const n = static_cast<std::size_t>(state.range(0));
  timed(state, items_of(state, 0), 8 * items_of(state, 0), [&](device_memory& memory) {
    return [from = uniform_lengths(memory, n, 8192), to = memory.take<std::uint32_t>(n), n, stream = memory.on.stream] {
      gpu::check(cudaMemcpyAsync(to, from, 4 * n, cudaMemcpyDeviceToDevice, stream), "copy");
    };
  });
}
void fill(bench_state& state) {
  auto const n = static_cast<std::size_t>(state.range(0));
  timed(state, items_of(state, 0), 4 * items_of(state, 0), [&](device_memory& memory) {
    return [to = memory.take<std::uint32_t>(n), n, on = memory.on] { gpu::check(on.fill(to, 1, 4 * n), "fill"); };
  });
}

struct write_apart {  // as the samples of a run, which go to places of consecutive packs
  std::uint32_t* out;
  std::size_t stride, rows;
  BALLAST_HD void operator()(std::size_t p) const { out[p % rows * stride + p / rows] = static_cast<std::uint32_t>(p); }
};
void write_strided(bench_state& state) {
  auto const stride = static_cast<std::size_t>(state.range(0)), rows = static_cast<std::size_t>(state.range(1)) / stride;
  auto const n = static_cast<double>(rows * stride);
  timed(state, n, 4 * n, [&](device_memory& memory) {
    return [work = write_apart{memory.take<std::uint32_t>(rows * stride), stride, rows}, on = memory.on] {
      gpu::check(on.for_each(work.rows * work.stride, work), "write");
    };
  });
}

[[nodiscard]] BALLAST_HD std::size_t scattered(std::size_t p, std::size_t mask) { return (p * 0x9E3779B97F4A7C15U >> 7) & mask; }
struct read_scattered {
  std::uint32_t const* in;
  std::uint32_t* out;
  std::size_t mask;
  BALLAST_HD void operator()(std::size_t p) const { out[p] = in[scattered(p, mask)]; }
};
struct write_scattered {
  std::uint32_t* out;
  std::size_t mask;
  BALLAST_HD void operator()(std::size_t p) const { out[scattered(p, mask)] = static_cast<std::uint32_t>(p); }
};
void read_random(bench_state& state) {
  auto const n = static_cast<std::size_t>(state.range(0));
  timed(state, items_of(state, 0), 8 * items_of(state, 0), [&](device_memory& memory) {
    return [work = read_scattered{uniform_lengths(memory, n, 8192), memory.take<std::uint32_t>(n), n - 1}, n, on = memory.on] {
      gpu::check(on.for_each(n, work), "read");
    };
  });
}
void write_random(bench_state& state) {
  auto const n = static_cast<std::size_t>(state.range(0));
  timed(state, items_of(state, 0), 4 * items_of(state, 0), [&](device_memory& memory) {
    return [work = write_scattered{memory.take<std::uint32_t>(n), n - 1}, n, on = memory.on] { gpu::check(on.for_each(n, work), "write"); };
  });
}

// The sort of `expand` and the pass that writes its keys; `bits` of the key are sorted, 8 at a time.
template <class Key>
struct sort_case {
  std::size_t n;
  int bits;
  std::uint32_t* lengths;
  Key *keys, *sorted;
  std::uint32_t *samples, *order;
  sort_case(device_memory& memory, std::size_t count, int width)
      : n(count),
        bits(width),
        lengths(uniform_lengths(memory, n, std::uint32_t{1} << bits)),
        keys(memory.take<Key>(n)),
        sorted(memory.take<Key>(n)),
        samples(memory.take<std::uint32_t>(n)),
        order(memory.take<std::uint32_t>(n)) {}
  [[nodiscard]] cudaError_t write_keys(gpu::on_stream on) const {
    gpu::detail::pack_padding const pad{1, std::uint32_t{1} << bits};
    return gpu::map_each(on, n, lengths, gpu::detail::write_length_key{pad, nullptr}, keys, samples);
  }
};
template <class Key>
void sort(bench_state& state, int bits) {
  auto const passes = (bits + 7) / 8;
  auto const bytes = static_cast<double>(sizeof(Key)) + passes * 2.0 * (sizeof(Key) + 4);
  timed(state, items_of(state, 0), bytes * items_of(state, 0), [&](device_memory& memory) {
    sort_case<Key> const c(memory, static_cast<std::size_t>(state.range(0)), bits);
    gpu::check(c.write_keys(memory.on), "keys");
    return memory.ready([c, on = memory.on](void* temp, std::size_t& size) {
      return on.sort_descending(temp, size, static_cast<Key const*>(c.keys), c.sorted, static_cast<std::uint32_t const*>(c.samples),
                                c.order, c.n, c.bits);
    });
  });
}
template <class Key>
void keys(bench_state& state, int bits) {
  timed(state, items_of(state, 0), (8.0 + sizeof(Key)) * items_of(state, 0), [&](device_memory& memory) {
    sort_case<Key> const c(memory, static_cast<std::size_t>(state.range(0)), bits);
    return [c, on = memory.on] { gpu::check(c.write_keys(on), "keys"); };
  });
}

// What the host does meanwhile. Argument: capacity / samples.
void plan(bench_state& state) {
  auto const capacity = static_cast<std::uint32_t>(state.range(0));
  auto const n = static_cast<std::size_t>(state.range(1));
  timed_on_host(state, items_of(state, 1), 8.0 * capacity, [&] {
    device_memory memory;
    auto const classes = gpu::fold(memory.on, uniform_lengths(memory, n, capacity), n, capacity);
    return [classes, capacity] { keep(ballast::plan_best_fit_decreasing(classes, {.capacity = capacity}).packs); };
  });
}

}  // namespace

int main(int argc, char** argv) {
  program const p(argc, argv);
  std::vector<std::vector<std::int64_t>> const words{{1 << 20, 1 << 24, 1 << 27, 1 << 30}};
  std::vector<std::vector<std::int64_t>> const samples{{1'000'000, 10'000'000, 100'000'000, 1'000'000'000}};
  run(p, "copy", copy, words);
  run(p, "fill", fill, words);
  run(p, "write_strided", write_strided, {{1, 2, 4, 10, 40, 300}, {1 << 30}});
  run(p, "write_random", write_random, words);
  run(p, "read_random", read_random, words);
  run(p, "keys/16_bits", [](bench_state& s) { keys<std::uint16_t>(s, 16); }, samples);
  run(p, "keys/32_bits", [](bench_state& s) { keys<std::uint32_t>(s, 17); }, samples);
  run(p, "sort/13_bits_of_16", [](bench_state& s) { sort<std::uint16_t>(s, 13); }, samples);
  run(p, "sort/16_bits_of_16", [](bench_state& s) { sort<std::uint16_t>(s, 16); }, samples);
  run(p, "sort/17_bits_of_32", [](bench_state& s) { sort<std::uint32_t>(s, 17); }, samples);
  run(p, "sort/24_bits_of_32", [](bench_state& s) { sort<std::uint32_t>(s, 24); }, samples);
  run(p, "plan", plan, {{8192, 131'072}, {1'000'000, 100'000'000}});
}
