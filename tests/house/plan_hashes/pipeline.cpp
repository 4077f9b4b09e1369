// SPDX-License-Identifier: Apache-2.0
#include <ballast/pipeline.hpp>

#include "stages.hpp"

namespace plan_hashes {

using namespace ballast;

inline void put(digest& d, pipeline_task const& t) { put(d, t.micro_batch, t.virtual_stage, t.pass); }
inline void put(digest& d, makespan_bound const& b) { put(d, b.time, b.bound); }
inline void put(digest& d, pipeline_order const& o) { put(d, o.micro_batches, o.stage_of, o.offsets, o.tasks, o.fill); }

void pipeline() {
  auto const draws = uniform(64 * 64, 1, 40, 71);
  auto const uneven = [&](std::uint64_t stage, std::uint64_t micro_batch) {
    auto const x = draws[static_cast<std::size_t>((stage * 64 + micro_batch) % draws.size())];
    return stage_work{.forward = x,
                      .backward = x + 3,
                      .weight = x / 2,
                      .recompute = x % 5,
                      .transfer = x % 3,
                      .kept = 12 * x,
                      .recomputed = x,
                      .residue = 2 * x};
  };
  for (auto const* const name : {"gpipe", "1f1b", "interleaved", "zb1p", "zb2p", "zbv"})
    for (std::uint64_t const stages : {1U, 2U, 4U})
      for (std::uint64_t const micro_batches : {4U, 12U}) {
        auto const schedule = schedule_named(name, 3);
        auto const of = std::string(name) + ',' + std::to_string(stages) + ',' + std::to_string(micro_batches);
        auto const order = order_of(schedule, stages, micro_batches);
        show("order_of", of, order);
        show("pipeline_lower_bound", of, pipeline_lower_bound(order.stage_of, order.micro_batches, false, uneven));
        show("simulate_order", of, simulate_order(order, uneven, true));
        show("simulate_pipeline", of, simulate_pipeline(schedule, {.stages = stages, .micro_batches = micro_batches}, uneven));
      }
}

}  // namespace plan_hashes
