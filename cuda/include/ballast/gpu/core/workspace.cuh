// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>

#include <cstddef>

/// @file
/// @brief The caller's scratch memory, cut into arrays: the two-call convention of CUB, the same on every backend.

namespace ballast::inline v0_2::gpu {

/// @brief Cuts one piece of memory into aligned arrays.
///
/// Every twin is called twice: with a null workspace it only says how many bytes it needs, with that many it works. Both calls run the same
/// lines: `take` counts, and gives null pointers, as long as there is no memory.
class workspace {
 public:
  /// @brief Starts cutting. @param memory of the device, aligned to 256 bytes as `cudaMalloc` gives it, or null to count only
  explicit workspace(void* memory) noexcept : memory_(static_cast<std::byte*>(memory)) {}
  /// @brief The next array. @tparam T its elements @param count how many @return its begin, aligned to 256 bytes; null while counting
  template <class T>
  [[nodiscard]] T* take(std::size_t count) noexcept {
    auto const at = used_;
    used_ += round_up(count * sizeof(T), std::size_t{256});
    return memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + at);
  }
  /// @brief Whether there is no memory yet, so that nothing may be launched.
  [[nodiscard]] bool counting() const noexcept { return memory_ == nullptr; }
  /// @brief What was taken so far, at least one byte.
  [[nodiscard]] std::size_t bytes() const noexcept { return used_ == 0 ? 1 : used_; }

 private:
  std::byte* memory_;
  std::size_t used_ = 0;
};

}  // namespace ballast::inline v0_2::gpu
