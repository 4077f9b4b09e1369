// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/gpu/core/detail/functor.cuh>
#include <ballast/gpu/core/host_block.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <numeric>
#include <type_traits>
#include <vector>

/// @file
/// @brief `on_host`, the plain backend: every primitive of the twins as a loop, without CUDA, Thrust or threads. Tests compare the other
/// backends with it.
///
/// A *twin* is the GPU counterpart of a host function. A *backend* is a small object that is passed by value and says where a twin runs:
/// `on_host`, `on_thrust` (on_thrust.cuh) or `on_stream` (on_stream.cuh). It has the members below, with these rules:
/// - members return `error_type{}` if there is no error. Members that need scratch memory begin with `(temp, bytes, …)`; if `temp` is null,
///   they only set `bytes`;
/// - arrays are in memory of the backend; functors are called in any order, are copied byte by byte, and must be callable on host and
///   device: a pointer in them must be to memory of the backend;
/// - work is done in the order of one stream; only `download`, `upload`, `wait` and `synchronize` wait.
///
/// A trainer with its own allocator derives a backend and hides `allocate` and `release` (on_stream.cuh shows one for PyTorch): a twin
/// calls nothing but these members.

namespace ballast::inline v0_2::gpu {

/// @brief Errors of the backends without a device.
enum class host_error : int {
  none = 0,       ///< no error
  invalid_value,  ///< an argument is out of range, or the workspace is too small
};

/// @brief The plain backend: loops on the calling thread.
struct on_host {
  using error_type = host_error;                                          ///< result type of members
  struct event {};                                                        ///< a place in the queue, for `record` and `wait`
  static constexpr error_type invalid_value = host_error::invalid_value;  ///< the error of a twin for arguments out of range

