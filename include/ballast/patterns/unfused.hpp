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

}  // namespace ballast::inline v0_2::detail

#undef BALLAST_UNFUSED
#undef BALLAST_UNFUSED_BODY
