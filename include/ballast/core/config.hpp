// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The compilers and the C++ standard that ballast needs, and the one annotation its headers use.
///
/// Every header includes this one before any other, so a compiler that cannot read ballast says so first, in one sentence. MSVC and
/// AppleClang, which counts its versions differently, are not tested and not stopped.
///
/// `BALLAST_HD` marks a function that host and device code share. It is `__host__ __device__` under nvcc and empty elsewhere. No function
/// body differs between the two, so a `.cpp` and a `.cu` always build the same function.

#if (defined(__NVCC__) && __CUDACC_VER_MAJOR__ < 13) ||                                  \
    (defined(__clang__) && !defined(__apple_build_version__) && __clang_major__ < 16) || \
    (defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 12)
#error "ballast needs g++ 12, clang 16 or nvcc 13 or later"
#include <see_the_error_above>  // does not exist: compilers go on after #error, and stop here
#elif (defined(_MSVC_LANG) && _MSVC_LANG < 202002L) || (!defined(_MSVC_LANG) && __cplusplus < 202002L)
#error "ballast needs C++20: compile with -std=c++20 or later"
#include <see_the_error_above>
#endif

/// @brief Marks a function that host and device code share: `__host__ __device__` under nvcc, nothing elsewhere.
#if defined(__CUDACC__)
#define BALLAST_HD __host__ __device__
#else
#define BALLAST_HD
#endif

/// @brief An instance of a function template that the library `ballast::compiled` holds, named behind the template.
///
/// The target defines `BALLAST_COMPILED`. The instances are then declared, and programs link them. The sources of the library make
/// `BALLAST_EXTERN` empty, which defines the instances of the headers that they include from there on. Otherwise nothing is said, and a
/// program compiles what it calls. Such a template is not `inline`: a compiler may compile an inline one although it is declared so.
#if defined(BALLAST_COMPILED)
#define BALLAST_EXTERN extern
#define BALLAST_INSTANTIATE(...) BALLAST_EXTERN template __VA_ARGS__;
#else
#define BALLAST_INSTANTIATE(...)
#endif

namespace ballast::inline v0_2 {

/// @brief The default argument of templates whose code does not depend on a type: `template <class = when_called>`.
///
/// A compiler reads the body of an `inline` function in every program that includes it, and instantiates all that the body uses, even
/// where nobody calls the function. The body of a template is instantiated where it is called, so programs compile what they use.
struct when_called;

}  // namespace ballast::inline v0_2
