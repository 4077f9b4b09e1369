// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/weigh.hpp>
#include <ballast/cost/attention.hpp>
#include <ballast/cost/calibrate.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/cost/scaled.hpp>
#include <ballast/footprint/layer_time.hpp>
#include <ballast/plan/calibrate_steps.hpp>
#include <ballast/plan/detail/timed_steps.hpp>
#include <ballast/plan/plan_data.hpp>
#include <ballast/plan/recalibration.hpp>
#include <ballast/plan/training_setting.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// @file
/// @brief `step_observer`: finds the cost from measured times of steps. It needs Eigen, so `ballast/plan.hpp` does not include it.

namespace ballast::inline v0_2 {

/// @brief Which measured times `step_observer` uses.
struct observer_options {
  std::size_t keep = 256;   ///< the last steps whose times count, at least 1; times of earlier steps are forgotten
  std::size_t fewest = 32;  ///< number of times below which the modelled cost is only scaled
};

/// @brief Takes measured times of steps while a plan is trained, and finds from them what a sample, a micro-batch and a step cost.
///
/// The time of a rank is predicted as its options say where ranks wait: the sum over its micro-batches (`synchronisation`), and for a
/// pipeline of P stages also (P - 1) times the longest micro-batch, all divided by P. The time of a whole step is that of the rank that the
/// fit itself predicts to be the slowest, which the observer finds by repeated fits.
///
/// @tparam Cost   the modelled cost, under which the epoch was planned
/// @tparam Terms  terms of the fit
template <cost_model Cost, cost_model... Terms>
class step_observer {
  // Units of work: the modelled cost, steps, micro-batches, the terms. The first is scaled, or the others are fitted.
  static constexpr auto units = sizeof...(Terms) + 3;
  using steps_type = detail::timed_steps<units>;
  using units_type = std::array<double, units>;
  using rows_type = std::vector<work_timing<units>>;

 public:
  /// @brief Starts without times.
  /// @param options  where ranks wait, and fixed costs in units of the modelled cost
  /// @param which    which times are used
  /// @param cost     the modelled cost of a sample
  /// @param terms    terms of a sample's cost for the fit, at most 8
  /// @throws invalid_input if an option is out of range
  step_observer(batching_options const& options, observer_options which, Cost cost, Terms... terms)
      : which_(which), terms_(std::move(cost), std::move(terms)...), steps_{options, {}} {
    require(which.keep > 0, [] { return "keep = 0 must be positive"; });
  }
  /// @brief As above, with the terms `token_cost{}` and `full_pairs{}`.
  /// @param options where ranks wait, and fixed costs in units of the modelled cost
  /// @param which which times are used
  /// @param cost the modelled cost of a sample
  step_observer(batching_options const& options, observer_options which, Cost cost)
    requires(sizeof...(Terms) > 0)
      : step_observer(options, which, std::move(cost), Terms{}...) {}

  /// @brief Takes the time of a step: from its start until all ranks have finished.
  /// @tparam Index  index type of the plan
  /// @param plan  the plan that is trained, of an epoch or its rest
  /// @param step  number of the step in this plan
  /// @param ms    wall time in milliseconds
  /// @throws invalid_input if the plan does not have the step, ranks share a sample, or the time is not positive and finite
  /// @par Complexity
  /// O(samples of the step).
  template <index_type Index>
  void observe(data_plan<Index> const& plan, std::size_t step, double ms) {
    take(plan, step, {ms});
  }
  /// @brief Takes the times of all ranks in a step: how long each rank, or its pipeline, works, without waiting for other ranks.
  ///
  /// Times of ranks say more than the time of the step, because each of them is an equation. Times of ranks that have no micro-batch are
  /// not read.
  /// @tparam Index  index type of the plan
  /// @param plan  the plan that is trained, of an epoch or its rest
  /// @param step  number of the step in this plan
  /// @param ms    milliseconds of each rank
  /// @throws invalid_input as the overload above, or unless there is one time for each rank
  /// @par Complexity
  /// O(samples of the step).
  template <index_type Index>
  void observe(data_plan<Index> const& plan, std::size_t step, std::span<double const> ms) {
    require(ms.size() == plan.steps.ranks, [&] { return sentence(ms.size(), " times for ", plan.steps.ranks, " ranks"); });
    take(plan, step, {ms.begin(), ms.end()});
  }
  /// @brief Number of steps whose times are kept.
  [[nodiscard]] std::size_t size() const noexcept { return steps_.all.size(); }

