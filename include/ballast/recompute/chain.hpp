// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/status.hpp>
#include <ballast/recompute/chain_step.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
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

namespace detail {

// The table of checkpoint_chain.

// The dynamic programme over (first block, last block, units of memory).
template <class = when_called>
class chain_table {
 public:
  static constexpr auto never = std::int64_t{1} << 61;  // above the time of any schedule: see `checkpoint_chain`

  chain_table(std::span<chain_block const> blocks, std::int64_t input, std::int64_t budget, std::int64_t unit, bool round_up)
      : n_(blocks.size()),
        output_(n_ + 1),
        gradient_(n_ + 1),
        all_(n_),
        save_(n_),
        back_(n_),
        forward_(n_ + 1),
        backward_(n_),
        overhead_(n_) {
    auto const units = [&](std::int64_t bytes) { return bytes / unit + (round_up && bytes % unit != 0 ? 1 : 0); };
    output_[0] = gradient_[0] = units(input);
    for (std::size_t i = 0; i < n_; ++i) {
      auto const& s = blocks[i];
      output_[i + 1] = units(s.output);
      gradient_[i + 1] = units(s.gradient);
      all_[i] = units(s.saved);
      overhead_[i] = units(s.forward_overhead);
      save_[i] = all_[i] + overhead_[i];
      back_[i] = all_[i] + units(s.backward_overhead);
      forward_[i + 1] = forward_[i] + s.forward;
      backward_[i] = s.backward;
    }
    width_ = static_cast<std::size_t>((std::max)(budget / unit - output_[0], std::int64_t{-1}) + 1);
    if (width_ == 0) return;
    best_.assign(n_ * (n_ + 1) / 2 * width_, never);
    for (std::size_t span = 1; span <= n_; ++span)
      for (std::size_t s = 0; s + span <= n_; ++s) fill(s, s + span - 1);
  }
  [[nodiscard]] std::int64_t value() const { return width_ == 0 ? never : at(0, n_ - 1, static_cast<std::int64_t>(width_) - 1); }
  [[nodiscard]] std::vector<chain_step> schedule() const {
    std::vector<chain_step> out;
    emit(0, n_ - 1, static_cast<std::int64_t>(width_) - 1, out);
    return out;
  }

 private:
  [[nodiscard]] std::size_t row(std::size_t s, std::size_t t) const { return (t * (t + 1) / 2 + s) * width_; }
  [[nodiscard]] std::int64_t at(std::size_t s, std::size_t t, std::int64_t m) const {
    return m < 0 ? never : best_[row(s, t) + static_cast<std::size_t>(m)];
  }
  // Least memory to save block s, without its input, with the gradient of block t's output.
  [[nodiscard]] std::int64_t least_to_save(std::size_t s, std::size_t t) const {
    return (std::max)(gradient_[t + 1] + save_[s], gradient_[s + 1] + back_[s] + gradient_[s]);
  }
  // The same for forgetting: blocks s … j - 1 run, and only the last output is kept.
  [[nodiscard]] std::int64_t least_to_forget(std::size_t s, std::size_t t, std::size_t j) const {
    auto most = output_[s + 1] + overhead_[s];
    for (auto k = s + 1; k < j; ++k) most = (std::max)(most, output_[k] + output_[k + 1] + overhead_[k]);
    return gradient_[t + 1] + most;
  }
  [[nodiscard]] std::int64_t saving(std::size_t s, std::size_t t, std::int64_t m) const {
    if (m < least_to_save(s, t)) return never;
    auto const rest = s == t ? 0 : at(s + 1, t, m - all_[s]);
    return rest == never ? never : forward_[s + 1] - forward_[s] + backward_[s] + rest;
  }
  [[nodiscard]] std::int64_t forgetting(std::size_t s, std::size_t t, std::size_t j, std::int64_t m) const {
    auto const right = at(j, t, m - output_[j]), left = at(s, j - 1, m);
    return right == never || left == never ? never : forward_[j] - forward_[s] + right + left;
  }
  void fill(std::size_t s, std::size_t t) {
    auto const here = best_.begin() + static_cast<std::ptrdiff_t>(row(s, t));
    auto const width = static_cast<std::int64_t>(width_);
    for (auto m = least_to_save(s, t); m < width; ++m) here[static_cast<std::ptrdiff_t>(m)] = saving(s, t, m);
    auto most = output_[s + 1] + overhead_[s];
    for (auto j = s + 1; j <= t; ++j) {
      if (j > s + 1) most = (std::max)(most, output_[j - 1] + output_[j] + overhead_[j - 1]);
      auto const again = forward_[j] - forward_[s];
      auto const first = (std::max)(gradient_[t + 1] + most, output_[j]);
      auto* const cell = best_.data() + row(s, t);
      auto const *const right = best_.data() + row(j, t), *const left = best_.data() + row(s, j - 1);
      for (auto m = first; m < width; ++m)  // sums with `never` stay above it, and below 2^63
        cell[m] = (std::min)(cell[m], again + right[m - output_[j]] + left[m]);
    }
    for (std::int64_t m = 0; m < width; ++m) here[m] = (std::min)(here[m], never);
  }
  void emit(std::size_t s, std::size_t t, std::int64_t m, std::vector<chain_step>& out) const {
    auto const block = [](std::size_t i) { return static_cast<std::uint32_t>(i); };
    auto const target = at(s, t, m);
    if (saving(s, t, m) == target) {
      out.push_back({chain_action::save, block(s)});
      if (s != t) emit(s + 1, t, m - all_[s], out);
      out.push_back({chain_action::backward, block(s)});
      return;
    }
    auto j = s + 1;
    while (m < least_to_forget(s, t, j) || forgetting(s, t, j, m) != target) ++j;
    for (auto k = s; k < j; ++k) {
      out.push_back({chain_action::forward, block(k)});
      if (k > s) out.push_back({chain_action::drop, block(k - 1)});
    }
    emit(j, t, m - output_[j], out);
    out.push_back({chain_action::drop, block(j - 1)});
    emit(s, j - 1, m, out);
  }

  std::size_t n_, width_ = 0;
  std::vector<std::int64_t> output_, gradient_, all_, save_, back_, forward_, backward_, overhead_, best_;
};

}  // namespace detail

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
  require(options.budget >= 0, [&] { return sentence("budget = ", options.budget, " must not be negative"); });
  auto const cells = blocks.size() * (blocks.size() + 1) / 2;
  require(options.slots > 0 && (cells == 0 || options.slots < (std::uint64_t{1} << 28) / cells),
          [&] { return sentence("slots = ", options.slots, " for ", blocks.size(), " blocks must make a table of 1 to 2^28 cells"); });
  constexpr auto never = detail::chain_table<>::never;
  checked longest(0);  // of any persistent schedule: a block runs at most once for itself and for each block behind it
  for (std::size_t i = 0; i < blocks.size(); ++i)
    longest = longest + checked(static_cast<std::int64_t>(blocks.size() - i)) * checked(blocks[i].forward) + checked(blocks[i].backward);
  require(longest.fits() && longest.value < never, [&] {
    return sentence(blocks.size(), " blocks may take 2^61 or more if each runs again for all that follow: count time in a larger unit");
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
