// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

/// @file
/// @brief A hint to the cache. Private.

namespace ballast::inline v0_2::detail {

// The tasks of many stages are more streams than the hardware prefetches by itself. Any address is allowed; nothing is read.
inline void prefetch([[maybe_unused]] void const* address) noexcept {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#endif
}

}  // namespace ballast::inline v0_2::detail
