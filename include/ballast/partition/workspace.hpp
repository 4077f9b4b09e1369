// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/partition/detail/chain.hpp>
#include <ballast/partition/detail/reach.hpp>

/// @file
/// @brief Scratch memory of partitioners.

namespace ballast::inline v0_2 {

/// @brief Scratch memory of partitioners. Keep one if you plan often; once it is large enough, calls allocate nothing.
struct partition_workspace {
  detail::chain_data chain;   ///< private
  detail::probe_state probe;  ///< private
};

}  // namespace ballast::inline v0_2
