// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief `workspace`: cuts the caller's scratch memory into arrays. All backends use the two-call convention of CUB.

namespace ballast::inline v0_2::gpu {

/// @brief Cuts one block of memory into aligned arrays.
///
/// Every twin is called twice: with a null workspace it only returns the number of bytes that it needs; with a workspace of that size it
/// works. Both calls run the same lines: without memory, `take` only counts and returns null pointers.
class workspace {
 public:
  /// @brief What `finish` returns. @tparam On the backend
  template <class On>
  struct scratch {
    bool ends = false;                ///< the call returns `error` now: it only counted, a step failed, or the memory will not do
    typename On::error_type error{};  ///< of the step that failed, or `invalid_value`: too few bytes, or not aligned to 16 bytes
    void* memory = nullptr;           ///< what the steps share, one after the other
    std::size_t bytes = 0;            ///< its size
  };
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
  /// @brief Takes the memory of steps of a library, which comes last, and tells whether the call ends here.
  /// @tparam On the backend @param bytes size of the memory; set if only counting
  /// @param steps called as `step(nullptr, need)` for the bytes that each needs
  /// @return their memory, or why the call ends
  template <class On, class... Steps>
  [[nodiscard]] scratch<On> finish(std::size_t& bytes, Steps const&... steps) {
    constexpr typename On::error_type ok{};
    scratch<On> out;
    [[maybe_unused]] auto const ask = [&](auto const& step, std::size_t need) {
      if (out.error == ok) out.error = step(nullptr, need);
      if (out.bytes < need) out.bytes = need;
    };
    (ask(steps, 0), ...);
    out.memory = take<std::byte>(out.bytes);
    if (out.error == ok && memory_ == nullptr)
      bytes = used();
    else if (out.error == ok && (bytes < used() || reinterpret_cast<std::uintptr_t>(memory_) % least_alignment != 0))
      out.error = On::invalid_value;
    out.ends = memory_ == nullptr || out.error != ok;
    return out;
  }

 private:
  static constexpr std::uintptr_t least_alignment = 16;  // what a device faults without; allocators of hosts give no more
  [[nodiscard]] std::size_t used() const noexcept { return used_ == 0 ? 1 : used_; }
  std::byte* memory_;
  std::size_t used_ = 0;
};

}  // namespace ballast::inline v0_2::gpu
