// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/version.hpp>

#include <cstddef>

/// @file
/// @brief `host_block`: the counterpart of a CUDA thread block on backends without a device. Its lanes are a loop.
///
/// Kernels that need shared memory are written as phases over a block: `each` runs one phase on every lane and ends with a barrier, so that
/// the next phase sees what every lane wrote. Values that a lane keeps between phases must be in shared memory.

namespace ballast::inline v0_2::gpu {

/// @brief The block of backends without a device.
class host_block {
 public:
  /// @brief Makes a block. @param lanes number of lanes @param memory its shared memory, aligned to 8 bytes
  BALLAST_HD host_block(unsigned lanes, void* memory) : lanes_(lanes), memory_(memory) {}
  /// @brief Number of lanes.
  [[nodiscard]] BALLAST_HD unsigned lanes() const { return lanes_; }
  /// @brief The shared memory, the same for every lane. @tparam T type it is read as @return pointer to its begin
  template <class T>
  [[nodiscard]] BALLAST_HD T* shared() const {
    return static_cast<T*>(memory_);
  }
  /// @brief Runs one phase: `f(lane)` on every lane, then a barrier. @param f the phase
  template <class F>
  BALLAST_HD void each(F const& f) {
    for (unsigned lane = 0; lane < lanes_; ++lane) f(lane);
  }
  /// @brief Runs `f(warp)`, where `warp` is the first 32 lanes as a block of their own with the same shared memory; then a barrier of all.
  /// @param f what they do
  template <class F>
  BALLAST_HD void first_warp(F const& f) {
    host_block warp(32, memory_);
    f(warp);
  }
  /// @brief Returns the minimum of `f(lane)` over all lanes to all lanes. @param f gives an unsigned 64-bit value @return the minimum
  template <class F>
  [[nodiscard]] BALLAST_HD auto least(F const& f) {
    auto found = f(0U);
    for (unsigned lane = 1; lane < lanes_; ++lane) {
      auto const other = f(lane);
      if (other < found) found = other;
    }
    return found;
  }
  /// @brief Returns the sum of `f(lane)` over all lanes to all lanes. @param f gives an unsigned 64-bit value @return the sum, modulo 2^64
  template <class F>
  [[nodiscard]] BALLAST_HD auto total(F const& f) {
    auto found = f(0U);
    for (unsigned lane = 1; lane < lanes_; ++lane) found += f(lane);
    return found;
  }
  /// @brief Calls `g(lane, sum)` on every lane, where `sum` is that of `f` over lower lanes; only the block of `first_warp` has it.
  /// @param f gives an integer, and reads nothing that `g` writes @param g what takes the sum
  template <class F, class G>
  BALLAST_HD void sums_before(F const& f, G const& g) {
    decltype(f(0U)) sum{};
    for (unsigned lane = 0; lane < lanes_; ++lane) {
      g(lane, sum);
      sum += f(lane);
    }
  }

 private:
  unsigned lanes_;
  void* memory_;
};

}  // namespace ballast::inline v0_2::gpu
