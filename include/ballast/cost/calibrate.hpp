// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/calibrated_rates.hpp>
#include <ballast/cost/calibration.hpp>
#include <ballast/cost/detail/relative_fit.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

/// @file
/// @brief Fits a cost model to measured times by non-negative least squares. It needs Eigen, so `ballast/cost.hpp` does not include it.

namespace ballast::inline v0_2 {

/// @brief Fits a cost as a sum of the given terms with non-negative coefficients to measured times, by least squares of relative errors.
///
/// It minimises the sum of (predicted / measured - 1)^2, so that a short sample counts as much as a long one. Keep a constant term: it
/// models launch overhead, which dominates short samples.
///
/// @tparam Terms  cost models, at most 10
/// @param rows     measurements, at least as many as terms; lengths may repeat
/// @param options  how the error on unseen rows is estimated
/// @param terms    terms of the cost, such as `linear_cost{.per_token = 0, .per_sample = 1}` (a constant), `token_cost{}`,
///                 `causal_pairs{}`, a `tile_cost`
/// @return coefficients, in the order of the terms, and errors. For the held-out errors, the row that is i-th by length is in fold i mod
///         folds; they are infinite unless the other folds together have at least one row more than terms
/// @throws invalid_input if there are fewer rows than terms, a time is not positive, or a length has no cost in a term
/// @par Complexity
/// O(folds * rows * 2^terms).
/// @par Determinism
/// The result is floating point, equal up to rounding on other compilers and machines. Fit once and keep the coefficients.
template <cost_model... Terms>
  requires(sizeof...(Terms) >= 1 && sizeof...(Terms) <= 10)
[[nodiscard]] calibration<Terms...> calibrate(std::span<timing const> rows, calibrate_options options, Terms... terms) {
  constexpr auto columns = sizeof...(Terms);
  detail::require_rows(rows.size(), columns, options);
  std::vector<std::array<double, columns>> units;
  std::vector<double> ms, key;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto const length = rows[i].length;
    detail::require_time(rows[i].ms, i);
    require(detail::have_costs(length, terms...),
            [&] { return "timings[" + std::to_string(i) + "].length = " + std::to_string(length) + " has no cost in one of the terms"; });
    units.push_back({static_cast<double>(terms(length))...});
    ms.push_back(rows[i].ms);
    key.push_back(static_cast<double>(length));
  }
  auto const found = detail::fit_relatively(units, ms, detail::by_key(key), options.folds);
  return {std::tuple<Terms...>(terms...), found.coefficients, 0, found.fit, found.held_out};
}

/// @brief Fits a constant per micro-batch and non-negative coefficients of the given terms, summed over its samples, to measured times of
/// micro-batches, by least squares of relative errors.
///
/// It takes what a trainer can measure: the lengths of the samples of a micro-batch, and how long the micro-batch took. All rows have the
/// same weight. If every row has the same number of samples, a constant per micro-batch and a constant per sample cannot be told apart; the
/// constant per micro-batch then includes both.
///
/// @tparam Terms  cost models, at most 9
/// @param rows     measurements, at least one more than terms; one micro-batch may be timed several times
/// @param options  how the error on unseen rows is estimated
/// @param terms    terms of a sample's cost, such as `linear_cost{.per_token = 0, .per_sample = 1}`, `token_cost{}`, `causal_pairs{}`
/// @return `per_micro_batch`, coefficients in the order of the terms, and errors of micro-batches. For the held-out errors, the row that is
///         i-th by tokens is in fold i mod folds; they are infinite unless the other folds together have at least two rows more than terms
/// @throws invalid_input if there are too few rows, or a row has no sample, a time that is not positive or a length that has no cost in a
///         term
/// @par Complexity
/// O(folds * rows * 2^terms), and one pass over the samples.
/// @par Determinism
/// The result is floating point, equal up to rounding on other compilers and machines. Fit once and keep the coefficients.
template <cost_model... Terms>
  requires(sizeof...(Terms) >= 1 && sizeof...(Terms) <= 9)
