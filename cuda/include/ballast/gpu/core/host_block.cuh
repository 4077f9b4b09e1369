// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/version.hpp>

#include <cstddef>

/// @file
/// @brief Lanes that work together, as a loop over them: what a thread block is on a device.
///
/// Kernels that need shared memory are written as phases over a block: `each` runs one phase on every lane and ends with a barrier, so that
/// the next phase sees what every lane wrote. What a lane keeps between phases lives in the shared memory.

namespace ballast::inline v0_2::gpu {

/// @brief The block of backends without a device.
class host_block {
 public:
  /// @brief A block. @param lanes how many @param memory its shared memory, aligned to 8 bytes
  BALLAST_HD host_block(unsigned lanes, void* memory) : lanes_(lanes), memory_(memory) {}
  /// @brief How many lanes there are.
  [[nodiscard]] BALLAST_HD unsigned lanes() const { return lanes_; }
  /// @brief The shared memory, the same for every lane. @tparam T what it is read as @return its begin
  template <class T>
  [[nodiscard]] BALLAST_HD T* shared() const {
    return static_cast<T*>(memory_);
  }
  /// @brief One phase: `f(lane)` on every lane, then a barrier. @param f the phase
  template <class F>
  BALLAST_HD void each(F const& f) {
    for (unsigned lane = 0; lane < lanes_; ++lane) f(lane);
  }
  /// @brief The least of `f(lane)` over all lanes, known to all. @param f an unsigned 64-bit value of each lane @return the least
  template <class F>
  [[nodiscard]] BALLAST_HD auto least(F const& f) {
    auto found = f(0U);
    for (unsigned lane = 1; lane < lanes_; ++lane) {
      auto const other = f(lane);
      if (other < found) found = other;
    }
    return found;
  }

 private:
  unsigned lanes_;
  void* memory_;
};

}  // namespace ballast::inline v0_2::gpu
