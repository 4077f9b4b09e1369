// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/groups.hpp>
#include <ballast/core/random.hpp>
#include <ballast/pipeline/tasks.hpp>

#include "suite.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast_test {

/// Chains from lists of micro-batches.
inline ballast::groups<std::uint32_t> chains_of(std::vector<std::vector<std::uint32_t>> const& lists) {
  ballast::groups<std::uint32_t> chains;
  for (auto const& list : lists) chains.push_back(list);
  return chains;
}

/// `count` micro-batches, numbered at random, in chains of 1 ... `longest`.
inline ballast::groups<std::uint32_t> random_chains(std::uint64_t count, std::uint64_t longest, ballast::splitmix64& generator) {
  ballast::groups<std::uint32_t> chains;
  chains.members = ballast::random_permutation<std::uint32_t>(count, generator());
  for (std::uint64_t at = 0; at < count; chains.offsets.push_back(at))
    at = (std::min)(count, at + 1 + ballast::uniform_below(longest, generator));
  return chains;
}

/// Four samples of 1, 1, 2 and 4 units in chunks of at most 2: two alone, two of one sample. Backwards take twice as long as forwards.
inline ballast::groups<std::uint32_t> chunkflow_chains() { return chains_of({{0}, {1}, {2, 3}}); }
inline ballast::stage_work chunkflow_work(std::uint64_t, std::uint64_t) { return {.forward = 2, .backward = 4, .kept = 2}; }

/// The bytes that any order of chains holds on each stage at some time, from their definition.
inline std::vector<std::int64_t> bytes_needed(ballast::groups<std::uint32_t> const& chains, std::uint64_t stages, works const& work) {
  std::vector<std::int64_t> needed(stages, 0);
  for (std::uint64_t s = 0; s < stages; ++s)
    for (auto const& chain : chains)
      for (std::size_t last = 0; last < chain.size(); ++last) {
        auto bytes = work(s, chain[last]).recomputed;
        for (std::size_t i = 0; i <= last; ++i) bytes += work(s, chain[i]).kept;
        needed[s] = (std::max)(needed[s], bytes);
      }
  return needed;
}

/// The least makespan over all orders that keep the chains. Tries, task by task, all that could begin before the first to end would end.
class least_chained_makespan {
 public:
  least_chained_makespan(ballast::groups<std::uint32_t> const& chains, std::uint64_t stages, works const& work, std::int64_t known)
      : stages_(stages), best_(known + 1), clock_(stages, 0), left_(stages, 0) {
    auto const n = work.micro_batches;
    auto const node = [&](std::uint64_t s, std::uint64_t m, bool back) {
      return static_cast<std::size_t>(2 * (s * n + m) + (back ? 1 : 0));
    };
    tasks_.resize(static_cast<std::size_t>(2 * stages * n));
    for (std::uint64_t s = 0; s < stages; ++s)
      for (auto const& chain : chains)
        for (std::size_t i = 0; i < chain.size(); ++i) {
          auto const m = chain[i];
          auto const w = work(s, m);
          auto &f = tasks_[node(s, m, false)], &b = tasks_[node(s, m, true)];
          f.stage = b.stage = static_cast<std::size_t>(s);
          f.time = w.forward;
          b.time = w.recompute + w.backward + w.weight;
          left_[f.stage] += f.time + b.time;
          if (s > 0) f.after.push_back({node(s - 1, m, false), work(s - 1, m).transfer});
          if (i > 0) f.after.push_back({node(s, chain[i - 1], false), 0});
          b.after.push_back({node(s, m, false), 0});
          if (s + 1 < stages) b.after.push_back({node(s + 1, m, true), w.transfer});
          if (i + 1 < chain.size()) b.after.push_back({node(s, chain[i + 1], true), 0});
        }
    tails();
    go(tasks_.size(), 0);
  }
  /// The optimum, if `complete()`; 1 more than the known value if that is below the optimum.
  [[nodiscard]] std::int64_t value() const { return best_; }
  /// Whether the search was not cut short.
  [[nodiscard]] bool complete() const { return nodes_ > 0; }

 private:
  struct need {
    std::size_t task;
    std::int64_t way;
  };
  struct task {
    std::size_t stage = 0;
    std::int64_t time = 0, end = -1, tail = 0;  // tail: from its begin to the end of the longest path
    std::vector<need> after;
  };

  void tails() {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto& t : tasks_) {
        t.tail = (std::max)(t.tail, t.time);
        for (auto const& n : t.after) {
          auto& before = tasks_[n.task];
          if (before.tail >= before.time + n.way + t.tail) continue;
          before.tail = before.time + n.way + t.tail;
          changed = true;
        }
      }
    }
  }
  void go(std::size_t remaining, std::int64_t makespan) {
    if (makespan >= best_ || --nodes_ <= 0) return;
    if (remaining == 0) {
      best_ = makespan;
      return;
    }
    struct option {
      std::size_t task;
      std::int64_t start;
    };
    std::vector<option> options;
    std::vector<std::int64_t> earliest(static_cast<std::size_t>(stages_), std::int64_t{1} << 60);
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      auto const& t = tasks_[i];
      if (t.end >= 0) continue;
      auto start = clock_[t.stage];
      auto ready = true;
      for (auto const& n : t.after) {
        ready = ready && tasks_[n.task].end >= 0;
        if (ready) start = (std::max)(start, tasks_[n.task].end + n.way);
      }
      if (!ready) continue;
      if (start + t.tail >= best_) return;
      options.push_back({i, start});
      earliest[t.stage] = (std::min)(earliest[t.stage], start);
    }
    for (std::size_t s = 0; s < stages_; ++s)
      if (left_[s] > 0 && clock_[s] + left_[s] >= best_) return;
    auto const first = *std::min_element(options.begin(), options.end(), [&](auto const& a, auto const& b) {
      return a.start + tasks_[a.task].time < b.start + tasks_[b.task].time;
    });
    auto const stage = tasks_[first.task].stage;
    auto const end = first.start + tasks_[first.task].time;
    if (earliest[stage] + left_[stage] >= best_) return;
    for (auto const& o : options) {
      auto& t = tasks_[o.task];
      if (t.stage != stage || (o.start >= end && o.task != first.task)) continue;
      auto const clock = clock_[stage];
      t.end = clock_[stage] = o.start + t.time;
      left_[stage] -= t.time;
      go(remaining - 1, (std::max)(makespan, t.end));
      left_[stage] += t.time;
      clock_[stage] = clock;
      t.end = -1;
    }
  }

  std::uint64_t stages_;
  std::int64_t best_;
  std::int64_t nodes_ = 150'000;
  std::vector<task> tasks_;
  std::vector<std::int64_t> clock_, left_;
};

}  // namespace ballast_test
