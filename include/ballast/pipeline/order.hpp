// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/pipeline/detail/order_writer.hpp>
#include <ballast/pipeline/tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

/// @file
/// @brief `order_of`: the order in which each stage does its tasks under a published schedule.

namespace ballast::inline v0_2 {

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
  require(chunks >= 2, [&] { return "chunks = " + std::to_string(chunks) + ": an interleaved schedule has at least 2"; });
  require(micro_batches % stages == 0, [&] {
    return "micro_batches = " + std::to_string(micro_batches) + " must be a multiple of stages = " + std::to_string(stages) +
           " for an interleaved schedule";
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
