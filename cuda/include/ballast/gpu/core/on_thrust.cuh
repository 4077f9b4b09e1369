// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/gpu/core/on_host.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <thrust/for_each.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>

/// @file
/// @brief `on_thrust`, the Thrust backend: any execution policy whose memory the host can read, such as `thrust::omp::par` or
/// `thrust::tbb::par`.
///
/// It runs the twins on the cores of the host and shows that results do not depend on an order. Thrust allocates its own scratch memory.

namespace ballast::inline v0_2::gpu {

namespace detail {

template <class Body>
struct run_block {
  Body body;
  unsigned lanes;
  std::size_t words;
  void operator()(std::size_t b) const {
    std::unique_ptr<std::uint64_t[]> const memory(new std::uint64_t[words]);  // uninitialised, as on a device
    host_block block(lanes, memory.get());
    body(block, b);
  }
};

struct add {
  template <class T>
  BALLAST_HD T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};

}  // namespace detail

/// @brief The Thrust backend; memory, copies and what is not below are those of `on_host`.
/// @tparam Policy  a Thrust execution policy of a host system
template <class Policy>
struct on_thrust : on_host {
  Policy policy;  ///< execution policy of Thrust

  /// @brief Makes a backend. @param p execution policy of Thrust
  explicit on_thrust(Policy p) : policy(p) {}
  /// @brief As `on_host::for_each`. @param count number of calls @param f the functor @return the error, if any
  template <class F>
  error_type for_each(std::size_t count, F f) const {
    detail::require_functor<F>();
    thrust::for_each_n(policy, thrust::counting_iterator<std::size_t>(0), count, f);
    return {};
  }
  /// @brief As `on_host::exclusive_sum`.
  /// @param temp scratch memory or null @param bytes its size @param in an iterator @param out an iterator @param count number of elements
  /// @param init first value, of the type of `out` @return the error, if any
  template <class In, class Out, class T>
  error_type exclusive_sum(void* temp, std::size_t& bytes, In in, Out out, std::size_t count, T init) const {
    if (temp == nullptr) return bytes = 1, error_type{};
    thrust::exclusive_scan(policy, in, in + static_cast<std::ptrdiff_t>(count), out, init, detail::add{});
    return {};
  }
  /// @brief As `on_host::inclusive_scan`.
  /// @param temp scratch memory or null @param bytes its size @param in an iterator @param out an iterator @param count number of elements
  /// @param op the operation @return the error, if any
  template <class In, class Out, class Op>
  error_type inclusive_scan(void* temp, std::size_t& bytes, In in, Out out, std::size_t count, Op op) const {
    if (temp == nullptr) return bytes = 1, error_type{};
    thrust::inclusive_scan(policy, in, in + static_cast<std::ptrdiff_t>(count), out, op);
    return {};
  }
  /// @brief As `on_host::reduce`.
  /// @param temp scratch memory or null @param bytes its size @param in an iterator @param out one element @param count number of elements
  /// @param init first value @param op the operation @return the error, if any
  template <class In, class T, class Op>
  error_type reduce(void* temp, std::size_t& bytes, In in, T* out, std::size_t count, T init, Op op) const {
    if (temp == nullptr) return bytes = 1, error_type{};
    *out = thrust::reduce(policy, in, in + static_cast<std::ptrdiff_t>(count), init, op);
    return {};
  }
  /// @brief As `on_host::sort_descending`.
  /// @param temp scratch memory or null @param bytes its size @param keys_in unsigned keys @param keys_out sorted keys; another array
  /// @param values_in one value for each key @param values_out values in the order of the keys; another array @param count number of pairs
  /// @param bits number of low bits of a key that may be set @return the error, if any
  template <class Key, class Value>
  error_type sort_descending(void* temp, std::size_t& bytes, Key const* keys_in, Key* keys_out, Value const* values_in, Value* values_out,
                             std::size_t count, [[maybe_unused]] int bits) const {
    static_assert(std::is_unsigned_v<Key>);  // CCCL 3.0 sorts negative ints wrongly on host systems (NVIDIA/cccl issue 4919)
    if (temp == nullptr) return bytes = 1, error_type{};
    std::copy_n(keys_in, count, keys_out);
    std::copy_n(values_in, count, values_out);
    thrust::stable_sort_by_key(policy, keys_out, keys_out + count, values_out, thrust::greater<Key>());
    return {};
  }
  /// @brief As `on_host::blocks`.
  /// @param count number of blocks @param lanes lanes of a block @param shared_bytes shared memory of a block @param body the functor
  /// @return the error, if any
  template <class Body>
  error_type blocks(std::size_t count, unsigned lanes, std::size_t shared_bytes, Body body) const {
    return for_each(count, detail::run_block<Body>{body, lanes, shared_bytes / sizeof(std::uint64_t) + 1});
  }
};

}  // namespace ballast::inline v0_2::gpu
