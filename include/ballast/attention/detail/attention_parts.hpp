// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/attention/attention_tasks.hpp>
#include <ballast/attention/detail/attention_cuts.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// The parts of tasks on each server, and the moves that can be made.
template <index_type Index>
class attention_parts {
 public:
  attention_parts(std::span<attention_task<Index> const> tasks, water_filling_options const& o)
      : o_(o), servers_(static_cast<std::size_t>(o.servers)), held_(servers_), load_(servers_, 0) {
    parts_.reserve(tasks.size() + 4 * servers_);
    std::vector<std::uint32_t> count(servers_, 8);  // room for what comes
    for (auto const& t : tasks) ++count[t.home];
    for (std::size_t s = 0; s < servers_; ++s) held_[s].reserve(count[s]);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      auto const& t = tasks[i];
      if (o.cut == attention_cut::window && t.has_tail()) {
        add(t.home, {t.sample, t.home, t.begin, t.end, t.end, t.end}, i);
        add(t.home, {t.sample, t.home, t.tail_begin, t.tail_end, t.tail_end, t.tail_end}, i);
      } else {
        add(t.home, t, i);
      }
    }
    std::int64_t total = 0;
    for (auto const& p : parts_) {
      load_[p.task.home] += p.pairs;
      total += p.pairs;
    }
    low_ = total / static_cast<std::int64_t>(servers_);
    high_ = divide_up(total, static_cast<std::int64_t>(servers_));
  }

  /// A move that could be made: of a part, or of queries of it.
  struct candidate {
    std::size_t place = 0;  ///< of the part in the list of the donor
    attention_task<Index> task;
    std::int64_t pairs = 0, bytes = 0;
    [[nodiscard]] bool found() const { return pairs > 0; }
  };

  [[nodiscard]] std::uint32_t servers() const { return static_cast<std::uint32_t>(servers_); }
  /// The mean, rounded down.
  [[nodiscard]] std::int64_t mean() const { return low_; }
  /// Pairs above the mean, rounded up.
  [[nodiscard]] std::int64_t surplus(std::uint32_t server) const { return load_[server] - high_; }
  /// Pairs below the mean, rounded down.
  [[nodiscard]] std::int64_t deficit(std::uint32_t server) const { return low_ - load_[server]; }

  [[nodiscard]] static bool cheaper(candidate const& a, candidate const& b) {
    auto const order = compare_products(a.bytes, b.pairs, b.bytes, a.pairs);
    return order != 0 ? order < 0 : a.pairs > b.pairs;
  }
  /// The donor's move of at most `most` pairs with the least bytes per pair.
  [[nodiscard]] candidate cheapest(std::uint32_t from, std::uint32_t to, std::int64_t most) const {
    auto const windows = o_.cut == attention_cut::window;
    auto const preferred = windows ? best_window(most, o_) : 0;
    candidate best;
    for (std::size_t k = 0; k < held_[from].size(); ++k) {
      auto const& p = parts_[held_[from][k]];
      if (windows && has_window(p.task, preferred, most))  // nothing moves as many pairs with fewer bytes
        return move_of(k, window_of(p.task, preferred, most, o_.multiple), to);
    }
    for (std::size_t k = 0; k < held_[from].size(); ++k) {
      auto const& p = parts_[held_[from][k]];
      auto found = move_of(k, p.task, p.pairs, to);
      if (p.pairs > most && windows) {
        found = move_of(k, cut_window(p.task, most, preferred, o_.multiple), to);
      } else if (p.pairs > most) {
        auto const queries = round_down((std::min)(most / p.task.slope(), most_off_ends(p.task)), o_.multiple);
        found = move_of(k, cut_ends(p.task, queries), queries * p.task.slope(), to);
      }
      if (found.found() && (!best.found() || cheaper(found, best))) best = found;
    }
    return best;
  }
  /// The donor's smallest move above surplus and deficit, if it has fewer pairs than `below`.
  [[nodiscard]] candidate smallest(std::uint32_t from, std::uint32_t to, std::int64_t below) const {
    candidate best;
    for (std::size_t k = 0; k < held_[from].size(); ++k) {
      auto const& p = parts_[held_[from][k]];
      auto found = move_of(k, p.task, p.pairs, to);
      if (o_.cut == attention_cut::window) {
        auto first = p.task;
        first.end = first.begin + o_.multiple;
        if (first.end < p.task.end) found = move_of(k, first, to);
      } else {
        auto const queries = (std::min)(surplus(from), deficit(to)) / p.task.slope() / o_.multiple * o_.multiple + o_.multiple;
        auto const pairs = queries * p.task.slope();
        if (queries <= most_off_ends(p.task) && pairs < p.pairs) found = move_of(k, cut_ends(p.task, queries), pairs, to);
      }
      if (found.pairs < (best.found() ? best.pairs : below)) best = found;
    }
    return best;
  }

  void move(candidate const& c, std::uint32_t from, std::uint32_t to) {
    auto const number = held_[from][c.place];
    load_[from] -= c.pairs;
    load_[to] += c.pairs;
    auto& p = parts_[number];
    if (c.pairs == p.pairs) {
      held_[from].erase(held_[from].begin() + static_cast<std::ptrdiff_t>(c.place));
      held_[to].push_back(number);
      return;
    }
    p.pairs -= c.pairs;
    auto const origin = p.origin;
    if (o_.cut == attention_cut::head_and_tail) {
      p.task = without_ends(p.task, c.task.end - c.task.begin);
    } else {
      auto before = p.task, behind = p.task;
      before.end = before.tail_begin = before.tail_end = c.task.begin;
      behind.begin = c.task.end;
      auto const only_one = before.begin == before.end || behind.begin == behind.end;
      p.task = before.begin == before.end ? behind : before;
      p.pairs = p.task.pairs();
      if (!only_one) add(from, behind, origin);
    }
    held_[to].push_back(static_cast<std::uint32_t>(parts_.size()));
    parts_.push_back({c.task, origin, c.pairs});
  }

  [[nodiscard]] attention_plan<Index> finish() {
    attention_plan<Index> out;
    out.tasks.reserve(parts_.size());
    std::vector<std::uint32_t> merged;
    auto const by_origin = [&](std::uint32_t a, std::uint32_t b) {
      auto const &x = parts_[a], &y = parts_[b];
      return x.origin != y.origin ? x.origin < y.origin : x.task.begin < y.task.begin;
    };
    for (std::uint32_t s = 0; s < servers_; ++s) {
      auto& mine = held_[s];
      auto const added = std::is_sorted_until(mine.begin(), mine.end(), by_origin);  // parts that came are behind those that stayed
      std::sort(added, mine.end(), by_origin);
      merged.resize(mine.size());
      std::merge(mine.begin(), added, added, mine.end(), merged.begin(), by_origin);
      mine.swap(merged);
      auto const first = out.tasks.size();
      for (std::size_t k = 0; k < mine.size(); ++k) {
        auto t = parts_[mine[k]].task;
        if (!t.has_tail()) t.tail_begin = t.tail_end = t.end;
        if (k > 0 && parts_[mine[k]].origin == parts_[mine[k - 1]].origin && joined(out.tasks.back(), t)) continue;
        out.tasks.push_back(t);
      }
      for (auto k = first; k < out.tasks.size(); ++k) {
        auto const& t = out.tasks[k];
        if (t.home == s) continue;
        ++out.moves;
        out.bytes_moved += t.queries() * o_.query_bytes + t.keys() * o_.key_value_bytes;
      }
      out.server_offsets.push_back(out.tasks.size());
    }
    out.load = {*std::max_element(load_.begin(), load_.end()), high_};
    out.loads = std::move(load_);
    return out;
  }

 private:
  struct part {
    attention_task<Index> task;
    std::uint32_t origin;  ///< the given task that it is of
    std::int64_t pairs;
  };
  void add(std::uint32_t server, attention_task<Index> const& t, std::size_t origin) {
    held_[server].push_back(static_cast<std::uint32_t>(parts_.size()));
    parts_.push_back({t, static_cast<std::uint32_t>(origin), t.pairs()});
  }
  [[nodiscard]] candidate move_of(std::size_t place, attention_task<Index> const& t, std::int64_t pairs, std::uint32_t to) const {
    return {place, t, pairs, t.home == to ? 0 : t.queries() * o_.query_bytes + t.keys() * o_.key_value_bytes};
  }
  [[nodiscard]] candidate move_of(std::size_t place, attention_task<Index> const& t, std::uint32_t to) const {
    return move_of(place, t, t.pairs(), to);
  }
  /// Adds a task behind or inside another to it, if they are neighbours.
  static bool joined(attention_task<Index>& outer, attention_task<Index> const& inner) {
    if (outer.end != inner.begin) return false;
    if (!outer.has_tail() && !inner.has_tail()) {
      outer.end = outer.tail_begin = outer.tail_end = inner.end;
      return true;
    }
    if (!outer.has_tail() || outer.tail_begin != inner.keys()) return false;
    outer.end = inner.has_tail() ? inner.end : outer.tail_end;
    outer.tail_begin = inner.has_tail() ? inner.tail_begin : outer.tail_end;
    return true;
  }

  water_filling_options const& o_;
  std::size_t servers_;
  std::vector<part> parts_;
  std::vector<std::vector<std::uint32_t>> held_;  ///< parts of each server
  std::vector<std::int64_t> load_;
  std::int64_t low_ = 0, high_ = 0;
};

}  // namespace ballast::inline v0_2::detail
