// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/pipeline/tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

/// @file
/// @brief `order_of`: the order in which each stage does its tasks under a published schedule.

namespace ballast::inline v0_2 {

namespace detail {

// Lists tasks by micro-batch counters, so that the code of a schedule reads like its description.
template <class = when_called>
class order_writer {
 public:
  template <pipeline_schedule S>
  order_writer(S const& schedule, std::uint64_t stages, std::uint64_t micro_batches) : micro_batches_(micro_batches) {
    auto const most = std::uint64_t{(std::numeric_limits<std::uint32_t>::max)()};
    auto const chunks = schedule.chunks_per_stage();
    require(stages > 0 && chunks > 0 && chunks <= most / (std::min)(stages, most) && stages <= most,
            [&] { return sentence("stages = ", stages, " with ", chunks, " chunks each: there must be 1 to 2^32 - 1 in all"); });
    require(micro_batches > 0 && micro_batches <= most,
            [&] { return sentence("micro_batches = ", micro_batches, " must be in 1 ... 2^32 - 1"); });
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

}  // namespace detail

/// @brief The order of GPipe: all forwards, then all backwards in reverse. @param schedule the schedule @param stages at least 1
/// @param micro_batches at least 1 @return the order @throws invalid_input if a count is 0 or above 2^32 - 1
template <class = when_called>
[[nodiscard]] inline pipeline_order order_of(gpipe_schedule const& schedule, std::uint64_t stages, std::uint64_t micro_batches) {
  detail::order_writer<> out(schedule, stages, micro_batches);
  for (std::uint64_t s = 0; s < stages; ++s) {
    for (std::uint64_t m = 0; m < micro_batches; ++m) out.forward(s, m);
    for (auto m = micro_batches; m-- > 0;) out.backward(s, m);
    out.end_stage();
  }
  return out.take();
}

/// @brief The order of 1F1B. @param schedule the schedule @param stages at least 1 @param micro_batches at least 1 @return the order
/// @throws invalid_input if a count is 0 or above 2^32 - 1
template <class = when_called>
[[nodiscard]] inline pipeline_order order_of(one_f_one_b_schedule const& schedule, std::uint64_t stages, std::uint64_t micro_batches) {
  return detail::one_by_one(schedule, stages, micro_batches, [&](std::uint64_t s) { return stages - s - 1; });
}

/// @brief The order of ZB1P, which is that of 1F1B. @param schedule the schedule @param stages at least 1 @param micro_batches at least 1
/// @return the order; the simulator places weight parts @throws invalid_input if a count is 0 or above 2^32 - 1
template <class = when_called>
[[nodiscard]] inline pipeline_order order_of(zb1p_schedule const& schedule, std::uint64_t stages, std::uint64_t micro_batches) {
  return detail::one_by_one(schedule, stages, micro_batches, [&](std::uint64_t s) { return stages - s - 1; });
}

/// @brief The order of ZB2P. @param schedule the schedule @param stages at least 1 @param micro_batches at least 1
/// @return the order; the simulator places weight parts
/// @throws invalid_input if a count is 0 or above 2^32 - 1
template <class = when_called>
[[nodiscard]] inline pipeline_order order_of(zb2p_schedule const& schedule, std::uint64_t stages, std::uint64_t micro_batches) {
  return detail::one_by_one(schedule, stages, micro_batches, [&](std::uint64_t s) { return 2 * (stages - s - 1); });
}

/// @brief The order of interleaved 1F1B: groups of S micro-batches pass one chunk after the other.
/// @param schedule the schedule, at least 2 chunks @param stages at least 1 @param micro_batches a multiple of `stages` @return the order
/// @throws invalid_input if a count is 0 or above 2^32 - 1, there are fewer than 2 chunks, or `micro_batches` is not a multiple of `stages`
template <class = when_called>
[[nodiscard]] inline pipeline_order order_of(interleaved_schedule const& schedule, std::uint64_t stages, std::uint64_t micro_batches) {
  detail::order_writer<> out(schedule, stages, micro_batches);
  auto const chunks = schedule.chunks;
  require(chunks >= 2, [&] { return sentence("chunks = ", chunks, ": an interleaved schedule has at least 2"); });
  require(micro_batches % stages == 0, [&] {
    return sentence("micro_batches = ", micro_batches, " must be a multiple of stages = ", stages, " for an interleaved schedule");
  });
  struct turn {
    std::uint64_t chunk, micro_batch;
  };
  std::vector<turn> turns;  // the same on every stage
  turns.reserve(static_cast<std::size_t>(micro_batches * chunks));
  for (std::uint64_t group = 0; group < micro_batches; group += stages)
    for (std::uint64_t chunk = 0; chunk < chunks; ++chunk)
      for (std::uint64_t i = 0; i < stages; ++i) turns.push_back({chunk, group + i});
  for (std::uint64_t s = 0; s < stages; ++s) {
    auto const forward = [&](turn t) { out.forward(t.chunk * stages + s, t.micro_batch); };
    auto const backward = [&](turn t) { out.backward((chunks - 1 - t.chunk) * stages + s, t.micro_batch); };
    auto const total = turns.size(), warm_up = (std::min)(total, static_cast<std::size_t>(2 * (stages - s - 1) + (chunks - 1) * stages));
    for (std::size_t k = 0; k < warm_up; ++k) forward(turns[k]);
    for (auto k = warm_up; k < total; ++k) {
      forward(turns[k]);
      backward(turns[k - warm_up]);
    }
    for (auto k = total - warm_up; k < total; ++k) backward(turns[k]);
    out.end_stage();
  }
  return out.take();
}

/// @brief The order of ZB-V, from its published pattern for any number of micro-batches. @param schedule the schedule
/// @param stages at least 1 @param micro_batches at least 1 @return the order; the simulator places weight parts
/// @throws invalid_input if a count is 0 or above 2^32 - 1
template <class = when_called>
[[nodiscard]] inline pipeline_order order_of(zbv_schedule const& schedule, std::uint64_t stages, std::uint64_t micro_batches) {
  detail::order_writer<> out(schedule, stages, micro_batches);
  auto const count = (std::max)(micro_batches, 2 * stages - 1);  // the pattern needs this many; tasks of others are left out
  for (std::uint64_t s = 0; s < stages; ++s) {
    auto const down = s, up = 2 * stages - 1 - s;
    std::uint64_t down_forwards = 0, down_backwards = 0, up_forwards = 0, up_backwards = 0;
    for (std::uint64_t i = 0; i < 2 * (stages - s) - 1; ++i) out.forward(down, down_forwards++);
    for (std::uint64_t i = 0; i < s; ++i) {
      out.forward(up, up_forwards++);
      out.forward(down, down_forwards++);
    }
    for (std::uint64_t i = 0; i < stages - s; ++i) {
      out.forward(up, up_forwards++);
      out.backward(up, up_backwards++);
    }
    while (up_forwards < count) {
      out.forward(down, down_forwards++);
      out.backward(down, down_backwards++);
      out.forward(up, up_forwards++);
      out.backward(up, up_backwards++);
    }
    for (std::uint64_t i = 0; i < s; ++i) {
      out.backward(down, down_backwards++);
      out.backward(up, up_backwards++);
    }
    while (down_backwards < count) out.backward(down, down_backwards++);
    out.end_stage();
  }
  return out.take();
}

/// @brief The order of a schedule that is chosen at run time. @param schedule any schedule @param stages at least 1
/// @param micro_batches at least 1
/// @return the order @throws invalid_input as for the schedule itself
template <class = when_called>
[[nodiscard]] inline pipeline_order order_of(any_schedule const& schedule, std::uint64_t stages, std::uint64_t micro_batches) {
  return std::visit([&](auto const& s) { return order_of(s, stages, micro_batches); }, schedule);
}

}  // namespace ballast::inline v0_2
