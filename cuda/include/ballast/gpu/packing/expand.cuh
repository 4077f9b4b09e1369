// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/groups.cuh>
#include <ballast/gpu/core/lengths.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/packing/detail/canonical_order.cuh>
#include <ballast/gpu/packing/detail/place_samples.cuh>
#include <ballast/gpu/packing/result.cuh>
#include <ballast/gpu/packing/runs.cuh>
#include <ballast/packing/expand.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

/// @file
/// @brief Expands a plan of runs to the packs of device samples, by a stable sort and one pass.

namespace ballast::inline v0_2::gpu {

/// @brief Writes the packs of a plan; twin of `ballast::expand`.
///
/// @tparam On      the backend
/// @tparam Length  an integer
/// @tparam Index   type of the sample indices
/// @param on       the backend
/// @param temp     scratch memory, or null to get its size
/// @param bytes    size of `temp` in bytes; set if `temp` is null
/// @param plan     result of `plan_best_fit_decreasing`, uploaded
/// @param lengths  lengths of the samples that it was made for, in any order
/// @param count    number of samples
/// @param visit    a permutation of 0 … count - 1: the order in which samples of equal length are taken, such as a new shuffle in each
/// epoch
///                 without a new plan; null for index order
/// @param out      arrays for the packs
/// @param first_bad one word: the lowest index of a sample whose length is not that of the plan at its canonical position (or of an entry
///                 of `visit` that is out of range); `none_bad` if there is none, otherwise `out` is unspecified
/// @return the error, if any; `invalid_value` if the plan is for another number of samples or its capacity exceeds `longest_on_device`
/// @par Complexity
/// O(count log runs), but a lane searches only where it leaves a run or a block. Bytes moved per sample, for 4-byte lengths and indices: 10
/// for the keys (12 above 65536 padded lengths), 12 (16) for each 8 bits of a key, 6 (8) to read order and keys, and a write of 4 bytes for
/// each output, which is scattered for all but `members` and `offsets`.
/// @par Determinism
/// The same packs as on the host, bit for bit.
template <class On, integer Length, index_type Index>
[[nodiscard]] typename On::error_type expand(On on, void* temp, std::size_t& bytes, device_runs<On> const& plan, Length const* lengths,
                                             std::size_t count, std::type_identity_t<Index> const* visit, pack_arrays<Index> const& out,
                                             std::uint64_t* first_bad) {
  using error_type = typename On::error_type;
  auto const& runs = plan.view();
  if (count != runs.samples || count > (std::numeric_limits<Index>::max)() || runs.capacity > longest_on_device) return On::invalid_value;
  auto const pad = detail::pack_padding_of(packing_options{.capacity = runs.capacity, .sample_multiple = runs.sample_multiple});
  return detail::with_key(pad, [&]<class Key>(Key) {
    workspace memory(temp);
    detail::canonical_order<Key, Index> order;
    if (auto const end = order.cut(on, memory, bytes, count, pad.units); end.ends) return end.error;
    auto error = on.fill(first_bad, 0xff, sizeof(std::uint64_t));
    if (error == error_type{}) error = order.queue(on, lengths, count, pad, visit, first_bad);
    if (error == error_type{}) error = detail::write_packs(on, runs, order, count, nullptr, out, first_bad);
    return error;
  });
}

/// @brief Returns the packs of a plan; allocates and waits.
///
/// @tparam Index  type of the sample indices
/// @param on       the backend
/// @param plan     result of `plan_best_fit_decreasing`
/// @param lengths  on the device: lengths of the samples that it was made for
/// @param count    number of samples
/// @return the same groups as `ballast::expand`
/// @throws invalid_input as `ballast::expand`, and if the capacity of the plan exceeds `longest_on_device`
/// @throws gpu_error if the backend reports an error
template <index_type Index = std::uint32_t, class On, integer Length>
[[nodiscard]] groups<On, Index> expand(On on, pack_runs const& plan, Length const* lengths, std::size_t count) {
  require(count == plan.samples, [&] { return sentence(count, " lengths, but the plan was made for ", plan.samples, " samples"); });
  require_index<Index>(count, "samples");
  require_on_device(plan.capacity, "capacity");
  device_runs<On> runs(on);
  check(runs.upload(plan), "upload");
  groups<On, Index> out{{on, static_cast<std::size_t>(plan.packs) + 1}, {on, count}};
  array<std::uint64_t, On> const first_bad(on, 1);
  call(on, "expand", [&](void* temp, std::size_t& bytes) {
    return expand(on, temp, bytes, runs, lengths, count, nullptr, pack_arrays<Index>{out.offsets.data(), out.members.data()},
                  first_bad.data());
  });
  if (fetch_one(on, first_bad.data()) != none_bad) (void)ballast::expand<Index>(plan, fetch(on, lengths, count));  // throws with the reason
  return out;
}

}  // namespace ballast::inline v0_2::gpu
