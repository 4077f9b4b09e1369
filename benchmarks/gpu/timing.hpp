// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/on_stream.cuh>

#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <deque>
#include <exception>
#include <vector>

/// @file
/// @brief What benchmarks of the twins share: memory that lives as long as a benchmark, and times by events on the stream.

namespace ballast_bench {

namespace gpu = ballast::gpu;

/// Memory of the device for one benchmark.
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

 private:
  std::deque<gpu::array<std::byte, gpu::on_stream>> arrays_;
};

/// Times what `prepare(memory)` returns. `floor` is the bytes that must move in one call: its rate is that of the device's memory at best.
template <class Prepare>
void timed(benchmark::State& state, double items, double floor, Prepare const& prepare) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return state.SkipWithError("no CUDA device");
  cudaEvent_t start = nullptr, stop = nullptr;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  try {
    device_memory memory;
    auto call = prepare(memory);
    call();  // warm
    for (auto _ : state) {
      cudaEventRecord(start, memory.on.stream);
      call();
      cudaEventRecord(stop, memory.on.stream);
      gpu::check(cudaEventSynchronize(stop), "cudaEventSynchronize");
      float milliseconds = 0;
      cudaEventElapsedTime(&milliseconds, start, stop);
      state.SetIterationTime(static_cast<double>(milliseconds) / 1e3);
    }
    state.counters["items"] = benchmark::Counter(items, benchmark::Counter::kIsIterationInvariantRate);
    state.counters["floor"] = benchmark::Counter(floor, benchmark::Counter::kIsIterationInvariantRate);
  } catch (std::exception const& e) {
    state.SkipWithError(e.what());
  }
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
}

}  // namespace ballast_bench
