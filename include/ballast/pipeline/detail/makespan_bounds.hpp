// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/pipeline/detail/work_table.hpp>
#include <ballast/pipeline/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

// Lower bounds on the makespan, from checked works: of any order, and of chains of micro-batches.

namespace ballast::inline v0_2::detail {

inline constexpr auto no_virtual_stage = (std::numeric_limits<std::size_t>::max)();

struct stage_bound {
  std::int64_t before = (std::numeric_limits<std::int64_t>::max)();  // shortest way to the stage's first virtual stage
  std::int64_t after = (std::numeric_limits<std::int64_t>::max)();   // shortest way back from there
  std::int64_t tasks = 0;
  std::int64_t weights = 0;              // sum of the weight parts of split backwards
  std::size_t first = no_virtual_stage;  // the stage's first virtual stage
};

// If `split`, the weight part may wait; otherwise it is on the way back.
template <class = when_called>
[[nodiscard]] inline makespan_bound bound_of(work_table const& table, std::span<std::uint32_t const> stage_of, std::size_t stages,
                                             bool split, std::vector<stage_bound>& on) {
  auto const n = table.virtual_stages;
  on.assign(stages, {});
  for (auto k = n; k-- > 0;) on[stage_of[k]].first = k;
  makespan_bound best;
  for (std::size_t m = 0; m < table.micro_batches; ++m) {
    auto const* const works = table.works.data() + m * n;
    auto const last_weight = split ? works[0].weight : 0;  // the end of its way back
    std::int64_t way_there = 0, way_back = last_weight;
    for (std::size_t k = 0; k < n; ++k) {
      auto const& w = works[k];
      auto& s = on[stage_of[k]];
      if (s.first == k) {
        s.before = (std::min)(s.before, way_there);
        s.after = (std::min)(s.after, way_back);
      }
      auto const back = w.recompute + w.backward + (split ? 0 : w.weight);
      auto const way = k + 1 < n && stage_of[k + 1] != stage_of[k] ? w.transfer : 0;
      way_there += w.forward + way;
      way_back += back + way;
      s.tasks += w.forward + back;
      s.weights += split ? w.weight : 0;
    }
    best.time = (std::max)(best.time, way_there + way_back);
  }
  for (auto const& s : on) {
    if (s.first == no_virtual_stage) continue;
    auto const time = s.before + s.tasks + (std::max)(s.weights, s.after);
    if (time >= best.time) best = {time, pipeline_bound::busiest_stage};
  }
  return best;
}

// One task in the problem of its stage alone.
struct stage_job {
  std::int64_t head = 0;  // longest way to the task, in its chain alone
  std::int64_t time = 0;
  std::int64_t tail = 0;  // longest way from its end to the end of its chain
};

struct chain_bound_memory {
  std::vector<stage_job> jobs;   // stage after stage: all forwards, then all backwards
  std::vector<stage_job> ready;  // heap of the jobs that have arrived; their times are what is left
};

// The least time at which one machine ends the jobs and their tails if it may interrupt a job: it always goes on with the longest tail.
// Equals the maximum over sets of jobs of (least head + sum of times + least tail). Reorders the jobs.
template <class = when_called>
[[nodiscard]] inline std::int64_t preemptive_makespan(std::span<stage_job> jobs, std::vector<stage_job>& ready) {
  auto const shorter_tail = [](stage_job const& a, stage_job const& b) { return a.tail < b.tail; };
  std::sort(jobs.begin(), jobs.end(), [](stage_job const& a, stage_job const& b) { return a.head < b.head; });
  ready.clear();
  std::int64_t now = 0, end = 0;
  for (std::size_t next = 0; next < jobs.size() || !ready.empty();) {
    if (ready.empty()) now = (std::max)(now, jobs[next].head);
    for (; next < jobs.size() && jobs[next].head <= now; ++next) {
      ready.push_back(jobs[next]);
      std::push_heap(ready.begin(), ready.end(), shorter_tail);
    }
    auto& job = ready.front();
    auto const spent = next < jobs.size() ? (std::min)(job.time, jobs[next].head - now) : job.time;
    now += spent;
    job.time -= spent;
    if (job.time > 0) continue;
    end = (std::max)(end, now + job.tail);
    std::pop_heap(ready.begin(), ready.end(), shorter_tail);
    ready.pop_back();
  }
  return end;
}

// Heads and tails of all tasks. The forwards of a chain precede its backwards on every stage, because its last forward there precedes the
// backward of the same micro-batch, which is the first. So the tasks of a chain on a stage are a sequence, and a task waits for two others
// at most: the one before it in that sequence, and the one on the neighbour stage.
template <class = when_called>
inline void load_jobs(work_table const& table, groups<std::uint32_t> const& chains, std::vector<stage_job>& jobs) {
  auto const stages = table.virtual_stages, n = chains.members.size();
  jobs.assign(2 * n * stages, {});
  auto const work = [&](std::size_t i, std::size_t s) -> stage_work const& { return table.works[chains.members[i] * stages + s]; };
  auto const forward = [&](std::size_t i, std::size_t s) -> stage_job& { return jobs[2 * n * s + i]; };
  auto const backward = [&](std::size_t i, std::size_t s) -> stage_job& { return jobs[2 * n * s + n + i]; };
  auto const end = [](stage_job const& j) { return j.head + j.time; };
  auto const way = [](stage_job const& j) { return j.time + j.tail; };
  for (std::size_t c = 0; c < chains.size(); ++c) {
    auto const first = static_cast<std::size_t>(chains.offsets[c]), last = static_cast<std::size_t>(chains.offsets[c + 1]);
    for (auto i = first; i < last; ++i)
      for (std::size_t s = 0; s < stages; ++s) {
        auto const& w = work(i, s);
        auto& f = forward(i, s);
        auto& b = backward(i, s);
        f.time = w.forward;
        b.time = w.recompute + w.backward + w.weight;
        f.head = (std::max)(i > first ? end(forward(i - 1, s)) : 0, s > 0 ? end(forward(i, s - 1)) + work(i, s - 1).transfer : 0);
        b.tail = (std::max)(i > first ? way(backward(i - 1, s)) : 0, s > 0 ? way(backward(i, s - 1)) + work(i, s - 1).transfer : 0);
      }
    for (auto i = last; i-- > first;)
      for (auto s = stages; s-- > 0;) {
        auto const transfer = work(i, s).transfer;
        auto& f = forward(i, s);
        auto& b = backward(i, s);
        b.head = (std::max)(i + 1 < last ? end(backward(i + 1, s)) : end(f), s + 1 < stages ? end(backward(i, s + 1)) + transfer : 0);
        f.tail = (std::max)(i + 1 < last ? way(forward(i + 1, s)) : way(b), s + 1 < stages ? way(forward(i, s + 1)) + transfer : 0);
      }
  }
}

template <class = when_called>
[[nodiscard]] inline makespan_bound bound_of(work_table const& table, groups<std::uint32_t> const& chains, chain_bound_memory& memory) {
  load_jobs(table, chains, memory.jobs);
  makespan_bound best;
  for (auto const& j : memory.jobs) best.time = (std::max)(best.time, j.head + j.time + j.tail);  // the longest way through a chain
  auto const tasks = 2 * chains.members.size();
  for (std::size_t s = 0; s < table.virtual_stages; ++s) {
    auto const time = preemptive_makespan(std::span(memory.jobs).subspan(s * tasks, tasks), memory.ready);
    if (time > best.time) best = {time, pipeline_bound::busiest_stage};
  }
  return best;
}

}  // namespace ballast::inline v0_2::detail
