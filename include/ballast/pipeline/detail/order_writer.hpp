// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/pipeline/tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

// Writes orders as the papers describe the schedules.

namespace ballast::inline v0_2::detail {

// Lists tasks by micro-batch counters, so that the code of a schedule reads like its description.
template <class = when_called>
class order_writer {
 public:
  template <pipeline_schedule S>
  order_writer(S const& schedule, std::uint64_t stages, std::uint64_t micro_batches) : micro_batches_(micro_batches) {
    auto const most = std::uint64_t{(std::numeric_limits<std::uint32_t>::max)()};
    auto const chunks = schedule.chunks_per_stage();
    require(stages > 0 && chunks > 0 && chunks <= most / (std::min)(stages, most) && stages <= most, [&] {
      return "stages = " + std::to_string(stages) + " with " + std::to_string(chunks) + " chunks each: there must be 1 to 2^32 - 1 in all";
    });
    require(micro_batches > 0 && micro_batches <= most,
            [&] { return "micro_batches = " + std::to_string(micro_batches) + " must be in 1 ... 2^32 - 1"; });
    order_.micro_batches = micro_batches;
    order_.stage_of.resize(static_cast<std::size_t>(stages * chunks));
    for (std::uint64_t k = 0; k < stages * chunks; ++k)
      order_.stage_of[static_cast<std::size_t>(k)] = static_cast<std::uint32_t>(schedule.stage_of(k, stages));
    order_.tasks.reserve(static_cast<std::size_t>(2 * stages * chunks * micro_batches));
    order_.offsets.reserve(static_cast<std::size_t>(stages + 1));
    backward_ = S::splits_backward ? pipeline_pass::backward_input : pipeline_pass::backward;
    for (std::uint64_t s = 0; S::splits_backward && s < stages; ++s)
      order_.fill.push_back(schedule.in_flight(s, stages, micro_batches).held);
  }
  // A micro-batch that does not exist is left out: ZB-V's pattern needs at least 2 S - 1 micro-batches.
  void forward(std::uint64_t virtual_stage, std::uint64_t micro_batch) { add(virtual_stage, micro_batch, pipeline_pass::forward); }
  void backward(std::uint64_t virtual_stage, std::uint64_t micro_batch) { add(virtual_stage, micro_batch, backward_); }
  void end_stage() { order_.offsets.push_back(order_.tasks.size()); }
  [[nodiscard]] pipeline_order take() { return std::move(order_); }

 private:
  void add(std::uint64_t virtual_stage, std::uint64_t micro_batch, pipeline_pass pass) {
    if (micro_batch < micro_batches_)
      order_.tasks.push_back({static_cast<std::uint32_t>(micro_batch), static_cast<std::uint32_t>(virtual_stage), pass});
  }
  std::uint64_t micro_batches_;
  pipeline_pass backward_;
  pipeline_order order_;
};

// A warm-up of forwards, then one forward and one backward in turn, then the remaining backwards.
template <pipeline_schedule S, class WarmUp>
[[nodiscard]] pipeline_order one_by_one(S const& schedule, std::uint64_t stages, std::uint64_t micro_batches, WarmUp const& warm_up) {
  order_writer<> out(schedule, stages, micro_batches);
  for (std::uint64_t s = 0; s < stages; ++s) {
    std::uint64_t forwards = 0, backwards = 0;
    for (auto const first = (std::min)(warm_up(s), micro_batches); forwards < first;) out.forward(s, forwards++);
    while (forwards < micro_batches) {
      out.forward(s, forwards++);
      out.backward(s, backwards++);
    }
    while (backwards < micro_batches) out.backward(s, backwards++);
    out.end_stage();
  }
  return out.take();
}

}  // namespace ballast::inline v0_2::detail
