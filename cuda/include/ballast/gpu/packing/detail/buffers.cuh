// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

// Memory that grows and is reused, and copies for which the host does not wait.

namespace ballast::inline v0_2::gpu::detail {

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
    if (data_ != nullptr) on_.release_host(data_);
  }
  // Waits for the last copy and makes room for `bytes`; old contents are lost.
  [[nodiscard]] error_type reserve(std::size_t bytes) {
    auto error = wait();
    if (error != error_type{} || (data_ != nullptr && bytes <= capacity_)) return error;
    if (data_ != nullptr) on_.release_host(std::exchange(data_, nullptr));
    capacity_ = bytes + bytes / 2 + 1;
    return on_.allocate_host(capacity_, data_);
  }
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_);
  }
  // Queues a copy of the first bytes.
  [[nodiscard]] error_type download(void const* from, std::size_t bytes) { return recorded(on_.queue_download(data_, from, bytes)); }
  [[nodiscard]] error_type upload(void* to, std::size_t bytes) { return recorded(on_.queue_upload(to, data_, bytes)); }
  // Waits for the last copy, but not for work that was queued after it.
  [[nodiscard]] error_type wait() const { return on_.wait(copied_); }

 private:
  [[nodiscard]] error_type recorded(error_type error) { return error == error_type{} ? on_.record(copied_) : error; }
  On on_;
  typename On::event copied_{};
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

// An array that is copied to the backend, again and again, while the host continues.
template <class T, class On>
class uploaded {
 public:
  using error_type = typename On::error_type;
  explicit uploaded(On on) : staged_(on), memory_(on) {}
  [[nodiscard]] error_type upload(std::span<T const> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (auto const error = staged_.reserve(values.size_bytes()); error != error_type{}) return error;
    if (auto const error = memory_.reserve(values.size_bytes()); error != error_type{}) return error;
    if (values.empty()) return {};
    std::memcpy(staged_.template as<T>(), values.data(), values.size_bytes());
    return staged_.upload(memory_.data(), values.size_bytes());
  }
  [[nodiscard]] T const* data() const { return reinterpret_cast<T const*>(memory_.data()); }

 private:
  host_buffer<On> staged_;
  device_buffer<On> memory_;
};

}  // namespace ballast::inline v0_2::gpu::detail
