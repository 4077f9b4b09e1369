// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/sharding/attention_tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Moves parts of tasks between servers until their loads are alike.
template <index_type Index>
class water_filler {
 public:
  water_filler(std::span<attention_task<Index> const> tasks, water_filling_options const& o)
      : o_(o), servers_(static_cast<std::size_t>(o.servers)), held_(servers_), load_(servers_, 0), retired_(servers_, false) {
    parts_.reserve(tasks.size() + 4 * servers_);
    for (auto const& t : tasks) {
      held_[t.home].push_back(static_cast<std::uint32_t>(parts_.size()));
      parts_.push_back({t, static_cast<std::uint32_t>(parts_.size()), t.pairs()});
      load_[t.home] += parts_.back().pairs;
      total_ += parts_.back().pairs;
    }
    auto const count = static_cast<std::int64_t>(servers_);
    low_ = total_ / count;
    high_ = divide_up(total_, count);
    tolerated_ = low_ / 1000 * o.tolerance + low_ % 1000 * o.tolerance / 1000;
  }

  [[nodiscard]] attention_plan<Index> run() {
    if (o_.filling == filling::one_sided)
      fill_receivers();
    else
      fill_both();
    return finish();
  }

 private:
  struct part {
    attention_task<Index> task;
    std::uint32_t origin;  ///< the given task that it is of
    std::int64_t pairs;
  };
  /// A move that could be made: all queries of a part, or `queries` off both its ends.
  struct candidate {
    std::size_t place = 0;  ///< in the list of the donor
    std::int64_t queries = 0, pairs = 0, bytes = 0;
    [[nodiscard]] bool found() const { return pairs > 0; }
  };
  using entry = std::pair<std::int64_t, std::uint32_t>;  ///< surplus or deficit, and the server; ties: the lower number
  struct less_urgent {
    bool operator()(entry const& a, entry const& b) const { return a.first != b.first ? a.first < b.first : a.second > b.second; }
  };
  using heap = std::priority_queue<entry, std::vector<entry>, less_urgent>;

  [[nodiscard]] std::int64_t surplus(std::uint32_t server) const { return load_[server] - high_; }
  [[nodiscard]] std::int64_t deficit(std::uint32_t server) const { return low_ - load_[server]; }

  [[nodiscard]] candidate move_of(std::size_t place, part const& p, std::int64_t queries, std::uint32_t to) const {
    auto const& t = p.task;
    auto const count = queries == 0 ? t.queries() : 2 * queries;
    return {place, queries, queries == 0 ? p.pairs : queries * t.slope(),
            t.home == to ? 0 : count * o_.query_bytes + t.keys() * o_.key_value_bytes};
  }
  /// Most queries that can be taken off both ends.
  [[nodiscard]] static std::int64_t most_queries(attention_task<Index> const& t) {
    return t.has_tail() ? (std::min)(t.end - t.begin, t.tail_end - t.tail_begin) : (t.end - t.begin) / 2;
  }
  [[nodiscard]] static bool cheaper(candidate const& a, candidate const& b) {
    auto const order = compare_products(a.bytes, b.pairs, b.bytes, a.pairs);
    return order != 0 ? order < 0 : a.pairs > b.pairs;
  }
  /// The donor's move of at most `most` pairs with the least bytes per pair.
  [[nodiscard]] candidate cheapest(std::uint32_t from, std::uint32_t to, std::int64_t most) const {
    candidate best;
    for (std::size_t k = 0; k < held_[from].size(); ++k) {
      auto const& p = parts_[held_[from][k]];
      std::int64_t queries = 0;
      if (p.pairs > most) {
        queries = round_down((std::min)(most / p.task.slope(), most_queries(p.task)), o_.multiple);
        if (queries == 0) continue;
      }
      auto const found = move_of(k, p, queries, to);
      if (!best.found() || cheaper(found, best)) best = found;
    }
    return best;
  }
  /// Where no move is small enough: the smallest one after which the larger of the two distances from the mean is less than before.
  [[nodiscard]] candidate overshooting(std::uint32_t from, std::uint32_t to) const {
    candidate best;
    for (std::size_t k = 0; k < held_[from].size(); ++k) {
      auto const& p = parts_[held_[from][k]];
      auto const least = (std::min)(surplus(from), deficit(to)) / p.task.slope() / o_.multiple * o_.multiple + o_.multiple;
      auto const found = move_of(k, p, least <= most_queries(p.task) && least * p.task.slope() < p.pairs ? least : 0, to);
      if (found.pairs < (best.found() ? best.pairs : surplus(from) + deficit(to))) best = found;
    }
    return best;
  }

  void move(candidate const& c, std::uint32_t from, std::uint32_t to) {
    auto const number = held_[from][c.place];
    load_[from] -= c.pairs;
    load_[to] += c.pairs;
    if (c.queries == 0) {
      held_[from].erase(held_[from].begin() + static_cast<std::ptrdiff_t>(c.place));
      held_[to].push_back(number);
      return;
    }
    auto& t = parts_[number].task;
    auto given = t;
    auto& back = t.has_tail() ? t.tail_end : t.end;
    given.end = t.begin + c.queries;
    given.tail_begin = back - c.queries;
    given.tail_end = back;
    t.begin += c.queries;
    back -= c.queries;
    if (t.begin == t.end) {  // the head is used up
      t.begin = t.tail_begin;
      t.end = t.tail_end;
    }
    if (!t.has_tail() || t.begin == t.tail_begin) t.tail_begin = t.tail_end = t.end;
    parts_[number].pairs -= c.pairs;
    held_[to].push_back(static_cast<std::uint32_t>(parts_.size()));
    parts_.push_back({given, parts_[number].origin, c.pairs});
  }

