// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/pipeline/detail/chain_bound.hpp>
#include <ballast/pipeline/detail/stage_bound.hpp>
#include <ballast/pipeline/detail/work_table.hpp>
#include <ballast/pipeline/result.hpp>
#include <ballast/pipeline/tasks.hpp>

#include <cstddef>
#include <vector>

// The lower bound on the makespan of the tasks of a checked order.

namespace ballast::inline v0_2::detail {

struct order_bound_memory {
  std::vector<stage_bound> stages;
  chain_bound_memory chains;
};

// The bound of chains is for whole backwards and one virtual stage per stage; there it is never below the other.
template <class = when_called>
[[nodiscard]] inline makespan_bound bound_of(pipeline_order const& order, work_table const& table, bool split, order_bound_memory& memory) {
  auto chained = !split && !order.chains.empty();
  for (std::size_t k = 0; chained && k < order.stage_of.size(); ++k) chained = order.stage_of[k] == k;
  return chained ? bound_of(table, order.chains, memory.chains) : bound_of(table, order.stage_of, order.stages(), split, memory.stages);
}

}  // namespace ballast::inline v0_2::detail
