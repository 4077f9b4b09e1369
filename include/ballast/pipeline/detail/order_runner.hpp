// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/pipeline/detail/work_table.hpp>
#include <ballast/pipeline/order.hpp>
#include <ballast/pipeline/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// @file
/// @brief Simulates an order: lets each stage run as far as it can without input from another stage. Private.

namespace ballast::inline v0_2::detail {

// The tasks of many stages are more streams than the hardware prefetches by itself. Any address is allowed; nothing is read.
inline void prefetch([[maybe_unused]] void const* address) noexcept {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#endif
}

struct runner_memory {
  struct stage_state {
    std::size_t next = 0;           // index of the next task
    std::size_t waits_for = 0;      // cell whose arrival wakes the stage, or `nothing`
    std::size_t first_pending = 0;  // index in `pending` of the first weight part that may fill a wait
    std::size_t last_pending = 0;
    std::size_t event = 0;
    std::uint64_t held = 0;
    std::int64_t clock = 0;
    std::int64_t bytes = 0;
  };
  // A cell is a micro-batch on a virtual stage. Its next pass may begin at `arrival`; -1 if that is not known yet.
  struct cell_state {
    std::int64_t arrival = -1;
    pipeline_pass due = pipeline_pass::forward;  // `weight` after a split backward; `finished` at the end
  };
  std::vector<cell_state> cells;
  std::vector<stage_state> stages;
  std::vector<pipeline_task> pending;  // stage after stage
  std::vector<std::uint32_t> awake;
};

template <class = when_called>
class order_runner {
 public:
  order_runner(pipeline_order const& order, work_table const& table, bool events, runner_memory& memory, pipeline_timeline& out)
      : order_(order), works_(table.works.data()), virtual_stages_(table.virtual_stages), memory_(memory), out_(out) {
    auto const stages = order.stages();
    memory.cells.assign(table.works.size(), {});
    for (std::size_t c = 0; c < table.works.size(); c += table.virtual_stages) memory.cells[c].arrival = 0;
    memory.stages.assign(stages, {});
    memory.awake.clear();
    if (!order.fill.empty()) memory.pending.resize(order.tasks.size() / 2);
    out.stages.assign(stages, {});
    out.events.clear();
    std::size_t event = 0, pending = 0;
    for (std::size_t s = 0; s < stages; ++s) {
      auto& state = memory.stages[s];
      auto const first = static_cast<std::size_t>(order.offsets[s]), count = static_cast<std::size_t>(order.offsets[s + 1]) - first;
      state.next = first;
      state.waits_for = nothing;
      state.event = event;
      state.first_pending = state.last_pending = pending;
      event += order.fill.empty() ? count : count / 2 * 3;
      pending += count / 2;
      out.stages[s].start = -1;
    }
    if (events) out.events.resize(event);
    for (auto s = stages; s-- > 0;) memory.awake.push_back(static_cast<std::uint32_t>(s));
  }

  void run() {
    while (!memory_.awake.empty()) {
      auto const stage = memory_.awake.back();
      memory_.awake.pop_back();
      advance(stage);
    }
    out_.makespan.value = out_.span = 0;
    for (std::size_t s = 0; s < memory_.stages.size(); ++s) {
      auto& state = memory_.stages[s];
      require(state.next == order_.offsets[s + 1], [&] {
        auto const task = order_.tasks[state.next];
        return sentence("order: stage ", s, " waits for ever at tasks[", state.next, "] (micro-batch ", task.micro_batch,
                        " on virtual stage ", task.virtual_stage, ")");
      });
      auto& figures = out_.stages[s];
      while (state.first_pending != state.last_pending) fill_one(state, figures, s);
      figures.start = (std::max)(figures.start, std::int64_t{0});
      figures.end = state.clock;
      out_.makespan.value = (std::max)(out_.makespan.value, figures.end);
      out_.span = (std::max)(out_.span, figures.end - figures.start);
    }
  }

 private:
  using state_t = runner_memory::stage_state;
  static constexpr auto nothing = (std::numeric_limits<std::size_t>::max)();
  static constexpr auto finished = static_cast<pipeline_pass>(4);

  [[nodiscard]] std::size_t cell_of(pipeline_task task) const noexcept { return task.micro_batch * virtual_stages_ + task.virtual_stage; }

