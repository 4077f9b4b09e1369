// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/memory/bounds.hpp>
#include <ballast/memory/buffer.hpp>
#include <ballast/memory/detail/layout_problem.hpp>
#include <ballast/memory/detail/layout_search.hpp>
#include <ballast/memory/fast_layout.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

/// @file
/// @brief `layout_buffers`: addresses of buffers, by search.

namespace ballast::inline v0_2 {

/// @brief Options of `layout_buffers`.
struct layout_options {
  std::int64_t capacity = 0;  ///< bytes that the layout may take; 0: as few as possible
  std::uint64_t seed = 0;     ///< of the orders in which the search tries buffers
};

namespace detail {

/// Searches under one capacity, or under several in turn for the least height.
template <class = when_called>
class layout_ladder {
 public:
  layout_ladder(std::span<buffer const> buffers, layout_problem<> const& problem, std::uint64_t seed, double gap, search_budget& budget,
                memory_layout&& start)
      : buffers_(buffers),
        problem_(problem),
        seed_(seed),
        gap_(gap),
        budget_(budget),
        search_(problem, seed, budget),
        best_(std::move(start)) {}

  /// A layout within the capacity, which the start is not. How long a search takes differs by orders of magnitude from seed to seed, so one
  /// that has not ended in the work of a round lets others begin anew for a short time each, for half as much, and goes on in the next. No
  /// round depends on the limit, so more work only adds to what is done. `entries` of its tables are made for each search; `round` is
  /// the work of the first.
  [[nodiscard]] memory_layout fit(std::int64_t capacity, std::uint64_t entries, std::uint64_t round = 500'000'000) {
    constexpr auto endless = (std::numeric_limits<std::uint64_t>::max)();
    std::uint64_t run = 0, seed = seed_;
    auto answer = layout_answer::cut_short;
    for (; answer == layout_answer::cut_short && budget_.allows(); round *= 8) {
      search_.until(round);
      answer = attempt(search_, capacity, run, endless);
      while (answer == layout_answer::cut_short && budget_.allows(round / 2 * 3)) {
        layout_search<> other(problem_, seed += 0x9e3779b97f4a7c15U, budget_);
        other.until(budget_.spent() + (std::max)(round / 64, 16 * entries));
        std::uint64_t own_run = 0;
        answer = attempt(other, capacity, own_run, endless);
        others_nodes_ += other.nodes();
      }
    }
    if (answer != layout_answer::found) {
      best_.status = answer == layout_answer::none ? status::infeasible : status::unknown;
      best_.offsets.clear();
      best_.height.value = 0;
    }
    return finish();
  }

  /// The lowest layout: a few runs under each of several capacities between the bound and the best height, and then twice as many.
  [[nodiscard]] memory_layout descend() {
    for (std::uint64_t runs = 3, first = 0; !over(search_); first += runs, runs *= 2) {
      std::int64_t last = -1;
      for (std::int64_t rung = 0; rung < rungs && !over(search_); ++rung) {
        auto const least = best_.height.lower_bound, range = (std::max)(best_.height.value - step() - least, std::int64_t{0});
        auto const above = round_down(range / (rungs - 1) * rung + range % (rungs - 1) * rung / (rungs - 1), step());
        if (std::exchange(last, above) == above) continue;
        // More runs under the bound itself: there, a layout is proven optimal.
        auto const many = rung == 0 ? 2U : 1U;
        auto run = many * first;
        attempt(search_, least + above, run, run + many * runs);
      }
    }
    return finish();
  }

 private:
  static constexpr std::int64_t rungs = 12;

  [[nodiscard]] std::int64_t step() const { return problem_.padded ? 1 : problem_.unit; }  // between possible heights
  [[nodiscard]] bool over(layout_search<>& search) { return best_.height.gap() <= gap_ || search.over(); }
  void rule_out(std::int64_t capacity) {
    best_.height.lower_bound = problem_.padded ? capacity + 1 : round_down(capacity, step()) + step();
    best_.bound = layout_bound::search;
  }
  [[nodiscard]] memory_layout finish() {
    best_.nodes = search_.nodes() + others_nodes_;
    best_.complete = !budget_.interrupted();
    return std::move(best_);
  }
  /// The runs `run` … `end` - 1 of a search, `run` being the next at the end.
  layout_answer attempt(layout_search<>& search, std::int64_t capacity, std::uint64_t& run, std::uint64_t end) {
    auto answer = search.start(capacity) ? layout_answer::cut_short : layout_answer::none;
    while (run < end && answer == layout_answer::cut_short && !over(search)) answer = search.run(run++);
    if (answer == layout_answer::none) rule_out(capacity);
    if (answer == layout_answer::found) {
      write_layout(buffers_, problem_, search.state().lowest, best_);
      search.guide(search.state().lowest);
    }
    return answer;
  }

