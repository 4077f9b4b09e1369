// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>
#if defined(__CUDACC__)  // the other backends need no CUB
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/on_stream.cuh>

#include <cstddef>
#include <cstdint>

#include <cub/device/device_scan.cuh>
#endif

/// @file
/// @brief The prefix sums and scans of `on_stream`, by CUB: what calls them includes this, and nothing else pays for reading CUB.

#if defined(__CUDACC__)
namespace ballast::inline v0_2::gpu {

namespace detail {

struct sum {
  template <class T>
  BALLAST_HD T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};

}  // namespace detail

template <int... Build>
template <class In, class Out, class T>
cudaError_t basic_on_stream<Build...>::exclusive_sum(void* temp, std::size_t& bytes, In in, Out out, std::size_t count, T init) const {
  return detail::returned(
      cub::DeviceScan::ExclusiveScan(temp, bytes, in, out, detail::sum{}, init, static_cast<std::int64_t>(count), stream));
}

template <int... Build>
template <class In, class Out, class Op>
cudaError_t basic_on_stream<Build...>::inclusive_scan(void* temp, std::size_t& bytes, In in, Out out, std::size_t count, Op op) const {
  detail::require_functor<Op>();
  return detail::returned(cub::DeviceScan::InclusiveScan(temp, bytes, in, out, op, static_cast<std::int64_t>(count), stream));
}
}  // namespace ballast::inline v0_2::gpu
#endif
