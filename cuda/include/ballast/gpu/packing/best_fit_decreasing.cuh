// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/gpu/packing/detail/pack_items.cuh>
#include <ballast/gpu/packing/detail/pack_lengths.cuh>
#include <ballast/gpu/packing/detail/run_plans.cuh>
#include <ballast/gpu/packing/planner.cuh>
#include <ballast/gpu/packing/result.cuh>
#include <ballast/packing/options.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief Best-fit decreasing for lengths on a device: the device counts lengths and expands the plan; the host plans while the device
/// sorts.

namespace ballast::inline v0_2::gpu {

/// @brief Packs the samples, longest first, each into the fullest pack that still takes it; twin of `ballast::best_fit_decreasing`.
///
/// This is the only twin that waits: it needs the counts of the lengths on the host, which plans while the device sorts. It cannot be
/// captured into a CUDA graph. When it returns, the number of packs is known and the rest of the work is queued.
///
/// @tparam On      the backend
/// @tparam Length  an integer
/// @tparam Index   type of the sample indices
/// @param on       the backend
/// @param temp     scratch memory, or null to get its size
/// @param bytes    size of `temp` in bytes; set if `temp` is null
/// @param lengths  sample lengths in tokens, each at least 1
/// @param count    number of samples
/// @param options  capacity up to `longest_on_device`, max_samples, sample_multiple and pack_multiple; no over-size policy and no demanded
///                 number of packs, since the sizes of the arrays would be known too late: the other overload takes them
/// @param planner  a planner of this backend and stream; afterwards it holds the plan and its certificate
/// @param out      arrays for the packs; for `offsets`, count + 1 words are always enough
/// @return the error, if any; `invalid_value` if an option is out of range, `Index` cannot number the samples, the workspace is too small,
///         or a length is outside 1 … capacity (`planner.first_bad` is then its index)
/// @throws std::bad_alloc if the host has no memory for the plan
/// @par Complexity
/// As `fold` and `expand`, and O(D log D + R) on the host for D distinct lengths and R runs.
/// @par Determinism
/// The same packs as on the host, bit for bit.
/// @par Source
/// As `ballast::best_fit_decreasing`.
template <class On, integer Length, index_type Index>
[[nodiscard]] typename On::error_type best_fit_decreasing(On on, void* temp, std::size_t& bytes, Length const* lengths, std::size_t count,
                                                          packing_options const& options, pack_planner<On>& planner,
                                                          pack_arrays<Index> const& out) {
  return detail::pack_lengths<Index>(on, temp, bytes, lengths, count, options, planner, [&](std::uint64_t) { return out; });
}

/// @brief Packs the samples, by any over-size policy and into any number of packs; allocates and waits.
///
/// @tparam Index  type of the sample indices
/// @param on       the backend
/// @param lengths  sample lengths in tokens, on the device
/// @param count    number of samples
/// @param options  capacity up to `longest_on_device`, and any others
/// @return the same groups, lists and certificate as `ballast::best_fit_decreasing`
/// @throws invalid_input as `ballast::best_fit_decreasing`, and for a capacity above `longest_on_device`
/// @throws gpu_error if the backend reports an error
/// @par Complexity
/// As the other overload and, with a policy, `apply_oversize`. Where the number of packs is raised, one more sort of the samples.
template <index_type Index = std::uint32_t, class On, integer Length>
[[nodiscard]] packing<On, Index> best_fit_decreasing(On on, Length const* lengths, std::size_t count, packing_options const& options) {
  detail::require_device_options(options);
  require_index<Index>(count, "samples");
  return detail::pack_items<Index>(on, lengths, count, options);
}

}  // namespace ballast::inline v0_2::gpu
