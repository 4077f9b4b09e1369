// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/memory/detail/layout_problem.hpp>
#include <ballast/memory/detail/piece_neighbours.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// A layout that is built from the bottom, with what follows for the pieces that are not placed yet. Every change can be undone.
///
/// After every successful `place` or `raise`: `floor[s]` is the least `lowest[u]` of the unplaced pieces u of section s, and floor and the
/// unplaced sizes of s together do not exceed the limit of s.
template <class = when_called>
class layout_state {
 public:
  static constexpr auto never = (std::numeric_limits<std::int64_t>::max)();

  explicit layout_state(layout_problem<> const& problem) : problem_(problem), neighbours_(problem) {
    auto const n = problem.pieces.size(), m = std::size_t{problem.sections};
    count = problem.covers;
    total = problem.loads;
    cross.assign(m + 1, 0);
    span_begin_.assign(n + 1, 0);
    for (std::size_t i = 0; i < n; ++i) {
      auto const& p = problem.pieces[i];
      span_begin_[i + 1] = span_begin_[i] + (p.last - p.first);
      for (auto s = p.first + 1; s < p.last; ++s) ++cross[s];
    }
    live_begin_.assign(m + 1, 0);
    for (std::size_t s = 0; s < m; ++s) live_begin_[s + 1] = live_begin_[s] + count[s];
    live_.resize(span_begin_[n]);
    place_in_.resize(span_begin_[n]);
    count.assign(m, 0);
    for (std::uint32_t i = 0; i < n; ++i)
      for (auto s = problem.pieces[i].first; s < problem.pieces[i].last; ++s) {
        place_in_[span_begin_[i] + (s - problem.pieces[i].first)] = count[s];
        live_[live_begin_[s] + count[s]++] = i;
      }
    floor.assign(m, 0);
    top.assign(m, 0);
    tied.assign(m, 0);
    limit.assign(m, 0);
    lowest.assign(n, 0);
    most_.assign(n, 0);
    seen_.assign(n, 0);
    unplaced.assign((n + 63) / 64, 0);
    for (std::size_t i = 0; i < n; ++i) unplaced[i / 64] |= std::uint64_t{1} << (i % 64);
    queued_.assign(m, 0);
    for (std::size_t i = 0; i < n; ++i) lowest[i] = (std::max)(problem.pieces[i].fixed, std::int64_t{0});
  }

  /// Begins anew with nothing placed, under a capacity in bytes. False: it is clear at once that no layout exists.
  [[nodiscard]] bool start(std::int64_t capacity) {
    undo(0);
    std::fill(limit.begin(), limit.end(), 0);
    for (std::size_t i = 0; i < problem_.pieces.size(); ++i) {
      auto const& p = problem_.pieces[i];
      auto const bytes = p.size * problem_.unit - p.pad;
      if (bytes > capacity) return false;
      most_[i] = (capacity - bytes) / problem_.unit;
      if (lowest[i] > most_[i]) return false;
      for (auto s = p.first; s < p.last; ++s) limit[s] = (std::max)(limit[s], most_[i] + p.size);
    }
    for (std::uint32_t s = 0; s < problem_.sections; ++s) enqueue(s);
    auto const good = propagate();
    trail_.clear();
    return good;
  }

  [[nodiscard]] std::size_t mark() const { return trail_.size(); }
  [[nodiscard]] bool is_placed(std::uint32_t i) const { return (unplaced[i / 64] >> (i % 64) & 1) == 0; }
  [[nodiscard]] std::uint32_t failed_at() const { return failed_at_; }
  [[nodiscard]] std::int64_t slack(std::uint32_t s) const { return limit[s] - floor[s] - total[s]; }
  /// The unplaced pieces of a section.
  [[nodiscard]] std::span<std::uint32_t const> live(std::uint32_t s) const { return {live_.data() + live_begin_[s], count[s]}; }
  [[nodiscard]] std::int64_t aligned(std::uint32_t i, std::int64_t at) const {
    auto const a = problem_.pieces[i].alignment;
    return a == 1 ? at : round_up(at, a);
  }

