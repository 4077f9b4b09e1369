// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/packing/detail/buffers.cuh>
#include <ballast/gpu/packing/runs.cuh>
#include <ballast/packing/run_length.hpp>

#include <cstdint>

/// @file
/// @brief The memory of `best_fit_decreasing`.

namespace ballast::inline v0_2::gpu {

/// @brief What `best_fit_decreasing` keeps between calls, and what the host knows of the last packing. One call at a time may use it.
/// @tparam On  the backend
template <class On>
struct pack_planner {
  /// @brief Nothing yet. @param on where packing will run
  explicit pack_planner(On on) : runs(on), counts(on) {}
  pack_runs plan;                      ///< of the last packing
  pack_tally tally;                    ///< its number of packs, with the certificate
  std::uint64_t first_bad = none_bad;  ///< lowest index of a length outside 1 … capacity
  device_runs<On> runs;                ///< the plan on the device
  detail::host_buffer<On> counts;      ///< private
  plan_workspace scratch;              ///< private
  histogram lengths;                   ///< private
};

}  // namespace ballast::inline v0_2::gpu
