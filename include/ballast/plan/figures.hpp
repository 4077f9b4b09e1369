// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/metrics/step_balance.hpp>
#include <ballast/core/version.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief Figures to compare plans of steps by: how full, how balanced and how fast they are.

namespace ballast::inline v0_2 {

/// @brief Samples with tokens and cost by index: `weighed_samples`, or the `trained_samples` of a data plan.
template <class S>
concept costed_samples = requires(S const& samples) {
  { samples.tokens } -> std::convertible_to<std::span<std::int64_t const>>;
  { samples.cost } -> std::convertible_to<std::span<std::int64_t const>>;
};

/// @brief Figures of one plan of steps.
struct plan_figures {
  std::uint64_t packs = 0;          ///< number of packs in steps
  std::uint64_t steps = 0;          ///< number of optimiser steps
  std::int64_t tokens = 0;          ///< number of tokens in steps
  double fill = 0;                  ///< share of the packs' capacity that holds tokens
  double dbr = 0;                   ///< Dist Balance Ratio: see `balance_of_steps`, with tokens as load
  double abr = 0;                   ///< Attention Balance Ratio: the same with sums of squared lengths
  double idle = 0;                  ///< share of all rank time that is spent waiting, including the filling and draining of pipelines
  double slowest_over_mean = 1;     ///< time of all steps divided by their time with perfect balance
  double single_sample_bound = 1;   ///< lower bound on `slowest_over_mean` with the samples of these steps
  double modelled_step_ms = 0;      ///< mean modelled time of a step, in milliseconds
  double modelled_total_ms = 0;     ///< modelled time of all steps, in milliseconds
  std::vector<std::int64_t> loads;  ///< cost of each rank in each step, fixed costs included, step after step: `steps * ranks` values

  friend bool operator==(plan_figures const&, plan_figures const&) = default;
};

/// @brief Computes the figures of a plan of steps.
///
/// @tparam Index  index type of the plan
/// @param plan         a valid plan (see `check_batching`) in which ranks share no sample
/// @param samples      tokens and cost of each sample, as it was planned with
/// @param options      the options of the planner; they say where ranks wait, and the fixed costs of micro-batches and steps
/// @param ms_per_unit  milliseconds that one unit of cost takes on one device
/// @return the figures
/// @throws invalid_input if a sample is shared by ranks, or squared lengths sum to 2^63 or more
/// @par Complexity
/// O(samples + places).
/// @par Determinism
/// The figures are doubles, computed from exact sums.
template <index_type Index>
[[nodiscard]] plan_figures figures_of(batching<Index> const& plan, costed_samples auto const& samples, batching_options const& options,
                                      double ms_per_unit) {
  require(plan.shared.empty(),
          [&] { return sentence("sample ", plan.shared[0].sample, " is shared by ranks, which these figures do not count"); });
  auto const ranks = static_cast<std::size_t>(plan.ranks);
  std::vector<std::int64_t> tokens(plan.steps() * ranks), squares(tokens.size()), loads(tokens.size(), options.cost_per_step);
  std::uint64_t packs = 0;
  for (std::size_t turn = 0; turn < loads.size(); ++turn)
    for (auto const pack : plan.packs_of(turn / ranks, turn % ranks)) {
      ++packs;
      loads[turn] += options.cost_per_micro_batch;
      for (auto const member : pack) {
        auto const i = static_cast<std::size_t>(member);
        auto const length = samples.tokens[i];
        loads[turn] += samples.cost[i];
        tokens[turn] += length;
        auto const square = checked(length) * checked(length);
        add_checked(squares[turn], square.value, "squared lengths of turn", turn);
      }
    }
  plan_figures f;
  f.packs = packs;
  f.steps = plan.steps();
  f.tokens = plan.tokens;
  f.dbr = balance_of_steps(tokens, ranks).mean_ratio;
  f.abr = balance_of_steps(squares, ranks).mean_ratio;
  f.loads = std::move(loads);
  if (packs == 0) return f;
  f.fill = static_cast<double>(f.tokens) / (static_cast<double>(options.capacity) * static_cast<double>(packs));
  auto const mean = static_cast<double>(plan.cost) / static_cast<double>(plan.ranks);
  f.idle = 1.0 - mean / static_cast<double>(plan.slowest.value);
  f.slowest_over_mean = plan.slowest_over_mean();
  f.single_sample_bound = (std::max)(1.0, static_cast<double>(plan.slowest.lower_bound) / mean);
  auto const sharing = options.synchronisation == synchronisation::pipeline ? options.stages : 1;  // devices
  f.modelled_total_ms = static_cast<double>(plan.slowest.value) * ms_per_unit / static_cast<double>(sharing);
  f.modelled_step_ms = f.modelled_total_ms / static_cast<double>(f.steps);
  return f;
}

/// @brief How much of one measure is in the packs of a plan, and how balanced it is.
struct measure_figures {
  double fill = 0;     ///< share of the packs' capacity that is used
  double balance = 0;  ///< see `step_balance::mean_ratio`, with the measure as load: the distance ratio of OmniBal

  friend bool operator==(measure_figures const&, measure_figures const&) = default;
};

/// @brief Computes the figures of one measure, such as image tiles, of a plan of steps.
///
/// @tparam Index  index type of the plan
/// @param plan      a valid plan (see `check_batching`) in which ranks share no sample
/// @param measure   the measure of each sample, not negative; its sum is below 2^63
/// @param capacity  its capacity in one pack, positive
/// @return the figures; 0 without packs
/// @throws invalid_input if the sum of a step reaches 2^63
/// @par Complexity
/// O(samples + places).
/// @par Determinism
/// The figures are doubles, computed from exact sums.
template <index_type Index>
[[nodiscard]] measure_figures figures_of_measure(batching<Index> const& plan, std::span<std::int64_t const> measure,
                                                 std::int64_t capacity) {
  auto const ranks = static_cast<std::size_t>(plan.ranks);
  std::vector<std::int64_t> loads(plan.steps() * ranks);
  double sum = 0;
  std::uint64_t packs = 0;
  for (std::size_t turn = 0; turn < loads.size(); ++turn) {
    for (auto const pack : plan.packs_of(turn / ranks, turn % ranks)) {
      ++packs;
      for (auto const i : pack) add_checked(loads[turn], measure[static_cast<std::size_t>(i)], "measure", static_cast<std::size_t>(i));
    }
    sum += static_cast<double>(loads[turn]);
  }
  if (packs == 0) return {};
  return {.fill = sum / (static_cast<double>(capacity) * static_cast<double>(packs)), .balance = balance_of_steps(loads, ranks).mean_ratio};
}

}  // namespace ballast::inline v0_2