  /// Puts piece i where it can start lowest, which is the floor of all its sections. False: no layout has it there.
  [[nodiscard]] bool place(std::uint32_t i) {
    auto const& p = problem_.pieces[i];
    auto const end = lowest[i] + p.size;
    trail_.push_back({kind::placed, i, 0});
    unplaced[i / 64] &= ~(std::uint64_t{1} << (i % 64));
    for (auto s = p.first; s < p.last; ++s) {
      detach(i, s);
      set(kind::top, top, s, end);
      set(kind::floor, floor, s, end);
      enqueue(s);
    }
    auto const around = neighbours_.of(i);
    work += (p.last - p.first) + around.size();
    for (auto const v : around)
      if (lowest[v] < end && !is_placed(v) && !lift(v, end)) return drop_queue();
    return propagate();
  }

  /// Declares that no unplaced piece starts below `to` in section s. False: no layout is so.
  [[nodiscard]] bool raise(std::uint32_t s, std::int64_t to) {
    set(kind::floor, floor, s, to);
    enqueue(s);
    work += count[s];
    for (auto const v : live(s))
      if (lowest[v] < to && !lift(v, to)) return drop_queue();
    return propagate();
  }

  /// The least height at which another piece can start in section s if none starts at its floor: above it stands the lowest one on a piece
  /// that is not in s. `enough`: no less is looked for once it is at most so high.
  [[nodiscard]] std::int64_t next_start(std::uint32_t s, std::int64_t enough) {
    auto const h = floor[s], within = h + slack(s);
    auto best = never;
    for (auto const u : live(s)) {
      if (lowest[u] > h) {
        best = (std::min)(best, lowest[u]);
      } else if (problem_.pieces[u].fixed < 0) {
        for (auto const v : neighbours_.of(u)) {
          auto const& p = problem_.pieces[v];
          ++work;
          if (h + p.size > within || h + p.size >= best) break;
          if (p.first <= s && s < p.last) continue;
          if (!is_placed(v)) best = (std::min)(best, aligned(u, lowest[v] + p.size));
        }
      }
      if (best <= enough) break;
    }
    work += count[s];
    return best;
  }

  void undo(std::size_t mark) {
    for (; trail_.size() > mark; trail_.pop_back()) {
      auto const& t = trail_.back();
      switch (t.what) {
        case kind::floor: floor[t.index] = t.old; break;
        case kind::top: top[t.index] = t.old; break;
        case kind::lowest: lowest[t.index] = t.old; break;
        case kind::tied: tied[t.index] = static_cast<std::uint32_t>(t.old); break;
        case kind::placed: attach(t.index); break;
      }
    }
  }

  std::vector<std::int64_t> floor;      ///< of a section: no unplaced piece starts lower
  std::vector<std::int64_t> top;        ///< of a section: where the highest placed piece ends
  std::vector<std::int64_t> total;      ///< of a section: sizes of its unplaced pieces
  std::vector<std::int64_t> limit;      ///< of a section: nothing ends above
  std::vector<std::uint32_t> count;     ///< of a section: unplaced pieces
  std::vector<std::uint32_t> tied;      ///< of a section: unplaced pieces that can start at its floor
  std::vector<std::uint32_t> cross;     ///< unplaced pieces that are in section s - 1 and in s
  std::vector<std::int64_t> lowest;     ///< of a piece: least start, and the start of a placed one
  std::vector<std::uint64_t> unplaced;  ///< one bit for each piece
  std::uint64_t work = 0;               ///< operations so far

 private:
  enum class kind : std::uint8_t { floor, top, lowest, tied, placed };
  struct change {
    kind what;
    std::uint32_t index;
    std::int64_t old;
  };

  template <class T>
  void set(kind what, std::vector<T>& values, std::uint32_t index, T to) {
    trail_.push_back({what, index, static_cast<std::int64_t>(values[index])});
    values[index] = to;
  }
  void enqueue(std::uint32_t s) {
    if (queued_[s] == 0) queue_.push_back(s);
    queued_[s] = 1;
  }
  bool drop_queue() {
    for (auto const s : queue_) queued_[s] = 0;
    queue_.clear();
    return false;
  }
  bool fail(std::uint32_t s) {
    failed_at_ = s;
    return drop_queue();
  }