  /// @brief Finds the cost from the times that are kept.
  ///
  /// The modelled cost is scaled by the median ratio of measured to modelled times. With enough times two fits are tried: the modelled cost
  /// with fixed times of a step and of a micro-batch, and these fixed times with the terms in place of the modelled cost. A fit replaces a
  /// simpler choice if its mean error over n times that it has not seen is less by a tenth and by 1.5 / sqrt(n) of it, and if samples
  /// take at least 5 % of the time in it.
  ///
  /// Fits are non-negative least squares of relative errors. A time is an outlier if its ratio to the prediction differs from the median
  /// ratio by more than 1 % and by more than six times the median difference. A fit is repeated without outliers until they and the slowest
  /// ranks stay the same. If every rank has as many micro-batches, the times of a step and of a micro-batch cannot be told apart;
  /// `per_step` then includes both.
  /// @return the cost, in integers
  /// @throws invalid_input if there are no times
  /// @par Complexity
  /// At most 20 fits of all times, O(times * 2^terms) each.
  /// @par Determinism
  /// Fits are floating point, equal up to rounding on other machines. The result is integers: find it on one rank and send it to the
  /// others, which then make the same plans.
  [[nodiscard]] recalibration<Cost, Terms...> recalibrate() const {
    units_type weights{1};
    auto const rows = steps_.equations(weights);
    require(!rows.empty(), [] { return "no step with a micro-batch has been observed"; });
    weights[0] = detail::median(detail::ratios_of(rows, weights));
    auto const used = detail::without_outliers(rows, weights);
    recalibration<Cost, Terms...> out{.cost = {terms_, {}}};
    out.used = used.size();
    out.errors = out.scaled_errors = detail::errors_of(used, weights);
    if (auto const plausible = without_extremes(rows, weights); plausible.size() >= (std::max)(which_.fewest, 4 * units))
      for (auto const basis : {cost_basis::overheads, cost_basis::terms}) {
        auto const [found, times] = fit(plausible, basis);
        auto const surely = 1 - (std::max)(0.1, 1.5 / std::sqrt(static_cast<double>(times)));
        if (!(found.held_out.mean <= surely * out.errors.mean) || share_of_samples(plausible, found.coefficients) < 0.05) continue;
        out.basis = basis;
        out.errors = found.held_out;
        out.used = times;
        weights = found.coefficients;
      }
    out.rejected = rows.size() - out.used;
    constexpr auto nanoseconds = 1e6;
    out.cost.per_unit[0] = coefficient_of(weights[0] * nanoseconds);
    for (std::size_t k = 1; k <= sizeof...(Terms); ++k) out.cost.per_unit[k] = coefficient_of(weights[k + 2] * nanoseconds);
    auto const fixed = [&](std::int64_t modelled, double ms) {
      return out.cost.per_unit[0].times(modelled) + detail::nearest(ms * nanoseconds);
    };
    out.per_step = fixed(steps_.options.cost_per_step, weights[1]);
    out.per_micro_batch = fixed(steps_.options.cost_per_micro_batch, weights[2]);
    return out;
  }

  /// @brief The times that are kept as steps of a setting, for `calibrate_steps`. Outliers under the modelled cost are left out.
  ///
  /// A step has the micro-batches of the rank that takes longest under the modelled cost, each with as many tokens and squares as their
  /// mean; in a pipeline the longest one counts for each other stage too.
  /// @param by    the setting that is trained; its micro-batches of a step are those of the plan
  /// @param with  rates, and what else its time depends on
  /// @return one step for each time
  /// @par Complexity
  /// O(micro-batches that are kept).
  [[nodiscard]] std::vector<measured_step> steps_of(training_setting const& by, time_setting const& with) const
    requires std::same_as<std::tuple<Terms...>, std::tuple<token_cost, full_pairs>>
  {
    units_type const weights{1};
    auto const rows = steps_.equations(weights);
    auto const stages = steps_.options.synchronisation == synchronisation::pipeline ? steps_.options.stages : 1;
    std::vector<measured_step> out;
    if (rows.empty()) return out;
    for (auto const& [work, ms] : detail::without_outliers(rows, weights)) {
      auto& step = out.emplace_back(measured_step{.by = by, .with = with, .batch = {}, .ms = ms});
      step.by.micro_batches = std::llround(work[2] * static_cast<double>(stages)) - static_cast<std::int64_t>(stages - 1);
      step.batch = {.tokens = std::llround(work[3] / work[2]), .squares = std::llround(work[4] / work[2]), .tiles = 0};
    }
    return out;
  }

