// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/version.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

/// @file
/// @brief `map_each`: a pass that computes elements from elements at the same index. A lane takes four neighbours, 16 bytes of a 4-byte
/// type in one read or write, so that enough bytes are on their way to keep the memory busy.

namespace ballast::inline v0_2::gpu {

namespace detail {

// Neighbours that a device reads and writes at once, at most 16 bytes of them in one instruction.
template <class T, unsigned Many>
struct alignas(Many * sizeof(T) < 16 ? Many * sizeof(T) : 16) neighbours {
  T at[Many];
  [[nodiscard]] static BALLAST_HD bool fit(T const* array) { return reinterpret_cast<std::uintptr_t>(array) % alignof(neighbours) == 0; }
};
template <unsigned Many>
struct neighbours<void, Many> {
  [[nodiscard]] static BALLAST_HD bool fit(void const*) { return true; }
};

template <unsigned Many, class F, class In, class A, class B = void>
struct map_neighbours {
  F f;
  In const* in;
  A* a;
  B* b;  // null if there is one output
  std::size_t count;
  BALLAST_HD void operator()(std::size_t lane) const {
    auto const first = Many * lane;
    if constexpr (Many == 1) return together(first);
    auto const fit = neighbours<In, Many>::fit(in) && neighbours<A, Many>::fit(a) && neighbours<B, Many>::fit(b);
    if (fit && count - first >= Many) return together(first);
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
    auto const read = *reinterpret_cast<neighbours<In, Many> const*>(in + first);
    neighbours<A, Many> x;
    if constexpr (std::is_void_v<B>) {
      for (unsigned k = 0; k < Many; ++k) f(first + k, read.at[k], x.at[k]);
    } else {
      neighbours<B, Many> y;
      for (unsigned k = 0; k < Many; ++k) f(first + k, read.at[k], x.at[k], y.at[k]);
      *reinterpret_cast<neighbours<B, Many>*>(b + first) = y;
    }
    *reinterpret_cast<neighbours<A, Many>*>(a + first) = x;
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