  void advance(std::size_t s) {
    auto& state = memory_.stages[s];
    auto& figures = out_.stages[s];
    for (auto const last = static_cast<std::size_t>(order_.offsets[s + 1]); state.next != last; ++state.next) {
      auto const task = order_.tasks[state.next];
      auto const cell = cell_of(task);
      auto const needs = task.pass == pipeline_pass::backward_input ? pipeline_pass::backward : task.pass;
      auto& here = memory_.cells[cell];
      auto const arrival = here.arrival;
      if (arrival < 0 || here.due != needs) {
        state.waits_for = cell;
        return;
      }
      auto const& w = works_[cell];
      prefetch(order_.tasks.data() + (std::min)(state.next + 8, last));
      if (state.first_pending != state.last_pending) place_weights(state, figures, s, arrival, task.pass == pipeline_pass::forward);
      auto const start = (std::max)(state.clock, arrival);
      if (figures.start < 0) figures.start = start;
      switch (task.pass) {
        case pipeline_pass::forward: {
          ++state.held;
          hold(state, figures, w.kept);
          finish(state, figures, s, task, start, w.forward);
          auto const last_stage = task.virtual_stage + 1U == virtual_stages_;
          here = {last_stage ? state.clock : -1, pipeline_pass::backward};
          if (!last_stage) arrive(cell + 1, task.virtual_stage + 1U, s, state.clock, w.transfer);
          break;
        }
        case pipeline_pass::backward:
        case pipeline_pass::backward_input: {
          auto const whole = task.pass == pipeline_pass::backward;
          hold(state, figures, w.recomputed);
          finish(state, figures, s, task, start, w.recompute + w.backward + (whole ? w.weight : 0));
          state.bytes -= w.kept + w.recomputed;
          if (whole) {
            --state.held;
            here.due = finished;
          } else {
            hold(state, figures, w.residue);
            here = {state.clock, pipeline_pass::weight};
            if (!order_.fill.empty()) memory_.pending[state.last_pending++] = {task.micro_batch, task.virtual_stage, pipeline_pass::weight};
          }
          if (task.virtual_stage > 0) arrive(cell - 1, task.virtual_stage - 1U, s, state.clock, works_[cell - 1].transfer);
          break;
        }
        case pipeline_pass::weight: do_weight(state, figures, s, task, start); break;
      }
    }
  }

  void arrive(std::size_t cell, std::size_t virtual_stage, std::size_t from, std::int64_t end, std::int64_t transfer) {
    auto const to = order_.stage_of[virtual_stage];
    memory_.cells[cell].arrival = to == from ? end : end + transfer;
    if (memory_.stages[to].waits_for != cell) return;
    memory_.stages[to].waits_for = nothing;
    memory_.awake.push_back(to);
  }

  // Places weight parts before a task that arrives at `arrival`: those that fill a wait of at least half their time, and those that must
  // run.
  void place_weights(state_t& state, stage_figures& figures, std::size_t s, std::int64_t arrival, bool forward) {
    auto const worthwhile = [&] {
      auto const wait = arrival - state.clock;
      return wait >= works_[cell_of(memory_.pending[state.first_pending])].weight - wait;
    };
    while (state.first_pending != state.last_pending && worthwhile()) fill_one(state, figures, s);
    while (forward && state.first_pending != state.last_pending && state.held >= order_.fill[s]) fill_one(state, figures, s);
  }

  void fill_one(state_t& state, stage_figures& figures, std::size_t s) {
    do_weight(state, figures, s, memory_.pending[state.first_pending++], state.clock);
  }

  void do_weight(state_t& state, stage_figures& figures, std::size_t s, pipeline_task task, std::int64_t start) {
    auto const cell = cell_of(task);
    finish(state, figures, s, task, start, works_[cell].weight);
    state.bytes -= works_[cell].residue;
    --state.held;
    memory_.cells[cell].due = finished;
  }

  static void hold(state_t& state, stage_figures& figures, std::int64_t bytes) {
    state.bytes += bytes;
    figures.peak_memory = (std::max)(figures.peak_memory, state.bytes);
  }

  void finish(state_t& state, stage_figures& figures, std::size_t s, pipeline_task task, std::int64_t start, std::int64_t time) {
    figures.busy += time;
    state.clock = start + time;
    if (out_.events.empty()) return;
    out_.events[state.event++] = {start, state.clock, task.micro_batch, task.virtual_stage, static_cast<std::uint32_t>(s), task.pass};
  }

  pipeline_order const& order_;
  stage_work const* works_;
  std::size_t virtual_stages_;
  runner_memory& memory_;
  pipeline_timeline& out_;
};

}  // namespace ballast::inline v0_2::detail
