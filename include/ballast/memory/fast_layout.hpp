// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/memory/bounds.hpp>
#include <ballast/memory/buffer.hpp>
#include <ballast/memory/detail/layout_dive.hpp>
#include <ballast/memory/detail/layout_problem.hpp>
#include <ballast/memory/fit_layouts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `layout_buffers_quickly`: a layout of buffers in one pass, or the best of a few.

namespace ballast::inline v0_2 {

/// @brief Options of `layout_buffers_quickly`.
struct fast_layout_options {
  std::uint32_t dives = 5;  ///< layouts that are tried, 1 … 5, each with another order of equally urgent buffers; the lowest is returned
};

namespace detail {

/// Writes the starts of pieces, in units, into a layout of buffers.
template <class = when_called>
void write_layout(std::span<buffer const> buffers, layout_problem<> const& problem, std::vector<std::int64_t> const& starts,
                  memory_layout& out) {
  out.status = status::feasible;
  out.offsets.assign(buffers.size(), 0);
  out.height.value = 0;
  for (std::size_t i = 0; i < problem.pieces.size(); ++i) out.offsets[problem.pieces[i].index] = starts[i] * problem.unit;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].size == 0) out.offsets[i] = (std::max)(buffers[i].fixed, std::int64_t{0});
    out.height.value = (std::max)(out.height.value, out.offsets[i] + buffers[i].size);
  }
}

/// The lowest layout of several dives, or of first fit and best fit where addresses are fixed. Only a stop or the clock ends it early.
template <class = when_called>
[[nodiscard]] memory_layout lowest_dive(std::span<buffer const> buffers, layout_problem<> const& problem, height_bound const& bound,
                                        std::uint32_t dives, search_budget& budget) {
  memory_layout best{.height = {0, bound.height}, .bound = bound.bound, .offsets = {}};
  auto const offer = [&](memory_layout&& other) {
    if (best.offsets.empty() || other.height.value < best.height.value) best = std::move(other);
    return best.height.optimal();
  };
  if (std::any_of(problem.pieces.begin(), problem.pieces.end(), [](auto const& p) { return p.fixed >= 0; })) {
    for (auto const order : {fit_order::size, fit_order::area, fit_order::lifetime})
      if (offer(first_fit_layout(buffers, order)) || offer(best_fit_layout(buffers, order))) break;
    return best;
  }
  layout_dive<> dive(problem);
  for (std::uint32_t i = 0; i < dives && (i == 0 || budget.in_time()); ++i) {
    memory_layout other{.height = {0, bound.height}, .bound = bound.bound, .offsets = {}};
    auto const before = dive.operations();
    write_layout(buffers, problem, dive.run(static_cast<dive_order>(i)), other);
    budget.spend(1000 * (dive.operations() - before));
    if (offer(std::move(other))) break;
  }
  return best;
}

}  // namespace detail

/// @brief Gives each buffer an address, quickly, such that buffers in use at the same time do not overlap and the height is small.
///
/// A dive builds the layout from the bottom: the lowest stretch of time takes a buffer that lies in it and covers its most urgent time,
/// where few other buffers could start and little slack is left below the max load. It rises when it has none. Where the count of buffers
/// that could start changes too often, slack alone decides. Where buffers have fixed addresses, the result is the best of first fit and
/// best fit instead.
///
/// @param buffers  the buffers; may be empty
/// @param options  how many dives are tried
/// @return the lowest layout found, with `layout_lower_bound`; infeasible if fixed addresses overlap
/// @throws invalid_input as `max_load`, or if `dives` is not 1 … 5
/// @par Complexity
/// O(n log n) time for each dive, and a search for O(n) buffers among points (begin, end), O(n sqrt n) at worst, where buffers stop or
/// begin to lie in one level stretch of time more often than n + 15 times the buffers placed so far. O(n) memory.
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] memory_layout layout_buffers_quickly(std::span<buffer const> buffers, fast_layout_options const& options = {}) {
  require(options.dives >= 1 && options.dives <= 5, [&] { return sentence("dives = ", options.dives, " must be in 1 ... 5"); });
  auto const bound = layout_lower_bound(buffers);
  if (bound.bound == layout_bound::fixed_addresses)
    return {.status = status::infeasible, .height = {0, bound.height}, .bound = bound.bound, .offsets = {}};
  search_limits const limits{.work = (std::numeric_limits<std::uint64_t>::max)()};
  search_budget budget(limits);
  return detail::lowest_dive(buffers, detail::layout_problem<>(buffers), bound, options.dives, budget);
}

}  // namespace ballast::inline v0_2
