// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/status.hpp>
#include <ballast/gpu/core/groups.cuh>
#include <ballast/packing/result.hpp>

#include <cstdint>

/// @file
/// @brief What the packers return and write: `packing` with its packs in memory of a backend, and places sample by sample.

namespace ballast::inline v0_2::gpu {

/// @brief Where a packing is written to: arrays of the device, each null where it is not wanted.
/// @tparam Index  of samples, packs and members
template <index_type Index = std::uint32_t>
struct pack_arrays {
  std::uint64_t* offsets = nullptr;  ///< packs + 1: where each pack begins in `members`, as in `groups::offsets`
  Index* members = nullptr;          ///< samples by pack, as in `groups::members`
  Index* pack = nullptr;             ///< of each sample, in input order
  std::uint32_t* slot = nullptr;     ///< of each sample: its position in the pack
  std::uint32_t* offset = nullptr;   ///< of each sample: tokens before it in the pack, padding included
  Index* member = nullptr;           ///< of each sample: its position in `members`
};

/// @brief Samples in packs on the device, with the proof of how good the plan is; members as those of `ballast::packing`. None is set
/// aside or split, since over-size policies are the host's.
/// @tparam On     the backend
/// @tparam Index  type of the sample indices
template <class On, index_type Index = std::uint32_t>
struct packing {
  ballast::status status = ballast::status::feasible;  ///< whether `packs` is a plan; it is
  groups<On, Index> packs;                             ///< members are sample indices
  certificate count{};                                 ///< `value` packs, and the number below which no plan can go
  packing_bound bound = packing_bound::none;           ///< what proves `count.lower_bound`
  std::int64_t tokens = 0;                             ///< sum of the lengths, without padding
};

}  // namespace ballast::inline v0_2::gpu
