// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>

#include <cstddef>

/// @file
/// @brief `workspace`: cuts the caller's scratch memory into arrays. All backends use the two-call convention of CUB.

namespace ballast::inline v0_2::gpu {

/// @brief Cuts one block of memory into aligned arrays.
///
/// Every twin is called twice: with a null workspace it only returns the number of bytes that it needs; with a workspace of that size it
/// works. Both calls run the same lines: without memory, `take` only counts and returns null pointers.
class workspace {
 public:
  /// @brief Starts with some memory. @param memory memory of the device, aligned to 256 bytes as `cudaMalloc` does, or null to only count
  explicit workspace(void* memory) noexcept : memory_(static_cast<std::byte*>(memory)) {}
  /// @brief The next array. @tparam T element type @param count number of elements @return its begin, aligned to 256 bytes; null if
  /// counting
  template <class T>
  [[nodiscard]] T* take(std::size_t count) noexcept {
    auto const at = used_;
    used_ += round_up(count * sizeof(T), std::size_t{256});
    return memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + at);
  }
  /// @brief Whether there is no memory, so that nothing may be launched.
  [[nodiscard]] bool counting() const noexcept { return memory_ == nullptr; }
  /// @brief The number of bytes taken so far, at least 1.
  [[nodiscard]] std::size_t bytes() const noexcept { return used_ == 0 ? 1 : used_; }

 private:
  std::byte* memory_;
  std::size_t used_ = 0;
};

}  // namespace ballast::inline v0_2::gpu
