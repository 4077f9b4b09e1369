// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/packing/detail/buffers.cuh>
#include <ballast/gpu/packing/runs.cuh>
#include <ballast/packing/runs.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/result.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief `vector_planner`: the memory of `pack_portfolio` on a device.

namespace ballast::inline v0_2::gpu {

/// @brief Memory that `pack_portfolio` keeps between calls, and its last plan. Use it in one call at a time.
/// @tparam On  the backend
template <class On>
struct vector_planner {
  /// @brief Makes a planner without a plan. @param on the backend
  explicit vector_planner(On on) : runs(on), mixed(on), words(on), keys(on) {}
  ballast::vector_packing<std::uint64_t>
      found;                                  ///< figures of the last plan; its `packs` and `set_aside` are empty: they are on the device
  measure_classes classes;                    ///< classes of the last samples; with a limit of samples, a last measure is 1
  pack_runs plan;                             ///< the last plan, for samples sorted by class, ascending; lengths are the last measure
  std::uint64_t first_bad = none_bad;         ///< lowest index of a sample that cannot be packed
  device_runs<On> runs;                       ///< the plan on the device
  detail::uploaded<std::uint64_t, On> mixed;  ///< private
  detail::host_buffer<On> words;              ///< private
  detail::host_buffer<On> keys;               ///< private
};

}  // namespace ballast::inline v0_2::gpu
