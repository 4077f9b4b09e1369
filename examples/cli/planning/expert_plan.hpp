// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/replicated.hpp>

#include <cstdint>
#include <vector>

// Experts of the layers of a model on ranks, with copies, beside what is usual.

namespace ballast_cli {

/// A layer, and the largest loads of the usual placements, in `ballast::row_units` of a row.
struct placed_layer {
  std::vector<std::int64_t> rows;  ///< of each expert
  ballast::replicated_experts plan;
  std::int64_t eplb = 0;      ///< DeepSeek's EPLB, with the same slots, groups and nodes
  std::int64_t longest = 0;   ///< without copies: longest processing time first, equal numbers of experts
  std::int64_t adjacent = 0;  ///< without copies: adjacent experts on the same rank, the usual placement
};

/// Plans each layer by itself.
[[nodiscard]] std::vector<placed_layer> place_experts(std::vector<std::vector<std::int64_t>> const& layers,
                                                      ballast::replication_options const& options, std::uint64_t work);

}  // namespace ballast_cli
