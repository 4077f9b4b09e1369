// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/on_stream.cuh>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <regex>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief What the programs of this folder share. They need nothing but the toolkit, so that they run on a bare machine. Each prints a line
/// of JSON for each case: the median time of events on the stream, over runs whose inputs the cache does not hold.
///
///     PROGRAM [--only REGEX] [--largest ITEMS] [--list]

namespace ballast_bench {

namespace gpu = ballast::gpu;

/// A call that is captured once into a CUDA graph. As the first call of a kernel loads it, `call(on)` is made once before.
class captured_graph {
 public:
  template <class Call>
  explicit captured_graph(Call const& call) {
    cudaStream_t own = nullptr;  // the default stream cannot be captured
    cudaGraph_t graph = nullptr;
    gpu::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    gpu::check(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    gpu::check(call(gpu::on_stream(own)), "call");
    gpu::check(cudaStreamSynchronize(own), "cudaStreamSynchronize");
    gpu::check(cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    auto const queued = call(gpu::on_stream(own));
    gpu::check(cudaStreamEndCapture(own, &graph), "cudaStreamEndCapture");
    gpu::check(queued, "call");
    gpu::check(cudaGraphInstantiate(&ready_, graph, 0), "cudaGraphInstantiate");
    cudaGraphDestroy(graph);
    cudaStreamDestroy(own);
  }
  captured_graph(captured_graph&& other) noexcept : ready_(std::exchange(other.ready_, nullptr)) {}
  ~captured_graph() {
    if (ready_ != nullptr) cudaGraphExecDestroy(ready_);
  }
  void operator()() const { gpu::check(cudaGraphLaunch(ready_, nullptr), "cudaGraphLaunch"); }

 private:
  cudaGraphExec_t ready_ = nullptr;
};

/// Memory of the device for one case.
class device_memory {
 public:
  gpu::on_stream on{};
  template <class T>
  [[nodiscard]] T* take(std::size_t count) {
    arrays_.emplace_back(on, count * sizeof(T));
    return reinterpret_cast<T*>(arrays_.back().data());
  }
  template <class T>
  [[nodiscard]] T* send(std::vector<T> const& values) {
    auto* const out = take<T>(values.size());
    gpu::check(on.upload(out, values.data(), values.size()), "upload");
    return out;
  }
  /// The call of a twin, with scratch memory that is allocated once.
  template <class Twin>
  [[nodiscard]] auto ready(Twin const& twin) {
    std::size_t bytes = 0;
    gpu::check(twin(nullptr, bytes), "size");
    return [twin, bytes, temp = take<std::byte>(bytes)]() mutable { gpu::check(twin(static_cast<void*>(temp), bytes), "call"); };
  }
  /// The same as a CUDA graph. The twin is called with its backend, too.
  template <class Twin>
  [[nodiscard]] captured_graph graph_of(Twin const& twin) {
    std::size_t bytes = 0;
    gpu::check(twin(on, nullptr, bytes), "size");
    auto* const temp = take<std::byte>(bytes);
    return captured_graph([&](gpu::on_stream stream) { return twin(stream, static_cast<void*>(temp), bytes); });
  }

 private:
  std::deque<gpu::array<std::byte, gpu::on_stream>> arrays_;
};

/// Keeps a result, so that its computation is not optimised away.
template <class T>
void keep(T const& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

/// What the command line asks for, and how long the cache is.
struct program {
  std::string name;  ///< without its folder
  std::regex only{""};
  double largest = 1e18;
  bool list = false;
  double cache = 0;  ///< bytes

  /// Ends the program if it cannot go on.
  program(int argc, char** argv) : name(argv[0]) {
    name.erase(0, name.rfind('/') + 1);
    for (int i = 1; i < argc; ++i) {
      std::string const word = argv[i];
      auto const value = i + 1 < argc ? argv[i + 1] : "";
      if (word == "--list")
        list = true;
      else if (word == "--only")
        only = value, ++i;
      else if (word == "--largest")
        largest = std::atof(value), ++i;
      else
        std::printf("'%s' is none of --only REGEX, --largest ITEMS and --list\n", word.c_str()), std::exit(2);
    }
    if (list) return;
    int devices = 0, bytes = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) std::puts("no CUDA device: skipped"), std::exit(77);
    cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, 0);
    cache = bytes;
    cudaMemPool_t pool = nullptr;  // what is freed is kept: else the forms that allocate pay for mapping memory in each call
    auto most = ~std::uint64_t{0};
    gpu::check(cudaDeviceGetDefaultMemPool(&pool, 0), "cudaDeviceGetDefaultMemPool");
    gpu::check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &most), "cudaMemPoolSetAttribute");
  }
};

