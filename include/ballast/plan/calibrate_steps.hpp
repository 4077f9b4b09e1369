// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/cost/calibrate.hpp>
#include <ballast/cost/calibrated_rates.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/footprint/layer_time.hpp>
#include <ballast/plan/time_of.hpp>
#include <ballast/plan/training_setting.hpp>

#include <cstddef>
#include <span>
#include <vector>

/// @file
/// @brief `calibrate_steps`: finds from measured steps by how much `time_of` is wrong. It needs Eigen, so `ballast/plan.hpp` does not
/// include it.

namespace ballast::inline v0_2 {

/// @brief A training step that was timed.
struct measured_step {
  training_setting by{};  ///< its setting
  time_setting with{};    ///< rates, and what else its time depends on
  batch_shape batch{};    ///< a micro-batch: `tokens` and `squares`
  double ms = 0;          ///< milliseconds of the step, positive and finite
};

/// @brief The time of a step that `time_of` computes, with calibrated rates.
/// @param model  the shape
/// @param on     the device
/// @param step   the step; its measured time is not read
/// @param by     the calibration; none by default
/// @return milliseconds
/// @throws invalid_input as `time_of` and `calibrated`
template <class = when_called>
[[nodiscard]] inline double modelled_ms(transformer const& model, device const& on, measured_step const& step,
                                        step_calibration const& by = {}) {
  auto with = step.with;
  with.rates = calibrated(with.rates, by);
  return static_cast<double>(time_of(model, step.by, on, with, step.batch).front().total()) / 1e9;
}

namespace detail {
/// Measured steps with their modelled milliseconds: of work, and of waiting for the tokens of experts.
template <class = when_called>
[[nodiscard]] inline std::vector<work_timing<2>> timings_of(transformer const& model, device const& on,
                                                            std::span<measured_step const> steps) {
  std::vector<work_timing<2>> out;
  for (auto step : steps) {
    require_time(step.ms, out.size());
    auto const all = modelled_ms(model, on, step);
    step.with.rates.sync_experts = 0;
    auto const work = modelled_ms(model, on, step);
    out.push_back({{work, all - work}, step.ms});
  }
  return out;
}
}  // namespace detail

/// @brief Finds from measured steps a factor on all times, and one on the time in which a layer with experts waits for the host.
///
/// One step tells the first alone; it cannot change which of two settings is faster. Steps whose micro-batches differ in size tell both:
/// how often the host reads the tokens of experts does not depend on the size.
///
/// @param model  the shape
/// @param on     the device
/// @param steps  measured steps
/// @return both factors, as `calibrate_rates`; 1 without steps
/// @throws invalid_input as `time_of`, if a time is not positive, or if the measured times are not a tenth to ten times the modelled ones
/// @par Complexity
/// Two calls of `time_of` for each step.
/// @par Determinism
/// The fit is in floating point, its result is rounded to thousandths.
/// @par Source
/// This library (docs/time-model.md).
template <class = when_called>
[[nodiscard]] inline step_calibration calibrate_steps(transformer const& model, device const& on, std::span<measured_step const> steps) {
  return calibrate_rates(detail::timings_of(model, on, steps));
}

/// @brief Predicts each of several measured steps by a calibration with all others.
/// @param model  the shape
/// @param on     the device
/// @param steps  measured steps
/// @return modelled milliseconds of each step; those of a single step are not calibrated
/// @throws invalid_input as `calibrate_steps`
/// @par Complexity
/// Three calls of `time_of` and one fit for each step.
template <class = when_called>
[[nodiscard]] inline std::vector<double> leave_one_out(transformer const& model, device const& on, std::span<measured_step const> steps) {
  auto const rows = detail::timings_of(model, on, steps);
  std::vector<double> out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    auto others = rows;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    out.push_back(modelled_ms(model, on, steps[i], calibrate_rates(others)));
  }
  return out;
}

}  // namespace ballast::inline v0_2
