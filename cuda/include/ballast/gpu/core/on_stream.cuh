// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/version.hpp>
#include <ballast/gpu/core/detail/functor.cuh>

#include <cuda_runtime.h>
#include <cuda/version>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

/// @file
/// @brief `on_stream`, the CUDA backend: CUB and own kernels on a stream. Only `download`, `upload` and `synchronize` wait.

namespace ballast::inline v0_2::gpu {

namespace detail {

template <class F>
__global__ void __launch_bounds__(256) call_for_each(std::size_t count, F f) {
  auto const stride = std::size_t{gridDim.x} * blockDim.x;
  for (auto i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) f(i);
}

template <class T, class Op>
__device__ T of_warp(T value, Op op) {
  for (int step = 16; step > 0; step /= 2) value = op(value, __shfl_xor_sync(0xffffffffU, value, step));
  return value;
}
// The least value of a warp: of the high halves, then of the low halves that go with it.
__device__ inline std::uint64_t least_of_warp(std::uint64_t value) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  auto const own = static_cast<unsigned>(value >> 32), high = __reduce_min_sync(0xffffffffU, own);
  auto const low = __reduce_min_sync(0xffffffffU, own == high ? static_cast<unsigned>(value) : ~0U);
  return std::uint64_t{high} << 32 | low;
#else
  return of_warp(value, [](auto a, auto b) { return b < a ? b : a; });
#endif
}

// The first 32 lanes of a block.
class thread_warp {
 public:
  __device__ explicit thread_warp(void* memory) : memory_(memory) {}
  [[nodiscard]] static constexpr __device__ unsigned lanes() { return 32; }
  template <class T>
  [[nodiscard]] __device__ T* shared() const {
    return static_cast<T*>(memory_);
  }
  template <class F>
  __device__ void each(F const& f) {
    f(threadIdx.x);
    __syncwarp();
  }
  template <class F>
  [[nodiscard]] __device__ auto least(F const& f) {
    return static_cast<decltype(f(0U))>(least_of_warp(f(threadIdx.x)));
  }
  template <class F>
  [[nodiscard]] __device__ auto total(F const& f) {
    return of_warp(f(threadIdx.x), [](auto a, auto b) { return a + b; });
  }
  template <class F, class G>
  __device__ void sums_before(F const& f, G const& g) {
    auto const own = f(threadIdx.x);
    auto sum = own;
    for (unsigned step = 1; step < 32; step *= 2) {
      auto const lower = __shfl_up_sync(0xffffffffU, sum, step);
      if (threadIdx.x >= step) sum += lower;
    }
    g(threadIdx.x, sum - own);
    __syncwarp();
  }

 private:
  void* memory_;
};

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
    barrier();
  }
  template <class F>
  __device__ void first_warp(F const& f) {
    thread_warp warp(memory_);
    if (threadIdx.x < 32) f(warp);
    barrier();
  }
  template <class F>
  [[nodiscard]] __device__ auto least(F const& f) {
    auto const found = combine(f(threadIdx.x), [](std::uint64_t value) { return least_of_warp(value); }, ~std::uint64_t{0});
    return static_cast<decltype(f(0U))>(found);
  }
  template <class F>
  [[nodiscard]] __device__ auto total(F const& f) {
    auto const add = [](auto a, auto b) { return a + b; };
    auto const found = combine(f(threadIdx.x), [=](std::uint64_t value) { return of_warp(value, add); }, std::uint64_t{0});
    return static_cast<decltype(f(0U))>(found);
  }
  static __device__ void barrier() {
    if (blockDim.x == 32)
      __syncwarp();
    else
      __syncthreads();
  }

 private:
  // First the warps, then one value of each.
  template <class Combine>
  static __device__ std::uint64_t combine(std::uint64_t value, Combine const& all_of_warp, std::uint64_t nothing) {
    value = all_of_warp(value);
    if (blockDim.x == 32) return barrier(), value;
    __shared__ std::uint64_t found[32];
    if (threadIdx.x % 32 == 0) found[threadIdx.x / 32] = value;
    __syncthreads();
    auto const all = all_of_warp(threadIdx.x % 32 < blockDim.x / 32 ? found[threadIdx.x % 32] : nothing);
    __syncthreads();  // before the next call writes
    return all;
  }
  void* memory_;
};

