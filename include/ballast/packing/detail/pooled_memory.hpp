// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/pooled_memory.hpp>
#include <ballast/patterns/patterns.hpp>

namespace ballast::inline v0_2::detail {

/// Patterns in the memory pool of a search.
using pooled_patterns = basic_pack_patterns<pool_allocator>;

}  // namespace ballast::inline v0_2::detail
