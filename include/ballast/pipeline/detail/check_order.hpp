// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/pipeline/tasks.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

// Validation of an order of tasks.

namespace ballast::inline v0_2::detail {

// Returns whether backwards are split. A task that is listed twice is found in the simulation, because it waits forever.
template <class = when_called>
[[nodiscard]] inline bool check_order(pipeline_order const& order, std::vector<std::uint64_t>& counts) {
  auto const stages = order.offsets.empty() ? std::size_t{0} : order.stages(), virtual_stages = order.stage_of.size();
  constexpr auto most = (std::numeric_limits<std::uint32_t>::max)();
  require(stages > 0 && virtual_stages > 0 && order.micro_batches > 0 && order.micro_batches <= most,
          [] { return std::string("order: there must be a stage, a virtual stage and 1 ... 2^32 - 1 micro-batches"); });
  require(order.fill.empty() || order.fill.size() == stages, [&] {
    return "order.fill has " + std::to_string(order.fill.size()) + " entries, which is neither none nor one for each of " +
           std::to_string(stages) + " stages";
  });
  counts.assign(stages, 0);
  for (std::size_t k = 0; k < virtual_stages; ++k) {
    require(order.stage_of[k] < stages,
            [&] { return entry("order.stage_of", k, order.stage_of[k]) + " must be below " + std::to_string(stages); });
    counts[order.stage_of[k]] += order.micro_batches;
  }
  require(order.offsets.front() == 0 && order.offsets.back() == order.tasks.size(),
          [] { return std::string("order.offsets must rise from 0 to the number of tasks"); });
  auto any_split = false;
  for (std::size_t s = 0; s < stages; ++s) {
    require(order.offsets[s] <= order.offsets[s + 1] && order.offsets[s + 1] <= order.tasks.size(),
            [&] { return "order.offsets[" + std::to_string(s + 1) + "] breaks the rise from 0 to the number of tasks"; });
    std::uint64_t of[4] = {};
    for (auto i = static_cast<std::size_t>(order.offsets[s]); i < order.offsets[s + 1]; ++i) {
      auto const task = order.tasks[i];
      require(task.micro_batch < order.micro_batches && task.virtual_stage < virtual_stages && order.stage_of[task.virtual_stage] == s &&
                  task.pass <= pipeline_pass::weight,
              [&] {
                return "order.tasks[" + std::to_string(i) + "] (micro-batch " + std::to_string(task.micro_batch) + " on virtual stage " +
                       std::to_string(task.virtual_stage) + ") does not belong to stage " + std::to_string(s);
              });
      ++of[static_cast<std::size_t>(task.pass)];
    }
    auto const [forwards, wholes, inputs, weights] = of;
    auto const filled = !order.fill.empty();
    require(forwards == counts[s] &&
                (filled ? wholes == 0 && inputs == counts[s] && weights == 0 : wholes + inputs == counts[s] && weights == inputs),
            [&] { return "order: stage " + std::to_string(s) + " does not list each of its tasks once"; });
    any_split = any_split || inputs != 0;
  }
  return any_split;
}

}  // namespace ballast::inline v0_2::detail
