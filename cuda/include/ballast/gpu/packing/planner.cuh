// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/packing/detail/buffers.cuh>
#include <ballast/gpu/packing/runs.cuh>
#include <ballast/packing/run_length.hpp>

#include <cstdint>

/// @file
/// @brief `pack_planner`: the memory of `best_fit_decreasing` on a device.

namespace ballast::inline v0_2::gpu {

/// @brief Memory that `best_fit_decreasing` keeps between calls, and its last plan. Use it in one call at a time.
/// @tparam On  the backend
template <class On>
struct pack_planner {
  /// @brief Makes a planner without a plan. @param on the backend
  explicit pack_planner(On on) : runs(on), counts(on) {}
  pack_runs plan;                      ///< plan of the last packing
  pack_tally tally;                    ///< number of packs of the plan, with its certificate
  std::uint64_t first_bad = none_bad;  ///< lowest index of a length outside 1 … capacity
  device_runs<On> runs;                ///< the plan on the device
  detail::host_buffer<On> counts;      ///< private
  plan_workspace scratch;              ///< private
  histogram lengths;                   ///< private
};

}  // namespace ballast::inline v0_2::gpu