template <class Body>
__global__ void __launch_bounds__(most_lanes_of<Body>) run_blocks(std::size_t count, Body body) {
  extern __shared__ unsigned long long ballast_shared[];
  for (std::size_t b = blockIdx.x; b < count; b += gridDim.x) {
    thread_block block(ballast_shared);
    body(block, b);
    block.barrier();
  }
}

// Bytes of the shared memory of a block that are not for its body. `found` above takes up to 256 for each call of `least` and `total`:
// three calls, 768 bytes, are the most today by ptxas. The driver keeps 1024 for itself from compute capability 8.0 on: cuobjdump lists
// them as static memory of every kernel, ptxas does not, and the programming guide says that the limits of a block are without them.
// Whether the runtime counts them against these limits, a device must show; a launch keeps them both ways.
inline constexpr std::size_t not_for_blocks = 2048;

// An error that a call returns to its caller shall not be found again by the next call that asks for the last error.
inline cudaError_t returned(cudaError_t error) {
  if (error != cudaSuccess) (void)cudaGetLastError();
  return error;
}

// Launches a kernel; returns the error of this launch, and no older one.
template <class... Parameters, class... Arguments>
cudaError_t launch(cudaStream_t stream, std::size_t blocks, unsigned lanes, std::size_t shared_bytes, void (*kernel)(Parameters...),
                   Arguments const&... arguments) {
  constexpr std::size_t most = (std::numeric_limits<int>::max)();
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks < most ? blocks : most));
  config.blockDim = dim3(lanes);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  return returned(cudaLaunchKernelEx(&config, kernel, arguments...));
}

// A place in the order of a stream.
class stream_event {
 public:
  stream_event() = default;
  stream_event(stream_event const&) = delete;
  stream_event& operator=(stream_event const&) = delete;
  ~stream_event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  cudaError_t record(cudaStream_t stream) {
    auto const made = event_ != nullptr ? cudaSuccess : cudaEventCreateWithFlags(&event_, cudaEventDisableTiming);
    return made != cudaSuccess ? made : cudaEventRecord(event_, stream);
  }
  [[nodiscard]] cudaError_t wait() const { return event_ == nullptr ? cudaSuccess : cudaEventSynchronize(event_); }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace detail

/// @brief The CUDA backend. Its members are those of `on_host` (on_host.cuh); arrays are memory that the device of the stream can reach.
/// Use it as `on_stream`, which names the build. The current device must be that of the stream.
///
/// Scans, reductions and sorts are defined in scan.cuh, reduce.cuh and sort.cuh, which include CUB: include what you call.
///
/// PyTorch's allocator, for all memory of the twins (examples/torch/pack_on_device.cu):
/// @code
///   struct on_torch : ballast::gpu::on_stream {
///     cudaError_t allocate(std::size_t bytes, void*& out) const {
///       return out = c10::cuda::CUDACachingAllocator::raw_alloc_with_stream(bytes, stream), cudaSuccess;
///     }
///     void release(void* memory) const noexcept { c10::cuda::CUDACachingAllocator::raw_delete(memory); }
///   };
///   on_torch const on{{at::cuda::getCurrentCUDAStream()}};
/// @endcode
/// @tparam Build  what the program is compiled for and with
template <int... Build>
struct basic_on_stream {
  using error_type = cudaError_t;                                     ///< result type of members
  using event = detail::stream_event;                                 ///< a place in the queue, for `record` and `wait`
  static constexpr error_type invalid_value = cudaErrorInvalidValue;  ///< the error of a twin for arguments out of range
  cudaStream_t stream = nullptr;                                      ///< stream on which all work is queued