  void detach(std::uint32_t i, std::uint32_t s) {
    auto const& p = problem_.pieces[i];
    auto* const places = live_.data() + live_begin_[s];
    auto& at = place_in_[span_begin_[i] + (s - p.first)];
    auto const end = --count[s];
    auto const other = places[end];
    place_in_[span_begin_[other] + (s - problem_.pieces[other].first)] = at;
    std::swap(places[at], places[end]);
    at = end;
    total[s] -= p.size;
    if (s > p.first) --cross[s];
  }
  void attach(std::uint32_t i) {
    auto const& p = problem_.pieces[i];
    unplaced[i / 64] |= std::uint64_t{1} << (i % 64);
    for (auto s = p.first; s < p.last; ++s) {
      ++count[s];
      total[s] += p.size;
      if (s > p.first) ++cross[s];
    }
  }

  /// An unplaced piece cannot start below `to` any more.
  bool lift(std::uint32_t i, std::int64_t to) {
    auto const& p = problem_.pieces[i];
    auto const old = lowest[i];
    to = aligned(i, to);
    if (p.fixed >= 0 || to > most_[i]) {
      failed_at_ = p.first;
      return false;
    }
    set(kind::lowest, lowest, i, to);
    work += p.last - p.first;
    for (auto s = p.first; s < p.last; ++s)
      if (floor[s] == old) {
        set(kind::tied, tied, s, tied[s] - 1);
        if (tied[s] == 0) enqueue(s);
      }
    return true;
  }

  /// Sets the floors and ties of the queued sections, and looks for a reason why no layout is so.
  bool propagate() {
    for (auto const s : queue_) {
      if (count[s] == 0) continue;
      auto least = never;
      std::uint32_t ties = 0;
      for (auto const u : live(s)) {
        if (lowest[u] < least) least = lowest[u], ties = 0;
        ties += lowest[u] == least ? 1U : 0U;
      }
      work += count[s];
      if (least + total[s] > limit[s]) return fail(s);
      if (least != floor[s]) set(kind::floor, floor, s, least);
      if (ties != tied[s]) set(kind::tied, tied, s, ties);
    }
    ++round_;
    for (auto const s : queue_) {
      auto const hole = floor[s] - top[s];
      if (count[s] == 0 || hole == 0) continue;
      for (auto const u : live(s)) {
        if (problem_.pieces[u].size > hole || seen_[u] == round_) continue;
        seen_[u] = round_;
        if (slides(u)) return fail(s);
      }
    }
    drop_queue();
    return true;
  }

  /// Whether piece i, wherever it starts at last, can start lower, below all that is still to come: not so in a lowest layout.
  bool slides(std::uint32_t i) {
    auto const& p = problem_.pieces[i];
    if (p.fixed >= 0) return false;
    std::int64_t highest = 0;
    auto least = never;
    for (auto s = p.first; s < p.last; ++s) {
      ++work;
      highest = (std::max)(highest, top[s]);
      least = (std::min)(least, floor[s]);
      if (least - highest < p.size) return false;
    }
    return aligned(i, highest) + p.size <= least;
  }

  layout_problem<> const& problem_;
  piece_neighbours<> neighbours_;
  std::vector<std::size_t> span_begin_;  ///< of a piece: where its entries of `place_in_` begin
  std::vector<std::size_t> live_begin_;  ///< of a section: where its pieces in `live_` begin; the unplaced come first
  std::vector<std::uint32_t> live_;
  std::vector<std::uint32_t> place_in_;  ///< of a piece in each of its sections: its place there in `live_`
  std::vector<std::uint32_t> queue_;     ///< sections whose floor or ties may have changed
  std::vector<std::int64_t> most_;       ///< of a piece: the highest start under the capacity
  std::vector<std::uint8_t> queued_;
  std::vector<std::uint64_t> seen_;
  std::uint64_t round_ = 0;
  std::uint32_t failed_at_ = 0;
  std::vector<change> trail_;
};

}  // namespace ballast::inline v0_2::detail
