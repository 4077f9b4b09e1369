// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/memory/bounds.hpp>
#include <ballast/memory/buffer.hpp>
#include <ballast/memory/detail/layout_ladder.hpp>
#include <ballast/memory/detail/layout_problem.hpp>
#include <ballast/memory/fast_layout.hpp>
#include <ballast/memory/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <utility>

/// @file
/// @brief `layout_buffers`: addresses of buffers, by search.

namespace ballast::inline v0_2 {

/// @brief Options of `layout_buffers`.
struct layout_options {
  std::int64_t capacity = 0;  ///< bytes that the layout may take; 0: as few as possible
  std::uint64_t seed = 0;     ///< of the orders in which the search tries buffers
};

/// @brief Gives each buffer an address such that buffers in use at the same time do not overlap, within a capacity or as low as possible.
///
/// The best dive of `layout_buffers_quickly` comes first. Where it does not suffice, a depth-first search builds layouts from the bottom.
/// It takes a time in a stretch of least floor, and decides which buffer starts there next, or that none does. It learns from failures
/// which times are hard, never enters a state again that has failed, and restarts with other rules and orders. For the least height it
/// searches under several capacities in turn, from the lower bound upwards.
///
/// @param buffers  the buffers; may be empty
/// @param options  capacity, and the seed of the search
/// @param limits   when the search stops; `gap` counts only without a capacity
/// @return with a capacity: a layout within it, or that none exists (which is then proven), or `unknown`. Without: the lowest layout found.
/// The lower bound is `layout_lower_bound`, or one more unit than the largest capacity that the search has ruled out
/// @post the layout passes `check_layout`; it is never above that of `layout_buffers_quickly`, and more work never gives a higher one
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
  require(capacity >= 0, [&] { return "capacity = " + std::to_string(capacity) + " must not be negative"; });
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
  if (!budget.allows() || !detail::searchable(problem, limits.work)) {
    if (capacity > 0) out = {.height = {0, bound.height}, .bound = bound.bound, .offsets = {}};
    out.complete = !budget.interrupted();
    return out;
  }
  detail::layout_ladder<> ladder(buffers, problem, options.seed, gap, budget, std::move(out));
  return capacity > 0 ? ladder.fit(capacity) : ladder.descend();
}

BALLAST_INSTANTIATE(memory_layout layout_buffers(std::span<buffer const>, layout_options const&, search_limits const&))

}  // namespace ballast::inline v0_2
