// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/version.hpp>

#include <atomic>
#include <cstdint>

/// @file
/// @brief Relaxed atomics on 64-bit integers for functors on every backend. Sums, minima and maxima of integers do not depend on the order
/// of the operations.

namespace ballast::inline v0_2::gpu {

/// @brief The value of a word for the first bad element if no element is bad.
inline constexpr std::uint64_t none_bad = ~std::uint64_t{0};

static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));

/// @brief Adds a value. @param target in memory of this backend @param value the summand, modulo 2^64
BALLAST_HD inline void atomic_add(std::uint64_t& target, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  ::atomicAdd(reinterpret_cast<unsigned long long*>(&target), static_cast<unsigned long long>(value));
#else
  std::atomic_ref(target).fetch_add(value, std::memory_order_relaxed);
#endif
}

/// @brief Adds a value to a word of shared memory, where a device has no 64-bit addition but a loop of compare-and-swap: the low half,
/// and then its carry with the high half. Only a barrier makes the sum whole. @param target in shared memory
/// @param value the summand, modulo 2^64
BALLAST_HD inline void atomic_add_in_block(std::uint64_t& target, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  auto* const halves = reinterpret_cast<unsigned*>(&target);
  auto const low = static_cast<unsigned>(value), carry = ~::atomicAdd(halves, low) < low ? 1U : 0U;
  if (auto const high = static_cast<unsigned>(value >> 32) + carry; high != 0) ::atomicAdd(halves + 1, high);
#else
  atomic_add(target, value);
#endif
}

/// @brief Adds a value. @param target in memory of this backend @param value the summand, modulo 2^32
BALLAST_HD inline void atomic_add(std::uint32_t& target, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  ::atomicAdd(&target, value);
#else
  std::atomic_ref(target).fetch_add(value, std::memory_order_relaxed);
#endif
}

/// @brief Replaces the target by the lesser of both; writes only if that may change it, so that a bad element at every index costs reads.
/// @param target in memory of this backend @param value the other value
BALLAST_HD inline void atomic_min(std::uint64_t& target, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  if (value < *static_cast<std::uint64_t volatile*>(&target))
    ::atomicMin(reinterpret_cast<unsigned long long*>(&target), static_cast<unsigned long long>(value));
#else
  std::atomic_ref const shared(target);
  for (auto seen = shared.load(std::memory_order_relaxed); value < seen && !shared.compare_exchange_weak(seen, value);) {
  }
#endif
}

/// @brief Replaces the target by the greater of both. @param target in memory of this backend @param value the other value
BALLAST_HD inline void atomic_max(std::uint64_t& target, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  ::atomicMax(reinterpret_cast<unsigned long long*>(&target), static_cast<unsigned long long>(value));
#else
  std::atomic_ref const shared(target);
  for (auto seen = shared.load(std::memory_order_relaxed); value > seen && !shared.compare_exchange_weak(seen, value);) {
  }
#endif
}

}  // namespace ballast::inline v0_2::gpu