 private:
  template <index_type Index>
  void take(data_plan<Index> const& plan, std::size_t step, std::vector<double> ms) {
    auto const& steps = plan.steps;
    require(step < steps.steps(), [&] { return sentence("step ", step, " is out of range: the plan has ", steps.steps(), " steps"); });
    require(steps.shared.empty(), [&] { return sentence("sample ", steps.shared[0].sample, " is shared by ranks"); });
    auto const& o = steps_.options;
    auto const together = o.synchronisation == synchronisation::per_step;  // only the sum of a rank counts
    typename steps_type::step timed;
    timed.each = together ? 1 : static_cast<std::size_t>(steps.micro_batches);
    timed.work.resize(static_cast<std::size_t>(steps.ranks) * timed.each);
    timed.fixed[0] = static_cast<double>(o.cost_per_step);
    timed.fixed[1] = 1;
    for (std::size_t r = 0; r < steps.ranks; ++r) {
      auto const places = steps.step(step, r);
      if (auto& time = ms[ms.size() == 1 ? 0 : r]; ms.size() != 1 && steps.packs_of(step, r).empty())
        time = 0;
      else
        require(time > 0 && std::isfinite(time),
                [&] { return sentence("ms = ", std::to_string(time), " of step ", step, " must be positive and finite"); });
      for (std::size_t m = 0; m < places.size(); ++m) {
        if (places[m] == steps.none) continue;
        auto& work = timed.work[r * timed.each + (together ? 0 : m)];
        work[0] += static_cast<double>(o.cost_per_micro_batch);
        work[2] += 1;
        for (auto const sample : steps.packs[places[m]]) add_sample(work, plan.samples.tokens[sample]);
      }
    }
    timed.ms = std::move(ms);
    if (size() == which_.keep) steps_.all.erase(steps_.all.begin());
    steps_.all.push_back(std::move(timed));
  }
  void add_sample(units_type& work, std::int64_t tokens) const {
    auto const in = [&](auto const& term) {
      return static_cast<double>(checked_cost(tokens, term, "cost", [&] { return sentence("a sample of ", tokens, " tokens"); }));
    };
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      ((work[K == 0 ? 0 : K + 2] += in(std::get<K>(terms_))), ...);
    }(std::make_index_sequence<sizeof...(Terms) + 1>{});
  }
  /// Without times that are four times as far from the modelled cost as the median time, or more.
  [[nodiscard]] static rows_type without_extremes(rows_type const& rows, units_type const& scaled) {
    auto const ratios = detail::ratios_of(rows, scaled);  // their median is 1
    rows_type kept;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (ratios[i] > 0.25 && ratios[i] < 4) kept.push_back(rows[i]);
    return kept;
  }
  /// The mean share of the predicted time that is not fixed.
  [[nodiscard]] static double share_of_samples(rows_type const& rows, units_type const& weights) {
    auto of_samples = weights;
    of_samples[1] = of_samples[2] = 0;
    double sum = 0;
    for (auto const& row : rows) sum += detail::time_of(row.units, of_samples) / detail::time_of(row.units, weights);
    return sum / static_cast<double>(rows.size());
  }
  /// The fit, and the number of times that are no outliers.
  [[nodiscard]] std::pair<work_calibration<units>, std::size_t> fit(rows_type rows, cost_basis basis) const {
    auto const of = [&](std::size_t folds) {
      auto columns = rows;
      for (auto& row : columns)  // a unit without work gets no coefficient
        if (basis == cost_basis::overheads)
          std::fill(row.units.begin() + 3, row.units.end(), 0.0);
        else
          row.units[0] = 0;
      return calibrate(columns, {.folds = folds});
    };
    for (int round = 0; round < 10; ++round) {
      auto const weights = of(2).coefficients;
      auto next = detail::without_outliers(steps_.equations(weights), weights);
      auto const same = next == rows;
      rows = std::move(next);
      if (same) break;
    }
    return {of(10), rows.size()};
  }

  observer_options which_;
  std::tuple<Cost, Terms...> terms_;
  steps_type steps_;
};

/// @brief Without terms of its own, an observer fits tokens and squared lengths.
template <cost_model Cost>
step_observer(batching_options, observer_options, Cost) -> step_observer<Cost, token_cost, full_pairs>;

}  // namespace ballast::inline v0_2
