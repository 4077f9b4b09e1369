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
/// @brief Best-fit decreasing on device lengths: counted and expanded on the device, planned on the host while the device sorts.

namespace ballast::inline v0_2::gpu {

/// @brief Packs the samples, longest first, each into the fullest pack that still takes it; twin of `ballast::best_fit_decreasing`.
///
/// The one twin that waits: for the counts of the lengths, which it plans on the host while the device sorts. It cannot be captured into a
/// graph. When it returns, the number of packs is known and the rest is queued.
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
/// @param planner  of this backend and stream; on return it holds the plan and its certificate
/// @param out      where the packs go; for `offsets`, count + 1 words always suffice
/// @return the error, if any; `invalid_value` for options out of range, more samples than `Index` can number, a workspace that is too
/// small, or a length outside 1 … capacity, whose index `planner.first_bad` then is
/// @throws std::bad_alloc if the host has no memory for the plan
/// @par Complexity
/// As `fold` and `expand`, and O(D log D + R) on the host for D distinct lengths and R runs.
/// @par Determinism
/// Bit for bit that of the host.
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
/// @param lengths  on the device
/// @param count    number of samples
/// @param options  as the other overload
/// @return exactly the groups and the certificate of `ballast::best_fit_decreasing`
/// @throws invalid_input as `ballast::best_fit_decreasing`, and for options that a plan of runs does not take
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
