// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/core/config.hpp>
#include <ballast/cost/calibration.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

// Measured times of steps as equations: units of work, and how long they took. Private.

namespace ballast::inline v0_2::detail {

/// Milliseconds that some units take, by milliseconds per unit.
template <std::size_t Units>
[[nodiscard]] double time_of(std::array<double, Units> const& units, std::array<double, Units> const& weights) {
  return std::inner_product(units.begin(), units.end(), weights.begin(), 0.0);
}

/// The work of steps whose times were measured.
template <std::size_t Units>
struct timed_steps {
  using units_type = std::array<double, Units>;
  struct step {
    std::vector<units_type> work;  ///< of each rank's micro-batches; where only their sum counts, one entry for each rank
    units_type fixed{};            ///< of each rank, beside its micro-batches
    std::size_t each = 1;          ///< entries of a rank
    std::vector<double> ms;        ///< one time for each rank, 0 for a rank without work; or the time of the step
  };
  batching_options options;
  std::vector<step> all;

  /// One equation for each time. Where the work depends on which rank or micro-batch takes longest, the weights decide which one does.
  [[nodiscard]] std::vector<work_timing<Units>> equations(units_type const& weights) const {
    std::vector<work_timing<Units>> out;
    for (auto const& s : all) {
      auto const ranks = s.work.size() / s.each;
      if (s.ms.size() == 1) {
        out.push_back({of_step(s, ranks, weights), s.ms[0]});
        continue;
      }
      for (std::size_t r = 0; r < ranks; ++r)
        if (s.ms[r] > 0) out.push_back({of_rank(s, r, weights), s.ms[r]});
    }
    return out;
  }

 private:
  static void add(units_type& sum, units_type const& units, double times = 1) {
    for (std::size_t k = 0; k < Units; ++k) sum[k] += times * units[k];
  }
  [[nodiscard]] units_type of_rank(step const& s, std::size_t r, units_type const& weights) const {
    auto sum = s.fixed;
    auto const* longest = &s.work[r * s.each];
    for (std::size_t m = 0; m < s.each; ++m) {
      auto const& work = s.work[r * s.each + m];
      add(sum, work);
      if (time_of(work, weights) > time_of(*longest, weights)) longest = &work;
    }
    if (options.synchronisation != synchronisation::pipeline) return sum;
    add(sum, *longest, static_cast<double>(options.stages - 1));
    for (auto& units : sum) units /= static_cast<double>(options.stages);  // each stage is a device
    return sum;
  }
  [[nodiscard]] units_type of_step(step const& s, std::size_t ranks, units_type const& weights) const {
    if (options.synchronisation == synchronisation::per_micro_batch) {
      auto sum = s.fixed;
      for (std::size_t m = 0; m < s.each; ++m) {
        auto const* longest = &s.work[m];
        for (std::size_t r = 1; r < ranks; ++r)
          if (auto const& work = s.work[r * s.each + m]; time_of(work, weights) > time_of(*longest, weights)) longest = &work;
        add(sum, *longest);
      }
      return sum;
    }
    auto slowest = of_rank(s, 0, weights);
    for (std::size_t r = 1; r < ranks; ++r)
      if (auto const units = of_rank(s, r, weights); time_of(units, weights) > time_of(slowest, weights)) slowest = units;
    return slowest;
  }
};

template <class = when_called>
[[nodiscard]] inline double median(std::vector<double> values) {
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Measured over predicted time of each row.
template <std::size_t Units>
[[nodiscard]] std::vector<double> ratios_of(std::vector<work_timing<Units>> const& rows, std::array<double, Units> const& weights) {
  std::vector<double> ratios;
  for (auto const& row : rows) {
    auto const predicted = time_of(row.units, weights);
    ratios.push_back(predicted > 0 ? row.ms / predicted : std::numeric_limits<double>::infinity());
  }
  return ratios;
}

/// The rows whose ratio is near to the median ratio: the difference is at most six times the median difference, or 1 %.
template <std::size_t Units>
[[nodiscard]] std::vector<work_timing<Units>> without_outliers(std::vector<work_timing<Units>> const& rows,
                                                               std::array<double, Units> const& weights) {
  auto const ratios = ratios_of(rows, weights);
  auto const middle = median(ratios);
  std::vector<double> off;
  for (auto const ratio : ratios) off.push_back(std::fabs(ratio - middle));
  auto const most = (std::max)(6 * median(off), 0.01 * middle);
  std::vector<work_timing<Units>> kept;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (off[i] <= most) kept.push_back(rows[i]);
  return kept;
}

template <std::size_t Units>
[[nodiscard]] relative_errors errors_of(std::vector<work_timing<Units>> const& rows, std::array<double, Units> const& weights) {
  relative_errors out;
  for (auto const& row : rows) {
    auto const error = std::fabs(time_of(row.units, weights) / row.ms - 1);
    out.worst = (std::max)(out.worst, error);
    out.mean += error / static_cast<double>(rows.size());
  }
  return out;
}

}  // namespace ballast::inline v0_2::detail