  void fill_both() {
    heap donors, receivers;
    auto const enter = [&](std::uint32_t s) {
      if (retired_[s]) return;
      if (surplus(s) > 0) donors.push({surplus(s), s});
      if (deficit(s) > 0) receivers.push({deficit(s), s});
    };
    for (std::uint32_t s = 0; s < servers_; ++s) enter(s);
    auto overshoots = 4 * servers_;
    for (;;) {
      while (!donors.empty() && (retired_[donors.top().second] || surplus(donors.top().second) != donors.top().first)) donors.pop();
      while (!receivers.empty() && (retired_[receivers.top().second] || deficit(receivers.top().second) != receivers.top().first))
        receivers.pop();
      if (donors.empty() || receivers.empty()) return;
      auto from = donors.top().second;
      auto const to = receivers.top().second;
      auto const more = donors.top().first, less = receivers.top().first;
      if (more <= tolerated_ && less <= tolerated_) return;
      auto found = cheapest(from, to, (std::min)(more, less));
      if (!found.found() && more > tolerated_ && overshoots > 0) {
        found = overshooting(from, to);
        --overshoots;
      }
      if (!found.found() && less > tolerated_) std::tie(found, from) = of_another_donor(from, to);
      if (found.found()) {
        move(found, from, to);
        enter(from);
        enter(to);
      } else {
        retired_[more >= less ? from : to] = true;
      }
    }
  }
  /// A move of another donor that neither side has too much of; of the donors, the one with the largest surplus.
  [[nodiscard]] std::pair<candidate, std::uint32_t> of_another_donor(std::uint32_t without, std::uint32_t to) {
    order_.clear();
    for (std::uint32_t s = 0; s < servers_; ++s)
      if (s != without && surplus(s) > 0) order_.push_back({surplus(s), s});
    std::sort(order_.begin(), order_.end(), [](entry const& a, entry const& b) { return less_urgent{}(b, a); });
    for (auto const& [more, from] : order_)
      if (auto const found = cheapest(from, to, (std::min)(more, deficit(to))); found.found()) return {found, from};
    return {candidate{}, without};
  }

  /// The published way: the receivers one after the other, each from the donor that gives with the least bytes per pair.
  void fill_receivers() {
    std::vector<entry> receivers;
    for (std::uint32_t s = 0; s < servers_; ++s)
      if (deficit(s) > 0) receivers.push_back({deficit(s), s});
    std::sort(receivers.begin(), receivers.end(), [](entry const& a, entry const& b) { return less_urgent{}(b, a); });
    for (auto const& [less, to] : receivers)
      while (deficit(to) > tolerated_) {
        candidate best;
        std::uint32_t giver = 0;
        for (std::uint32_t from = 0; from < servers_; ++from) {
          if (surplus(from) <= 0) continue;
          auto const found = cheapest(from, to, (std::min)(surplus(from), deficit(to)));
          if (found.found() && (!best.found() || cheaper(found, best))) {
            best = found;
            giver = from;
          }
        }
        if (!best.found()) break;
        move(best, giver, to);
      }
  }

  [[nodiscard]] attention_plan<Index> finish() {
    attention_plan<Index> out;
    out.tasks.reserve(parts_.size());
    for (std::uint32_t s = 0; s < servers_; ++s) {
      auto& mine = held_[s];
      std::sort(mine.begin(), mine.end(), [&](std::uint32_t a, std::uint32_t b) {
        auto const& x = parts_[a];
        auto const& y = parts_[b];
        return x.origin != y.origin ? x.origin < y.origin : x.task.begin < y.task.begin;
      });
      auto const first = out.tasks.size();
      for (std::size_t k = 0; k < mine.size(); ++k) {
        auto const& t = parts_[mine[k]].task;
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
  /// Adds a task inside `outer` to it, if they are neighbours on both sides.
  static bool joined(attention_task<Index>& outer, attention_task<Index> const& inner) {
    if (!outer.has_tail() || outer.end != inner.begin || outer.tail_begin != inner.keys()) return false;
    outer.end = inner.has_tail() ? inner.end : outer.tail_end;
    outer.tail_begin = inner.has_tail() ? inner.tail_begin : outer.tail_end;
    return true;
  }

  water_filling_options const& o_;
  std::size_t servers_;
  std::vector<part> parts_;
  std::vector<std::vector<std::uint32_t>> held_;  ///< parts of each server
  std::vector<std::int64_t> load_;
  std::vector<bool> retired_;  ///< servers that no move helps
  std::vector<entry> order_;
  std::int64_t total_ = 0, low_ = 0, high_ = 0, tolerated_ = 0;
};

}  // namespace ballast::inline v0_2::detail