[[nodiscard]] calibration<Terms...> calibrate(std::span<micro_batch_timing const> rows, calibrate_options options, Terms... terms) {
  constexpr auto columns = sizeof...(Terms) + 1;
  detail::require_rows(rows.size(), columns, options);
  std::vector<std::array<double, columns>> units;
  std::vector<double> ms, key;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto const name = [&] { return "timings[" + std::to_string(i) + "].lengths"; };
    detail::require_time(rows[i].ms, i);
    require(!rows[i].lengths.empty(), [&] { return name() + " is empty"; });
    std::array<double, columns> row{1};  // the constant comes first: of equally good fits, that with fewer and earlier columns is chosen
    double tokens = 0;
    for (std::size_t j = 0; j < rows[i].lengths.size(); ++j) {
      auto const length = rows[i].lengths[j];
      require(detail::have_costs(length, terms...),
              [&] { return name() + "[" + std::to_string(j) + "] = " + std::to_string(length) + " has no cost in one of the terms"; });
      auto column = row.begin();
      ((*++column += static_cast<double>(terms(length))), ...);
      tokens += static_cast<double>(length);
    }
    units.push_back(row);
    ms.push_back(rows[i].ms);
    key.push_back(tokens);
  }
  auto const found = detail::fit_relatively(units, ms, detail::by_key(key), options.folds);
  calibration<Terms...> out{std::tuple<Terms...>(terms...), {}, found.coefficients[0], found.fit, found.held_out};
  std::copy(found.coefficients.begin() + 1, found.coefficients.end(), out.coefficients.begin());
  return out;
}

/// @brief Fits non-negative coefficients of units of work to measured times, by least squares of relative errors.
///
/// It takes measurements that are longer than a micro-batch, such as the steps of a rank. The other overloads count the units of samples
/// and of micro-batches themselves.
///
/// @tparam Columns  number of units, at most 10
/// @param rows     measurements, at least as many as units
/// @param options  how the error on unseen rows is estimated
/// @return coefficients and errors. For the held-out errors, row i is in fold i mod folds; they are infinite unless the other folds
/// together have at least one row more than units. If several fits are equally good, the coefficients that come first are not 0
/// @throws invalid_input if there are fewer rows than units, a time is not positive, or an amount is negative or not finite
/// @par Complexity
/// O(folds * rows * 2^units).
/// @par Determinism
/// The result is floating point, equal up to rounding on other compilers and machines. Fit once and keep the coefficients.
template <std::size_t Columns>
  requires(Columns >= 1 && Columns <= 10)
[[nodiscard]] work_calibration<Columns> calibrate(std::vector<work_timing<Columns>> const& rows, calibrate_options options = {}) {
  detail::require_rows(rows.size(), Columns, options);
  std::vector<std::array<double, Columns>> units;
  std::vector<double> ms;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    detail::require_time(rows[i].ms, i);
    for (std::size_t k = 0; k < Columns; ++k)
      require(rows[i].units[k] >= 0 && std::isfinite(rows[i].units[k]), [&] {
        return "timings[" + std::to_string(i) + "]." + entry("units", k, rows[i].units[k]) + " must be finite and not negative";
      });
    units.push_back(rows[i].units);
    ms.push_back(rows[i].ms);
    order.push_back(i);
  }
  return detail::fit_relatively(units, ms, order, options.folds);
}

/// @brief Finds from measured steps a factor on all modelled times, and one on the time in which layers with experts wait for the host.
///
/// With two factors, that the first is 1 counts as a fifth of a measured step, so that steps that are nearly alike do not decide it by
/// their noise. Steps that wait nearly as much beside their work, and a single one, get one factor for both.
///
/// @param rows  measured steps; units are modelled milliseconds of work, positive, and of waiting
/// @return factors, by non-negative least squares of relative errors; 1 without rows. If two factors would leave less than a tenth of the
///         work, or ten times as much, one is fitted
/// @throws invalid_input if a time is not positive, or if the measured times are not a tenth to ten times the modelled ones
/// @par Complexity
/// O(rows).
/// @par Determinism
/// The fit is in floating point, its result is rounded to thousandths.
template <class = when_called>
[[nodiscard]] inline step_calibration calibrate_rates(std::vector<work_timing<2>> const& rows) {
  step_calibration out;
  if (rows.empty()) return out;
  std::vector<work_timing<1>> whole;
  double least = 1, most = 0;  // waiting over work
  for (auto const& [units, ms] : rows) {
    whole.push_back({{units[0] + units[1]}, ms});
    least = (std::min)(least, units[1] / units[0]);
    most = (std::max)(most, units[1] / units[0]);
  }
  auto const thousandths = [](double factor) { return std::llround((std::min)(factor, 1000.0) * 1000); };
  auto const possible = [](std::int64_t time) { return time >= 100 && time <= 10'000; };
  if (rows.size() > 1 && most - least > 0.01 && most > 1.1 * least) {
    std::vector<work_timing<2>> apart{{{1, 0}, 1}};  // a factor of 1 counts as a fifth of a step
    for (int i = 0; i < 5; ++i) apart.insert(apart.end(), rows.begin(), rows.end());
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

}  // namespace ballast::inline v0_2
