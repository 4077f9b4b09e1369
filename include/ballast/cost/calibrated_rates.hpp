// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/cost/kernel_rates.hpp>
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
  using field = std::int64_t kernel_rates::*;
  for (field const share : {&kernel_rates::gemm, &kernel_rates::gemm_fp8, &kernel_rates::memory, &kernel_rates::link,
                            &kernel_rates::link_to_all, &kernel_rates::network, &kernel_rates::network_to_all})
    if (rates.*share > 0) rates.*share = (std::max)((rates.*share * 1000 + by.time / 2) / by.time, std::int64_t{1});
  for (auto& a : rates.attention)
    for (auto* const c : {&a.forward, &a.backward, &a.narrow_forward, &a.narrow_backward}) c->flops = c->flops / by.time * 1000;
  for (field const ps :
       {&kernel_rates::host, &kernel_rates::host_experts, &kernel_rates::call, &kernel_rates::call_hop, &kernel_rates::call_to_all,
        &kernel_rates::call_dispatch, &kernel_rates::pass, &kernel_rates::send, &kernel_rates::step})
    rates.*ps = rates.*ps / 1000 * by.time;
  rates.sync_experts = rates.sync_experts / 1000 * by.sync;
  return rates;
}

}  // namespace ballast::inline v0_2
