// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cfloat>
#include <cstddef>
#include <cstdint>

// All sums with products that the linear programs compute. A compiler that fuses multiplication and addition rounds once instead of twice,
// and then the plan would depend on its flags. So fusing is off in these functions, and no other floating-point product is added to
// anything.

#if defined(__FAST_MATH__)
#error "ballast: plans must not depend on compiler flags; build without -ffast-math"
#endif
#if FLT_EVAL_METHOD != 0
#error "ballast: plans must not depend on compiler flags; compute doubles in 64 bits (on 32-bit x86: -msse2 -mfpmath=sse)"
#endif

#if defined(__clang__)
#define BALLAST_UNFUSED
#define BALLAST_UNFUSED_BODY _Pragma("clang fp contract(off)")
#elif defined(__GNUC__)
#define BALLAST_UNFUSED __attribute__((optimize("fp-contract=off")))
#define BALLAST_UNFUSED_BODY
#elif defined(_MSC_VER)
#define BALLAST_UNFUSED
#define BALLAST_UNFUSED_BODY __pragma(fp_contract(off))
#else
#define BALLAST_UNFUSED
#define BALLAST_UNFUSED_BODY
#endif

namespace ballast::inline v0_2::detail {

/// a + b * c
[[nodiscard]] BALLAST_UNFUSED inline double plus_product(double a, double b, double c) {
  BALLAST_UNFUSED_BODY
  double const product = b * c;
  return a + product;
}

/// y += factor * x
BALLAST_UNFUSED inline void add_multiple(double* y, double const* x, double factor, std::size_t n) {
  BALLAST_UNFUSED_BODY
  for (std::size_t i = 0; i < n; ++i) {
    double const product = factor * x[i];
    y[i] += product;
  }
}

/// y[at[k]] += factor * x[k]
BALLAST_UNFUSED inline void add_sparse_multiple(double* y, double const* x, double factor, std::uint32_t const* at, std::size_t n) {
  BALLAST_UNFUSED_BODY
  for (std::size_t k = 0; k < n; ++k) {
    double const product = factor * x[k];
    y[at[k]] += product;
  }
}

/// start + a[0] b[0] + a[1] b[1] + …, from left to right
[[nodiscard]] BALLAST_UNFUSED inline double plus_products(double start, double const* a, double const* b, std::size_t n) {
  BALLAST_UNFUSED_BODY
  for (std::size_t i = 0; i < n; ++i) {
    double const product = a[i] * b[i];
    start += product;
  }
  return start;
}

/// start - a[0] b[at[0]] - a[1] b[at[1]] - …, from left to right
[[nodiscard]] BALLAST_UNFUSED inline double minus_sparse_products(double start, double const* a, std::uint32_t const* at, std::size_t n,
                                                                  double const* b) {
  BALLAST_UNFUSED_BODY
  for (std::size_t i = 0; i < n; ++i) {
    double const product = a[i] * b[at[i]];
    start -= product;
  }
  return start;
}

/// a[0] b[0] + a[1] b[1] + …, in four sums: of every fourth product from the first, the second, the third and the fourth on
[[nodiscard]] BALLAST_UNFUSED inline double four_sums_of_products(double const* a, double const* b, std::size_t n) {
  BALLAST_UNFUSED_BODY
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    double const p0 = a[i] * b[i], p1 = a[i + 1] * b[i + 1], p2 = a[i + 2] * b[i + 2], p3 = a[i + 3] * b[i + 3];
    s0 += p0;
    s1 += p1;
    s2 += p2;
    s3 += p3;
  }
  for (; i < n; ++i) {
    double const product = a[i] * b[i];
    s0 += product;
  }
  return (s0 + s1) + (s2 + s3);
}

/// a, b = c a + s b, c b - s a: a rotation of two columns
BALLAST_UNFUSED inline void rotate(double* a, double* b, double c, double s, std::size_t n) {
  BALLAST_UNFUSED_BODY
  for (std::size_t i = 0; i < n; ++i) {
    double const ca = c * a[i], sb = s * b[i], cb = c * b[i], sa = s * a[i];
    a[i] = ca + sb;
    b[i] = cb - sa;
  }
}

}  // namespace ballast::inline v0_2::detail

#undef BALLAST_UNFUSED
#undef BALLAST_UNFUSED_BODY