  /// @brief Calls `f(i)` for every i below `count`. @param count number of calls @param f the functor @return the error, if any
  template <class F>
  error_type for_each(std::size_t count, F f) const {
    detail::require_functor<F>();
    for (std::size_t i = 0; i < count; ++i) f(i);
    return {};
  }
  /// @brief Exclusive prefix sum: `out[i] = init + in[0] + … + in[i - 1]`.
  /// @param temp scratch memory or null @param bytes its size @param in an iterator @param out an iterator @param count number of elements
  /// @param init first value, of the type of `out` @return the error, if any
  template <class In, class Out, class T>
  error_type exclusive_sum(void* temp, std::size_t& bytes, In in, Out out, std::size_t count, T init) const {
    if (temp == nullptr) return bytes = 1, error_type{};
    for (std::size_t i = 0; i < count; ++i) {
      auto const next = static_cast<T>(init + static_cast<T>(in[static_cast<std::ptrdiff_t>(i)]));
      out[static_cast<std::ptrdiff_t>(i)] = init;
      init = next;
    }
    return {};
  }
  /// @brief Inclusive scan: `out[i] = op(out[i - 1], in[i])`, for an associative `op`.
  /// @param temp scratch memory or null @param bytes its size @param in an iterator @param out an iterator @param count number of elements
  /// @param op the operation @return the error, if any
  template <class In, class Out, class Op>
  error_type inclusive_scan(void* temp, std::size_t& bytes, In in, Out out, std::size_t count, Op op) const {
    if (temp == nullptr) return bytes = 1, error_type{};
    for (std::size_t i = 0; i < count; ++i) {
      auto const at = static_cast<std::ptrdiff_t>(i);
      out[at] = i == 0 ? in[at] : op(out[at - 1], in[at]);
    }
    return {};
  }
  /// @brief Reduction: `*out = op(init, op(in[0], in[1], …))`, for an associative and commutative `op`.
  /// @param temp scratch memory or null @param bytes its size @param in an iterator @param out one element @param count number of elements
  /// @param init first value @param op the operation @return the error, if any
  template <class In, class T, class Op>
  error_type reduce(void* temp, std::size_t& bytes, In in, T* out, std::size_t count, T init, Op op) const {
    if (temp == nullptr) return bytes = 1, error_type{};
    for (std::size_t i = 0; i < count; ++i) init = op(init, in[static_cast<std::ptrdiff_t>(i)]);
    *out = init;
    return {};
  }
  /// @brief Sorts pairs by key, descending and stable: equal keys keep their order.
  /// @param temp scratch memory or null @param bytes its size @param keys_in unsigned keys @param keys_out sorted keys; another array
  /// @param values_in one value for each key @param values_out values in the order of the keys; another array @param count number of pairs,
  /// at most 2^32 - 1 of 4-byte values @param bits number of low bits of a key that may be set, at least 1 @return the error, if any
  template <class Key, class Value>
  error_type sort_descending(void* temp, std::size_t& bytes, Key const* keys_in, Key* keys_out, Value const* values_in, Value* values_out,
                             std::size_t count, int bits) const {
    static_assert(std::is_unsigned_v<Key>);
    if (temp == nullptr) return bytes = 1, error_type{};
    auto const mask = ~std::uint64_t{0} >> (64 - bits);  // higher bits are ignored, as on a device
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      auto const x = keys_in[a] & mask, y = keys_in[b] & mask;
      return x != y ? x > y : a < b;
    });
    for (std::size_t i = 0; i < count; ++i) {
      keys_out[i] = keys_in[order[i]];
      values_out[i] = values_in[order[i]];
    }
    return {};
  }
  /// @brief Runs `body(block, b)` for every b below `count`, each on several lanes with shared memory (host_block.cuh).
  /// @param count number of blocks @param lanes lanes of a block, a multiple of 32 up to 1024 @param shared_bytes shared memory of a block
  /// @param body the functor; with a constant `most_lanes`, `lanes` are at most so many, and a device gives each of them more registers
  /// @return the error, if any
  template <class Body>
  error_type blocks(std::size_t count, unsigned lanes, std::size_t shared_bytes, Body body) const {
    detail::require_functor<Body>();
    std::vector<std::uint64_t> shared(shared_bytes / sizeof(std::uint64_t) + 1);
    host_block block(lanes, shared.data());
    for (std::size_t b = 0; b < count; ++b) body(block, b);
    return {};
  }
  /// @brief Bytes of shared memory that `blocks` may be asked for: as on an H100, so that the same code runs.
  [[nodiscard]] std::size_t shared_memory() const { return 225 * 1024; }
  /// @brief Fills memory with a byte. @param data the memory @param value the byte @param count number of bytes @return the error, if any
  error_type fill(void* data, int value, std::size_t count) const {
    if (count != 0) std::memset(data, value, count);
    return {};
  }
  /// @brief Copies results to the host and waits for them. @param to host memory @param from memory of the backend
  /// @param count number of elements @return the error, if any
  template <class T>
  error_type download(T* to, T const* from, std::size_t count) const {
    if (count != 0) std::memcpy(to, from, count * sizeof(T));
    return {};
  }
  /// @brief Copies inputs from the host, which may change them afterwards. @param to memory of the backend @param from host memory
  /// @param count number of elements @return the error, if any
  template <class T>
  error_type upload(T* to, T const* from, std::size_t count) const {
    return download(to, from, count);
  }
  /// @brief Queues a copy to the host; what it reads is as later work will see it. @param to memory of `allocate_host`
  /// @param from memory of the backend @param bytes its size @return the error, if any
  error_type queue_download(void* to, void const* from, std::size_t bytes) const {
    return download(static_cast<std::byte*>(to), static_cast<std::byte const*>(from), bytes);
  }
  /// @brief Queues a copy from the host. @param to memory of the backend
  /// @param from memory of `allocate_host`, which may not change before the copy is done @param bytes its size @return the error, if any
  error_type queue_upload(void* to, void const* from, std::size_t bytes) const {
    return upload(static_cast<std::byte*>(to), static_cast<std::byte const*>(from), bytes);
  }
  /// @brief Records a place in the queue: after all work so far. @param at gets the place @return the error, if any
  error_type record(event& at) const { return static_cast<void>(at), error_type{}; }
  /// @brief Waits for the work before a place, not for later work. @param at the place; one that was never recorded is passed
  /// @return the error, if any
  error_type wait(event const& at) const { return static_cast<void>(at), error_type{}; }
  /// @brief Waits until all queued work is done. @return the error, if any
  error_type synchronize() const { return {}; }
  /// @brief Allocates memory of the backend. @param bytes its size @param out gets the pointer @return the error, if any
  error_type allocate(std::size_t bytes, void*& out) const {
    out = ::operator new(bytes, std::align_val_t{256});
    return {};
  }
  /// @brief Frees memory, after the work that uses it. @param memory a pointer from `allocate`
  void release(void* memory) const noexcept { ::operator delete(memory, std::align_val_t{256}); }
  /// @brief Allocates memory of the host for queued copies. @param bytes its size @param out gets the pointer @return the error, if any
  error_type allocate_host(std::size_t bytes, void*& out) const { return allocate(bytes, out); }
  /// @brief Frees memory of the host. @param memory a pointer from `allocate_host`, of which no copy is queued
  void release_host(void* memory) const noexcept { release(memory); }
};

}  // namespace ballast::inline v0_2::gpu
