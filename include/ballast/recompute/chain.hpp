// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/status.hpp>
#include <ballast/recompute/chain_step.hpp>
#include <ballast/recompute/detail/chain_table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief `checkpoint_chain`: which activations of a chain of unequal blocks to keep, to free and to compute again, and when.

namespace ballast::inline v0_2 {

/// @brief Options of `checkpoint_chain`.
struct chain_options {
  std::int64_t budget = 0;  ///< largest number of live bytes, the input of the chain included; not negative
  std::int64_t input = 0;   ///< bytes of the chain's input, which is never freed, and of its gradient
  std::uint64_t slots =
      500;  ///< largest number of units of memory; if a budget has more units of the sizes' common divisor, larger units round sizes up
};

/// @brief A schedule of a chain, with a lower bound on its time.
struct chain_schedule {
  ballast::status status = ballast::status::unknown;  ///< unknown: no schedule was found with rounded sizes, and none is ruled out
  certificate time;                                   ///< time of all forwards and backwards, and the lower bound for persistent schedules
  std::vector<chain_step> steps{};                    ///< steps in order; empty if there is no schedule
};

/// @brief Finds the fastest schedule of a chain, forward and backward, within a memory budget, by dynamic programming.
///
/// For every part of the chain and every amount of memory there are two choices: a block runs once and keeps all that its backward needs,
/// or several blocks keep only their input and are computed again later. Schedules are *persistent*: a kept value stays until its backward.
/// Sizes are counted in units of their common divisor. If that gives more than `slots` units, sizes are rounded up to larger units, so the
/// budget still holds, and a second table with sizes rounded down proves the lower bound.
///
/// @param blocks   the chain, at most 4096 blocks
/// @param options  budget, input and units
/// @return the schedule; infeasible if even the table of the bound finds none, unknown if only rounding up rules it out
/// @post no more than `budget` bytes are live at any step (`chain_peak`)
/// @throws invalid_input if a number is negative, `saved` below `output`, a sum above 2^58, the table above 2^28 cells, or the time 2^61 or
/// more of a schedule that runs each block once for itself and for each block behind it
/// @par Complexity
/// O(blocks^3 * slots) time, O(blocks^2 * slots) memory.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Beaumont, Eyraud-Dubois, Herrmann, Joly, Shilova, "Optimal checkpointing for heterogeneous chains", arXiv 1911.13214.
template <class = when_called>
[[nodiscard]] inline chain_schedule checkpoint_chain(std::span<chain_block const> blocks, chain_options const& options) {
  detail::require_valid(blocks, options.input);
  require(options.budget >= 0, [&] { return "budget = " + std::to_string(options.budget) + " must not be negative"; });
  auto const cells = blocks.size() * (blocks.size() + 1) / 2;
  require(options.slots > 0 && (cells == 0 || options.slots < (std::uint64_t{1} << 28) / cells), [&] {
    return "slots = " + std::to_string(options.slots) + " for " + std::to_string(blocks.size()) +
           " blocks must make a table of 1 to 2^28 cells";
  });
  constexpr auto never = detail::chain_table<>::never;
  checked longest(0);  // of any persistent schedule: a block runs at most once for itself and for each block behind it
  for (std::size_t i = 0; i < blocks.size(); ++i)
    longest = longest + checked(static_cast<std::int64_t>(blocks.size() - i)) * checked(blocks[i].forward) + checked(blocks[i].backward);
  require(longest.fits() && longest.value < never, [&] {
    return std::to_string(blocks.size()) +
           " blocks may take 2^61 or more if each runs again for all that follow: count time in a larger unit";
  });
  if (blocks.empty())  // the input and its gradient are live
    return {.status = 2 * options.input <= options.budget ? status::feasible : status::infeasible, .time = {}, .steps = {}};
  auto divisor = options.input;
  std::int64_t useful = options.input;  // more memory than this makes no difference
  for (auto const& s : blocks) {
    for (auto const bytes : {s.output, s.saved, s.gradient, s.forward_overhead, s.backward_overhead}) divisor = std::gcd(divisor, bytes);
    useful += s.saved + s.output + 2 * s.gradient + s.forward_overhead + s.backward_overhead;
  }
  useful += options.input;
  auto const budget = (std::min)(options.budget, useful);
  auto const least_unit = budget / static_cast<std::int64_t>(options.slots) + 1;
  auto const unit = (std::max)(divisor, least_unit);
  detail::chain_table<> const table(blocks, options.input, budget, unit, true);
  auto const exact = unit == divisor;
  auto const bound = exact ? table.value() : detail::chain_table<>(blocks, options.input, budget, unit, false).value();
  if (table.value() == never) return {.status = bound == never ? status::infeasible : status::unknown, .time = {}, .steps = {}};
  return {.status = status::feasible, .time = {table.value(), bound}, .steps = table.schedule()};
}

}  // namespace ballast::inline v0_2
