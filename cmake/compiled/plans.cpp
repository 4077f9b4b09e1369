// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching.hpp>
#include <ballast/packing.hpp>
#undef BALLAST_EXTERN
#define BALLAST_EXTERN
#include <ballast/ballast.hpp>