  /// @brief The default stream.
  basic_on_stream() = default;
  /// @brief A stream. @param s the stream; it must live as long as the backend is used
  basic_on_stream(cudaStream_t s) noexcept : stream(s) {}
  /// @brief The stream of an object such as `cuda::stream_ref`. @param s has a member `get()`
  template <class Stream>
    requires requires(Stream const& s) {
      { s.get() } -> std::same_as<cudaStream_t>;
    }
  basic_on_stream(Stream const& s) noexcept : stream(s.get()) {}

  /// @brief As `on_host::for_each`. @param count number of calls @param f the functor @return the error, if any
  template <class F>
  error_type for_each(std::size_t count, F f) const {
    detail::require_functor<F>();
    if (count == 0) return cudaSuccess;
    constexpr std::size_t most = 1U << 20;  // blocks; each thread strides over the rest
    auto const blocks = divide_up(count, std::size_t{256});
    return detail::launch(stream, blocks < most ? blocks : most, 256, 0, detail::call_for_each<F>, count, f);
  }
  /// @brief As `on_host::exclusive_sum`; include scan.cuh.
  /// @param temp scratch memory or null @param bytes its size @param in an iterator @param out an iterator @param count number of elements
  /// @param init first value, of the type of `out` @return the error, if any
  template <class In, class Out, class T>
  error_type exclusive_sum(void* temp, std::size_t& bytes, In in, Out out, std::size_t count, T init) const;
  /// @brief As `on_host::inclusive_scan`; include scan.cuh.
  /// @param temp scratch memory or null @param bytes its size @param in an iterator @param out an iterator @param count number of elements
  /// @param op the operation @return the error, if any
  template <class In, class Out, class Op>
  error_type inclusive_scan(void* temp, std::size_t& bytes, In in, Out out, std::size_t count, Op op) const;
  /// @brief As `on_host::reduce`; include reduce.cuh.
  /// @param temp scratch memory or null @param bytes its size @param in an iterator @param out one element @param count number of elements
  /// @param init first value @param op the operation @return the error, if any
  template <class In, class T, class Op>
  error_type reduce(void* temp, std::size_t& bytes, In in, T* out, std::size_t count, T init, Op op) const;
  /// @brief As `on_host::sort_descending`; include sort.cuh.
  /// @param temp scratch memory or null @param bytes its size @param keys_in unsigned keys @param keys_out sorted keys; another array
  /// @param values_in one value for each key @param values_out values in the order of the keys; another array @param count number of pairs
  /// @param bits number of low bits of a key that may be set @return the error, if any
  template <class Key, class Value>
  error_type sort_descending(void* temp, std::size_t& bytes, Key const* keys_in, Key* keys_out, Value const* values_in, Value* values_out,
                             std::size_t count, int bits) const;
  /// @brief As `on_host::blocks`.
  /// @param count number of blocks @param lanes lanes of a block @param shared_bytes shared memory of a block @param body the functor
  /// @return the error, if any
  template <class Body>
  error_type blocks(std::size_t count, unsigned lanes, std::size_t shared_bytes, Body body) const {
    detail::require_functor<Body>();
    if (count == 0) return cudaSuccess;
    if (shared_bytes > 48 * 1024 - detail::not_for_blocks) {
      // The same grant each time, all that a launch may ask for: a lesser one could take from another thread what it is about to launch
      // with.
      auto const most = static_cast<int>(shared_memory());
      auto const granted = cudaFuncSetAttribute(detail::run_blocks<Body>, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
      if (granted != cudaSuccess) return detail::returned(granted);
    }
    return detail::launch(stream, count, lanes, shared_bytes, detail::run_blocks<Body>, count, body);
  }
  /// @brief Bytes of shared memory that `blocks` may be asked for on the current device: 225 KiB on an H100.
  [[nodiscard]] std::size_t shared_memory() const {
    int device = 0, found = 0;
    auto const known = cudaGetDevice(&device) == cudaSuccess &&
                       cudaDeviceGetAttribute(&found, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) == cudaSuccess;
    return (known ? static_cast<std::size_t>(found) : 48 * 1024) - detail::not_for_blocks;
  }
  /// @brief As `on_host::fill`. @param data the memory @param value the byte @param count number of bytes @return the error, if any
  error_type fill(void* data, int value, std::size_t count) const {
    return count == 0 ? cudaSuccess : detail::returned(cudaMemsetAsync(data, value, count, stream));
  }
  /// @brief As `on_host::download`. @param to host memory @param from memory of the backend @param count number of elements
  /// @return the error, if any
  template <class T>
  error_type download(T* to, T const* from, std::size_t count) const {
    auto const copied = queue_download(to, from, count * sizeof(T));
    return copied != cudaSuccess ? copied : synchronize();
  }
  /// @brief As `on_host::upload`. @param to memory of the backend @param from host memory @param count number of elements
  /// @return the error, if any
  template <class T>
  error_type upload(T* to, T const* from, std::size_t count) const {
    auto const copied = queue_upload(to, from, count * sizeof(T));
    return copied != cudaSuccess ? copied : synchronize();
  }
  /// @brief As `on_host::queue_download`. @param to memory of `allocate_host` @param from memory of the backend @param bytes its size
  /// @return the error, if any
  error_type queue_download(void* to, void const* from, std::size_t bytes) const {
    return bytes == 0 ? cudaSuccess : detail::returned(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream));
  }
  /// @brief As `on_host::queue_upload`. @param to memory of the backend @param from memory of `allocate_host` @param bytes its size
  /// @return the error, if any
  error_type queue_upload(void* to, void const* from, std::size_t bytes) const {
    return bytes == 0 ? cudaSuccess : detail::returned(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
  }
  /// @brief As `on_host::record`. @param at gets the place @return the error, if any
  error_type record(event& at) const { return detail::returned(at.record(stream)); }
  /// @brief As `on_host::wait`. @param at the place @return the error, if any
  error_type wait(event const& at) const { return detail::returned(at.wait()); }
  /// @brief Waits until all queued work is done. @return the error, if any
  error_type synchronize() const { return detail::returned(cudaStreamSynchronize(stream)); }
  /// @brief As `on_host::allocate`, in the order of the stream. @param bytes its size @param out gets the pointer
  /// @return the error, if any
  error_type allocate(std::size_t bytes, void*& out) const { return detail::returned(cudaMallocAsync(&out, bytes, stream)); }
  /// @brief As `on_host::release`, in the order of the stream. @param memory a pointer from `allocate`
  void release(void* memory) const noexcept { (void)detail::returned(cudaFreeAsync(memory, stream)); }
  /// @brief As `on_host::allocate_host`: page-locked memory. @param bytes its size @param out gets the pointer @return the error, if any
  error_type allocate_host(std::size_t bytes, void*& out) const { return detail::returned(cudaMallocHost(&out, bytes)); }
  /// @brief As `on_host::release_host`. @param memory a pointer from `allocate_host`
  void release_host(void* memory) const noexcept { (void)detail::returned(cudaFreeHost(memory)); }
};

/// @brief The CUDA backend of this build. Two libraries of one process may be compiled for other devices or with another CUB; the numbers
/// in this name, and so in that of all that is made for it, keep their functions apart: none launches a kernel of the other library.
#if defined(__CUDA_ARCH_LIST__)
using on_stream = basic_on_stream<CCCL_VERSION, __CUDA_ARCH_LIST__>;
#else
using on_stream = basic_on_stream<CCCL_VERSION>;
#endif

}  // namespace ballast::inline v0_2::gpu
