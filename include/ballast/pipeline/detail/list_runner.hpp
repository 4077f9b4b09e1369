// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/groups.hpp>
#include <ballast/pipeline/detail/chain_places.hpp>
#include <ballast/pipeline/detail/list_rules.hpp>
#include <ballast/pipeline/detail/work_table.hpp>
#include <ballast/pipeline/result.hpp>
#include <ballast/pipeline/tasks.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

// Schedules chains event by event. Micro-batches are known here by their position in the order of forwards.

namespace ballast::inline v0_2::detail {

struct list_memory {
  struct stage_state {
    std::int64_t clock = 0;
    std::int64_t bytes = 0;
    std::size_t forwards = 0;  // done; the position of the next
    std::size_t oldest = 0;    // no position before it is in flight
    std::size_t tasks = 0;     // done
    std::size_t due = 0;       // length of the stage's part of `due`
  };
  std::vector<chain_place> places;  // by micro-batch
  std::vector<stage_state> stages;
  // When each stage decides next: it is free then, and something has ended or arrived. A binary tree of minima from index 1 on.
  std::vector<std::int64_t> wakes;
  std::vector<std::int64_t> arrivals;  // position x stages + stage: when its next pass may begin, or one of the two below
  std::vector<std::uint32_t> due;      // stage after stage: positions whose backward has a known arrival and whose chain waits for it
};

template <class = when_called>
class list_runner {
 public:
  // `memory.places` holds the places of the chains.
  list_runner(groups<std::uint32_t> const& chains, work_table const& table, list_rules const& rules, list_tie tie, bool events,
              list_memory& memory, pipeline_order& order, pipeline_timeline& out)
      : members_(chains.members.data()),
        count_(chains.members.size()),
        stages_(table.virtual_stages),
        chains_(chains.size()),
        leaves_(std::bit_ceil(stages_)),
        works_(table.works.data()),
        rules_(rules),
        tie_(tie),
        memory_(memory),
        order_(order),
        out_(out) {
    memory.stages.assign(stages_, {});
    memory.arrivals.assign(count_ * stages_, unknown);
    for (std::size_t p = 0; p < count_; ++p) memory.arrivals[p * stages_] = 0;
    memory.due.resize(stages_ * chains_);
    memory.wakes.assign(2 * leaves_, never);
    wake(0, 0);
    order.micro_batches = count_;
    order.stage_of.resize(stages_);
    std::iota(order.stage_of.begin(), order.stage_of.end(), 0U);
    order.offsets.resize(stages_ + 1);
    for (std::size_t s = 0; s <= stages_; ++s) order.offsets[s] = 2 * s * count_;
    order.tasks.resize(2 * stages_ * count_);
    order.fill.clear();
    order.chains = chains;
    out.stages.assign(stages_, {});
    out.events.resize(events ? order.tasks.size() : 0);
  }

  void run() {
    auto const& wakes = memory_.wakes;
    while (wakes[1] != never) {
      std::size_t node = 1;
      while (node < leaves_) node = 2 * node + (wakes[2 * node + 1] == wakes[1] ? 1 : 0);  // the last of the earliest
      decide(node - leaves_, wakes[1]);
    }
    out_.makespan.value = out_.span = 0;
    for (auto const& figures : out_.stages) {
      out_.makespan.value = (std::max)(out_.makespan.value, figures.end);
      out_.span = (std::max)(out_.span, figures.end - figures.start);
    }
  }

 private:
  using state_t = list_memory::stage_state;
  static constexpr std::int64_t never = (std::numeric_limits<std::int64_t>::max)(), unknown = -1, finished = -2;

  [[nodiscard]] std::int64_t& arrival(std::size_t position, std::size_t s) const { return memory_.arrivals[position * stages_ + s]; }
  [[nodiscard]] stage_work const& work(std::size_t position, std::size_t s) const { return works_[members_[position] * stages_ + s]; }
  [[nodiscard]] chain_place place(std::size_t position) const { return memory_.places[members_[position]]; }

  void wake(std::size_t s, std::int64_t at) {
    auto& wakes = memory_.wakes;
    auto node = leaves_ + s;
    for (wakes[node] = at; node > 1;) {
      node /= 2;
      auto const earliest = (std::min)(wakes[2 * node], wakes[2 * node + 1]);
      if (wakes[node] == earliest) return;
      wakes[node] = earliest;
    }
  }

