// SPDX-License-Identifier: Apache-2.0
// Every launch of blocks with shared memory keeps the rules of CUDA, whatever the sizes. Needs nvcc and no device (pretended_runtime.hpp).
#include "pretended_runtime.hpp"

#include <ballast/gpu/balance/longest_processing_time.cuh>
#include <ballast/gpu/balance/score.cuh>
#include <ballast/gpu/core/classes.cuh>
#include <ballast/gpu/core/on_stream.cuh>
#include <ballast/gpu/packing/next_fit.cuh>
#include <ballast/gpu/packing/windowed.cuh>

#include <cstdint>
#include <cstdio>

namespace gpu = ballast::gpu;

namespace {

// `on_stream` without scans, reductions and sorts, which are CUB's; its launches read no memory, so any address will do.
struct on_rules : gpu::on_stream {
  template <class... Any>
  cudaError_t exclusive_sum(void*, std::size_t& bytes, Any const&...) const {
    return bytes = 1, cudaSuccess;
  }
  template <class... Any>
  cudaError_t inclusive_scan(void*, std::size_t& bytes, Any const&...) const {
    return bytes = 1, cudaSuccess;
  }
  template <class... Any>
  cudaError_t reduce(void*, std::size_t& bytes, Any const&...) const {
    return bytes = 1, cudaSuccess;
  }
  template <class... Any>
  cudaError_t sort_descending(void*, std::size_t& bytes, Any const&...) const {
    return bytes = 1, cudaSuccess;
  }
};

std::size_t wrong = 0;
alignas(256) std::byte anywhere[256];

template <class Twin>
void launch(char const* what, std::int64_t size, Twin const& twin) {
  auto& device = ballast_test::pretended_runtime::get();
  auto const before = device.launches;
  auto bytes = ~std::size_t{0} >> 1;
  device.broken.clear();
  auto const error = twin(static_cast<void*>(anywhere), bytes);
  if (error == cudaSuccess && device.broken.empty() && device.launches > before) return;
  if (++wrong > 20) return;
  std::printf("%s, %lld, %zu static bytes: %s (error %d)\n", what, static_cast<long long>(size), device.statically, device.broken.c_str(),
              static_cast<int>(error));
}

// Sizes grow, so that each kernel asks for its first grant at the least size that needs one.
void launch_all() {
  on_rules const on{};
  std::uint64_t word = 0;
  std::uint32_t index = 0;
  std::int32_t const length = 1;
  for (std::int64_t longest = 1; longest <= 131'072; longest += longest < 60'000 ? 97 : 9973)
    launch("fold to a longest length", longest,
           [&](void* temp, std::size_t& bytes) { return gpu::fold(on, temp, bytes, &length, 1, longest, &word, &word); });
  for (std::size_t window = 1; window <= gpu::longest_window; ++window)
    launch("a window", static_cast<std::int64_t>(window), [&](void* temp, std::size_t& bytes) {
      return gpu::windowed_best_fit_decreasing(on, temp, bytes, &length, 8192, window, {.capacity = 100}, &word, &index, &word, &word);
    });
  for (std::size_t tile = 1; tile <= 16'384; tile += tile < 4200 ? 1 : 7)
    launch("a tile of next fit", static_cast<std::int64_t>(tile), [&](void* temp, std::size_t& bytes) {
      return gpu::next_fit(on, temp, bytes, &length, 100'000, {.capacity = 100}, &word, &index, &word, &word, tile);
    });
  std::int64_t const cost = 1;
  std::int64_t load = 0;
  gpu::load_figures figures;
  for (std::uint64_t sets = 1; sets <= gpu::most_sets; ++sets) {
    launch("sets of a batch", static_cast<std::int64_t>(sets), [&](void* temp, std::size_t& bytes) {
      return gpu::longest_processing_time(on, temp, bytes, {&cost, 4096, &word, 1}, {.sets = sets}, &index, &load, &word);
    });
    launch("sets of a candidate", static_cast<std::int64_t>(sets),
           [&](void* temp, std::size_t& bytes) { return gpu::score(on, temp, bytes, {&cost, 1, &index, 1, sets}, &figures, &word); });
  }
}

}  // namespace

int main() {
  for (auto const statically : {0, 256, 768, 1024, 1792, 2048}) {
    auto& device = ballast_test::pretended_runtime::get();
    device = {};
    device.statically = static_cast<std::size_t>(statically);
    launch_all();
    launch_all();  // also with what was granted
  }
  return wrong == 0 ? 0 : 1;
}