/// One case of a benchmark: its name ends in its arguments.
struct bench_state {
  program const& of;
  std::string name;
  std::vector<std::int64_t> arguments;
  [[nodiscard]] std::int64_t range(std::size_t i) const { return arguments[i]; }
};

/// Times runs until they add up to a third of a second, at least 5 and at most 50. @return milliseconds, ascending
template <class Run>
[[nodiscard]] std::vector<double> time_runs(Run const& run) {
  std::vector<double> times;
  for (double all = 0; times.size() < 5 || (times.size() < 50 && all < 333); all += times.back()) times.push_back(run(times.size()));
  std::sort(times.begin(), times.end());
  return times;
}

/// Prints the line of a case. `measure()` returns the times in milliseconds, ascending.
template <class Measure>
void report(bench_state& s, double items, double floor, Measure const& measure) {
  if (items > s.of.largest || !std::regex_search(s.name, s.of.only)) return;
  if (s.of.list) return void(std::puts(s.name.c_str()));
  try {
    auto const times = measure();
    auto const ms = times[times.size() / 2];
    std::printf(
        "{\"program\": \"%s\", \"name\": \"%s\", \"items\": %.0f, \"ms\": %.5g, \"least_ms\": %.5g, \"runs\": %zu, \"floor_bytes\": "
        "%.0f}\n",
        s.of.name.c_str(), s.name.c_str(), items, ms, times[0], times.size(), floor);
  } catch (std::exception const& e) {
    std::printf("{\"program\": \"%s\", \"name\": \"%s\", \"error\": \"%s\"}\n", s.of.name.c_str(), s.name.c_str(), e.what());
  }
  std::fflush(stdout);
}

/// Times what `prepare(memory)` returns. `floor` is the bytes that must move in one call. Cases that the cache could hold are prepared
/// several times, and the calls take turns.
template <class Prepare>
void timed(bench_state& s, double items, double floor, Prepare const& prepare) {
  report(s, items, floor, [&] {
    device_memory memory;
    auto const turns = std::clamp(static_cast<int>(2 * s.of.cache / (std::max)(floor, 1.0)) + 1, 1, 16);
    std::deque<decltype(prepare(memory))> calls;
    for (int turn = 0; turn < turns; ++turn) calls.push_back(prepare(memory));
    for (auto& call : calls) call();  // warm
    cudaEvent_t start = nullptr, stop = nullptr;
    gpu::check(cudaEventCreate(&start), "cudaEventCreate");
    gpu::check(cudaEventCreate(&stop), "cudaEventCreate");
    auto const times = time_runs([&](std::size_t run) {
      cudaEventRecord(start, memory.on.stream);
      calls[run % calls.size()]();
      cudaEventRecord(stop, memory.on.stream);
      gpu::check(cudaEventSynchronize(stop), "cudaEventSynchronize");
      float ms = 0;
      cudaEventElapsedTime(&ms, start, stop);
      return static_cast<double>(ms);
    });
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    return times;
  });
}

/// Times what `prepare()` returns, on the clock of the host.
template <class Prepare>
void timed_on_host(bench_state& s, double items, double floor, Prepare const& prepare) {
  report(s, items, floor, [&] {
    auto call = prepare();
    call();
    return time_runs([&](std::size_t) {
      auto const start = std::chrono::steady_clock::now();
      call();
      return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    });
  });
}

/// Runs a benchmark with every combination of arguments: one value of each list.
template <class Benchmark>
void run(program const& of, char const* name, Benchmark const& benchmark, std::vector<std::vector<std::int64_t>> const& lists) {
  std::vector<std::size_t> at(lists.size(), 0);
  for (;;) {
    bench_state s{of, name, {}};
    for (std::size_t i = 0; i < lists.size(); ++i) {
      s.arguments.push_back(lists[i][at[i]]);
      s.name += '/' + std::to_string(s.arguments.back());
    }
    benchmark(s);
    auto i = lists.size();
    while (i > 0 && ++at[i - 1] == lists[i - 1].size()) at[--i] = 0;
    if (i == 0) return;
  }
}

}  // namespace ballast_bench
