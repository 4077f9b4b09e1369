// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>
#if defined(__CUDACC__)  // the other backends need no CUB
#include <ballast/gpu/core/on_stream.cuh>

#include <cstddef>
#include <cstdint>

#include <cub/device/device_reduce.cuh>
#endif

/// @file
/// @brief The reductions of `on_stream`, by CUB: what calls them includes this, and nothing else pays for reading CUB.

#if defined(__CUDACC__)
namespace ballast::inline v0_2::gpu {

template <int... Build>
template <class In, class T, class Op>
cudaError_t basic_on_stream<Build...>::reduce(void* temp, std::size_t& bytes, In in, T* out, std::size_t count, T init, Op op) const {
  detail::require_functor<Op>();
  return detail::returned(cub::DeviceReduce::Reduce(temp, bytes, in, out, static_cast<std::int64_t>(count), op, init, stream));
}
}  // namespace ballast::inline v0_2::gpu
#endif
