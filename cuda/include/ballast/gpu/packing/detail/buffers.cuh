// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>
#if defined(__CUDACC__)  // elsewhere there is no stream to specialise for
#include <ballast/gpu/core/on_stream.cuh>
#endif

#include <cstddef>
#include <utility>

// Memory that grows and is reused, and copies for which the host does not wait.

namespace ballast::inline v0_2::gpu::detail {

// Without a device, a copy is done immediately.
template <class On>
class queued_copies {
 public:
  using error_type = typename On::error_type;
  static error_type allocate_host(On on, std::size_t bytes, void*& out) { return on.allocate(bytes, out); }
  static void release_host(On on, void* memory) { on.release(memory); }
  error_type download(On on, void* to, void const* from, std::size_t bytes) const {
    return on.download(static_cast<std::byte*>(to), static_cast<std::byte const*>(from), bytes);
  }
  error_type upload(On on, void* to, void const* from, std::size_t bytes) const {
    return on.upload(static_cast<std::byte*>(to), static_cast<std::byte const*>(from), bytes);
  }
  error_type wait() const { return {}; }
};

#if defined(__CUDACC__)
// Page-locked memory, and an event after the last copy.
template <>
class queued_copies<on_stream> {
 public:
  queued_copies() = default;
  queued_copies(queued_copies const&) = delete;
  queued_copies& operator=(queued_copies const&) = delete;
  ~queued_copies() {
    if (done_ != nullptr) cudaEventDestroy(done_);
  }
  static cudaError_t allocate_host(on_stream, std::size_t bytes, void*& out) { return cudaMallocHost(&out, bytes); }
  static void release_host(on_stream, void* memory) { cudaFreeHost(memory); }
  cudaError_t download(on_stream on, void* to, void const* from, std::size_t bytes) {
    return marked(on, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, on.stream));
  }
  cudaError_t upload(on_stream on, void* to, void const* from, std::size_t bytes) {
    return marked(on, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, on.stream));
  }
  cudaError_t wait() const { return done_ == nullptr ? cudaSuccess : cudaEventSynchronize(done_); }

 private:
  cudaError_t marked(on_stream on, cudaError_t error) {
    if (error == cudaSuccess && done_ == nullptr) error = cudaEventCreateWithFlags(&done_, cudaEventDisableTiming);
    return error == cudaSuccess ? cudaEventRecord(done_, on.stream) : error;
  }
  cudaEvent_t done_ = nullptr;
};
#endif

// Host memory for copies that run while the host continues; it grows and is reused.
template <class On>
class host_buffer {
 public:
  using error_type = typename On::error_type;
  explicit host_buffer(On on) : on_(on) {}
  host_buffer(host_buffer const&) = delete;
  host_buffer& operator=(host_buffer const&) = delete;
  ~host_buffer() {
    (void)wait();
    if (data_ != nullptr) copies_.release_host(on_, data_);
  }
  // Waits for the last copy and makes room for `bytes`; old contents are lost.
  [[nodiscard]] error_type reserve(std::size_t bytes) {
    auto error = wait();
    if (error != error_type{} || (data_ != nullptr && bytes <= capacity_)) return error;
    if (data_ != nullptr) copies_.release_host(on_, std::exchange(data_, nullptr));
    capacity_ = bytes + bytes / 2 + 1;
    return copies_.allocate_host(on_, capacity_, data_);
  }
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_);
  }
  // Queues a copy of the first bytes.
  [[nodiscard]] error_type download(void const* from, std::size_t bytes) { return copies_.download(on_, data_, from, bytes); }
  [[nodiscard]] error_type upload(void* to, std::size_t bytes) { return copies_.upload(on_, to, data_, bytes); }
  // Waits for the last copy, but not for work that was queued after it.
  [[nodiscard]] error_type wait() const { return copies_.wait(); }

 private:
  On on_;
  queued_copies<On> copies_{};
  void* data_ = nullptr;
  std::size_t capacity_ = 0;
};

// Memory of the backend that grows and is reused.
template <class On>
class device_buffer {
 public:
  using error_type = typename On::error_type;
  explicit device_buffer(On on) : on_(on) {}
  device_buffer(device_buffer const&) = delete;
  device_buffer& operator=(device_buffer const&) = delete;
  ~device_buffer() {
    if (data_ != nullptr) on_.release(data_);
  }
  [[nodiscard]] error_type reserve(std::size_t bytes) {
    if (data_ != nullptr && bytes <= capacity_) return {};
    if (data_ != nullptr) on_.release(std::exchange(data_, nullptr));
    capacity_ = bytes + bytes / 2 + 1;
    return on_.allocate(capacity_, data_);
  }
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  On on_;
  void* data_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace ballast::inline v0_2::gpu::detail
