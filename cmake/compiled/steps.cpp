// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing.hpp>  // packing.cpp holds its instances
#undef BALLAST_EXTERN
#define BALLAST_EXTERN
#include <ballast/batching.hpp>
