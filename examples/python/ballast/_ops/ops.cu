// SPDX-License-Identifier: Apache-2.0
// The operators for CUDA tensors: on PyTorch's current stream, in memory of its caching allocators.
#include <ballast/gpu/core/on_stream.cuh>

#include <ATen/ops/empty.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstddef>

#include "ops.hpp"

namespace {

struct on_torch : ballast::gpu::on_stream {
  static constexpr std::size_t room = 256;  // before page-locked memory, for the tensor that owns it
  cudaError_t allocate(std::size_t bytes, void*& out) const {
    return out = c10::cuda::CUDACachingAllocator::raw_alloc_with_stream(bytes, stream), cudaSuccess;
  }
  void release(void* memory) const noexcept { c10::cuda::CUDACachingAllocator::raw_delete(memory); }
  cudaError_t allocate_host(std::size_t bytes, void*& out) const {
    auto const owner = at::empty({static_cast<std::int64_t>(room + bytes)}, at::TensorOptions(at::kByte).pinned_memory(true));
    auto* const begin = static_cast<std::byte*>(owner.mutable_data_ptr());
    new (begin) at::Tensor(owner);
    return out = begin + room, cudaSuccess;
  }
  void release_host(void* memory) const noexcept {
    auto* const kept = reinterpret_cast<at::Tensor*>(static_cast<std::byte*>(memory) - room);
    auto const owner = std::move(*kept);
    kept->~Tensor();
  }
};

struct on_cuda {
  c10::cuda::CUDAGuard guard;
  on_torch on;
  explicit on_cuda(at::Tensor const& first) : guard(device_of(first)), on{{c10::cuda::getCurrentCUDAStream().stream()}} {}
  static c10::Device device_of(at::Tensor const& first) {  // PyTorch comes here if any argument is on CUDA
    TORCH_CHECK_VALUE(first.is_cuda(), "the first tensor is on ", first.device(), " and another one on CUDA: move one of them");
    return first.device();
  }
};

}  // namespace

TORCH_LIBRARY_IMPL(ballast, CUDA, m) { ballast_torch::implement<on_cuda>(m); }
