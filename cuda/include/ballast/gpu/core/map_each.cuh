// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/version.hpp>
#include <ballast/gpu/core/wide.cuh>

#include <cstddef>
#include <type_traits>

/// @file
/// @brief `map_each`: a pass that computes elements from elements at the same index. A lane takes four neighbours, 16 bytes of a 4-byte
/// type in one read or write, so that enough bytes are on their way to keep the memory busy.

namespace ballast::inline v0_2::gpu {

namespace detail {

template <unsigned Many, class F, class In, class A, class B = void>
struct map_neighbours {
  F f;
  In const* in;
  A* a;
  B* b;  // null if there is one output
  std::size_t count;
  BALLAST_HD void operator()(std::size_t lane) const {
    auto const first = Many * lane;
    if constexpr (Many > 1)
      if (count - first >= Many && is_wide(in) && is_wide(a) && is_wide(b)) return together(first);
    auto const end = count - first < Many ? count : first + Many;
#if defined(__CUDA_ARCH__)
#pragma unroll 1  // rare, and long enough already
#endif
    for (auto i = first; i < end; ++i) {
      if constexpr (std::is_void_v<B>)
        f(i, in[i], a[i]);
      else
        f(i, in[i], a[i], b[i]);
    }
  }

 private:
  BALLAST_HD void together(std::size_t first) const {
    In read[Many];
    A x[Many];
    load<Many>(in + first, read);
    if constexpr (std::is_void_v<B>) {
      for (unsigned k = 0; k < Many; ++k) f(first + k, read[k], x[k]);
    } else {
      B y[Many];
      for (unsigned k = 0; k < Many; ++k) f(first + k, read[k], x[k], y[k]);
      store<Many>(b + first, y);
    }
    store<Many>(a + first, x);
  }
};

}  // namespace detail

/// @brief Calls `f(i, in[i], a[i], b[i])` for every index, or `f(i, in[i], a[i])` without `b`; it must write the outputs.
/// @tparam Many number of neighbours that a lane takes; one if `f` takes long
/// @tparam On the backend @tparam In type of the input @tparam F the functor @tparam A type of an output @tparam B type of the other
/// @param on the backend @param count number of elements @param in the input; elements of arrays that are not aligned to 16 bytes are read
/// and written one by one @param f callable on host and device @param a an output @param b another one, or nothing @return the error, if
/// any
template <unsigned Many = 4, class On, class In, class F, class A, class B = void>
[[nodiscard]] typename On::error_type map_each(On on, std::size_t count, In const* in, F f, A* a, B* b = nullptr) {
  return on.for_each(divide_up(count, std::size_t{Many}), detail::map_neighbours<Many, F, In, A, B>{f, in, a, b, count});
}

}  // namespace ballast::inline v0_2::gpu
