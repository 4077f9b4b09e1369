// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/status.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/groups.cuh>
#include <ballast/packing/result.hpp>

#include <cstdint>

/// @file
/// @brief Results of the packers: `packing` in memory of a backend, and places of the samples.

namespace ballast::inline v0_2::gpu {

/// @brief Arrays on the device that a packer writes to; those that are null are not written.
/// @tparam Index  type of sample indices, pack numbers and member positions
template <index_type Index = std::uint32_t>
struct pack_arrays {
  std::uint64_t* offsets = nullptr;  ///< packs + 1 entries: where each pack begins in `members`, as in `groups::offsets`
  Index* members = nullptr;          ///< sample indices, pack after pack, as in `groups::members`
  Index* pack = nullptr;             ///< for each sample, in input order, the number of its pack
  std::uint32_t* slot = nullptr;     ///< for each sample, its position in the pack
  std::uint32_t* offset = nullptr;   ///< for each sample, the tokens before it in the pack, padding included
  Index* member = nullptr;           ///< for each sample, its position in `members`
};

/// @brief Samples in packs on the device, with a certificate; its members are those of `ballast::packing`, and mean the same.
/// @tparam On     the backend
/// @tparam Index  type of the sample indices
template <class On, index_type Index = std::uint32_t>
struct packing {
  ballast::status status = ballast::status::feasible;  ///< whether `packs` is a plan; can only fail if a number of packs was demanded
  groups<On, Index> packs;                             ///< a member in `[0, n)` is the index of a sample, a member `n + j` is `pieces[j]`
  certificate count{};                                 ///< number of packs, and its lower bound
  packing_bound bound = packing_bound::none;           ///< the argument that proves `count.lower_bound`
  std::int64_t tokens = 0;                             ///< sum of the lengths in packs, without padding
  array<Index, On> set_aside;                          ///< samples longer than the capacity that the policy left out, ascending
  array<sample_piece, On> pieces;                      ///< second and later pieces of split samples, by sample, then offset
};

}  // namespace ballast::inline v0_2::gpu
