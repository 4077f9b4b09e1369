// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/classes.cuh>
#include <ballast/gpu/packing/detail/canonical_order.cuh>
#include <ballast/gpu/packing/detail/run_items.cuh>
#include <ballast/gpu/packing/detail/run_plans.cuh>
#include <ballast/packing/run_length.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief Counts how many packs device lengths need, without packing them.

namespace ballast::inline v0_2::gpu {

/// @brief Returns the number of packs of best-fit decreasing for device lengths, with its certificate; allocates and waits.
///
/// To try many capacities, call `fold` once, and then the host's `count_packs` for each.
///
/// @param on       the backend
/// @param lengths  sample lengths in tokens on the device, each at least 1
/// @param count    number of samples
/// @param options  as for `best_fit_decreasing`
/// @return the same as `ballast::count_packs` for the histogram of these lengths
/// @throws invalid_input as `best_fit_decreasing`
/// @throws gpu_error if the backend reports an error
/// @par Complexity
/// As `fold` and, with a policy, `apply_oversize`, and O(D log D + R) on the host for D distinct lengths and R runs.
template <class On, integer Length>
[[nodiscard]] pack_tally count_packs(On on, Length const* lengths, std::size_t count, packing_options const& options) {
  detail::require_device_options(options);
  auto const items = detail::run_items_of<std::uint64_t>(on, lengths, count, options);
  auto const found = count_lengths(on, items.lengths, items.count, detail::pack_padding_of(options).longest());
  if (found.first_bad != none_bad) detail::throw_for_lengths(on, lengths, count, options);
  return items.settle(ballast::count_packs(histogram_of(found.counts), items.options(options, count)), options);
}

}  // namespace ballast::inline v0_2::gpu
