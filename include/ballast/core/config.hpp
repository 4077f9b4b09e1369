// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The language level ballast needs, and the one annotation its headers use.
///
/// `BALLAST_HD` marks a function that host and device code share. It is `__host__ __device__` under nvcc and nothing elsewhere; no
/// body differs between the two, so that a `.cpp` and a `.cu` always build the same function.

#if (defined(_MSVC_LANG) && _MSVC_LANG < 202002L) || (!defined(_MSVC_LANG) && __cplusplus < 202002L)
#error "ballast needs C++20: compile with -std=c++20 (g++ 12, clang 16, nvcc 13 or later)"
#endif

#if defined(__CUDACC__)
#define BALLAST_HD __host__ __device__
#else
#define BALLAST_HD
#endif
