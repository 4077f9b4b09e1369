// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/memory/buffer.hpp>
#include <ballast/memory/detail/layout_problem.hpp>
#include <ballast/memory/detail/layout_search.hpp>
#include <ballast/memory/fast_layout.hpp>
#include <ballast/memory/result.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

namespace ballast::inline v0_2::detail {

/// Searches under one capacity, or under several in turn for the least height.
template <class = when_called>
class layout_ladder {
 public:
  layout_ladder(std::span<buffer const> buffers, layout_problem<> const& problem, std::uint64_t seed, double gap, search_budget& budget,
                memory_layout&& start)
      : buffers_(buffers), problem_(problem), gap_(gap), budget_(budget), search_(problem, seed, budget), best_(std::move(start)) {}

  /// A layout within the capacity, which the start is not.
  [[nodiscard]] memory_layout fit(std::int64_t capacity) {
    auto answer = layout_answer::cut_short;
    auto const possible = search_.start(capacity);
    for (std::uint64_t run = 0; possible && answer == layout_answer::cut_short && !over(); ++run) answer = search_.run(run);
    if (!possible) answer = layout_answer::none;
    if (answer == layout_answer::found) {
      write_layout(buffers_, problem_, search_.state().lowest, best_);
    } else {
      best_.status = answer == layout_answer::none ? status::infeasible : status::unknown;
      best_.offsets.clear();
      best_.height.value = 0;
      if (answer == layout_answer::none) rule_out(capacity);
    }
    return finish();
  }

  /// The lowest layout: a few runs under each of several capacities between the bound and the best height, and then twice as many.
  [[nodiscard]] memory_layout descend() {
    for (std::uint64_t runs = 3, first = 0; !over(); first += runs, runs *= 2) {
      std::int64_t last = -1;
      for (std::int64_t rung = 0; rung < rungs && !over(); ++rung) {
        auto const least = best_.height.lower_bound, range = (std::max)(best_.height.value - step() - least, std::int64_t{0});
        auto const above = round_down(range / (rungs - 1) * rung + range % (rungs - 1) * rung / (rungs - 1), step());
        if (std::exchange(last, above) == above) continue;
        // More runs under the bound itself: there, a layout is proven optimal.
        attempt(least + above, rung == 0 ? 2 * first : first, rung == 0 ? 2 * runs : runs);
      }
    }
    return finish();
  }

 private:
  static constexpr std::int64_t rungs = 12;

  [[nodiscard]] std::int64_t step() const { return problem_.padded ? 1 : problem_.unit; }  // between possible heights
  [[nodiscard]] bool over() { return best_.height.gap() <= gap_ || search_.over(); }
  void rule_out(std::int64_t capacity) {
    best_.height.lower_bound = problem_.padded ? capacity + 1 : round_down(capacity, step()) + step();
    best_.bound = layout_bound::search;
  }
  [[nodiscard]] memory_layout finish() {
    best_.nodes = search_.nodes();
    best_.complete = !budget_.interrupted();
    return std::move(best_);
  }
  void attempt(std::int64_t capacity, std::uint64_t first, std::uint64_t runs) {
    auto answer = search_.start(capacity) ? layout_answer::cut_short : layout_answer::none;
    for (auto run = first; run < first + runs && answer == layout_answer::cut_short && !over(); ++run) answer = search_.run(run);
    if (answer == layout_answer::none) rule_out(capacity);
    if (answer != layout_answer::found) return;
    write_layout(buffers_, problem_, search_.state().lowest, best_);
    search_.guide(search_.state().lowest);
  }

  std::span<buffer const> buffers_;
  layout_problem<> const& problem_;
  double gap_;
  search_budget& budget_;
  layout_search<> search_;
  memory_layout best_;
};

/// Whether the tables of a search are small beside its work: they have an entry for each section of a piece and for each pair in use at
/// the same time.
template <class = when_called>
[[nodiscard]] bool searchable(layout_problem<> const& problem, std::uint64_t work) {
  std::uint64_t entries = 0;
  for (std::uint32_t i = 0, begun = 0; i < problem.pieces.size(); ++i) {
    auto const& p = problem.pieces[i];
    begun = (std::max)(begun, i);
    while (begun < problem.pieces.size() && problem.pieces[begun].first < p.last) ++begun;
    entries += std::uint64_t{p.last - p.first} + 2 * (begun - i - 1);
  }
  return entries <= work / 32;
}

}  // namespace ballast::inline v0_2::detail