  std::span<buffer const> buffers_;
  layout_problem<> const& problem_;
  std::uint64_t seed_;
  double gap_;
  search_budget& budget_;
  layout_search<> search_;
  std::uint64_t others_nodes_ = 0;
  memory_layout best_;
};

/// How many entries the tables of a search have: one for each section of a piece and for each pair in use at the same time.
template <class = when_called>
[[nodiscard]] std::uint64_t search_entries(layout_problem<> const& problem) {
  std::uint64_t entries = 0;
  for (std::uint32_t i = 0, begun = 0; i < problem.pieces.size(); ++i) {
    auto const& p = problem.pieces[i];
    begun = (std::max)(begun, i);
    while (begun < problem.pieces.size() && problem.pieces[begun].first < p.last) ++begun;
    entries += std::uint64_t{p.last - p.first} + 2 * (begun - i - 1);
  }
  return entries;
}

}  // namespace detail

/// @brief Gives each buffer an address such that buffers in use at the same time do not overlap, within a capacity or as low as possible.
///
/// The best dive of `layout_buffers_quickly` comes first. Where it does not suffice, a depth-first search builds layouts from the bottom.
/// It takes a time in a stretch of least floor, and decides which buffer starts there next, or that none does. It learns from failures
/// which times are hard, never enters a state again that has failed, and restarts with other rules and orders. With a capacity, a search
/// lets others begin anew from other seeds now and then, and goes on. For the least height, one search tries several capacities in turn,
/// from the lower bound upwards.
///
/// @param buffers  the buffers; may be empty
/// @param options  capacity, and the seed of the search
/// @param limits   when the search stops; `gap` counts only without a capacity
/// @return with a capacity: a layout within it, or that none exists (which is then proven), or `unknown`. Without: the lowest layout found.
/// The lower bound is `layout_lower_bound`, or one more unit than the largest capacity that the search has ruled out
/// @post the layout passes `check_layout`; it is never above that of `layout_buffers_quickly`, and more work never gives a higher one. With
/// a capacity, what less work has answered stays the answer
/// @throws invalid_input as `max_load`, or if the capacity is negative
/// @par Complexity
/// That of `layout_buffers_quickly`, which counts as work but ends in any case, and at most `limits.work` of search. Memory: O(n + p) for p
/// pairs of buffers in use at the same time, and up to 100 MiB of failed states. There is no search if p exceeds a sixty-fourth of the
/// work.
/// @par Determinism
/// A pure function of its arguments, unless a stop or the wall clock ends it.
template <class = when_called>
[[nodiscard]] memory_layout layout_buffers(std::span<buffer const> buffers, layout_options const& options = {},
                                           search_limits const& limits = {}) {
  auto const capacity = options.capacity;
  require(capacity >= 0, [&] { return sentence("capacity = ", capacity, " must not be negative"); });
  auto const bound = layout_lower_bound(buffers);
  memory_layout out{.height = {0, bound.height}, .bound = bound.bound, .offsets = {}};
  if (bound.bound == layout_bound::fixed_addresses || (capacity > 0 && bound.height > capacity)) {
    out.status = status::infeasible;
    return out;
  }
  detail::layout_problem<> const problem(buffers);
  search_budget budget(limits, 1 << 14);
  out = detail::lowest_dive(buffers, problem, bound, 5, budget);
  if (out.height.optimal() || (capacity > 0 && out.height.value <= capacity)) return out;
  auto const gap = capacity > 0 ? 0 : limits.gap;
  auto const entries = detail::search_entries(problem);
  if (!budget.allows() || entries > limits.work / 32) {
    if (capacity > 0) out = {.height = {0, bound.height}, .bound = bound.bound, .offsets = {}};
    out.complete = !budget.interrupted();
    return out;
  }
  detail::layout_ladder<> ladder(buffers, problem, options.seed, gap, budget, std::move(out));
  return capacity > 0 ? ladder.fit(capacity, entries) : ladder.descend();
}

BALLAST_INSTANTIATE(memory_layout layout_buffers(std::span<buffer const>, layout_options const&, search_limits const&))

}  // namespace ballast::inline v0_2
