// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/config.hpp>
#undef BALLAST_EXTERN
#define BALLAST_EXTERN
#include <ballast/packing.hpp>
#include <ballast/patterns.hpp>