  // Lets stage `s`, which is free, begin its next task now, or wait.
  void decide(std::size_t s, std::int64_t now) {
    auto& state = memory_.stages[s];
    auto const& limits = rules_.stages[s];
    auto next = never;  // the next arrival
    auto forward = false;
    if (state.forwards < count_) {
      auto const at = arrival(state.forwards, s);
      if (at > now) next = at;
      forward = at >= 0 && at <= now && forward_fits(state, limits, s);
      if (forward && state.bytes + work(state.forwards, s).kept <= limits.warm_up) return do_forward(state, s, now);
    }
    auto const* const due = memory_.due.data() + s * chains_;
    auto best = state.due;
    for (std::size_t i = 0; i < state.due; ++i) {
      auto const at = arrival(due[i], s);
      if (at > now)
        next = (std::min)(next, at);
      else if (state.bytes <= limits.capacity - work(due[i], s).recomputed && (best == state.due || goes_first(due[i], due[best])))
        best = i;
    }
    if (best != state.due) return do_backward(state, s, best, now);
    if (forward) return do_forward(state, s, now);
    wake(s, next);
  }

  // A total order of the backwards that are due: they are of different chains.
  [[nodiscard]] bool goes_first(std::size_t one, std::size_t other) const {
    if (tie_ == list_tie::later_chain) return one > other;
    if (tie_ == list_tie::later_chunk && place(one).index != place(other).index) return place(one).index > place(other).index;
    return one < other;
  }

  // Whether after the next forward each backward of another chain in flight would fit; all their forwards have been done.
  [[nodiscard]] bool forward_fits(state_t& state, list_rules::limits const& limits, std::size_t s) const {
    auto const room = limits.capacity - state.bytes - work(state.forwards, s).kept;
    if (room < 0 || room >= limits.largest_recomputed) return room >= 0;
    auto const first_of_chain = state.forwards - place(state.forwards).index;
    while (state.oldest < first_of_chain && arrival(state.oldest, s) == finished) ++state.oldest;
    for (auto p = state.oldest; p < first_of_chain; ++p)
      if (arrival(p, s) != finished && work(p, s).recomputed > room) return false;
    return true;
  }

  void do_forward(state_t& state, std::size_t s, std::int64_t now) {
    auto const position = state.forwards++;
    auto const& w = work(position, s);
    state.bytes += w.kept;
    hold(state, s, 0);
    begin(state, s, position, pipeline_pass::forward, now, w.forward);
    auto const last = s + 1 == stages_;
    arrival(position, s) = last ? state.clock : unknown;
    if (!last)
      arrive(position, s + 1, state.clock + w.transfer);
    else if (place(position).after == 0)
      add_due(state, s, position);
  }

  void do_backward(state_t& state, std::size_t s, std::size_t index, std::int64_t now) {
    auto* const due = memory_.due.data() + s * chains_;
    auto const position = std::size_t{due[index]};
    due[index] = due[--state.due];
    auto const& w = work(position, s);
    hold(state, s, w.recomputed);
    state.bytes -= w.kept;  // at the end, before which the stage does not decide
    begin(state, s, position, pipeline_pass::backward, now, w.recompute + w.backward + w.weight);
    arrival(position, s) = finished;
    if (place(position).index > 0 && arrival(position - 1, s) >= 0) add_due(state, s, position - 1);
    if (s == 0) return;
    arrive(position, s - 1, state.clock + work(position, s - 1).transfer);
    if (place(position).after == 0 || arrival(position + 1, s - 1) == finished) add_due(memory_.stages[s - 1], s - 1, position);
  }

  void arrive(std::size_t position, std::size_t s, std::int64_t at) {
    auto const& state = memory_.stages[s];
    arrival(position, s) = at;
    if (auto const free = (std::max)(at, state.clock); free < memory_.wakes[leaves_ + s]) wake(s, free);
  }
  void add_due(state_t& state, std::size_t s, std::size_t position) {
    memory_.due[s * chains_ + state.due++] = static_cast<std::uint32_t>(position);
  }
  void hold(state_t& state, std::size_t s, std::int64_t more) {
    auto& peak = out_.stages[s].peak_memory;
    peak = (std::max)(peak, state.bytes + more);
  }

  void begin(state_t& state, std::size_t s, std::size_t position, pipeline_pass pass, std::int64_t now, std::int64_t time) {
    auto& figures = out_.stages[s];
    if (state.tasks == 0) figures.start = now;
    figures.busy += time;
    figures.end = state.clock = now + time;
    wake(s, state.clock);
    auto const stage = static_cast<std::uint32_t>(s);
    auto const at = 2 * s * count_ + state.tasks++;
    order_.tasks[at] = {members_[position], stage, pass};
    if (!out_.events.empty()) out_.events[at] = {now, state.clock, members_[position], stage, stage, pass};
  }

  std::uint32_t const* members_;
  std::size_t count_, stages_, chains_, leaves_;
  stage_work const* works_;
  list_rules const& rules_;
  list_tie tie_;
  list_memory& memory_;
  pipeline_order& order_;
  pipeline_timeline& out_;
};

}  // namespace ballast::inline v0_2::detail
