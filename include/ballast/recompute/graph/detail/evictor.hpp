// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/recompute/graph/detail/eviction_numbers.hpp>
#include <ballast/recompute/graph/eviction_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

// Runs an order within a memory limit. Private.

namespace ballast::inline v0_2::detail {

/// Which memory is evicted.
enum class eviction_rule : std::uint8_t { score, distance, enough };

template <class = when_called>
class evictor {
 public:
  using action = memory_event::action;
  std::vector<memory_event> events;
  std::int64_t peak = 0, recomputed = 0, moving = 0, moved = 0;

  evictor(eviction_numbers<> const& numbers, std::int64_t limit, eviction_rule rule)
      : n_(numbers), r_(numbers.rows), limit_(limit), rule_(rule), memories_(r_.memories()) {
    for (std::uint32_t m = 0; m < r_.memories(); ++m) {
      memories_[m].left = static_cast<std::uint32_t>(r_.uses[m].size());
      if (r_.at_start(m)) arrive(m);
    }
    while (limit_ >> shift_ >= (std::int64_t{1} << 62) / (static_cast<std::int64_t>(r_.order.size()) + 1)) ++shift_;
  }
  /// Returns false if there is no room for an operator.
  bool run() {
    for (now_ = 0; now_ < r_.order.size(); ++now_) {
      auto const v = r_.order[now_];
      for (auto const m : r_.reads[v]) {
        if (!bring(m)) return false;
        ++memories_[m].pins;
      }
      if (!execute(v, action::run)) return false;
      for (auto const m : r_.reads[v]) {
        --memories_[m].left;
        unpin(m);
      }
      for (auto const m : r_.makes[v]) unpin(m);
    }
    return true;
  }

 private:
  enum class place : std::uint8_t { nowhere, here, host, dropped };
  static constexpr auto none = (std::numeric_limits<std::size_t>::max)();
  struct memory {
    place at = place::nowhere;    // not made yet, or not needed any more
    std::uint32_t left = 0;       // readers that have not run
    std::uint32_t pins = 0;       // what is being done needs it
    std::uint32_t holds = 0;      // dropped memories whose subgraphs read it
    std::size_t subgraph = none;  // makes it again if it is dropped
  };

