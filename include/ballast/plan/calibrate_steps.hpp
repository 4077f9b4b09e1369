// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/cost/calibrate.hpp>
#include <ballast/cost/calibrated_rates.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/footprint/layer_time.hpp>
#include <ballast/plan/time_of.hpp>
#include <ballast/plan/training_setting.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
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
/// A measured step beside its modelled milliseconds.
struct timed_step {
  double all = 0;   ///< modelled
  double work = 0;  ///< of it, without waiting for the tokens of experts
  double ms = 0;    ///< measured
};

template <class = when_called>
[[nodiscard]] inline std::vector<timed_step> modelled_steps(transformer const& model, device const& on, std::span<measured_step const> steps) {
  std::vector<timed_step> out;
  for (auto const& s : steps) {
    auto without = s;
    without.with.rates.sync_experts = 0;
    out.push_back({modelled_ms(model, on, s), modelled_ms(model, on, without), s.ms});
  }
  return out;
}

/// What steps say, but the one at `left_out`.
template <class = when_called>
[[nodiscard]] inline step_calibration fit_steps(std::span<timed_step const> steps, std::size_t left_out) {
  std::vector<work_timing<1>> whole;
  std::vector<work_timing<2>> apart;
  double least = 1, most = 0;  // waiting over work
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i == left_out) continue;
    auto const& s = steps[i];
    auto const waiting = s.all - s.work;
    whole.push_back({{s.all}, s.ms});
    apart.insert(apart.end(), 5, {{s.work, waiting}, s.ms});
    least = (std::min)(least, waiting / s.work);
    most = (std::max)(most, waiting / s.work);
  }
  step_calibration out;
  if (whole.empty()) return out;
  auto const thousandths = [](double factor) { return std::llround((std::min)(factor, 1000.0) * 1000); };
  auto const possible = [](std::int64_t time) { return time >= 100 && time <= 10'000; };
  if (whole.size() > 1 && most - least > 0.01 && most > 1.1 * least) {
    apart.push_back({{1, 0}, 1});  // a factor of 1 counts as a fifth of a step
    auto const found = calibrate(apart).coefficients;
    out = {.time = thousandths(found[0]), .sync = thousandths(found[1]), .sync_known = true};
    if (possible(out.time)) return out;
  }
  out.time = out.sync = thousandths(calibrate(whole).coefficients[0]);
  out.sync_known = false;
  require(possible(out.time), [&] {
    return "the measured steps take " + std::to_string(out.time) +
           " thousandths of the modelled time: check the setting, the device and the unit, milliseconds";
  });
  return out;
}
}  // namespace detail

/// @brief Finds from measured steps a factor on all times, and one on the time in which a layer with experts waits for the host.
///
/// One step tells the first alone; it cannot change which of two settings is faster. Steps whose micro-batches differ in size tell both:
/// how often the host reads the tokens of experts does not depend on the size. That the first is 1 then counts as a fifth of a measured
/// step, so that steps that are nearly alike do not decide it by their noise. Of a dense model, and of steps that wait nearly as much
/// beside their work, the first is found for both together.
///
/// @param model  the shape
/// @param on     the device
/// @param steps  measured steps
/// @return both factors, by non-negative least squares of relative errors; 1 without steps. If the two together would leave less than a
///         tenth of the work, or ten times as much, one factor is fitted
/// @throws invalid_input as `time_of`, if a time is not positive, or if the measured times are not a tenth to ten times the modelled ones
/// @par Complexity
/// Two calls of `time_of` for each step.
/// @par Determinism
/// The fit is in floating point, its result is rounded to thousandths.
/// @par Source
/// This library (docs/time-model.md).
template <class = when_called>
[[nodiscard]] inline step_calibration calibrate_steps(transformer const& model, device const& on, std::span<measured_step const> steps) {
  return detail::fit_steps(detail::modelled_steps(model, on, steps), steps.size());
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
  auto const timed = detail::modelled_steps(model, on, steps);
  std::vector<double> out;
  for (std::size_t i = 0; i < steps.size(); ++i) out.push_back(modelled_ms(model, on, steps[i], detail::fit_steps(timed, i)));
  return out;
}

}  // namespace ballast::inline v0_2
