// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/on_host.cuh>

#include <cstddef>

/// @file
/// @brief The plain backend, which counts the nodes that a call would have in a CUDA graph: kernels and fills. A reduction is taken for
/// one.

namespace ballast_test {

/// @brief The backend; its members are those of `on_host`.
struct on_counted : ballast::gpu::on_host {
  std::size_t* nodes;  ///< how many there were
  explicit on_counted(std::size_t* counter) : nodes(counter) {}
  template <class F>
  error_type for_each(std::size_t count, F f) const {
    return ++*nodes, on_host::for_each(count, f);
  }
  template <class Body>
  error_type blocks(std::size_t count, unsigned lanes, std::size_t shared_bytes, Body body) const {
    return ++*nodes, on_host::blocks(count, lanes, shared_bytes, body);
  }
  template <class In, class T, class Op>
  error_type reduce(void* temp, std::size_t& bytes, In in, T* out, std::size_t count, T init, Op op) const {
    if (temp != nullptr) ++*nodes;
    return on_host::reduce(temp, bytes, in, out, count, init, op);
  }
  error_type fill(void* data, int value, std::size_t count) const { return ++*nodes, on_host::fill(data, value, count); }
};

/// @brief The nodes of a call of a twin. @param twin callable with a backend and what `gpu::call` passes @return their number
template <class Twin>
[[nodiscard]] std::size_t nodes_of(Twin const& twin) {
  std::size_t nodes = 0;
  on_counted const on(&nodes);
  ballast::gpu::call(on, "a counted call", [&](void* temp, std::size_t& bytes) { return twin(on, temp, bytes); });
  return nodes;
}

}  // namespace ballast_test
