// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/partition/detail/chain.hpp>
#include <ballast/partition/detail/reach.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief Memory that partitioners use again.

namespace ballast::inline v0_2 {

/// @brief Scratch memory of the partitioners; a caller who plans often keeps one, and nothing is allocated once it is warm.
struct partition_workspace {
  detail::chain_data chain;   ///< private
  detail::probe_state probe;  ///< private
};

/// @brief Scratch memory of the partitioner of folded chains.
struct run_partition_workspace {
  partition_workspace scratch;       ///< private
  std::vector<std::int64_t> values;  ///< private
  std::vector<std::size_t> first;    ///< private
};

}  // namespace ballast::inline v0_2
