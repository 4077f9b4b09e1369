// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/cost/kernel_rates.hpp>
#include <ballast/cost/rate_fields.hpp>
#include <ballast/cost/transformer_shape.hpp>

#include <algorithm>
#include <cstdint>

/// @file
/// @brief `step_calibration`: what measured steps say of `kernel_rates`. `calibrate_steps` finds it; this header does not need Eigen.

namespace ballast::inline v0_2 {

/// @brief By how much measured steps take longer than modelled ones.
struct step_calibration {
  std::int64_t time = 1000;  ///< thousandths of the modelled time that all kernels, exchanges and the host take, in [100, 10^4]
  std::int64_t sync = 1000;  ///< thousandths of `kernel_rates::sync_experts`, in [0, 10^6]
  bool sync_known = false;   ///< whether the steps tell `sync` from `time`; if not, both are equal

  /// @brief Whether the factor is within what kernels of one kind differ by. If it is not, the setting, the device or the framework is
  /// probably another one than was said. @return whether `time` is in [800, 1250]
  [[nodiscard]] constexpr bool plausible() const noexcept { return time >= 800 && time <= 1250; }
  friend constexpr bool operator==(step_calibration const&, step_calibration const&) = default;
};

/// @brief Rates with which modelled steps take as long as measured ones.
/// @param rates  what the measured steps were compared with
/// @param by     what `calibrate_steps` found
/// @return all rates divided by the factor of the time, all times multiplied by it; shares are rounded to thousandths
/// @throws invalid_input if a factor is out of range
[[nodiscard]] constexpr kernel_rates calibrated(kernel_rates rates, step_calibration const& by) {
  detail::require_within("time", by.time, 100, 10'000);
  detail::require_within("sync", by.sync, 0, 1'000'000);
  if (by.time == 1000 && by.sync == 1000) return rates;  // times that are no nanoseconds are not rounded
  for (auto const& field : rate_fields) {
    auto& value = rates.*field.value;
    if (field.kind == rate_kind::share && value > 0) value = (std::max)((value * 1000 + by.time / 2) / by.time, std::int64_t{1});
    if (field.kind == rate_kind::time) value = value / 1000 * (field.value == &kernel_rates::sync_experts ? by.sync : by.time);
  }
  for (auto& a : rates.attention)
    for (auto const& curve : curve_fields) (a.*curve.value).flops = (a.*curve.value).flops / by.time * 1000;
  return rates;
}

}  // namespace ballast::inline v0_2
