// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/pipeline/order.hpp>
#include <ballast/pipeline/result.hpp>
#include <ballast/pipeline/tasks.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace ballast_test {

/// Works in a table, virtual stage after virtual stage.
struct works {
  std::uint64_t micro_batches = 0;
  std::vector<ballast::stage_work> table;
  ballast::stage_work operator()(std::uint64_t virtual_stage, std::uint64_t micro_batch) const {
    return table.at(static_cast<std::size_t>(virtual_stage * micro_batches + micro_batch));
  }
};

/// Works of unequal stages and micro-batches, up to `most` each; some are 0.
inline works random_works(std::uint64_t virtual_stages, std::uint64_t micro_batches, std::uint64_t most, ballast::splitmix64& generator) {
  works w{micro_batches, {}};
  auto const draw = [&] { return static_cast<std::int64_t>(ballast::uniform_below(most + 1, generator)); };
  for (std::uint64_t c = 0; c < virtual_stages * micro_batches; ++c) {
    ballast::stage_work one;
    one.forward = draw();
    one.backward = draw();
    one.weight = draw();
    one.recompute = draw();
    one.transfer = draw();
    one.kept = draw();
    one.recomputed = draw();
    one.residue = draw();
    w.table.push_back(one);
  }
  return w;
}

/// The timeline from its definition: every stage's line is drawn anew from what is known of arrivals, until nothing changes.
inline std::vector<ballast::pipeline_event> drawn_until_stable(ballast::pipeline_order const& order, works const& work) {
  using ballast::pipeline_pass;
  auto const cells = order.stage_of.size() * order.micro_batches;
  std::vector<std::int64_t> forward_end(cells, 0), backward_end(cells, 0);
  std::vector<ballast::pipeline_event> events, before;
  do {
    before = std::move(events);
    events.clear();
    for (std::uint32_t s = 0; s < order.stages(); ++s) {
      std::int64_t clock = 0;
      std::uint64_t held = 0;
      std::deque<ballast::pipeline_task> pending;
      auto const cell = [&](ballast::pipeline_task t) { return t.virtual_stage * order.micro_batches + t.micro_batch; };
      auto const put = [&](ballast::pipeline_task t, std::int64_t start, std::int64_t time) {
        clock = start + time;
        events.push_back({start, clock, t.micro_batch, t.virtual_stage, s, t.pass});
      };
      auto const put_pending = [&] {
        put({pending[0].micro_batch, pending[0].virtual_stage, pipeline_pass::weight}, clock, work.table[cell(pending[0])].weight);
        pending.pop_front();
        --held;
      };
      for (auto i = order.offsets[s]; i < order.offsets[s + 1]; ++i) {
        auto const t = order.tasks[i];
        auto const k = t.virtual_stage;
        auto const& w = work.table[cell(t)];
        auto const way = [&](std::uint32_t from) {
          return order.stage_of[from] == order.stage_of[from + 1] ? 0 : work(from, t.micro_batch).transfer;
        };
        std::int64_t arrival = 0;
        if (t.pass == pipeline_pass::forward && k > 0) arrival = forward_end[cell(t) - order.micro_batches] + way(k - 1);
        if (t.pass == pipeline_pass::backward || t.pass == pipeline_pass::backward_input)
          arrival = k + 1 == order.stage_of.size() ? forward_end[cell(t)] : backward_end[cell(t) + order.micro_batches] + way(k);
        if (t.pass == pipeline_pass::weight) arrival = backward_end[cell(t)];
        while (!pending.empty() && arrival >= clock && 2 * (arrival - clock) >= work.table[cell(pending[0])].weight) put_pending();
        while (t.pass == pipeline_pass::forward && !pending.empty() && held >= order.fill[s]) put_pending();
        auto const start = (std::max)(clock, arrival);
        if (t.pass == pipeline_pass::forward) {
          put(t, start, w.forward);
          forward_end[cell(t)] = clock;
          ++held;
        } else if (t.pass == pipeline_pass::weight) {
          put(t, start, w.weight);
        } else {
          put(t, start, w.recompute + w.backward + (t.pass == pipeline_pass::backward ? w.weight : 0));
          backward_end[cell(t)] = clock;
          if (t.pass == pipeline_pass::backward_input && !order.fill.empty()) pending.push_back(t);
        }
      }
      while (!pending.empty()) put_pending();
    }
  } while (events != before);
  return events;
}

/// The least makespan over all orders, by trying every one: for a handful of tasks.
class least_makespan {
 public:
  least_makespan(std::vector<std::uint32_t> stage_of, works const& work, bool split)
      : stage_of_(std::move(stage_of)),
        work_(work),
        split_(split),
        done_(work.table.size()),
        end_(work.table.size()),
        clock_(stage_of_.size()) {
    go(0);
  }
  [[nodiscard]] std::int64_t value() const { return best_; }

 private:
  void go(std::int64_t makespan) {
    if (makespan >= best_) return;
    bool all = true;
    auto const n = work_.micro_batches;
    for (std::size_t c = 0; c < done_.size(); ++c) {
      auto const passes = split_ ? 3 : 2;
      if (done_[c] == passes) continue;
      all = false;
      auto const k = c / n;
      auto const& w = work_.table[c];
      auto const way = [&](std::size_t from) {
        return stage_of_[from] == stage_of_[from + 1] ? 0 : work_.table[from * n + c % n].transfer;
      };
      std::int64_t arrival = 0, time = w.forward;
      if (done_[c] == 0 && k > 0) {
        if (done_[c - n] == 0) continue;
        arrival = end_[c - n] + way(k - 1);
      } else if (done_[c] == 1) {
        time = w.recompute + w.backward + (split_ ? 0 : w.weight);
        if (k + 1 == stage_of_.size()) {
          arrival = end_[c];
        } else {
          if (done_[c + n] < 2) continue;
          arrival = input_end(c + n) + way(k);
        }
      } else if (done_[c] == 2) {
        time = w.weight;
        arrival = end_[c];
      }
      auto& clock = clock_[stage_of_[k]];
      auto const old_clock = clock, old_end = end_[c];
      clock = end_[c] = (std::max)(clock, arrival) + time;
      if (done_[c] == 1) inputs_.push_back({c, clock});
      ++done_[c];
      go((std::max)(makespan, clock));
      --done_[c];
      if (done_[c] == 1) inputs_.pop_back();
      clock = old_clock;
      end_[c] = old_end;
    }
    if (all) best_ = makespan;
  }
  [[nodiscard]] std::int64_t input_end(std::size_t cell) const {
    return std::find_if(inputs_.begin(), inputs_.end(), [&](auto const& i) { return i.first == cell; })->second;
  }

  std::vector<std::uint32_t> stage_of_;
  works const& work_;
  bool split_;
  std::vector<int> done_;
  std::vector<std::int64_t> end_, clock_;
  std::vector<std::pair<std::size_t, std::int64_t>> inputs_;
  std::int64_t best_ = std::int64_t{1} << 60;
};

inline ballast::any_schedule schedule_number(std::uint64_t number) {
  constexpr char const* names[] = {"gpipe", "1f1b", "interleaved", "zb1p", "zb2p", "zbv"};
  return ballast::schedule_named(names[number]);
}

}  // namespace ballast_test
