// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
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
///                 number of packs
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

/// @brief Packs the samples; allocates and waits.
///
/// @tparam Index  type of the sample indices
/// @param on       the backend
/// @param lengths  sample lengths in tokens, on the device
/// @param count    number of samples
/// @param options  as for the other overload
/// @return the same groups and certificate as `ballast::best_fit_decreasing`
/// @throws invalid_input as `ballast::best_fit_decreasing`, and for options that the other overload does not take
/// @throws gpu_error if the backend reports an error
template <index_type Index = std::uint32_t, class On, integer Length>
[[nodiscard]] packing<On, Index> best_fit_decreasing(On on, Length const* lengths, std::size_t count, packing_options const& options) {
  detail::require_run_options(options);
  require_index<Index>(count, "samples");
  pack_planner<On> planner(on);
  packing<On, Index> out{.packs = {{on, 0}, {on, count}}};
  auto const outputs = [&](std::uint64_t packs) {
    out.packs.offsets = array<std::uint64_t, On>(on, static_cast<std::size_t>(packs) + 1);
    return pack_arrays<Index>{out.packs.offsets.data(), out.packs.members.data()};
  };
  call(on, "best_fit_decreasing", [&](void* temp, std::size_t& bytes) {
    auto const error = detail::pack_lengths<Index>(on, temp, bytes, lengths, count, options, planner, outputs);
    if (planner.first_bad != none_bad) detail::throw_for_lengths(on, lengths, count, options);
    return error;
  });
  out.count = planner.tally.count;
  out.bound = planner.tally.bound;
  out.tokens = planner.tally.tokens;
  return out;
}

}  // namespace ballast::inline v0_2::gpu
