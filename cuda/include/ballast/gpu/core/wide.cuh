// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/version.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief Neighbouring elements that a lane reads or writes at once, 16 bytes at a time.

namespace ballast::inline v0_2::gpu {

namespace detail {
// As many of N elements as fit in 16 bytes.
template <class T, unsigned N>
struct alignas((N * sizeof(T) < 16 ? N * sizeof(T) : 16)) wide_part {
  static constexpr unsigned count = N * sizeof(T) < 16 ? N : 16 / sizeof(T);
  T of[count];
};
#if defined(__CUDACC__)
// The words of a part. nvcc may write a structure element by element, and so uint4, but not by its intrinsic.
template <std::size_t Bytes>
struct wide_word {
  using type = unsigned short;
};
template <>
struct wide_word<4> {
  using type = unsigned int;
};
template <>
struct wide_word<8> {
  using type = uint2;
};
template <>
struct wide_word<16> {
  using type = uint4;
};
#endif
}  // namespace detail

/// @brief Whether an array can be read and written 16 bytes at a time. @param data its begin @return whether it is aligned to 16 bytes
template <class T>
[[nodiscard]] BALLAST_HD bool is_wide(T const* data) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

/// @brief Reads N elements, a power of two of them. @param from aligned to their size, or to 16 bytes if they have more @param to gets them
template <unsigned N, class T>
BALLAST_HD void load(T const* from, T* to) {
  using part = detail::wide_part<T, N>;
  for (unsigned i = 0; i < N; i += part::count) {
    auto const read = *reinterpret_cast<part const*>(from + i);
    for (unsigned k = 0; k < part::count; ++k) to[i + k] = read.of[k];
  }
}

/// @brief Writes N elements, a power of two of them. @param to aligned as for `load` @param from the elements
template <unsigned N, class T>
BALLAST_HD void store(T* to, T const* from) {
  using part = detail::wide_part<T, N>;
  for (unsigned i = 0; i < N; i += part::count) {
    part written;
    for (unsigned k = 0; k < part::count; ++k) written.of[k] = from[i + k];
#if defined(__CUDA_ARCH__)
    using word = typename detail::wide_word<sizeof(part)>::type;
    __stwb(reinterpret_cast<word*>(to + i), __builtin_bit_cast(word, written));
#else
    *reinterpret_cast<part*>(to + i) = written;
#endif
  }
}

}  // namespace ballast::inline v0_2::gpu
