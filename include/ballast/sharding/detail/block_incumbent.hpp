// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/sharding/detail/block_state.hpp>
#include <ballast/sharding/detail/group_runs.hpp>

#include <bit>
#include <cstdint>

// Plans of simpler planners on blocks.

namespace ballast::inline v0_2::detail {

/// A plan whose groups are aligned blocks.
[[nodiscard]] inline block_plan blocks_of(run_plan const& runs) {
  block_plan plan;
  plan.value = runs.value;
  for (auto const& p : runs.passes) {
    auto const level = static_cast<std::uint32_t>(std::countr_zero(p.width));
    plan.passes.push_back({p.first >> level, level, 0});
  }
  for (std::uint32_t i = 0; i < runs.pass_of.size(); ++i) plan.placements.push_back({i, runs.pass_of[i]});
  return plan;
}

}  // namespace ballast::inline v0_2::detail