  void arrive(std::uint32_t m) {
    memories_[m].at = place::here;
    live_ += n_.bytes[m];
    peak = (std::max)(peak, live_);
  }
  void leave(std::uint32_t m, place to, action what) {
    memories_[m].at = to;
    live_ -= n_.bytes[m];
    events.push_back({what, m});
  }
  // Frees a memory that nobody needs any more.
  void settle(std::uint32_t m) {
    auto const& x = memories_[m];
    if (x.at == place::here && x.left == 0 && x.pins == 0 && x.holds == 0 && r_.kept[m] == 0) leave(m, place::nowhere, action::drop);
  }
  void unpin(std::uint32_t m) {
    --memories_[m].pins;
    settle(m);
  }
  // Gives up the subgraph of a memory that is back.
  void release(std::uint32_t m) {
    auto const s = std::exchange(memories_[m].subgraph, none);
    if (s == none) return;
    for (auto const h : n_.plan.subgraphs[s].held) {
      --memories_[h].holds;
      settle(h);
    }
  }
  // Runs an operator; what it makes is pinned.
  bool execute(std::uint32_t v, action what) {
    auto need = n_.workspace[v];
    for (auto const m : r_.makes[v]) need += memories_[m].at == place::here ? 0 : n_.bytes[m];
    for (auto const m : r_.makes[v]) ++memories_[m].pins;
    if (!make_room(need)) return false;
    events.push_back({what, v});
    if (what == action::rerun) recomputed += n_.time[v];
    for (auto const m : r_.makes[v])
      if (memories_[m].at != place::here) {
        arrive(m);
        release(m);
      }
    peak = (std::max)(peak, live_ + n_.workspace[v]);
    return true;
  }
  // Brings a memory back if it is not here.
  bool bring(std::uint32_t m) {
    auto& x = memories_[m];
    if (x.at == place::here) return true;
    if (x.at == place::dropped) return again(m);
    if (x.at != place::host || !make_room(n_.bytes[m])) return false;
    events.push_back({action::load, m});
    moving += n_.move_time[m];
    moved += n_.bytes[m];
    arrive(m);
    return true;
  }
  // Makes a dropped memory again, by the operators of its subgraph that are needed for that.
  bool again(std::uint32_t m) {
    auto const& operators = n_.plan.subgraphs[memories_[m].subgraph].operators;
    std::vector<char> needed(operators.size(), 0);
    std::vector<std::uint32_t> inputs, pinned;
    needed.back() = 1;  // the maker of m has the last step
    for (auto i = operators.size(); i-- > 0;) {
      if (needed[i] == 0) continue;
      for (auto const s : r_.reads[operators[i]]) {
        auto const by = std::find(operators.begin(), operators.end(), r_.maker[s]);
        if (memories_[s].at == place::here) {
          ++memories_[s].pins;
          pinned.push_back(s);
        } else if (by != operators.end()) {
          needed[static_cast<std::size_t>(by - operators.begin())] = 1;
        } else {
          inputs.push_back(s);
        }
      }
    }
    for (auto const s : inputs) {
      if (!bring(s)) return false;
      ++memories_[s].pins;
      pinned.push_back(s);
    }
    auto const read_behind = [&](std::size_t i, std::uint32_t s) {
      for (auto j = i + 1; j < operators.size(); ++j)
        if (needed[j] != 0 && std::binary_search(r_.reads[operators[j]].begin(), r_.reads[operators[j]].end(), s)) return true;
      return s == m;
    };
    for (std::size_t i = 0; i < operators.size(); ++i) {
      if (needed[i] == 0) continue;
      if (!execute(operators[i], action::rerun)) return false;
      for (auto const made : r_.makes[operators[i]]) {
        if (read_behind(i, made))
          pinned.push_back(made);
        else
          unpin(made);
      }
      for (auto& p : pinned)
        if (!read_behind(i, p)) {
          unpin(p);
          p = eviction_rows::never;
        }
      std::erase(pinned, eviction_rows::never);
    }
    for (auto const p : pinned) --memories_[p].pins;  // m itself, which the caller needs
    return memories_[m].at == place::here;
  }
  bool make_room(std::int64_t bytes) {
    while (live_ + bytes > limit_)
      if (!evict_one(live_ + bytes - limit_)) return false;
    return true;
  }
  struct victim {
    std::uint32_t memory = eviction_rows::never;
    std::size_t subgraph = none;  // none: moved to the host
    std::int64_t bytes = 0, time = 1;
    std::uint32_t distance = 1;
  };
  [[nodiscard]] bool better(victim const& a, victim const& b, std::int64_t excess) const {
    if (b.memory == eviction_rows::never) return true;
    if (a.bytes <= 0 || b.bytes <= 0) return a.bytes > b.bytes;
    if (rule_ == eviction_rule::enough) {  // one that is enough, of these the one of least time
      auto const enough_a = n_.bytes[a.memory] >= excess, enough_b = n_.bytes[b.memory] >= excess;
      if (enough_a != enough_b) return enough_a;
      if (enough_a) return a.time != b.time ? a.time < b.time : a.distance > b.distance;
    }
    auto const score = [&](victim const& x) { return rule_ == eviction_rule::distance ? (x.bytes >> shift_) * x.distance + 1 : x.bytes; };
    return compare_products(score(a), b.time, score(b), a.time) > 0;
  }
  bool evict_one(std::int64_t excess) {
    victim best;
    for (std::uint32_t m = 0; m < r_.memories(); ++m) {
      auto const& x = memories_[m];
      if (x.at != place::here || x.pins > 0 || x.holds > 0 || x.left == 0 || r_.fixed[m] != 0 || n_.bytes[m] == 0) continue;
      auto const next = r_.uses[m][r_.uses[m].size() - x.left];
      auto const offer = [&](victim v) {
        if (v.time < eviction_numbers<>::too_long && better(v, best, excess)) best = v;
      };
      offer({m, none, n_.bytes[m], (std::max)(std::int64_t{1}, 2 * n_.move_time[m]), next - now_});
      auto const [begin, end] = n_.subgraphs_of(m, next);
      for (auto s = begin; s < end; ++s) {
        auto bytes = n_.bytes[m];
        bool possible = true;
        for (auto const h : n_.plan.subgraphs[s].held) {
          possible = possible && memories_[h].at != place::nowhere;
          if (memories_[h].holds == 0) bytes -= n_.bytes[h];
        }
        if (possible) offer({m, s, bytes, (std::max)(std::int64_t{1}, n_.subgraph_time[s]), next - now_});
      }
    }
    if (best.memory == eviction_rows::never) return false;
    auto& x = memories_[best.memory];
    if (best.subgraph == none) {
      moving += n_.move_time[best.memory];
      moved += n_.bytes[best.memory];
      leave(best.memory, place::host, action::store);
      return true;
    }
    x.subgraph = best.subgraph;
    for (auto const h : n_.plan.subgraphs[best.subgraph].held) ++memories_[h].holds;
    leave(best.memory, place::dropped, action::drop);
    return true;
  }

  eviction_numbers<> const& n_;
  eviction_rows const& r_;
  std::int64_t limit_, live_ = 0;
  eviction_rule rule_;
  int shift_ = 0;  // bytes times steps fit after it
  std::uint32_t now_ = 0;
  std::vector<memory> memories_;
};

}  // namespace ballast::inline v0_2::detail
