// SPDX-License-Identifier: Apache-2.0
// Packs the lengths in a CUDA tensor where they are, on PyTorch's stream and in memory of its caching allocator: `pack` is what an
// extension binds. The program compares its packs with those of the host, and returns 77 where there is no device.
#include <ballast/core/random.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/on_stream.cuh>
#include <ballast/gpu/packing/best_fit_decreasing.cuh>
#include <ballast/packing/best_fit_decreasing.hpp>

#include <ATen/ATen.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <utility>

namespace gpu = ballast::gpu;

namespace {

// The backend whose memory is PyTorch's: all that a twin allocates comes from here.
struct on_torch : gpu::on_stream {
  cudaError_t allocate(std::size_t bytes, void*& out) const {
    return out = c10::cuda::CUDACachingAllocator::raw_alloc_with_stream(bytes, stream), cudaSuccess;
  }
  void release(void* memory) const noexcept { c10::cuda::CUDACachingAllocator::raw_delete(memory); }
};

// Indices of PyTorch are signed. None is above 2^63, so the signed and the unsigned type hold the same bits.
std::uint64_t* words_of(at::Tensor const& tensor) { return reinterpret_cast<std::uint64_t*>(tensor.data_ptr<std::int64_t>()); }

// Packs of at most `capacity` tokens: pack p is members[offsets[p]] to members[offsets[p + 1] - 1].
// lengths: int64, contiguous, on a CUDA device. Both results are int64 on the same device.
std::pair<at::Tensor, at::Tensor> pack(at::Tensor const& lengths, std::int64_t capacity) {
  TORCH_CHECK(lengths.is_cuda() && lengths.is_contiguous() && lengths.scalar_type() == at::kLong,
              "lengths must be int64, contiguous, on CUDA");
  c10::cuda::CUDAGuard const device(lengths.device());
  on_torch const on{{c10::cuda::getCurrentCUDAStream().stream()}};
  auto const count = lengths.numel();
  auto const offsets = at::empty({count + 1}, lengths.options()), members = at::empty({count}, lengths.options());
  gpu::pack_arrays<std::uint64_t> const out{.offsets = words_of(offsets), .members = words_of(members)};
  gpu::pack_planner<on_torch> planner(on);
  gpu::call(on, "pack", [&](void* temp, std::size_t& bytes) {
    return gpu::best_fit_decreasing(on, temp, bytes, lengths.data_ptr<std::int64_t>(), static_cast<std::size_t>(count),
                                    {.capacity = capacity}, planner, out);
  });
  return {offsets.narrow(0, 0, static_cast<std::int64_t>(planner.tally.count.value) + 1), members};
}

}  // namespace

int main() {
  if (c10::cuda::device_count() == 0) {
    std::puts("no device: nothing was packed");
    return 77;
  }
  auto const lengths = at::empty({100'000}, at::kLong);
  auto* const tokens = lengths.data_ptr<std::int64_t>();
  ballast::splitmix64 draw(7);
  std::generate_n(tokens, lengths.numel(), [&] { return static_cast<std::int64_t>(1 + draw() % 700); });

  auto const [offsets, members] = pack(lengths.cuda(), 8192);
  auto const bounds = offsets.cpu(), samples = members.cpu();
  auto const host = ballast::best_fit_decreasing<std::uint64_t>(
      std::span<std::int64_t const>(tokens, static_cast<std::size_t>(lengths.numel())), {.capacity = 8192});
  auto const equal = [](at::Tensor const& device, auto const& expected) {
    return std::equal(expected.begin(), expected.end(), words_of(device), words_of(device) + device.numel());
  };
  auto const right = equal(bounds, host.packs.offsets) && equal(samples, host.packs.members);
  std::printf("%lld packs, %s\n", static_cast<long long>(bounds.numel() - 1), right ? "those of the host" : "NOT those of the host");
  return right ? 0 : 1;
}
