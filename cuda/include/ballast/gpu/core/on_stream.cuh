// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/version.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

/// @file
/// @brief `on_stream`, the CUDA backend: CUB and own kernels on a stream. Only `download`, `upload` and `synchronize` wait.

namespace ballast::inline v0_2::gpu {

namespace detail {

template <class F>
__global__ void __launch_bounds__(256) call_for_each(std::size_t count, F f) {
  auto const stride = std::size_t{gridDim.x} * blockDim.x;
  for (auto i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) f(i);
}

// The counterpart of host_block on the device.
class thread_block {
 public:
  __device__ explicit thread_block(void* memory) : memory_(memory) {}
  [[nodiscard]] __device__ unsigned lanes() const { return blockDim.x; }
  template <class T>
  [[nodiscard]] __device__ T* shared() const {
    return static_cast<T*>(memory_);
  }
  template <class F>
  __device__ void each(F const& f) {
    f(threadIdx.x);
    __syncthreads();
  }
  template <class F>
  [[nodiscard]] __device__ auto least(F const& f) {
    using T = decltype(f(0U));
    __shared__ T of_warp[32];
    auto found = warp_least(f(threadIdx.x));
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = found;
    __syncthreads();
    found = warp_least(of_warp[threadIdx.x % 32 < blockDim.x / 32 ? threadIdx.x % 32 : 0]);
    __syncthreads();  // before the next call writes
    return found;
  }

 private:
  template <class T>
  static __device__ T warp_least(T value) {
    for (int step = 16; step > 0; step /= 2) {
      auto const other = __shfl_xor_sync(0xffffffffU, value, step);
      if (other < value) value = other;
    }
    return value;
  }
  void* memory_;
};

template <class Body>
__global__ void run_blocks(std::size_t count, Body body) {
  extern __shared__ unsigned long long ballast_shared[];
  for (std::size_t b = blockIdx.x; b < count; b += gridDim.x) {
    thread_block block(ballast_shared);
    body(block, b);
    __syncthreads();
  }
}

struct sum {
  template <class T>
  BALLAST_HD T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};

}  // namespace detail

/// @brief The CUDA backend. Its members are those of `on_host` (on_host.cuh); arrays are memory that the device of the stream can reach.
struct on_stream {
  using error_type = cudaError_t;                                     ///< result type of members
  static constexpr error_type invalid_value = cudaErrorInvalidValue;  ///< the error of a twin for arguments out of range
  cudaStream_t stream = nullptr;                                      ///< stream on which all work is queued

