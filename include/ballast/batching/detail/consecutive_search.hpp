// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/consecutive_options.hpp>
#include <ballast/batching/detail/consecutive_spans.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Finds the cut of least objective. A dynamic program under a limit L on the times of micro-batches gives the least sum f(L), which rises
/// as L falls; the objective is the least a L + b f(L) over all L.
///
/// No cut whose slowest micro-batch is in [low, high) has an objective below a low + b f(high). Intervals that this bound leaves open are
/// halved a few times, then their spans are looked at one by one: if span (i, j) of time t is the slowest of a cut, the objective is at
/// least a t + b (least sum before i + t + least sum behind j). The spans whose bound is below the best objective are few. The program is
/// solved for the most promising one, which raises the bounds of all that take less, until none is left.
template <class Spans>
class consecutive_search {
 public:
  consecutive_search(Spans const& spans, consecutive_options const& by)
      : spans_(spans),
        by_(by),
        a_(static_cast<std::int64_t>(by.slowest_weight)),
        b_(static_cast<std::int64_t>(by.sum_weight)),
        before_(spans, false),
        behind_(spans, true) {}

  template <class Index>
  void run(consecutive_cut<Index>& out) {
    by_.candidate_step > 0 ? as_published() : exact();
    out.programs = programs_;
    out.quadrangle = spans_.quadrangle();
    if (best_ == no_time) {
      out.status = status::unknown;
      return;
    }
    out.boundaries.assign(cut_.rbegin(), cut_.rend());
    out.objective = {best_, (std::min)(lower_, best_)};
    out.slowest = slowest_;
    out.sum = sum_;
  }

 private:
  /// Least sums under a limit, and the slowest micro-batch of the cut that attains it.
  struct solved {
    std::int64_t slowest = 0;
    std::vector<std::int64_t> before, behind;  // of the first, of the last 0 ... n samples
    [[nodiscard]] std::int64_t sum() const { return before.back(); }
  };
  /// Cuts whose slowest micro-batch is in [low, high), and a program whose sums are not above theirs.
  struct interval {
    std::int64_t low, high;
    std::size_t above;
  };
  struct suspect {
    std::int64_t bound, time;
    std::size_t begin, end;
  };

  [[nodiscard]] std::int64_t objective(std::int64_t slowest, std::int64_t sum) const { return a_ * slowest + b_ * sum; }
  [[nodiscard]] std::uint64_t spent() const { return looked_at_ + before_.work + behind_.work; }

  /// Solves the program for a limit and keeps its cut if it is better.
  void solve(std::int64_t limit, solved& s, bool both) {
    ++programs_;
    before_.solve(limit, s.before);
    s.slowest = 0;
    for (auto end = spans_.samples(); end > 0; end = before_.from[end]) s.slowest = (std::max)(s.slowest, spans_(before_.from[end], end));
    if (auto const value = objective(s.slowest, s.sum()); value < best_) {
      best_ = value;
      slowest_ = s.slowest;
      sum_ = s.sum();
      cut_.assign(1, spans_.samples());
      while (cut_.back() > 0) cut_.push_back(before_.from[cut_.back()]);
    }
    if (both) behind_.solve(limit, s.behind);
  }

  void exact() {
    std::vector<solved> known(1);
    solve(no_time, known[0], a_ > 0);
    std::vector<interval> open{{spans_.slowest_alone(), known[0].slowest, 0}};
    auto const bound = [&](interval const& i) { return objective(i.low, known[i.above].sum()); };
    auto const close = [&] { std::erase_if(open, [&](interval const& i) { return i.low >= i.high || bound(i) >= best_; }); };
    close();
    for (int halvings = 0; halvings < 16 && !open.empty() && spent() < by_.work; ++halvings) {
      auto const least = std::min_element(open.begin(), open.end(), [&](interval const& x, interval const& y) {
        auto const of_x = bound(x), of_y = bound(y);
        return of_x != of_y ? of_x < of_y : x.low < y.low;
      });
      auto const i = *least;
      auto const middle = i.low + (i.high - 1 - i.low) / 2;
      known.emplace_back();
      solve(middle, known.back(), true);
      *least = {middle + 1, i.high, i.above};
      open.push_back({i.low, known.back().slowest, known.size() - 1});
      close();
    }
    for (auto const& i : open)
      if (spent() >= by_.work) lower_ = (std::min)(lower_, bound(i));
    if (spent() < by_.work)
      for (auto const& i : open) suspect_all(i, known[i.above]);
    clear();
    while (!suspects_.empty() && spent() < by_.work) {
      auto const median = suspects_.begin() + static_cast<std::ptrdiff_t>(suspects_.size() / 2);
      std::nth_element(suspects_.begin(), median, suspects_.end(), [](suspect const& x, suspect const& y) {
        return x.time != y.time ? x.time < y.time : x.end != y.end ? x.end < y.end : x.begin < y.begin;
      });
      auto const limit = median->time;
      auto& s = known.front();
      solve(limit, s, true);
      for (auto& x : suspects_)
        if (x.time <= limit) x.bound = (std::max)(x.bound, bound_of(x, s));
      looked_at_ += suspects_.size();
      clear();
    }
    for (auto const& x : suspects_) lower_ = (std::min)(lower_, x.bound);
  }
  [[nodiscard]] std::int64_t bound_of(suspect const& x, solved const& s) const {
    return objective(x.time, s.before[x.begin] + x.time + s.behind[spans_.samples() - x.end]);
  }
  void clear() {
    std::erase_if(suspects_, [&](suspect const& x) { return x.bound >= best_; });
  }
  /// Adds the spans of an interval whose bound is below the best objective.
  void suspect_all(interval const& in, solved const& s) {
    std::size_t slow = 0, fast = 0;  // the first begins of a span that takes less than `high`, and less than `low`
    for (std::size_t end = 1; end <= spans_.samples(); ++end) {
      slow = (std::max)(slow, spans_.first(end));
      while (slow < end && spans_(slow, end) >= in.high) ++slow;
      fast = (std::max)(fast, slow);
      while (fast < end && spans_(fast, end) >= in.low) ++fast;
      for (auto begin = slow; begin < fast; ++begin) {
        suspect x{0, spans_(begin, end), begin, end};
        x.bound = bound_of(x, s);
        if (x.bound < best_) suspects_.push_back(x);
      }
      looked_at_ += 2 + fast - slow;
    }
  }

  void as_published() {
    std::vector<std::int64_t> limits;
    limits.reserve(static_cast<std::size_t>(spans_.spans()));
    for (std::size_t end = 1; end <= spans_.samples(); ++end)
      for (auto begin = spans_.first(end); begin < end; ++begin) limits.push_back(spans_(begin, end));
    std::sort(limits.begin(), limits.end());
    solved s;
    auto last = limits.front();
    for (std::size_t k = 0; k < limits.size() && spent() < by_.work; ++k) {
      if (k > 0 && limits[k] - last <= by_.candidate_step) continue;
      last = limits[k];
      if (last >= spans_.slowest_alone()) solve(last, s, false);
    }
    before_.solve(no_time, s.before);
    lower_ = objective(spans_.slowest_alone(), s.sum());
  }

  Spans const& spans_;
  consecutive_options const& by_;
  std::int64_t a_, b_;
  least_sums<Spans> before_, behind_;
  std::vector<suspect> suspects_;
  std::vector<std::size_t> cut_;  // from the last boundary to the first
  std::int64_t best_ = no_time, slowest_ = 0, sum_ = 0, lower_ = no_time;
  std::uint64_t looked_at_ = 0, programs_ = 0;
};

}  // namespace ballast::inline v0_2::detail
