// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/pipeline/detail/chain_places.hpp>
#include <ballast/pipeline/tasks.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Validation of the chains of an order whose tasks are valid by themselves.

namespace ballast::inline v0_2::detail {

struct chain_scratch {
  std::vector<chain_place> places;
  std::vector<std::uint32_t> forwards, backwards;  // of each chain on each virtual stage, how many have been listed
};

// A piece attends to keys and values, and passes gradients to them, on its own virtual stage. A virtual stage is on one stage, and a stage
// does its tasks one after the other as they are listed. So what a piece needs from its chain is there when its turn comes, if and only if
// the list has it before: the order is the whole dependency, and no time of the simulation depends on the chains. A weight part needs its
// own input part alone.
template <class = when_called>
inline void check_chains(pipeline_order const& order, chain_scratch& scratch) {
  if (order.chains.empty() && order.chains.members.empty()) return;
  place_chains(order.chains, static_cast<std::size_t>(order.micro_batches), "order.chains", scratch.places);
  auto const chains = order.chains.size();
  scratch.forwards.assign(order.stage_of.size() * chains, 0);
  scratch.backwards.assign(order.stage_of.size() * chains, 0);
  for (std::size_t i = 0; i < order.tasks.size(); ++i) {
    auto const task = order.tasks[i];
    if (task.pass == pipeline_pass::weight) continue;
    auto const forward = task.pass == pipeline_pass::forward;
    auto const place = scratch.places[task.micro_batch];
    auto& listed = (forward ? scratch.forwards : scratch.backwards)[task.virtual_stage * chains + place.chain];
    require(listed == (forward ? place.index : place.after), [&] {
      return "order.tasks[" + std::to_string(i) + "] on stage " + std::to_string(order.stage_of[task.virtual_stage]) + ": the " +
             (forward ? "forward" : "backward") + " of micro-batch " + std::to_string(task.micro_batch) + " is number " +
             std::to_string(listed) + " of its chain there, not number " + std::to_string(forward ? place.index : place.after) +
             "; forwards of a chain ascend, backwards descend";
    });
    ++listed;
  }
}

}  // namespace ballast::inline v0_2::detail
