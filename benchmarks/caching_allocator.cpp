// SPDX-License-Identifier: Apache-2.0
// Replays a million events (half a million buffers, each allocated and freed once) on the caching allocator: the activations of a training
// step (first in, last out) with temporaries between them, over and over, and buffers that end at random. `depth` is the number of
// activations of a step, or of random buffers in use at a time. `linear` places the same buffers by the same rules in one list of blocks
// for each pool, which it scans for each request; it must reserve as much. `reserved/live` is the peak of what is reserved over the peak of
// what is in use.
#include <ballast/core/random.hpp>
#include <ballast/memory/replay_allocator.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <utility>
#include <vector>

namespace {

constexpr std::int64_t mib = 1 << 20;

std::int64_t random_size(ballast::splitmix64& generator) {
  return 1 + static_cast<std::int64_t>(ballast::uniform_below(std::uint64_t{64 << 20} >> ballast::uniform_below(16, generator), generator));
}

/// `count` buffers in steps that hold `depth` activations at their middle.
std::vector<ballast::buffer> training_steps(std::int64_t count, std::int64_t depth) {
  ballast::splitmix64 generator(1);
  std::vector<std::int64_t> sizes;  // those of a step, the same in all
  for (std::int64_t i = 0; i < 2 * depth; ++i) sizes.push_back(random_size(generator));
  std::vector<ballast::buffer> out;
  for (std::int64_t step = 0; static_cast<std::int64_t>(out.size()) < count; ++step)
    for (std::int64_t i = 0; i < depth && static_cast<std::int64_t>(out.size()) < count; ++i) {
      auto const from = 2 * depth * step;
      out.push_back({from + i, from + 2 * depth - i, sizes[static_cast<std::size_t>(2 * i)]});
      out.push_back({from + i, from + i + 2, sizes[static_cast<std::size_t>(2 * i + 1)]});
    }
  return out;
}

std::vector<ballast::buffer> random_buffers(std::int64_t count, std::int64_t live) {
  ballast::splitmix64 generator(2);
  std::vector<ballast::buffer> out;
  for (std::int64_t i = 0; i < count; ++i)
    out.push_back({i, i + 1 + static_cast<std::int64_t>(ballast::uniform_below(static_cast<std::uint64_t>(2 * live), generator)),
                   random_size(generator)});
  return out;
}

std::vector<ballast::buffer> buffers_of(benchmark::State const& state) {
  constexpr std::int64_t count = 500'000;
  return state.range(0) == 0 ? training_steps(count, state.range(1)) : random_buffers(count, state.range(1));
}

void report(benchmark::State& state, std::int64_t reserved, std::int64_t live) {
  state.SetItemsProcessed(state.iterations() * 1'000'000);
  state.counters["reserved/live"] = static_cast<double>(reserved) / static_cast<double>(live);
}

void replay(benchmark::State& state, ballast::caching_allocator_options const& options) {
  auto const buffers = buffers_of(state);
  ballast::allocator_replay result;
  for (auto _ : state) benchmark::DoNotOptimize(result = ballast::replay_allocator(buffers, options));
  report(state, result.peak_reserved, result.live_peak);
}

/// The same rules, by a scan of all blocks of a pool.
class linear_allocator {
 public:
  struct block {
    std::int64_t size;
    bool free, ends_segment;
  };
  using place = std::list<block>::iterator;

  place allocate(std::int64_t bytes) {
    auto const size = (bytes + 511) / 512 * 512;
    auto& pool = pools_[size <= mib ? 0 : 1];
    auto best = pool.end();
    for (auto b = pool.begin(); b != pool.end(); ++b)
      if (b->free && b->size >= size && (best == pool.end() || b->size < best->size)) best = b;
    if (best == pool.end()) {
      auto const segment = size <= mib ? 2 * mib : size < 10 * mib ? 20 * mib : (size + 2 * mib - 1) / (2 * mib) * (2 * mib);
      best = pool.insert(pool.end(), {segment, true, true});
      reserved += segment;
    }
    auto const rest = best->size - size;
    if (size <= mib ? rest >= 512 : rest > mib) {
      pool.insert(std::next(best), {rest, true, best->ends_segment});
      *best = {size, false, false};
    }
    best->free = false;
    return best;
  }
  void deallocate(place b, std::int64_t bytes) {
    auto& pool = pools_[bytes <= mib ? 0 : 1];
    b->free = true;
    if (b != pool.begin() && std::prev(b)->free && !std::prev(b)->ends_segment) --b;
    for (auto next = std::next(b); next != pool.end() && next->free && !b->ends_segment; next = pool.erase(next)) {
      b->size += next->size;
      b->ends_segment = next->ends_segment;
    }
  }
  std::int64_t reserved = 0;

 private:
  std::list<block> pools_[2];
};

void linear(benchmark::State& state) {
  auto const buffers = buffers_of(state);
  std::vector<std::pair<std::int64_t, std::uint64_t>> events;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    events.emplace_back(buffers[i].upper, i);
    events.emplace_back(buffers[i].lower, buffers.size() + i);
  }
  std::sort(events.begin(), events.end());
  auto const expected = ballast::replay_allocator(buffers);
  std::vector<linear_allocator::place> places(buffers.size());
  std::int64_t reserved = 0;
  for (auto _ : state) {
    linear_allocator allocator;
    for (auto const& [time, event] : events) {
      auto const i = static_cast<std::size_t>(event % buffers.size());
      if (event < buffers.size())
        allocator.deallocate(places[i], buffers[i].size);
      else
        places[i] = allocator.allocate(buffers[i].size);
    }
    reserved = allocator.reserved;
  }
  if (reserved != expected.peak_reserved) state.SkipWithError("the two allocators differ");
  report(state, reserved, expected.live_peak);
}

void cases(benchmark::internal::Benchmark* b) {
  b->ArgNames({"random", "depth"})->ArgsProduct({{0, 1}, {50, 500, 5000}})->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(replay, segments, {})->Apply(cases);
BENCHMARK_CAPTURE(replay, expandable, {.expandable_segments = true})->Apply(cases);
BENCHMARK(linear)->Apply(cases);

}  // namespace
