// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/kept_memory.hpp>
#include <ballast/partition/detail/chain.hpp>
#include <ballast/partition/detail/reach.hpp>

/// @file
/// @brief Scratch memory of partitioners.

namespace ballast::inline v0_2 {

namespace detail {

struct partition_memory {
  chain_data chain;
  probe_state probe;
};

}  // namespace detail

/// @brief Scratch memory of partitioners. Keep one if you plan often; once it is large enough, calls allocate nothing.
using partition_workspace = kept_memory<detail::partition_memory>;

}  // namespace ballast::inline v0_2