  /// @brief As `on_host::for_each`. @param count number of calls @param f the functor @return the error, if any
  template <class F>
  error_type for_each(std::size_t count, F f) const {
    if (count == 0) return cudaSuccess;
    constexpr std::size_t most = 1U << 20;  // blocks; each thread strides over the rest
    auto const blocks = divide_up(count, std::size_t{256});
    detail::call_for_each<<<static_cast<unsigned>(blocks < most ? blocks : most), 256, 0, stream>>>(count, f);
    return cudaGetLastError();
  }
  /// @brief As `on_host::exclusive_sum`.
  /// @param temp scratch memory or null @param bytes its size @param in an iterator @param out an iterator @param count number of elements
  /// @param init first value, of the type of `out` @return the error, if any
  template <class In, class Out, class T>
  error_type exclusive_sum(void* temp, std::size_t& bytes, In in, Out out, std::size_t count, T init) const {
    return cub::DeviceScan::ExclusiveScan(temp, bytes, in, out, detail::sum{}, init, static_cast<std::int64_t>(count), stream);
  }
  /// @brief As `on_host::inclusive_scan`.
  /// @param temp scratch memory or null @param bytes its size @param in an iterator @param out an iterator @param count number of elements
  /// @param op the operation @return the error, if any
  template <class In, class Out, class Op>
  error_type inclusive_scan(void* temp, std::size_t& bytes, In in, Out out, std::size_t count, Op op) const {
    return cub::DeviceScan::InclusiveScan(temp, bytes, in, out, op, static_cast<std::int64_t>(count), stream);
  }
  /// @brief As `on_host::reduce`.
  /// @param temp scratch memory or null @param bytes its size @param in an iterator @param out one element @param count number of elements
  /// @param init first value @param op the operation @return the error, if any
  template <class In, class T, class Op>
  error_type reduce(void* temp, std::size_t& bytes, In in, T* out, std::size_t count, T init, Op op) const {
    return cub::DeviceReduce::Reduce(temp, bytes, in, out, static_cast<std::int64_t>(count), op, init, stream);
  }
  /// @brief As `on_host::sort_descending`.
  /// @param temp scratch memory or null @param bytes its size @param keys_in unsigned keys @param keys_out sorted keys; another array
  /// @param values_in one value for each key @param values_out values in the order of the keys; another array @param count number of pairs
  /// @param bits number of low bits of a key that may be set @return the error, if any
  template <class Key, class Value>
  error_type sort_descending(void* temp, std::size_t& bytes, Key const* keys_in, Key* keys_out, Value const* values_in, Value* values_out,
                             std::size_t count, int bits) const {
    static_assert(std::is_unsigned_v<Key>);
    return cub::DeviceRadixSort::SortPairsDescending(temp, bytes, keys_in, keys_out, values_in, values_out,
                                                     static_cast<std::int64_t>(count), 0, bits, stream);
  }
  /// @brief As `on_host::blocks`.
  /// @param count number of blocks @param lanes lanes of a block @param shared_bytes shared memory of a block @param body the functor
  /// @return the error, if any
  template <class Body>
  error_type blocks(std::size_t count, unsigned lanes, std::size_t shared_bytes, Body body) const {
    if (count == 0) return cudaSuccess;
    if (shared_bytes > 48 * 1024) {
      auto const allowed =
          cudaFuncSetAttribute(detail::run_blocks<Body>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
      if (allowed != cudaSuccess) return allowed;
    }
    constexpr std::size_t most = (std::numeric_limits<int>::max)();
    detail::run_blocks<<<static_cast<unsigned>(count < most ? count : most), lanes, shared_bytes, stream>>>(count, body);
    return cudaGetLastError();
  }
  /// @brief Bytes of shared memory that a block may have on the current device.
  [[nodiscard]] std::size_t shared_memory() const {
    int device = 0, found = 0;
    auto const known = cudaGetDevice(&device) == cudaSuccess &&
                       cudaDeviceGetAttribute(&found, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) == cudaSuccess;
    return known ? static_cast<std::size_t>(found) : 48 * 1024;
  }
  /// @brief As `on_host::fill`. @param data the memory @param value the byte @param count number of bytes @return the error, if any
  error_type fill(void* data, int value, std::size_t count) const {
    return count == 0 ? cudaSuccess : cudaMemsetAsync(data, value, count, stream);
  }
  /// @brief As `on_host::download`. @param to host memory @param from memory of the backend @param count number of elements
  /// @return the error, if any
  template <class T>
  error_type download(T* to, T const* from, std::size_t count) const {
    auto const copied = cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, stream);
    return copied != cudaSuccess ? copied : synchronize();
  }
  /// @brief As `on_host::upload`. @param to memory of the backend @param from host memory @param count number of elements
  /// @return the error, if any
  template <class T>
  error_type upload(T* to, T const* from, std::size_t count) const {
    auto const copied = cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyHostToDevice, stream);
    return copied != cudaSuccess ? copied : synchronize();
  }
  /// @brief Waits until all queued work is done. @return the error, if any
  error_type synchronize() const { return cudaStreamSynchronize(stream); }
  /// @brief As `on_host::allocate`, in the order of the stream. @param bytes its size @param out gets the pointer
  /// @return the error, if any
  error_type allocate(std::size_t bytes, void*& out) const { return cudaMallocAsync(&out, bytes, stream); }
  /// @brief As `on_host::release`, in the order of the stream. @param memory a pointer from `allocate`
  void release(void* memory) const noexcept { cudaFreeAsync(memory, stream); }
};

}  // namespace ballast::inline v0_2::gpu
