// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/partition/consecutive_options.hpp>
#include <ballast/partition/detail/consecutive_spans.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief `consecutive_micro_batches`: cuts an ordered global batch into micro-batches such that a pipeline takes least time.

namespace ballast::inline v0_2 {

namespace detail {

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

}  // namespace detail

/// @brief Cuts ordered samples into consecutive micro-batches of least weighted sum of the slowest one and of all.
///
/// Samples of one length are usually sorted by it, longest first, so that micro-batches that are padded to their longest sample hold
/// samples of similar lengths. The number of micro-batches is free: large ones cost less in total if a micro-batch has a fixed cost, small
/// ones make the pipeline fill and drain faster. The result is the exact optimum over all cuts of the given order.
///
/// For a limit on the time of each micro-batch, a dynamic program over the ends gives the least sum. Limits are not tried one by one:
/// bounds from programs that were solved rule out all but a few, usually ten to forty of the many thousand. A program takes O(n log n)
/// where the times meet the quadrangle inequality, t(i, j) + t(i', j') <= t(i, j') + t(i', j) for i < i' < j < j', and looks at every span
/// otherwise. Sums of costs of samples meet it, and so does any time that is linear in the count with a rate that rises with the longest
/// sample. The first pass finds out.
///
/// @tparam Index  type of the boundaries
/// @tparam Cost   a `span_cost`
/// @tparam Size   a `span_cost`
/// @param samples  number of samples, in their order; may be 0
/// @param options  capacity, weights, the published variant, and the limit of work
/// @param cost     time of a micro-batch that holds samples begin … end - 1, in [0, 2^62)
/// @param size     size of such a micro-batch, such as bytes of its activations, in [0, 2^62)
/// @return the cut; infeasible if one sample alone exceeds the capacity
/// @post unless `work` was spent or there is a `candidate_step`, `objective.optimal()`
/// @throws invalid_input for a bad option; a cost or size that is out of range, or smaller for a longer span (the cost of every span that
///         fits is checked, sizes where they reach the capacity); an objective that could reach 2^62
/// @par Complexity
/// With s spans that fit: s calls of the cost (none of them if it is known to meet the inequality and s is above 2^22), and O(n log n) or
/// O(s) for each of the programs that bounds do not rule out, of which there are at most as many as spans. A table of the times, if s is at
/// most 2^22, takes 8 s bytes. With a `candidate_step`, one program for each candidate.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Jiang et al., "DynaPipe: Optimizing Multi-task Training through Dynamic Pipelines", EuroSys 2024, arXiv 2311.10418, section 4: the
/// objective and the program. The queue: Galil, Park, "Dynamic programming with convexity, concavity and sparsity", Theoretical Computer
/// Science 92 (1992). The bounds: this library.
template <index_type Index = std::uint32_t, span_cost Cost, span_cost Size>
[[nodiscard]] consecutive_cut<Index> consecutive_micro_batches(std::uint64_t samples, consecutive_options const& options, Cost const& cost,
                                                               Size const& size) {
  constexpr auto most_weight = std::uint64_t{1} << 31;
  require_index<Index>(samples, "samples");
  require(options.capacity > 0, [&] { return sentence("capacity = ", options.capacity, " must be positive"); });
  require(options.slowest_weight < most_weight && options.sum_weight < most_weight && options.slowest_weight + options.sum_weight > 0, [&] {
    return sentence("slowest_weight = ", options.slowest_weight, " and sum_weight = ", options.sum_weight,
                    " must be below 2^31, and not both 0");
  });
  require(options.candidate_step >= 0, [&] { return sentence("candidate_step = ", options.candidate_step, " must not be negative"); });
  consecutive_cut<Index> out;
  if (samples == 0) {
    out.boundaries.push_back(0);
    return out;
  }
  detail::consecutive_spans<Cost> const spans(samples, options.capacity, cost, size, options.quadrangle);
  if (auto const i = spans.oversized(); i < samples) {
    out.status = status::infeasible;
    out.objective = {options.capacity, static_cast<std::int64_t>(size(i, i + 1))};
    return out;
  }
  auto const slowest = checked(spans.slowest());
  auto const most = checked(static_cast<std::int64_t>(options.slowest_weight)) * slowest +
                    checked(static_cast<std::int64_t>(options.sum_weight)) * (checked(static_cast<std::int64_t>(samples)) * slowest);
  auto const sums = checked(static_cast<std::int64_t>(samples)) * slowest;
  require(most.fits() && most.value < std::int64_t{1} << 62 && sums.fits() && sums.value < std::int64_t{1} << 62,
          [&] { return sentence("the slowest micro-batch that fits takes ", slowest.value, ": the objective could reach 2^62"); });
  detail::consecutive_search(spans, options).run(out);
  return out;
}

}  // namespace ballast::inline v0_2
